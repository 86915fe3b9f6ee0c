"""Whether one set beats another: paired differences over conditions, with their interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paceline.studies.estimates import half_interval
from paceline.studies.search_definition import Objective, Tuning
from paceline.studies.trials import Runs

LEAD = 0.2
"""A larger lead under one condition counts as this much for the margin: a fifth, in logarithms."""


@dataclass(frozen=True)
class Difference:
    """By how much one set is ahead of another in one objective; above zero it is better."""

    objective: str
    mean: float
    low: float
    high: float
    """The interval's ends; in logarithms where the objective's mean is geometric."""
    geometric: bool
    maximise: bool
    capped: float
    """The mean, with no condition counted for more than LEAD in its favour."""
    better: int
    """Under how many conditions it is ahead."""
    conditions: int

    @property
    def ahead(self) -> bool:
        """Whether the interval excludes zero on the better side."""
        return self.low > 0

    @property
    def change(self) -> tuple[float, float, float]:
        """The change of the objective: mean and ends of the interval, in percent where the mean is geometric."""
        ends = (self.mean, self.low, self.high) if self.maximise else (-self.mean, -self.high, -self.low)
        if not self.geometric:
            return ends
        mean, low, high = (100 * math.expm1(end) for end in ends)
        return mean, low, high


@dataclass(frozen=True)
class Duel:
    """One set beside another on the held-out conditions."""

    one: str
    other: str
    differences: list[Difference]

    @property
    def beats(self) -> bool:
        """Whether the first is ahead in every objective of the judgement."""
        return all(difference.ahead for difference in self.differences)


def duel(tuning: Tuning, names: tuple[str, str], runs: tuple[Runs, Runs], conditions: Sequence[str]) -> Duel:
    """The first set beside the second."""
    return Duel(*names, differences(tuning, *runs, conditions))


def differences(tuning: Tuning, one: Runs, other: Runs, conditions: Sequence[str]) -> list[Difference]:
    """By how much the first is ahead in each objective of the judgement."""
    found = []
    for name in tuning.judgement.objectives:
        objective = tuning.objectives[name]
        ours, theirs = ([runs[condition][name] for condition in conditions] for runs in (one, other))
        scores = (1 if objective.maximise else -1) * (objective.scores(ours) - objective.scores(theirs))
        found.append(difference(objective, scores, tuning.judgement.confidence))
    return found


def difference(objective: Objective, scores: Any, confidence: float) -> Difference:
    """The mean of paired differences, with its interval."""
    import numpy as np

    mean, half = float(scores.mean()), half_interval(scores, confidence)
    # One condition tells nothing of the spread.
    half = math.inf if half is None else half
    return Difference(
        objective.name,
        mean,
        mean - half,
        mean + half,
        objective.geometric,
        objective.maximise,
        float(np.minimum(scores, LEAD).mean()),
        int((scores > 0).sum()),
        len(scores),
    )
