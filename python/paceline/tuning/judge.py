"""Whether one set beats another: paired differences over conditions, with their interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline.tuning.definition import Objective, Tuning

if TYPE_CHECKING:
    from paceline.tuning.runs import Runs


LEAD = 0.2
"""Of a set that is further ahead under one condition this much counts for the margin: a fifth, in logarithms."""


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
        """What becomes of the objective: the mean and the interval's ends, in percent where the mean is geometric."""
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
    return [
        _difference(tuning.objectives[name], _scores(tuning.objectives[name], one, other, conditions), tuning)
        for name in tuning.judgement.objectives
    ]


def _scores(objective: Objective, one: Runs, other: Runs, conditions: Sequence[str]) -> Any:
    """By how much the first is ahead under each condition."""
    ours, theirs = ([runs[condition][objective.metric] for condition in conditions] for runs in (one, other))
    return (1 if objective.maximise else -1) * (objective.scores(ours) - objective.scores(theirs))


def _difference(objective: Objective, scores: Any, tuning: Tuning) -> Difference:
    import numpy as np
    from scipy import stats

    count = len(scores)
    mean = float(scores.mean())
    # One condition tells nothing of the spread.
    error = float(stats.sem(scores)) if count > 1 else math.inf
    half = float(stats.t.ppf((1 + tuning.judgement.confidence) / 2, count - 1)) * error if count > 1 else math.inf
    return Difference(
        objective.metric,
        mean,
        mean - half,
        mean + half,
        objective.geometric,
        objective.maximise,
        float(np.minimum(scores, LEAD).mean()),
        int((scores > 0).sum()),
        count,
    )
