"""Reading an archive of a stranger: its names, sizes and digests are checked before anything is used."""

from __future__ import annotations

import hashlib
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from types import TracebackType

import msgspec

from paceline.archives.manifest import FORMAT, NAME, Manifest
from paceline.errors import DataNotFound, UsageError

MOST_MEMBERS = 200_000
MOST_BYTES = 4 << 30
"""Bytes of all members, unpacked."""
MOST_MANIFEST = 256 << 20
LEAST_SUSPECT = 64 << 20
MOST_PACKED = 200
"""From `LEAST_SUSPECT` bytes on, a member may be packed at most so many times: text and tables stay below."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Methods that `zipfile` unpacks no further than it is asked to: others it unpacks whole, whatever size is declared."""


class Archive:
    """An archive whose names and sizes are sound; `check` reads all of it."""

    def __init__(self, path: Path) -> None:
        """Opens an archive.

        Raises:
            DataNotFound: There is no such file.
            UsageError: It is no archive of results, or a hostile one.
        """
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise DataNotFound(f"{path}: no such archive") from None
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise UsageError(f"{path}: found no archive that can be read: {error}") from None
        try:
            self.members = self._sound()
            self.manifest = self._manifest()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def _sound(self) -> dict[str, zipfile.ZipInfo]:
        """The members by their names, each a file in the archive's folder, together of a bearable size."""
        found: dict[str, zipfile.ZipInfo] = {}
        listed = self._zip.infolist()
        if len(listed) > MOST_MEMBERS:
            raise self._refused(f"{len(listed):,} members", f"{MOST_MEMBERS:,} at most")
        for one in listed:
            name, parts = one.filename, PurePosixPath(one.filename).parts
            mode = one.external_attr >> 16
            if not name or name != "/".join(parts) or {"..", "."} & set(parts) or "\\" in name or ":" in parts[0]:
                raise self._refused(f"the member {name!r}", "names of files below the archive's folder")
            if one.orig_filename != name or any(ord(letter) < 32 for letter in name):
                raise self._refused(f"the member {one.orig_filename!r}", "names without control characters")
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or one.flag_bits & 1:
                raise self._refused(f"the member {name!r}, a link or encrypted", "files alone")
            if one.compress_type not in _METHODS:
                method = f"method {one.compress_type} of ZIP"
                raise self._refused(f"{name!r}, packed by {method}", "members that are stored or deflated")
            if name in found:
                raise self._refused(f"the member {name!r} twice", "each name once")
            if one.file_size > LEAST_SUSPECT and one.file_size > MOST_PACKED * max(1, one.compress_size):
                raise self._refused(f"{name!r}, which unpacks to {one.file_size:,} B", "no such member")
            found[name] = one
        total = sum(one.file_size for one in listed)
        if total > MOST_BYTES:
            raise self._refused(f"{total:,} B when it is unpacked", f"{MOST_BYTES:,} at most")
        packed, size = sum(one.compress_size for one in listed), self.path.stat().st_size
        if packed > size:
            raise self._refused(f"members of {packed:,} B, packed", f"no more than the archive's {size:,} B")
        return found

    def _refused(self, found: str, expected: str) -> UsageError:
        return UsageError(f"{self.path}: found {found}, expected {expected}; nothing of it was used")

    def _manifest(self) -> Manifest:
        if NAME not in self.members:
            raise self._refused(f"no {NAME}", "one of `paceline archive`")
        if self.members[NAME].file_size > MOST_MANIFEST:
            raise self._refused(f"a huge {NAME}", f"{MOST_MANIFEST:,} B at most")
        try:
            manifest = msgspec.json.decode(self._unpacked(NAME), type=Manifest)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise self._refused(f"{NAME}: {error}", "one of `paceline archive`") from None
        if manifest.format != FORMAT:
            raise self._refused(f"format {manifest.format}", f"format {FORMAT}")
        named = {name for run in manifest.runs for name in (run.scenario, *run.files.values()) if name is not None}
        for name in sorted(named - manifest.files.keys()):
            raise self._refused(f"{NAME}: a run with {name!r}, which has no digest", "one for each file")
        return manifest

    def read(self, name: str) -> bytes:
        """The content of a member, whose digest is that of the manifest.

        Raises:
            UsageError: It was changed.
        """
        content = self._unpacked(name)
        if hashlib.sha256(content).hexdigest() != self.manifest.files.get(name):
            raise UsageError(f"{self.path}: {name}: was changed: its digest is not that of {NAME}")
        return content

    def _unpacked(self, name: str) -> bytes:
        if name not in self.members:
            raise UsageError(f"{self.path}: {name}: is missing")
        try:
            with self._zip.open(name) as member:
                return member.read(self.members[name].file_size + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise UsageError(f"{self.path}: {name}: was changed: {error}") from None

    def check(self) -> None:
        """Reads every member and compares it with its digest.

        Raises:
            UsageError: A member was changed, is missing, or is not named in the manifest.
        """
        for name in self.manifest.files:
            self.read(name)
        for name in sorted(self.members.keys() - self.manifest.files.keys() - {NAME}):
            raise UsageError(f"{self.path}: {name}: was added: {NAME} does not name it")
