"""The receiver's pictures: each frame decoded from what arrived in time, and compared with the source's picture."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from paceline.video.decoder import Decoder
from paceline.video.quality import Meter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from paceline.video.clips import Clip
    from paceline.video.sequence import Sequence

WORST = 3
"""Moments of which pictures are kept: the worst of as many seconds."""


class Arrivals:
    """When each slice of each frame arrived, and where the last one of a frame had spent its time."""

    def __init__(self, sequence: Sequence, packets: dict[str, bytes]) -> None:
        import numpy as np

        columns = {name: np.frombuffer(values, np.float64) for name, values in packets.items()}
        self.captured = np.asarray(sequence.captured_ns, np.float64)
        counts = np.array([sequence.count(frame) for frame in range(len(sequence))], np.int64)
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        frames = np.searchsorted(self.captured, columns["captured_ns"])
        whole = np.isnan(columns["place"])
        places = np.where(whole, 0, columns["place"]).astype(np.int64)
        self.unknown = int(np.sum(places >= counts[frames])) if len(frames) else 0
        """Packets that are none of the slices, since the transport cut frames smaller than the encoder did."""
        self.late_ns = np.full(self.starts[-1], np.inf)
        """From a frame's capture to the arrival of each of its slices; infinite if it never arrived."""
        self.parts = np.full((self.starts[-1], 4), np.nan)
        """Of each slice in nanoseconds: in the sender, in link queues, delay noise, the rest of the way."""
        arrived = ~np.isnan(columns["arrived_ns"]) & (places < counts[frames])
        at = (self.starts[frames] + places)[arrived]
        spent = {name: values[arrived] for name, values in columns.items()}
        self.late_ns[at] = spent["arrived_ns"] - spent["captured_ns"]
        travel = spent["arrived_ns"] - spent["sent_ns"] - spent["queue_ns"] - spent["noise_ns"]
        self.parts[at] = np.stack(
            [spent["sent_ns"] - spent["captured_ns"], spent["queue_ns"], spent["noise_ns"], travel], axis=1
        )
        # Of a whole frame the transport says when its last byte was there: all its slices came then.
        for frame in frames[arrived & whole]:
            first, end = self.starts[frame], self.starts[frame + 1]
            self.late_ns[first:end] = self.late_ns[first]

    def are_same_in_time(self, one_s: float, other_s: float) -> bool:
        """Whether no slice arrives between the decodings with these two sizes of the de-jitter buffer."""
        low, high = sorted((one_s, other_s))
        return not bool(((self.late_ns > low * 1e9) & (self.late_ns <= high * 1e9)).any())


class Worst(NamedTuple):
    """A moment that looked bad."""

    psnr_db: float
    frame: int
    picture: Any
    """The picture shown; None before the first."""


@dataclass(frozen=True)
class Judgement:
    """One stream as its receiver saw it with one size of the de-jitter buffer; an entry for each frame captured."""

    dejitter_s: float
    psnr_db: NDArray[np.float32]
    ssim: NDArray[np.float32]
    shown: NDArray[np.bool_]
    """Whether a new picture was shown; else the last one was shown on."""
    lost: NDArray[np.int32]
    """Slices that never arrived."""
    late: NDArray[np.int32]
    """Slices that arrived after the frame's decoding."""
    worst: list[Worst]
    """The worst moments, the worst first."""


def judge(
    clip: Clip,
    repeat: str,
    sequence: Sequence,
    arrivals: Arrivals,
    dejitter_s: float,
    progress: Callable[[int], None] | None = None,
) -> Judgement:
    """Decodes what arrived within `dejitter_s` of each frame's capture, and compares what is shown with the source."""
    import numpy as np

    count = len(sequence)
    psnr, ssim, shown = np.zeros(count, np.float32), np.zeros(count, np.float32), np.zeros(count, bool)
    in_time = arrivals.late_ns <= dejitter_s * 1e9
    decoder, meter = Decoder(sequence.parameter_sets), Meter(clip)
    picture: Any | None = None
    moments = _Moments()
    for frame in range(count):
        kept = in_time[arrivals.starts[frame] : arrivals.starts[frame + 1]]
        slices = [one for one, keep in zip(sequence.slices(frame), kept, strict=True) if keep]
        decoded = decoder.decode(frame, slices)
        shown[frame] = decoded is not None
        picture = picture if decoded is None else decoded
        psnr[frame], ssim[frame] = meter.compare(picture, clip.index(frame, repeat))
        moments.note(int(arrivals.captured[frame] // 1e9), Worst(float(psnr[frame]), frame, picture))
        if progress is not None and frame % 64 == 0:
            progress(64)
    never = np.isinf(arrivals.late_ns)
    return Judgement(
        dejitter_s,
        psnr,
        ssim,
        shown,
        _per_frame(never, arrivals.starts),
        _per_frame(~never & ~in_time, arrivals.starts),
        moments.worst(),
    )


def _per_frame(slices: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    import numpy as np

    sums = np.concatenate([[0], np.cumsum(slices)])
    counts: NDArray[np.int32] = (sums[starts[1:]] - sums[starts[:-1]]).astype(np.int32)
    return counts


class _Moments:
    """Finds the worst picture of each second, and keeps those of the worst seconds."""

    def __init__(self) -> None:
        self._second = -1
        self._now: Worst | None = None
        self._kept: list[tuple[float, int, Worst]] = []

    def note(self, second: int, moment: Worst) -> None:
        if second != self._second:
            self._pass()
            self._second = second
        if self._now is None or moment.psnr_db < self._now.psnr_db:
            self._now = moment

    def _pass(self) -> None:
        if self._now is None:
            return
        heapq.heappush(self._kept, (-self._now.psnr_db, -self._now.frame, self._now))
        if len(self._kept) > WORST:
            heapq.heappop(self._kept)
        self._now = None

    def worst(self) -> list[Worst]:
        self._pass()
        return [moment for *_, moment in sorted(self._kept, reverse=True)]
