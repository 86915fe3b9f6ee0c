"""Frame sizes of an encoder from recordings: key frames apart, ordinary frames by quantiles and an AR(2) process.

Key frames are those that the file says, or else those at an even distance that are all larger than one and a half
means. The frames behind a key frame, which a rate control makes smaller, get a factor each. The rest is ordinary: its
quantiles are the distribution, the correlations of its normal scores over one and two frames the AR(2) process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paceline.errors import UsageError
from paceline.fitting.blockage import normal_scores
from paceline.fitting.recordings import Flags, Frames, Values, joined

LEAST_FRAMES = 200
"""Fewest frames that a generator is fitted to."""
LEAST_KEYS = 5
"""Fewest frames at an even distance that can be taken for key frames."""
KEY_RATIO = 1.5
"""Smallest size of a key frame, in mean frames, where the file does not mark key frames."""
MOST_AFTER = 8
"""Frames after a key frame whose mean size is looked at."""


@dataclass(frozen=True)
class FramesFit:
    """Fitted parameters, ready for a scenario."""

    generator: dict[str, object]
    """The `generator` of a `trace-encoder`."""


def with_keys(frames: Frames) -> Frames:
    """The recording with its key frames: those of the file, or those that are found."""
    return frames if frames.keys.any() else replace(frames, keys=_found_keys(frames.sizes))


def fit_frames(recordings: Sequence[Frames], *, quantiles: int = 41) -> FramesFit:
    """Fits the generator to recordings; key frames are searched for where none is said to be one.

    Raises:
        UsageError: They are too short or too uniform.
    """
    _expect_enough(recordings)
    recordings = [with_keys(one) for one in recordings]
    sizes = joined([one.sizes for one in recordings])
    mean = float(sizes.mean())
    interval = _key_interval(recordings)
    factors = _after_key(recordings) if interval else []
    masks = [_ordinary(one, len(factors)) for one in recordings]
    ordinary = joined([one.sizes[mask] for one, mask in zip(recordings, masks, strict=True)])
    correlation, correlation2 = _correlations(recordings, masks, ordinary)
    generator: dict[str, object] = {"kind": "frames", "mean": f"{round(mean)}B"}
    generator |= {"correlation": correlation, "correlation2": correlation2, "key_interval": interval}
    if interval:
        keys = joined([one.sizes[one.keys] for one in recordings])
        spread = float(np.log(keys[keys > 0]).std()) if (keys > 0).any() else 0.0
        generator |= {"key_scale": round(float(keys.mean() / ordinary.mean()), 3), "key_sigma": round(spread, 4)}
        generator |= {"after_key": factors} if factors else {}
    generator |= {"min": f"{max(1, int(sizes.min()))}B", "max": f"{int(sizes.max())}B"}
    steps = np.quantile(ordinary / mean, np.linspace(0, 1, quantiles))
    return FramesFit({**generator, "sizes": [round(float(step), 4) for step in steps]})


def _expect_enough(recordings: Sequence[Frames]) -> None:
    if not recordings:
        raise UsageError("recordings: found none, expected at least one")
    found = sum(len(one.sizes) for one in recordings)
    if found < LEAST_FRAMES:
        names = ", ".join(one.name for one in recordings)
        raise UsageError(f"{names}: found {found} frames, expected at least {LEAST_FRAMES}")
    for one in recordings:
        if len(one) and np.ptp(one.sizes) == 0:
            raise UsageError(
                f"{one.name}: found frames of one size ({one.sizes[0]:g} B), expected sizes that change: "
                "there is nothing to fit"
            )


def _found_keys(sizes: Values) -> Flags:
    """Frames at the smallest even distance at which all are large."""
    large = sizes > KEY_RATIO * sizes.mean()
    for interval in range(2, len(sizes) // LEAST_KEYS + 1):
        rows = len(sizes) // interval
        phases = np.flatnonzero(large[: rows * interval].reshape(rows, interval).all(axis=0))
        for phase in phases:
            keys = np.zeros(len(sizes), bool)
            keys[phase::interval] = True
            if large[keys].all():
                return keys
    return np.zeros(len(sizes), bool)


def _key_interval(recordings: Sequence[Frames]) -> int:
    """The most frequent distance of key frames, in frames; 0 without two of them."""
    distances = joined([np.diff(np.flatnonzero(one.keys)).astype(float) for one in recordings])
    return round(float(np.median(distances))) if len(distances) else 0


def _after_key(recordings: Sequence[Frames]) -> list[float]:
    """Mean size of each frame after a key frame over an ordinary one's, as far as the two clearly differ."""
    usual = joined([one.sizes[_ordinary(one, MOST_AFTER)] for one in recordings])
    factors: list[float] = []
    for distance in range(1, MOST_AFTER + 1):
        places = [np.flatnonzero(one.keys) + distance for one in recordings]
        found = joined([one.sizes[at[at < len(one.sizes)]] for one, at in zip(recordings, places, strict=True)])
        if len(found) < LEAST_KEYS:
            break
        factor = float(found.mean() / usual.mean())
        noise = float(found.std() / usual.mean() / np.sqrt(len(found)))
        if abs(factor - 1) < max(0.1, 2 * noise):
            break
        factors.append(round(factor, 3))
    return factors


def _ordinary(frames: Frames, behind: int) -> Flags:
    """Frames that are neither key frames nor just after one."""
    special = frames.keys.copy()
    for distance in range(1, behind + 1):
        special[distance:] |= frames.keys[:-distance]
    return ~special


def _correlations(recordings: Sequence[Frames], masks: Sequence[Flags], ordinary: Values) -> tuple[float, float]:
    """Correlations of the normal scores of ordinary frames, over one frame and over two."""
    ordered = np.sort(ordinary)
    scores = [normal_scores(one.sizes, ordered) for one in recordings]
    found: list[float] = []
    for lag in (1, 2):
        both = [mask[lag:] & mask[:-lag] for mask in masks]
        x = joined([score[:-lag][ok] for score, ok in zip(scores, both, strict=True)])
        y = joined([score[lag:][ok] for score, ok in zip(scores, both, strict=True)])
        found.append(float((x * y).sum() / ((x * x + y * y).sum() / 2)))
    first = round(min(0.98, max(-0.98, found[0])), 3)
    lowest = 2 * first * first - 1
    return first, round(min(0.98, max(lowest + 0.01, found[1])), 3)
