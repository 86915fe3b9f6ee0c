"""Finished rows on disk: a study that is killed at any moment loses none of them and repeats none.

A folder has one `Store`, held by one process at a time through a lock. Rows stand in journals of `PART` experiments
each. A record is a line of its own with a checksum, so that a damaged one costs itself only; it counts as finished when
it has reached the disk. Nothing is ever overwritten: of two records of an experiment the later one holds.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import re
import socket
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from paceline import disk, guests
from paceline.errors import OutputError, StudyError
from paceline.studies.experiment import Files, Row

PART = 4096
"""Experiments in a journal."""
COMMIT_S = 0.25
"""Seconds after which rows are brought to the disk while others come."""
FOLDER = ".study"
_EARLIER = (".sweep", ".rows", ".tune")
"""Folders in which earlier versions kept their rows."""
_OUTPUTS = ("results.parquet", "trials.parquet", "sensitivity.csv")

_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(Row).decode


class Store:
    """The rows of a study in one folder, which this process holds until the `with` block ends."""

    def __init__(self, out: Path, *, fresh: bool = False) -> None:
        """Takes the folder; `fresh` deletes what earlier runs left in it.

        Raises:
            OutputError: Another process holds the folder, or it cannot be written.
            StudyError: It holds results that are not known to be of this study. They stay as they are.
        """
        self.out, self._folder = out, out / FOLDER
        if not fresh:
            self._refuse_unknown()
        try:
            disk.own_folder(self._folder)
            self._lock = disk.opened(self._folder / "lock", os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise OutputError(f"{error.filename or self._folder}: cannot be written: {error.strerror}") from None
        self._take_lock()
        try:
            if fresh:
                self._delete()
            self._manifest = self._read_manifest()
            if self._manifest:
                disk.remove_unfinished(self.out)
        except BaseException:
            os.close(self._lock)
            raise

    def _refuse_unknown(self) -> None:
        for name in _EARLIER:
            if (self.out / name).is_dir():
                raise StudyError(
                    f"{self.out}: found results of an earlier version of Paceline ({name}), which this one does not "
                    "read; they stay as they are: choose another folder with --out, or delete them with --fresh"
                )
        for name in _OUTPUTS:
            if (self.out / name).exists() and not (self._folder / "study.json").exists():
                raise StudyError(
                    f"{self.out}: found {name} but no {FOLDER}/study.json that says whose; it stays as it is: choose "
                    "another folder with --out, or delete it with --fresh"
                )

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 200, 0).decode(errors="replace").strip() or "another process"
            os.close(self._lock)
            raise OutputError(f"{self.out}: in use by {holder}: one run at a time can write there") from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    def _delete(self) -> None:
        own = (path for path in self._folder.iterdir() if path.name != "lock")
        for path in (*(self.out / name for name in (*_EARLIER, "experiments", *_OUTPUTS)), *own):
            with writing(path):
                disk.remove(path)

    def _read_manifest(self) -> dict[str, dict[str, Any]]:
        path = self._folder / "study.json"
        if not path.is_symlink() and not path.exists():
            if found := sorted(self._folder.glob("*.journal")):
                raise StudyError(f"{found[0]}: found rows but no study.json that says whose: they stay as they are")
            return {}
        try:
            tables = json.loads(disk.read(path))["tables"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            tables = None
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            raise StudyError(f"{path}: found a damaged file; it stays as it is: --fresh deletes it")
        return tables

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)

    def table(
        self,
        name: str,
        identity: Mapping[str, Any],
        count: int | None = None,
        learn: Callable[[Row], None] = lambda row: None,
        is_whole: Callable[[Row], bool] = lambda row: True,
    ) -> Table:
        """The rows of that name, with those that an earlier run finished; `learn` is told of each finished row.

        A row that is not whole any more, because what its run left is gone, counts as not finished.

        Raises:
            StudyError: They are of another definition, version or data. They stay as they are.
        """
        own = json.loads(json.dumps({**identity, "version": guests.version()}, default=str))
        found = self._manifest.get(name)
        if found is not None:
            found = self._of_this_build(found)
        if found is not None and found != own and not _extends(own, found):
            raise StudyError(
                f"{self.out}: found results of another definition ({_difference(found, own)}); they stay as they are: "
                "choose another folder with --out, or delete them with --fresh"
            )
        if found != own:
            self._manifest[name] = own
            content = json.dumps({"tables": self._manifest}, indent=1).encode()
            with writing(self._folder / "study.json"):
                disk.write(self._folder / "study.json", content)
        return Table(self._folder, re.sub(r"[^\w.-]", "_", name), count, learn, is_whole)

    def _of_this_build(self, found: dict[str, Any]) -> dict[str, Any]:
        """The remark on rows with the version of this build: they are of the same sources, if of another commit."""
        version, own = str(found.get("version")), guests.version()
        if (other := guests.other(version)) is not None:
            raise StudyError(
                f"{self.out}: found results of another {other} ({version}), which may give other "
                f"figures than this one ({own}); they stay as they are: choose another folder with --out, or --fresh "
                "runs all again"
            )
        return {**found, "version": own}

    def keep_files(self, name: str, files: Files) -> None:
        """Writes the outputs of an experiment that has its own, each whole."""
        for file, content in files.items():
            with writing(self.out / _kept(name, file)):
                disk.write(disk.within(self.out, _kept(name, file)), content)

    def fault(self, name: str, digests: Mapping[str, str]) -> str | None:
        """Which of the outputs of an experiment is not as it was written, and how; None if all are."""
        for file, digest in digests.items():
            if (fault := fault_of(self.out, _kept(name, file), digest)) is not None:
                return fault
        return None


class Table:
    """The rows of the designs of a study, or of one of its searches."""

    def __init__(
        self,
        folder: Path,
        name: str,
        count: int | None,
        learn: Callable[[Row], None],
        is_whole: Callable[[Row], bool],
    ) -> None:
        self._folder, self._name, self._count, self._learn = folder, name, count, learn
        self._is_whole = is_whole
        self._open: dict[int, int] = {}
        """The descriptors of the journals that are written."""
        self._done: dict[int, set[int]] = {}
        """By journal that is not complete, the experiments in it that are finished."""
        self._complete: set[int] = set()
        self._waiting: list[Row] = []
        self._committed = 0.0
        self.finished = self.failed = self.died = 0
        """Experiments that are finished, those of them that failed, and those whose worker died."""
        self.first_error: tuple[int, str] | None = None
        """The first experiment that failed, and why."""
        for path in sorted(folder.glob(f"{name}-*.journal")):
            self._take_over(path)
        self.taken_over = self.finished

    def _path(self, part: int) -> Path:
        return self._folder / f"{self._name}-{part:06d}.journal"

    def _size(self, part: int) -> int | None:
        return None if self._count is None else min(PART, self._count - part * PART)

    def _take_over(self, path: Path) -> None:
        number = path.stem.removeprefix(f"{self._name}-")
        if not number.isdigit():
            return
        if self._count is not None and not int(number) * PART < self._count:
            raise StudyError(f"{path}: found a file that is not of this study; it stays as it is")
        for row in self._read(int(number)).values():
            if not row.died and self._is_whole(row):
                self._count_in(row)

    def _read(self, part: int) -> dict[int, Row]:
        """The rows of a journal by their experiments."""
        path = self._path(part)
        try:
            content = disk.read(path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StudyError(f"{path}: {error.strerror}; it stays as it is: --fresh deletes it") from None
        rows = filter(None, map(_row, content.split(b"\n")))
        return {row.index: row for row in rows if row.index // PART == part and row.index < (self._count or math.inf)}

    def _count_in(self, row: Row) -> None:
        part = row.index // PART
        done = self._done.setdefault(part, set())
        if row.index in done:
            return
        done.add(row.index)
        self._learn(row)
        self.finished += 1
        self.died += row.died
        if row.error is not None:
            self.failed += 1
            if self.first_error is None or row.index < self.first_error[0]:
                self.first_error = (row.index, row.error)
        if len(done) == self._size(part):
            self._complete.add(part)
            del self._done[part]
            if part in self._open:
                os.close(self._open.pop(part))

    def missing(self) -> Iterator[int]:
        """The experiments that are not finished, in order."""
        assert self._count is not None
        for part in range(-(-self._count // PART)):
            if part in self._complete:
                continue
            # Held on to: a part that becomes complete while its end is handed out is forgotten.
            done = self._done.setdefault(part, set())
            for index in range(part * PART, min(part * PART + PART, self._count)):
                if index not in done:
                    yield index

    def add(self, row: Row) -> None:
        """Writes the row of an experiment; it is finished once it has reached the disk.

        Raises:
            OutputError: It cannot be written. The rows before it are kept.
        """
        record = _encode(row)
        line = b"\n%08x %s\n" % (zlib.crc32(record), record)
        part = row.index // PART
        with writing(self._path(part)):
            if part not in self._open:
                self._open[part] = disk.opened(self._path(part), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
                disk.sync_folder(self._folder)
            end = os.fstat(self._open[part]).st_size
            try:
                disk.append(self._open[part], line)
            except OSError:
                # The part that was written would be read as a damaged record.
                with suppress(OSError):
                    os.ftruncate(self._open[part], end)
                raise
        self._waiting.append(row)
        if time.monotonic() - self._committed >= COMMIT_S:
            self.commit()

    def commit(self) -> None:
        """Brings what was added to the disk; from then on it counts as finished."""
        for part in {row.index // PART for row in self._waiting}:
            with writing(self._path(part)):
                disk.sync(self._open[part])
                if not _is_at(self._open[part], self._path(part)):
                    raise FileNotFoundError(errno.ENOENT, "no such file")
        waiting, self._waiting = self._waiting, []
        for row in waiting:
            self._count_in(row)
        self._committed = time.monotonic()

    def close(self) -> None:
        """Brings the rest to the disk and ends writing."""
        try:
            self.commit()
        finally:
            for descriptor in self._open.values():
                os.close(descriptor)
            self._open.clear()

    def rows(self) -> Iterator[dict[int, Row]]:
        """The rows of each journal, read back from the disk, by their experiments."""
        parts = sorted({*self._complete, *self._done})
        for part in parts:
            yield self._read(part)

    @property
    def sizes(self) -> list[int]:
        """The bytes of each journal. As nothing is overwritten, one that still has its size has the same rows.

        Raises:
            OutputError: One was deleted meanwhile.
        """
        assert self._count is not None
        found = []
        for part in range(-(-self._count // PART)):
            with writing(self._path(part)):
                found.append(self._path(part).stat().st_size)
        return found

    def part(self, part: int) -> list[Row]:
        """The rows of a journal in the order of their experiments.

        Raises:
            OutputError: A row that was written is not there when it is read back.
        """
        rows = self._read(part)
        lost = [index for index in range(part * PART, part * PART + (self._size(part) or 0)) if index not in rows]
        if lost:
            raise OutputError(
                f"{self._path(part)}: {len(lost)} rows that were written are not there when read back: is the disk "
                "damaged? Run the study again: they will be run again"
            )
        return [rows[index] for index in sorted(rows)]


def _row(line: bytes) -> Row | None:
    """The row of a line; None if it is damaged."""
    try:
        if int(line[:8], 16) != zlib.crc32(line[9:]):
            return None
        return _decode(line[9:])
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether a file that was opened still stands there."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _kept(name: str, file: str) -> str:
    """Where in the results an output of an experiment stands."""
    return f"experiments/{name}/{file}"


def fault_of(out: Path, name: str, digest: str) -> str | None:
    """The fault of a file of which an earlier run kept the digest, if it has one."""
    try:
        path = disk.within(out, name)
        found = disk.digest(path)
        size = path.stat().st_size
    except OSError as error:
        return f"{name}: {error.strerror}"
    if found == digest:
        return None
    return f"{name}: found {'other bytes than were written' if size else 'an empty file'}"


class writing:  # noqa: N801
    """A block that writes a file; says which one if it fails, and that what was finished is kept."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise OutputError(f"{self._path}: was deleted while the study ran: run the same command again") from None
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise OutputError(
                f"{self._path}: cannot be written: {error.strerror}; the rows before are kept: run the same command "
                "again to go on"
            ) from None


def _extends(own: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether the own definition only has more designs, after those that were found: rows keep their places then."""
    designs = own.get("designs", {})
    order, before = own.get("order of designs", []), found.get("order of designs", [])
    return (
        {**found, "designs": designs, "order of designs": order} == own
        and order[: len(before)] == before
        and all(designs.get(name) == design for name, design in found.get("designs", {}).items())
    )


def _difference(found: Any, own: Any, path: str = "") -> str:
    """The first key in which two definitions differ, with what was found and what was expected."""
    if isinstance(found, dict) and isinstance(own, dict):
        for key in (*own, *found):
            if found.get(key) != own.get(key):
                return _difference(found.get(key), own.get(key), f"{path}.{key}" if path else str(key))
    told, expected = (_told(value) for value in (found, own))
    added = found is None and path.startswith("designs.")
    hint = "; add a design after all others to keep what is finished" if added else ""
    return f"{path}: found {told}, expected {expected}{hint}"


def _told(value: object) -> str:
    text = "none" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
