"""Two-sample distances: Kolmogorov-Smirnov, and 1-Wasserstein relative to the mean of the first sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np
from scipy import stats

from paceline.fitting.blockage import states_of, stays_of
from paceline.fitting.frame_sizes import with_keys
from paceline.fitting.recordings import Frames, Rates, Values, joined

LAGS_S = (1, 5, 10, 30)
"""Lags of the autocorrelation of rates, in seconds."""
LAGS_FRAMES = (1, 2, 5, 10)
"""Lags of the autocorrelation of frame sizes, in frames."""
LEAST = 5
"""Fewest values of a sample that is compared."""


@dataclass(frozen=True)
class Distance:
    """Two distances between two samples; absent if one of them is too small."""

    ks: float | None
    """Largest difference of the two distribution functions; of an autocorrelation: none."""
    wasserstein: float | None
    """Area between the two distribution functions over the mean; of an autocorrelation: the difference."""


Distances = Mapping[str, Distance]
Recording = TypeVar("Recording", Rates, Frames)


def rate_distances(
    first: Sequence[Rates], second: Sequence[Rates], bounds: Sequence[float], names: Sequence[str]
) -> dict[str, Distance]:
    """Of rates, their changes over 1 s, the dwell time in each state, and the autocorrelation."""
    a, b = joined([one.mbps for one in first]), joined([one.mbps for one in second])
    step = max(1, round(1.0 / first[0].interval_s))
    seconds = step * first[0].interval_s
    table = {"rate": _distance(a, b)}
    change = [joined([one.mbps[step:] - one.mbps[:-step] for one in side]) for side in (first, second)]
    table[f"rate change over {seconds:g} s"] = _distance(change[0], change[1], scale=float(a.mean()))
    states = [[states_of(one.mbps, bounds) for one in side] for side in (first, second)]
    for number, name in enumerate(names):
        dwells = [stays_of(side, number).whole for side in states]
        table[f"dwell time, {name}"] = _distance(dwells[0], dwells[1])
    for lag in LAGS_S:
        steps = round(lag / first[0].interval_s)
        if steps:
            found = [autocorrelation([one.mbps for one in side], steps) for side in (first, second)]
            table[f"autocorrelation, {lag} s"] = _difference(found[0], found[1])
    return table


def frame_distances(first: Sequence[Frames], second: Sequence[Frames]) -> dict[str, Distance]:
    """Of key and delta frames relative to the mean of all, changes between neighbours, and the autocorrelation."""
    sides = [[with_keys(one) for one in side] for side in (first, second)]
    means = [float(joined([one.sizes for one in side]).mean()) for side in sides]
    relative = [[one.sizes / mean for one in side] for side, mean in zip(sides, means, strict=True)]
    keys = [joined([one.sizes[one.keys] for one in side]) / mean for side, mean in zip(sides, means, strict=True)]
    deltas = [joined([one.sizes[~one.keys] for one in side]) / mean for side, mean in zip(sides, means, strict=True)]
    changes = [joined([np.diff(one) for one in side]) for side in relative]
    table = {
        "key frames": _distance(keys[0], keys[1]),
        "delta frames": _distance(deltas[0], deltas[1]),
        "change to the next frame": _distance(changes[0], changes[1], scale=1.0),
    }
    for lag in LAGS_FRAMES:
        unit = "frame" if lag == 1 else "frames"
        found = [autocorrelation(side, lag) for side in relative]
        table[f"autocorrelation, {lag} {unit}"] = _difference(found[0], found[1])
    return table


def autocorrelation(series: Sequence[Values], lag: int) -> float | None:
    """Autocorrelation over several series, each about its own mean; none if all are too short."""
    centred = [one - one.mean() for one in series if len(one) > lag]
    products = joined([one[lag:] * one[:-lag] for one in centred])
    variance = float((joined(centred) ** 2).mean()) if centred else 0.0
    return float(products.mean()) / variance if len(products) >= LEAST and variance > 0 else None


def among_themselves(recordings: Sequence[Recording], compare: Callable[..., Distances]) -> list[Distances]:
    """The yardstick: distances between every two recordings, or between the halves of a single one."""
    if len(recordings) == 1:
        return [compare(*([half] for half in recordings[0].split(0.5)))]
    return [compare([one], [other]) for one, other in combinations(recordings, 2)]


def _distance(first: Values, second: Values, scale: float | None = None) -> Distance:
    if min(len(first), len(second)) < LEAST:
        return Distance(None, None)
    scale = float(first.mean()) if scale is None else scale
    ks = float(stats.ks_2samp(first, second, method="asymp").statistic)
    return Distance(ks, float(stats.wasserstein_distance(first, second)) / scale if scale > 0 else None)


def _difference(first: float | None, second: float | None) -> Distance:
    return Distance(None, None if first is None or second is None else abs(first - second))
