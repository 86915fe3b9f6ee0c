"""The encoder in the loop: x264 through PyAV, asked once per frame, its frames cut into slices of one packet each.

A slice fills its packet: all but a frame's last are padded to the largest payload, so that packet n of a frame carries
slice n and a lost packet damages no other. Parameter sets travel by signalling, as in SDP, and count nowhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from paceline.video import pyav
from paceline.video.encoded import Encoded, Request

if TYPE_CHECKING:
    from paceline.video.cache import Cache
    from paceline.video.clips import Clip
    from paceline.video.sequence import Sequence

START_CODE = b"\0\0\0\1"
_START = re.compile(b"\0\0\0?\1")
_SLICE, _KEY_SLICE, _SEQUENCE, _PICTURE = 1, 5, 7, 8
"""Types of NAL units (H.264 Table 7-1)."""

HIGHEST_KBPS = 400_000
"""The settings of the encoder at first: x264 keeps to a constant rate, and follows it, if it began at its maximum."""
LOWEST_KBPS = 10
WATCHED = 30
"""Frames over which what padding adds is measured."""


def settings(stream: dict[str, Any], clip: Clip) -> dict[str, Any]:
    """Everything that the encoder's output follows from, beside the requests."""
    names = ("fps", "repeat", "codec", "preset", "key_interval", "intra_refresh", "buffer", "max_payload")
    versions = pyav().library_versions
    return {name: stream[name] for name in names} | {"clip": clip.digest, "version": versions["libavcodec"]}


class X264:
    """Encodes the pictures of a clip, one after another."""

    def __init__(self, stream: dict[str, Any], clip: Clip) -> None:
        av = pyav()
        self._av, self._clip, self._repeat = av, clip, stream["repeat"]
        fps = Fraction(stream["fps"]).limit_denominator(1001)
        interval = max(1, round(stream["key_interval"] * float(fps)))
        context = av.CodecContext.create("libx264", "w")
        context.width, context.height = clip.size
        context.pix_fmt, context.time_base, context.framerate = "yuv420p", 1 / fps, fps
        context.bit_rate, context.thread_count = HIGHEST_KBPS * 1000, 1
        context.gop_size, context.max_b_frames = interval, 0
        refresh = ":intra-refresh=1" if stream["intra_refresh"] else ""
        context.options = {
            "preset": stream["preset"],
            "tune": "zerolatency",
            "maxrate": str(HIGHEST_KBPS * 1000),
            "bufsize": str(int(stream["buffer"]) * 8),
            "forced-idr": "1",
            "x264-params": f"ref=1:scenecut=0:keyint={interval}:slice-max-size={stream['max_payload']}{refresh}",
        }
        context.open()
        self._context, self._frame, self._most = context, 0, stream["max_payload"]
        self._pictures: dict[int, Any] = {}
        self._bytes: deque[tuple[int, int]] = deque(maxlen=WATCHED)
        self.parameter_sets = b""
        """The header that a decoder has to know beforehand; known with the first frame."""

    def encode(self, request: Request) -> Encoded:
        """The next frame. Bytes that padding added lately are taken off the rate."""
        own, padded = (sum(column) for column in zip(*self._bytes, strict=True)) if self._bytes else (1, 1)
        self._context.bit_rate = max(LOWEST_KBPS, request.kbps * own // padded) * 1000
        kinds = self._av.video.frame.PictureType
        frame = self._picture(self._clip.index(self._frame, self._repeat))
        frame.pts, frame.pict_type = self._frame, kinds.I if request.key else kinds.NONE
        self._frame += 1
        units = [unit for packet in self._context.encode(frame) for unit in _START.split(bytes(packet)) if unit]
        slices = tuple(unit for unit in units if unit[0] & 31 in (_SLICE, _KEY_SLICE))
        if not self.parameter_sets:
            sets = [unit for unit in units if unit[0] & 31 in (_SEQUENCE, _PICTURE)]
            self.parameter_sets = b"".join(START_CODE + unit for unit in sets)
        self._bytes.append((max(1, sum(map(len, slices))), max(1, payload(slices, self._most))))
        return Encoded(slices, bool(slices) and slices[0][0] & 31 == _KEY_SLICE)

    def _picture(self, index: int) -> Any:
        """A picture of the clip as PyAV has it, made once."""
        if index not in self._pictures:
            pixels = self._clip.pictures[index]
            self._pictures[index] = self._av.VideoFrame.from_ndarray(pixels, format="yuv420p")
        return self._pictures[index]


def payload(slices: tuple[bytes, ...], most: int) -> int:
    """Bytes of a frame in packets of at most `most`: every slice but the last is padded to fill its packet."""
    whole, last = slices[:-1], slices[-1:]
    return len(whole) * most + sum(map(len, last))


class EncoderInLoop:
    """Answers the simulator's requests, from the cache as long as it holds what is asked, else by encoding."""

    def __init__(self, stream: dict[str, Any], clip: Clip, sequence: Sequence, cache: Cache) -> None:
        self.stream, self._clip, self.sequence = stream, clip, sequence
        made_of = json.dumps(settings(stream, clip), sort_keys=True)
        self._tape = cache.tape(hashlib.sha256(made_of.encode()).hexdigest())
        self._encoder: X264 | None = None
        self._requests: list[Request] = []

    def __call__(self, number: int, captured_ns: int, target_bps: int, key: bool) -> tuple[int, bool]:
        """Size of the frame in bytes, and whether it is a key frame."""
        request = Request(max(LOWEST_KBPS, min(target_bps // 1000, HIGHEST_KBPS)), key)
        encoded = self._tape.replay(request) if self._encoder is None else None
        if encoded is None:
            encoded = self._live().encode(request)
        self._requests.append(request)
        self._tape.record(request, encoded)
        self.sequence.append(captured_ns, encoded)
        return payload(encoded.slices, self.stream["max_payload"]), encoded.key

    def _live(self) -> X264:
        """The encoder after all that was asked so far."""
        if self._encoder is None:
            self._encoder = X264(self.stream, self._clip)
            for request in self._requests:
                self._encoder.encode(request)
        return self._encoder

    def finish(self) -> None:
        """Nothing more is asked."""
        self._tape.finish()
        self.sequence.parameter_sets = self._parameter_sets()

    def _parameter_sets(self) -> bytes:
        if self._encoder is None:
            encoder = X264(self.stream, self._clip)
            encoder.encode(Request(1000, True))
            return encoder.parameter_sets
        return self._encoder.parameter_sets
