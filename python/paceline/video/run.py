"""A simulated run with real video: encoders attached before it, pictures judged after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline.video import VideoError, pyav
from paceline.video.cache import Cache
from paceline.video.clips import Clip, clip_of
from paceline.video.encoder import EncoderInLoop
from paceline.video.judge import Arrivals, Judgement, judge
from paceline.video.sequence import Sequence

if TYPE_CHECKING:
    from paceline.scenario import LoadedScenario

SIMULATED = 0.6
"""Part of a run, encoding in, that is over when the simulation is; the rest is decoding."""


@dataclass(frozen=True)
class Video:
    """One stream's encoded frames, their arrivals, and how they looked."""

    stream: dict[str, Any]
    """Its settings in the scenario: its flow, its stream, and every parameter in base units."""
    clip: Clip
    sequence: Sequence
    arrivals: Arrivals
    judgements: list[Judgement]
    """One for each size of the de-jitter buffer, in the scenario's order."""
    vmaf: list[float] | None
    """VMAF of each frame with the first size, where the scenario asks for it."""

    @property
    def warnings(self) -> list[str]:
        """Oddities of the clip, or on the way."""
        found = [f"flows.{self.stream['flow']}.source: {told}" for told in self.clip.warnings]
        if self.arrivals.unknown:
            found.append(
                f"flows.{self.stream['flow']}.source: {self.arrivals.unknown} packets were smaller than its slices, "
                "which count as lost: say a smaller packet_size"
            )
        first = self.judgements[0] if self.judgements else None
        if first is not None and len(first.shown) and not first.shown.any():
            found.append(
                f"flows.{self.stream['flow']}.source: no frame arrived within {first.dejitter_s * 1e3:g} ms of its "
                "capture, so none is shown: say a larger dejitter"
            )
        return found

    def judged(self, dejitter_s: float) -> Judgement:
        """How it looks with another size of the de-jitter buffer, without a further simulation."""
        known = next((one for one in self.judgements if one.dejitter_s == dejitter_s), None)
        return known or judge(self.clip, self.stream["repeat"], self.sequence, self.arrivals, dejitter_s)


def simulate_video(
    scenario: LoadedScenario,
    run_core: Callable[..., tuple[_core.RunOutput, list[dict[str, bytes]]]],
    progress: Callable[[float], None] | None = None,
) -> tuple[_core.RunOutput, list[Video]]:
    """Runs a scenario with streams of pictures in the simulator by `run_core`, and judges them."""
    pyav()
    streams, cache = scenario.core.codecs, Cache.usual()
    clips = [_clip(stream) for stream in streams]
    encoders = [EncoderInLoop(stream, clip, Sequence(), cache) for stream, clip in zip(streams, clips, strict=True)]

    def simulated(part: float) -> None:
        if progress is not None:
            progress(SIMULATED * part)

    output, logs = run_core(encoders=encoders, progress=simulated)
    for encoder in encoders:
        encoder.finish()
    decoded = _Decoded(progress, sum(len(one.sequence) * len(one.stream["dejitter"]) for one in encoders))
    return output, [
        _judged(encoder, clip, packets, decoded) for encoder, clip, packets in zip(encoders, clips, logs, strict=True)
    ]


def _clip(stream: dict[str, Any]) -> Clip:
    try:
        return clip_of(stream)
    except VideoError as error:
        raise VideoError(f"flows.{stream['flow']}.source: {error}") from None


def _judged(encoder: EncoderInLoop, clip: Clip, packets: dict[str, bytes], decoded: _Decoded) -> Video:
    stream, sequence = encoder.stream, encoder.sequence
    arrivals = Arrivals(sequence, packets)
    judgements: list[Judgement] = []
    for dejitter in stream["dejitter"]:
        # With the same slices in time the receiver sees the same.
        same = next((one for one in judgements if arrivals.are_same_in_time(one.dejitter_s, dejitter)), None)
        if same is None:
            judgements.append(judge(clip, stream["repeat"], sequence, arrivals, dejitter, decoded))
        else:
            decoded(len(sequence))
            judgements.append(replace(same, dejitter_s=dejitter))
    vmaf = None
    if stream["vmaf"]:
        from paceline.video.vmaf import vmaf_of

        vmaf = vmaf_of(clip, stream, sequence, arrivals)
    return Video(stream, clip, sequence, arrivals, judgements, vmaf)


class _Decoded:
    """Says how much of the decoding is done."""

    def __init__(self, progress: Callable[[float], None] | None, frames: int) -> None:
        self._progress, self._frames, self._done = progress, max(1, frames), 0

    def __call__(self, frames: int) -> None:
        self._done += frames
        if self._progress is not None:
            self._progress(SIMULATED + (1 - SIMULATED) * min(1.0, self._done / self._frames))
