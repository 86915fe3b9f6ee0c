"""How near a picture is to another: PSNR and SSIM of the luma plane, by FFmpeg's filters."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from paceline.video import pyav

if TYPE_CHECKING:
    from paceline.video.clips import Clip
    from paceline.video.drawn import Size

HIGHEST_PSNR = 100.0
"""PSNR of equal pictures, in dB: their error is zero, and a mean over frames has to be a number."""
_CLOCK = Fraction(1, 1000)


class Meter:
    """Compares pictures one by one with those of a clip."""

    def __init__(self, clip: Clip) -> None:
        av = pyav()
        self._sources = [_gray(av, clip, index) for index in range(len(clip.pictures))]
        self._black = _of_luma(av, clip.size, 16)
        self._graph = av.filter.Graph()
        # Runs are spread over the cores, not pictures.
        self._graph.threads = 1
        self._again = av.error.BlockingIOError
        kind = {"width": clip.size[0], "height": clip.size[1], "time_base": _CLOCK}
        self._seen = self._graph.add_buffer(format="yuv420p", **kind)
        self._true = self._graph.add_buffer(format="gray", **kind)
        luma, twice = self._graph.add("extractplanes", "y"), self._graph.add("split", "2")
        psnr, ssim, self._sink = self._graph.add("psnr"), self._graph.add("ssim"), self._graph.add("buffersink")
        self._seen.link_to(luma)
        self._true.link_to(twice)
        luma.link_to(psnr, 0, 0)
        twice.link_to(psnr, 0, 1)
        psnr.link_to(ssim, 0, 0)
        twice.link_to(ssim, 1, 1)
        ssim.link_to(self._sink)
        self._graph.configure()
        self._count = 0

    def compare(self, picture: Any | None, index: int) -> tuple[float, float]:
        """PSNR in dB and SSIM of a picture (None: a black one) against that of the clip at `index`."""
        for buffer, frame in (
            (self._seen, self._black if picture is None else picture),
            (self._true, self._sources[index]),
        ):
            frame.pts, frame.time_base = self._count, _CLOCK
            buffer.push(frame)
        self._count += 1
        found = self._sink.pull().metadata
        psnr = float(found["lavfi.psnr.psnr.y"])
        return min(psnr, HIGHEST_PSNR), float(found["lavfi.ssim.Y"])


def _gray(av: Any, clip: Clip, index: int) -> Any:
    return av.VideoFrame.from_ndarray(clip.pictures[index, : clip.size[1]], format="gray")


def _of_luma(av: Any, size: Size, luma: int) -> Any:
    import numpy as np

    pixels = np.full((size[1] * 3 // 2, size[0]), 128, np.uint8)
    pixels[: size[1]] = luma
    return av.VideoFrame.from_ndarray(pixels, format="yuv420p")
