"""Clips: the pictures that an encoder is given, read from a file or drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.video import VideoError, pyav
from paceline.video.drawn import DRAWN, Size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNEVEN = 0.1
"""How far an interval of frames may be from the median, as a part of it, in a clip of constant rate."""


@dataclass(frozen=True)
class Clip:
    """Pictures in YUV 4:2:0 (I420), all of one even size."""

    pictures: NDArray[np.uint8]
    """Frames x (3/2 height) x width: the luma plane, below it both chroma planes."""
    digest: str
    """SHA-256 of size and pictures."""
    warnings: tuple[str, ...] = field(default=())
    """Oddities of the file."""

    @property
    def size(self) -> Size:
        """Width and height in pixels."""
        return int(self.pictures.shape[2]), int(self.pictures.shape[1]) * 2 // 3

    def index(self, frame: int, repeat: str) -> int:
        """Which picture frame number `frame` of an endless call shows."""
        count = len(self.pictures)
        if repeat == "forward" or count == 1:
            return frame % count
        # The pictures at both ends are shown once each time.
        place = frame % (2 * count - 2)
        return place if place < count else 2 * count - 2 - place

    def rgb(self, frame: int, repeat: str) -> NDArray[np.uint8]:
        """The picture of a frame as height x width x 3."""
        picture = pyav().VideoFrame.from_ndarray(self.pictures[self.index(frame, repeat)], format="yuv420p")
        pixels: NDArray[np.uint8] = picture.to_ndarray(format="rgb24")
        return pixels


def clip_of(stream: dict[str, Any]) -> Clip:
    """The clip of a stream of pictures, as the scenario describes it."""
    size = (stream.get("width"), stream.get("height"))
    if stream["path"] is not None:
        # The time tells a file that was replaced from the one that was read before.
        path = Path(stream["path"])
        return _from_file(path, path.stat().st_mtime_ns, *size, stream["frames"])
    width, height = size[0] or 352, size[1] or 288
    return _drawn(stream["generator"], stream["seed"], width, height, stream["frames"])


@lru_cache(maxsize=4)
def _drawn(name: str, seed: int, width: int, height: int, frames: int) -> Clip:
    return clip_from(DRAWN[name](seed, (width, height), frames))


def clip_from(pictures: NDArray[np.uint8], warnings: Iterable[str] = ()) -> Clip:
    """A clip of pictures in memory."""
    digest = hashlib.sha256(repr(pictures.shape).encode())
    digest.update(pictures.tobytes())
    return Clip(pictures, digest.hexdigest(), tuple(warnings))


@lru_cache(maxsize=4)
def _from_file(path: Path, _changed: int, width: int | None, height: int | None, most: int) -> Clip:
    """The first `most` pictures of a file, scaled to fill the size and cropped to it."""
    import numpy as np

    av = pyav()
    found: list[NDArray[np.uint8]] = []
    times: list[float] = []
    warnings: list[str] = []
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise VideoError(f"{path}: found no pictures, expected a file with video")
            container.streams.video[0].thread_type = "NONE"
            try:
                for frame in container.decode(video=0):
                    if len(found) == most:
                        break
                    found.append(_picture(av, frame, width or frame.width & ~1, height or frame.height & ~1))
                    times.append(frame.time if frame.time is not None else float("nan"))
            except av.error.FFmpegError as error:
                warnings.append(
                    f"{path}: broken behind frame {len(found)}, what is before it is used ({error.strerror})"
                )
    except av.error.FFmpegError as error:
        raise VideoError(f"{path}: cannot be read as video ({error.strerror}), expected what FFmpeg reads") from None
    if not found:
        raise VideoError(f"{path}: found no picture that can be decoded, expected at least one")
    if len({picture.shape for picture in found}) > 1:
        raise VideoError(f"{path}: found pictures of several sizes, expected one: say width and height")
    warnings += _about_times(path, np.diff(np.array(times)))
    return clip_from(np.stack(found), warnings)


def _about_times(path: Path, intervals: NDArray[np.float64]) -> list[str]:
    import numpy as np

    usual = float(np.median(intervals)) if len(intervals) else float("nan")
    if not usual > 0 or np.all(np.abs(intervals - usual) <= UNEVEN * usual):
        return []
    least, most = float(np.min(intervals)), float(np.max(intervals))
    return [
        f"{path}: intervals between frames are from {least * 1e3:.0f} to {most * 1e3:.0f} ms; its frames are taken "
        "one by one at the scenario's fps"
    ]


def _picture(av: Any, frame: Any, width: int, height: int) -> NDArray[np.uint8]:
    """The frame as I420, scaled to cover the size and cropped from its middle."""
    if min(width, height) < 32:
        raise VideoError(
            f"found pictures of {frame.width}x{frame.height}, expected at least 32x32: say width and height"
        )
    cover = max(Fraction(width, frame.width), Fraction(height, frame.height))
    scaled = (max(width, _even(frame.width * cover)), max(height, _even(frame.height * cover)))
    # A frame that is one pixel too large is cropped, not scaled.
    if (frame.width & ~1, frame.height & ~1) == (width, height):
        scaled = (frame.width, frame.height)
    whole = frame.reformat(width=scaled[0], height=scaled[1], format="yuv420p")
    return _cropped(whole, width, height)


def _even(length: Fraction) -> int:
    return int(length / 2 + Fraction(1, 2)) * 2


def _cropped(frame: Any, width: int, height: int) -> NDArray[np.uint8]:
    import numpy as np

    left, top = (frame.width - width) // 4 * 2, (frame.height - height) // 4 * 2
    planes = []
    for plane, shrunk in zip(frame.planes, (1, 2, 2), strict=True):
        pixels = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
        rows = slice(top // shrunk, (top + height) // shrunk)
        planes.append(pixels[rows, left // shrunk : (left + width) // shrunk].ravel())
    return np.concatenate(planes).reshape(-1, width)
