"""Controllers run twice at first: one that answers otherwise the second time cannot be graded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paceline.errors import ControllerError, PacelineError, of_controller
from paceline.scenario import ScenarioText
from paceline.scorecards.definition import PATIENCE_S, Entry
from paceline.simulation import simulate
from paceline.studies.patience import given_up_after

if TYPE_CHECKING:
    from paceline.result import Result


def expect_alike(entries: Sequence[Entry], data: Sequence[str]) -> None:
    """Runs the first case of each controller twice.

    A controller that fails there is left to its runs, which say so.

    Raises:
        ControllerError: The two runs differ: names the first sample that does, with both values.
    """
    for entry in {entry.contender.label: entry for entry in reversed(entries)}.values():
        try:
            first, second = (_run(entry, data) for _ in range(2))
        except Exception as error:
            if isinstance(error, PacelineError) or of_controller(error):
                continue
            raise
        if (said := difference(first, second)) is not None:
            raise ControllerError(
                f"controller {entry.contender.label}: found another answer in a second run of {entry.case.name!r}, "
                f"expected the same: {said}"
            )


def _run(entry: Entry, data: Sequence[str]) -> Result:
    changes = [*entry.condition.settings, ("sample", '"10ms"')]
    text = ScenarioText(entry.condition.text(entry.contender), None, list(data), changes, 1)
    with given_up_after(PATIENCE_S):
        return simulate(text.load())


def difference(one: Result, other: Result) -> str | None:
    """The first sample in which two runs differ; None if they are the same to the bit."""
    import numpy as np

    first, second = one.flows, other.flows
    rows = min(len(first), len(second))
    earliest: tuple[int, str] | None = None
    for column in first.columns:
        mine, theirs = first[column].to_numpy()[:rows], second[column].to_numpy()[:rows]
        same = (mine == theirs) | (first[column].isna().to_numpy()[:rows] & second[column].isna().to_numpy()[:rows])
        places = np.flatnonzero(~same)
        if len(places) and (earliest is None or places[0] < earliest[0]):
            earliest = (int(places[0]), column)
    if earliest is None:
        return None if len(first) == len(second) else f"{len(first)} samples and {len(second)}"
    place, column = earliest
    row = first.iloc[place]
    return f"at {row['time_s']:g} s, flow {row['flow']}, {column}: {row[column]!r} and {second.iloc[place][column]!r}"
