"""Frames that were encoded before: a run that asks for the same frames is given them without an encoder.

A tape is cut into chunks of so many frames. The key of a chunk follows from all that the encoder was given before it:
its settings, the clip and every request; the chunk's file says what was asked in it. So what two runs have in common
from their beginning is kept once. A chunk is written whole under its name or not at all, so that processes may share
the folder, and a file whose digest is not its content's is taken away.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.video.encoded import Encoded, Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHUNK = 256
"""Frames of a chunk."""
USUAL_MB = 2048.0
"""Size of the folder, unless PACELINE_CACHE_MB says another."""
PRUNED_TO = 0.9
"""Part of its size that a folder which has become too large is left with."""


class Cache:
    """A folder of chunks, the oldest of which go when it becomes too large. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None, most: int) -> None:
        self.folder, self.most = folder, most
        self.replayed = 0
        """Frames that came from it."""

    @classmethod
    def usual(cls) -> Cache:
        """`$PACELINE_CACHE`, else `paceline/video` in `$XDG_CACHE_HOME` or ~/.cache; with PACELINE_CACHE_MB=0 none."""
        named, home = os.environ.get("PACELINE_CACHE"), os.environ.get("XDG_CACHE_HOME")
        folder = Path(named) if named else Path(home or Path.home() / ".cache") / "paceline" / "video"
        try:
            most = float(os.environ.get("PACELINE_CACHE_MB", USUAL_MB))
        except ValueError:
            most = USUAL_MB
        return cls(folder if most > 0 else None, int(max(0.0, most) * 1e6))

    def tape(self, settings: str) -> Tape:
        """The frames that were encoded with these settings."""
        return Tape(self, settings)

    def candidates(self, key: str) -> list[list[tuple[Request, Encoded]]]:
        """The chunks that begin after the same requests, the longest first."""
        found = []
        for file in sorted(self.folder.glob(f"{key[:40]}-*.chunk")) if self.folder is not None else []:
            chunk = _read(file)
            if chunk is not None:
                found.append(chunk)
        return sorted(found, key=len, reverse=True)

    def keep(self, key: str, chunk: Sequence[tuple[Request, Encoded]]) -> None:
        """Writes a chunk, unless it is there; a folder that cannot be written keeps nothing."""
        if self.folder is None or not chunk:
            return
        target = self.folder / f"{key[:40]}-{digest_of([request for request, _ in chunk])[:24]}.chunk"
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            if not target.exists() or _read(target) is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                temporary.write_bytes(_written(chunk))
                temporary.replace(target)
        except OSError:
            temporary.unlink(missing_ok=True)

    def prune(self) -> None:
        """Removes what was used longest ago until the folder is small enough."""
        if self.folder is None:
            return
        files = []
        for file in self.folder.glob("*.chunk"):
            # Another process may prune at the same time.
            try:
                status = file.stat()
            except FileNotFoundError:
                continue
            files.append((status.st_mtime_ns, file.name, status.st_size, file))
        total = sum(size for *_, size, _ in files)
        if total <= self.most:
            return
        for _, _, size, file in sorted(files):
            if total <= PRUNED_TO * self.most:
                break
            file.unlink(missing_ok=True)
            total -= size


class Tape:
    """The frames of one sequence: replayed as long as what is asked was asked before, and recorded."""

    def __init__(self, cache: Cache, settings: str) -> None:
        self._cache, self._key = cache, settings
        self._candidates = cache.candidates(settings)
        self._chunk: list[tuple[Request, Encoded]] = []

    def replay(self, request: Request) -> Encoded | None:
        """The next frame if it was made before for all that was asked so far and this; else None."""
        place = len(self._chunk)
        self._candidates = [one for one in self._candidates if len(one) > place and one[place][0] == request]
        if not self._candidates:
            return None
        self._cache.replayed += 1
        return self._candidates[0][place][1]

    def record(self, request: Request, encoded: Encoded) -> None:
        """A frame was made, or replayed."""
        self._chunk.append((request, encoded))
        if len(self._chunk) < CHUNK:
            return
        replayed = bool(self._candidates)
        if not replayed:
            self._cache.keep(self._key, self._chunk)
        self._key = hashlib.sha256(
            (self._key + digest_of([request for request, _ in self._chunk])).encode()
        ).hexdigest()
        self._chunk = []
        # After frames that were encoded the encoder runs, and stays.
        self._candidates = self._cache.candidates(self._key) if replayed else []

    def finish(self) -> None:
        """The sequence ends here."""
        if not self._candidates:
            self._cache.keep(self._key, self._chunk)
        self._cache.prune()


def digest_of(requests: Sequence[Request]) -> str:
    """SHA-256 of a history of requests."""
    return hashlib.sha256(json.dumps(requests).encode()).hexdigest()


def _written(chunk: Sequence[tuple[Request, Encoded]]) -> bytes:
    frames = [[*request, encoded.key, [len(one) for one in encoded.slices]] for request, encoded in chunk]
    body = json.dumps(frames).encode() + b"\n" + b"".join(one for _, encoded in chunk for one in encoded.slices)
    return hashlib.sha256(body).digest() + body


def _read(file: Path) -> list[tuple[Request, Encoded]] | None:
    """The chunk in a file, which counts as used; None for a file that is damaged, and goes, or has gone."""
    try:
        content = file.read_bytes()
        if hashlib.sha256(content[32:]).digest() != content[:32]:
            file.unlink(missing_ok=True)
            return None
        os.utime(file)
    except OSError:
        return None
    head, _, slices = content[32:].partition(b"\n")
    return list(_frames(json.loads(head), slices))


def _frames(frames: list[tuple[int, bool, bool, list[int]]], slices: bytes) -> Iterator[tuple[Request, Encoded]]:
    start = 0
    for kbps, wanted, key, sizes in frames:
        cut = []
        for size in sizes:
            cut.append(slices[start : start + size])
            start += size
        yield Request(kbps, wanted), Encoded(tuple(cut), key)
