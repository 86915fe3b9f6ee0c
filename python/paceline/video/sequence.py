"""The frames that an encoder made in a run: their slices on the disk, so that memory grows with their number alone."""

from __future__ import annotations

import tempfile
import weakref
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline.video.encoded import Encoded

IN_MEMORY = 64 << 20
"""Bytes of slices that are kept in memory; with more all of them go to a temporary file."""


class Sequence:
    """Frames in the order of their capture."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - it lives as long as this
        weakref.finalize(self, self._file.close)
        self._end = 0
        self._starts = array("q")
        self._slices: list[tuple[int, ...]] = []
        self.captured_ns = array("q")
        """When each frame was captured."""
        self.keys = bytearray()
        """1 for each key frame, else 0."""
        self.parameter_sets = b""
        """The header that a decoder has to know beforehand."""

    def __len__(self) -> int:
        return len(self._slices)

    def append(self, captured_ns: int, encoded: Encoded) -> None:
        """The next frame."""
        self._file.seek(self._end)
        self._file.write(b"".join(encoded.slices))
        self._starts.append(self._end)
        self._slices.append(tuple(map(len, encoded.slices)))
        self._end += sum(map(len, encoded.slices))
        self.captured_ns.append(captured_ns)
        self.keys.append(encoded.key)

    def slices(self, frame: int) -> list[bytes]:
        """The slices of a frame, in order."""
        self._file.seek(self._starts[frame])
        return [self._file.read(size) for size in self._slices[frame]]

    def count(self, frame: int) -> int:
        """How many slices a frame has."""
        return len(self._slices[frame])

    def size(self, frame: int) -> int:
        """Bytes of its slices, padding out."""
        return sum(self._slices[frame])
