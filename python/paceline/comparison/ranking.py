"""Which controller is ahead by stated weights, and at which weight that changes.

A controller's score in a figure is the mean over conditions of its share of the best: of a figure of which more is
better `(own + floor) / (best + floor)`, of the others `(best + floor) / (own + floor)`, with medians over the seeds. So
a score lies between 0 and 1, and the best of a condition has 1. Its utility is the mean of its scores by the weights.
The utility is linear in them, so that a change of places is solved exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paceline.comparison.figures import FIGURES, Figure

if TYPE_CHECKING:
    import pandas as pd


ROUNDING = 1e-12
"""A weight below this is zero but for rounding."""


@dataclass(frozen=True)
class Flip:
    """A weight at which the first place, or the order of the first two, changes."""

    figure: str
    """The figure whose weight changes, all others being as they are."""
    weight: float
    """The weight that it has."""
    at: float
    """The weight at which the two are equal."""
    first: str
    """The one of both that is ahead at the weights that are."""
    other: str
    """The one that is ahead beyond."""
    leads: bool
    """Whether the other is then ahead of all."""

    @property
    def said(self) -> str:
        """The change in words."""
        beyond = "above" if self.at > self.weight else "below"
        place = "is first" if self.leads else f"is ahead of {self.first}"
        return f"{self.figure} {beyond} {self.at:.3g} (now {self.weight:g}): {self.other} {place}"


@dataclass(frozen=True)
class Ranking:
    """Controllers by their utility, the best first."""

    weights: dict[str, float]
    """As they were said; a figure that cannot be scored has none."""
    scores: dict[str, dict[str, float]]
    """By controller, then by figure."""
    utilities: dict[str, float]
    """By controller, the best first."""
    flips: list[Flip]
    notes: list[str]
    """The omissions, and why."""

    @property
    def order(self) -> list[str]:
        """The controllers, the best first."""
        return list(self.utilities)


def rank(medians: pd.DataFrame, weights: Mapping[str, float]) -> Ranking:
    """Ranks the controllers that ran, over the conditions under which all of them did."""
    notes: list[str] = []
    ranked = _ranked(medians, notes)
    every = {name: _scores(medians, figure, ranked, notes) for name, figure in FIGURES.items()}
    known = {name: scores for name, scores in every.items() if scores}
    for name in (name for name, weight in weights.items() if weight and name not in known):
        notes.append(f"{name} does not count: no condition has it of every controller that is ranked")
    used = {name: weight for name, weight in weights.items() if name in known}
    scores = {one: {name: of_figure[one] for name, of_figure in known.items()} for one in ranked}
    order = utility_order(scores, used) if any(used.values()) else []
    utilities = {one: utility(scores[one], used) for one in order}
    flips = [flip for name in known for flip in _flips(name, list(utilities), scores, used)]
    return Ranking(dict(used), scores, utilities, flips, notes)


def utility(scores: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The mean of the scores by the weights."""
    total = sum(weights.values())
    return sum(weight * scores[name] for name, weight in weights.items()) / total if total else math.nan


def utility_order(scores: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]) -> list[str]:
    """The controllers by their utility, the best first; of equal ones the one that was named first."""
    return sorted(scores, key=lambda one: -utility(scores[one], weights))


def _ranked(medians: pd.DataFrame, notes: list[str]) -> list[str]:
    found = []
    for controller, own in medians.groupby("controller", sort=False):
        if (own["failed"] < own["runs"]).any():
            found.append(str(controller))
        else:
            notes.append(f"{controller} is not ranked: none of its runs went well")
    return found


def _scores(medians: pd.DataFrame, figure: Figure, ranked: Sequence[str], notes: list[str]) -> dict[str, float]:
    """The score of each controller, over the conditions that have the figure of all of them."""
    table = medians.pivot(index="condition", columns="controller", values=figure.column).reindex(columns=list(ranked))
    whole = table.dropna()
    if whole.empty:
        return {}
    if len(whole) < len(table) and not (missing := table.drop(whole.index).dropna(how="all")).empty:
        notes.append(
            f"{figure.name} leaves out {', '.join(map(str, missing.index))}: not every controller has it there"
        )
    share = whole + figure.floor
    parts = share.div(share.max(axis=1), axis=0) if figure.more else (1 / share).mul(share.min(axis=1), axis=0)
    return {one: float(parts[one].mean()) for one in ranked}


def _flips(
    name: str, order: Sequence[str], scores: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> list[Flip]:
    """Where the order of the first two changes with this weight, and who takes the first place on either side of it."""
    if len(order) < 2:
        return []
    now = weights.get(name, 0.0)
    others = {figure: weight for figure, weight in weights.items() if figure != name}
    if not any(others.values()):
        return []

    def base(one: str) -> float:
        return sum(weight * scores[one][figure] for figure, weight in others.items())

    def meets(other: str) -> float | None:
        """The weight at which the other has the first one's utility."""
        slope = scores[other][name] - scores[order[0]][name]
        at = (base(order[0]) - base(other)) / slope if slope else -1.0
        # A tie at no weight at all is no change: there is nothing below it.
        return at if at > ROUNDING and at != now else None

    places = {other: at for other in order[1:] if (at := meets(other)) is not None}
    leads = {
        min(above, key=lambda one: places[one]) for above in [[one for one in places if places[one] > now]] if above
    } | {max(below, key=lambda one: places[one]) for below in [[one for one in places if places[one] < now]] if below}
    wanted = [other for other in order[1:] if other in leads or (other == order[1] and other in places)]
    return [Flip(name, now, places[other], order[0], other, other in leads) for other in wanted]
