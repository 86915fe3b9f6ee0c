"""The receiver's decoder: FFmpeg's, with its own concealment, given what arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paceline.video import pyav
from paceline.video.encoder import START_CODE

if TYPE_CHECKING:
    from collections.abc import Sequence


class Decoder:
    """Decodes H.264 frame by frame. Slices that lack are concealed; a frame without any is not decoded."""

    def __init__(self, parameter_sets: bytes) -> None:
        self._av = pyav()
        context = self._av.CodecContext.create("h264", "r")
        context.extradata, context.thread_count = parameter_sets, 1
        # Concealed pictures are shown, and none waits for another.
        context.options = {"flags": "+output_corrupt+low_delay"}
        self._context = context

    def decode(self, frame: int, slices: Sequence[bytes]) -> Any | None:
        """The picture of a frame from the slices of it that arrived; None if there is none."""
        if not slices:
            return None
        packet = self._av.Packet(b"".join(START_CODE + one for one in slices))
        packet.pts = frame
        try:
            pictures = self._context.decode(packet)
        except self._av.error.FFmpegError:
            return None
        return next((picture for picture in pictures if picture.pts == frame), None)
