"""States of a mmWave link from recordings of its rate: a semi-Markov chain with thresholded states.

A state is a range of rates, so its begin and its length can be read from a recording and from a draw in the same
way. The bounds are given, or found by k-means over the square roots of the rates. Fitted for each state: the rate's
quantiles; the maximum-likelihood Weibull dwell time, seen in whole intervals; how often each other state is the next;
and the correlation of neighbouring normal scores.

The generator bends its AR(1) process where states change (`ramps`). The bend moves the distribution within a state and
its correlation. So both are measured on a long draw: quantiles are mapped through the measured distribution, and time
constants are corrected until the draw has the recordings' correlations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats
from scipy.cluster.vq import kmeans2

from paceline.errors import UsageError
from paceline.fitting.recordings import Rates, Values, draw_rates, joined

States: TypeAlias = "npt.NDArray[np.intp]"

LEAST_INTERVALS = 120
"""Fewest intervals that a state model is fitted to."""
LEAST_STAYS = 5
"""Fewest whole stays (beginning and end seen) that a dwell time is fitted to."""
DWELL_SHAPES = (0.2, 10.0)
LEAST_RHO, MOST_RHO = 0.01, 0.999
"""A lower correlation counts as none; a higher one cannot be told from a constant."""
PROBE = 100_000
"""Values drawn to measure the effect of the ramps."""
CORRECTIONS = 4
"""Rounds in which the time constants are corrected."""
NAMES = {
    2: ("blocked", "los"),
    3: ("blocked", "reflected", "los"),
    4: ("blocked", "fallback", "reflected", "los"),
}


@dataclass(frozen=True)
class Stays:
    """Lengths of the stays in a state, in intervals: whole stays, and those that the recording cut off."""

    whole: Values
    cut: Values


@dataclass(frozen=True)
class State:
    """A fitted state."""

    name: str
    mbps: list[float]
    rho: float
    """Correlation of neighbouring intervals, before the ramps."""
    dwell_s: float
    dwell_shape: float
    next: dict[str, float]
    share: float
    stays: int

    def correlation_s(self, interval_s: float) -> float:
        """Time constant of the AR(1) process; 0: none."""
        return 0.0 if self.rho < LEAST_RHO else _rounded(-interval_s / math.log(self.rho))


@dataclass(frozen=True)
class BlockageFit:
    """Fitted parameters, ready for a scenario."""

    bounds: list[float]
    """Bounds between the states in Mbit/s, in rising order."""
    interval_s: float
    states: list[State]

    @property
    def rate(self) -> dict[str, object]:
        """The `rate` of a link."""
        states = [
            {
                "name": state.name,
                "dwell": f"{state.dwell_s}s",
                "dwell_shape": state.dwell_shape,
                "correlation": f"{state.correlation_s(self.interval_s)}s",
                "next": state.next,
                "rates": [f"{value:g}Mbps" for value in state.mbps],
            }
            for state in self.states
        ]
        return {"generator": "mmwave", "interval": f"{self.interval_s:.9g}s", "ramps": True, "states": states}


def fit_blockage(
    recordings: Sequence[Rates], *, states: int = 4, bounds: Sequence[float] | None = None, quantiles: int = 21
) -> BlockageFit:
    """Fits the generator to recordings of one interval.

    Raises:
        UsageError: They are too short or too uniform, or a state is visited too rarely.
    """
    _expect_enough(recordings)
    edges = sorted(bounds) if bounds else _found_bounds(joined([one.mbps for one in recordings]), states)
    names = NAMES.get(len(edges) + 1) or tuple(f"state-{number}" for number in range(1, len(edges) + 2))
    every = [states_of(one.mbps, edges) for one in recordings]
    counts = _moves(every, len(names))
    fitted = [_fit_state(number, names, recordings, every, counts, edges) for number in range(len(names))]
    fit = BlockageFit([float(edge) for edge in edges], recordings[0].interval_s, fitted)
    pools = [
        joined([one.mbps[at == number] for one, at in zip(recordings, every, strict=True)])
        for number in range(len(names))
    ]
    return _bent(fit, pools, quantiles)


def states_of(mbps: Values, bounds: Sequence[float]) -> States:
    """The number of the state that each value is in."""
    return np.digitize(mbps, bounds)


def stays_of(every: Sequence[States], state: int) -> Stays:
    """The stays in a state. The first and the last of a recording were cut off: they may have been longer."""
    whole: list[int] = []
    cut: list[int] = []
    for states in every:
        starts = np.concatenate([[0], np.flatnonzero(np.diff(states)) + 1])
        lengths = np.diff(np.concatenate([starts, [len(states)]]))
        for number, (start, length) in enumerate(zip(starts, lengths, strict=True)):
            if states[start] == state:
                (cut if number in (0, len(starts) - 1) else whole).append(int(length))
    return Stays(np.array(whole, float), np.array(cut, float))


def _expect_enough(recordings: Sequence[Rates]) -> None:
    if not recordings:
        raise UsageError("recordings: found none, expected at least one")
    found = sum(len(one.mbps) for one in recordings)
    if found < LEAST_INTERVALS:
        seconds = recordings[0].interval_s
        raise UsageError(
            f"{', '.join(one.name for one in recordings)}: found {found} intervals of {seconds:g} s, expected at least "
            f"{LEAST_INTERVALS}: record longer, or choose a shorter --interval if the recording is finer"
        )
    for one in recordings:
        if len(one) and np.ptp(one.mbps) == 0:
            raise UsageError(
                f"{one.name}: found a constant rate of {one.mbps[0]:g} Mbit/s, expected one that changes: "
                "there is nothing to fit"
            )


def _found_bounds(mbps: Values, states: int) -> list[float]:
    """Bounds halfway between the centres of k-means over square roots, so that low rates count like high ones."""
    roots = np.sqrt(mbps)
    start = np.quantile(roots, (np.arange(states) + 0.5) / states)
    if len(np.unique(start)) < states:
        start = np.linspace(roots.min(), roots.max(), states)
    centres, _ = kmeans2(roots[:, None], start[:, None], minit="matrix", iter=100)
    centres = np.sort(centres[:, 0])
    return [_rounded(float(edge) ** 2) for edge in (centres[1:] + centres[:-1]) / 2]


def _moves(every: Sequence[States], count: int) -> Values:
    """How often each state followed each other one."""
    counts = np.zeros((count, count))
    for states in every:
        moved = np.flatnonzero(np.diff(states))
        np.add.at(counts, (states[moved], states[moved + 1]), 1)
    return counts


def _fit_state(
    number: int,
    names: Sequence[str],
    recordings: Sequence[Rates],
    every: Sequence[States],
    counts: Values,
    edges: Sequence[float],
) -> State:
    stays = stays_of(every, number)
    if len(stays.whole) < LEAST_STAYS:
        low, high = ([0.0, *edges])[number], ([*edges, math.inf])[number]
        raise UsageError(
            f"state {names[number]} (from {low:g} to {high:g} Mbit/s): found {len(stays.whole)} stays with beginning "
            f"and end, expected at least {LEAST_STAYS}: fewer --states, other --bounds, or more recordings"
        )
    values = joined([one.mbps[states == number] for one, states in zip(recordings, every, strict=True)])
    interval = recordings[0].interval_s
    mean, shape = _fit_dwell(stays)
    weights = counts[number] / counts[number].sum()
    return State(
        name=names[number],
        mbps=[],
        rho=neighbours([one.mbps for one in recordings], every, number),
        dwell_s=_rounded(mean * interval),
        dwell_shape=_rounded(shape),
        next={name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True) if weight > 0},
        share=len(values) / sum(len(one.mbps) for one in recordings),
        stays=len(stays.whole),
    )


def _fit_dwell(stays: Stays) -> tuple[float, float]:
    """Mean and shape of the Weibull time whose round-up to whole intervals is most likely."""

    def unlikelihood(logs: Values) -> float:
        law = stats.weibull_min(math.exp(logs[1]), scale=math.exp(logs[0]))
        seen = law.sf(stays.whole - 1) - law.sf(stays.whole)
        longer = law.sf(stays.cut - 1)
        return -float(np.log(np.maximum(seen, 1e-300)).sum() + np.log(np.maximum(longer, 1e-300)).sum())

    low, high = (math.log(shape) for shape in DWELL_SHAPES)
    start = [math.log(stays.whole.mean()), 0.0]
    found = optimize.minimize(
        unlikelihood, start, method="Nelder-Mead", bounds=[(-7.0, 20.0), (low, high)], options={"xatol": 1e-4}
    )
    scale, shape = math.exp(found.x[0]), math.exp(found.x[1])
    return max(scale * math.gamma(1 + 1 / shape), 1e-3), shape


def neighbours(series: Sequence[Values], every: Sequence[States], number: int) -> float:
    """Correlation of the normal scores of neighbouring values of one state."""
    ordered = np.sort(joined([one[states == number] for one, states in zip(series, every, strict=True)]))
    before: list[Values] = []
    after: list[Values] = []
    for one, states in zip(series, every, strict=True):
        scores = normal_scores(one, ordered)
        both = (states[1:] == number) & (states[:-1] == number)
        before.append(scores[:-1][both])
        after.append(scores[1:][both])
    x, y = joined(before), joined(after)
    power = float((x * x + y * y).sum()) / 2
    return float((x * y).sum()) / power if power > 0 else 0.0


def _bent(fit: BlockageFit, pools: Sequence[Values], quantiles: int) -> BlockageFit:
    """The fit with time constants and rates corrected for the generator's ramps."""
    wanted = [state.rho for state in fit.states]
    steps = np.linspace(0, 1, quantiles)
    for correction in range(CORRECTIONS + 1):
        numbers, places = _probe(fit)
        if correction == CORRECTIONS:
            break
        found = [neighbours([places], [numbers], number) for number in range(len(wanted))]
        moved = [state.rho + want - have for state, want, have in zip(fit.states, wanted, found, strict=True)]
        states = [
            replace(state, rho=min(MOST_RHO, max(0.0, rho))) for state, rho in zip(fit.states, moved, strict=True)
        ]
        fit = replace(fit, states=states)
    states = []
    for number, (state, pool) in enumerate(zip(fit.states, pools, strict=True)):
        inside = np.sort(places[numbers == number])
        reached = np.searchsorted(inside, steps) / max(1, len(inside))
        reached[0], reached[-1] = 0.0, 1.0
        states.append(replace(state, mbps=[_rounded(float(value)) for value in np.quantile(pool, reached)]))
    return replace(fit, states=states)


def _probe(fit: BlockageFit) -> tuple[States, Values]:
    """State and quantile of each value of a long draw, read from rates: state 3 is given rates from 3 to 4 Gbit/s."""
    marked = [replace(state, mbps=[1000.0 * number, 1000.0 * (number + 1)]) for number, state in enumerate(fit.states)]
    drawn = draw_rates(replace(fit, states=marked).rate, PROBE, fit.interval_s, seed=1).mbps / 1000
    numbers = np.minimum(drawn.astype(np.intp), len(fit.states) - 1)
    return numbers, drawn - numbers


def normal_scores(values: Values, ordered: Values) -> Values:
    """Ranks of values among `ordered`, as standard normal values; equal values share their middle rank."""
    places = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    probability = places / (2 * len(ordered))
    edge = 0.5 / len(ordered)
    scores: Values = stats.norm.ppf(np.clip(probability, edge, 1 - edge))
    return scores


def _rounded(value: float) -> float:
    """The value rounded to four digits, and to a thousandth at the finest."""
    if value == 0:
        return 0.0
    return round(value, max(0, min(3, 3 - math.floor(math.log10(abs(value))))))
