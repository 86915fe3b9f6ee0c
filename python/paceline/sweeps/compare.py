"""A sweep's published figures beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.studies.compare import Comparison
from paceline.studies.judge import NO_DATA, NOT_JUDGED
from paceline.sweeps.definition import Sweep
from paceline.sweeps.figures import Expression, Selection

if TYPE_CHECKING:
    import pandas as pd


def compare(sweep: Sweep, results: pd.DataFrame, *, judged: bool) -> list[Comparison]:
    """Every published figure with ours and the verdict by its rule."""
    known = sweep.known_designs
    lines = []
    for published in sweep.published:
        ours = None
        if published.metric is not None:
            selection = Selection.read(published.experiment, known, sweep.factors)
            expression = Expression.read(published.metric, known, sweep.factors, sweep.metrics)
            ours = expression.of(selection, results)
        verdict = sweep.rules[published.rule].verdict(published.published, ours)
        if not judged and verdict != NOT_JUDGED:
            verdict = NO_DATA
        lines.append(Comparison(published, ours, {}, verdict))
    return lines
