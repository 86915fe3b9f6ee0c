"""Medians and paired differences of runs that have their seeds in common."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from paceline.comparison.figures import DELAYS, FIGURES, PARTS, quantile_column
from paceline.studies.estimates import half_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

CONFIDENCE = 0.95
FEW = 5
"""With fewer seeds nothing is called better or worse."""

ONE_SEED = "one seed: no interval"
NO_SEED = "no seed in common"
NO_FIGURE = "one of the two has no such figure"
SAME = "the same with every seed"
ALIKE = "alike in these runs"
FEW_SEEDS = "few seeds"

_COLUMNS = {figure.column: figure for figure in FIGURES.values()}


def medians(runs: pd.DataFrame) -> pd.DataFrame:
    """By condition and controller: how many runs there are, how many failed, and the median of each figure."""
    import pandas as pd

    rows = []
    for (condition, controller), own in _groups(runs):
        figures = {column: float(own[column].median()) for column in _COLUMNS}
        failed = int(own["error"].notna().sum())
        rows.append({"condition": condition, "controller": controller, "runs": len(own), "failed": failed, **figures})
    return pd.DataFrame(rows, columns=["condition", "controller", "runs", "failed", *_COLUMNS])


def _groups(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """The runs of each controller under each condition, in the order of their first rows."""
    for condition, of_condition in runs.groupby("condition", sort=False):
        for controller, own in of_condition.groupby("controller", sort=False):
            yield (str(condition), str(controller)), own


def differences(runs: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """By condition, controller and figure: the mean over the seeds of what it has more than the baseline.

    `low` and `high` are the ends of the interval; `seeds` is how many runs both have; `note` says why there is no
    interval, or what to hold of it.
    """
    import pandas as pd

    rows = []
    for condition, of_condition in runs.groupby("condition", sort=False):
        base = of_condition[of_condition["controller"] == baseline].set_index("seed")
        for controller, own in of_condition.groupby("controller", sort=False):
            if controller != baseline:
                key = {"condition": str(condition), "controller": str(controller), "baseline": baseline}
                rows += [{**key, **row} for row in _paired(own.set_index("seed"), base)]
    head = ["condition", "controller", "baseline", "figure", "unit", "seeds", "baseline_mean", "difference"]
    return pd.DataFrame(rows, columns=[*head, "low", "high", "percent", "better", "note"])


def _paired(own: pd.DataFrame, base: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The differences of two controllers under one condition, a row for each figure."""
    import numpy as np
    import pandas as pd

    settled = _settled(own) and _settled(base)
    for column, figure in _COLUMNS.items():
        if own[column].isna().all() and base[column].isna().all():
            continue
        both = pd.concat([own[column], base[column]], axis=1, join="inner").dropna().sort_index()
        ours, theirs = both.to_numpy().T
        found = interval(ours - theirs)
        if own[column].isna().all() or base[column].isna().all():
            found = (math.nan, math.nan, NO_FIGURE)
        elif found[2] == SAME and not settled:
            # As a count of freezes may be: chance had its part, though these few runs show no spread.
            found = (math.nan, math.nan, ALIKE)
        row: dict[str, Any] = {"figure": column, "unit": figure.unit, "seeds": len(both)}
        mean, usual = (float(np.mean(ours - theirs)), float(np.mean(theirs))) if len(both) else (math.nan, math.nan)
        low, high, note = found
        row |= {"baseline_mean": usual, "difference": mean, "low": low, "high": high}
        row["percent"] = 100 * mean / usual if len(both) and usual else math.nan
        row["better"] = _verdict(low, high, figure.more) if len(both) >= FEW else None
        yield row | {"note": note}


def _settled(runs: pd.DataFrame) -> bool:
    """Whether no figure changes from seed to seed: nothing is left to chance."""
    return bool((runs[list(_COLUMNS)].nunique() <= 1).all())


def _verdict(low: float, high: float, more: bool) -> bool | None:
    """Whether it is better, or worse, than the baseline; None where the interval does not say."""
    if math.isnan(low) or low <= 0 <= high:
        return None
    return (low > 0) == more


def interval(values: np.ndarray[Any, Any]) -> tuple[float, float, str]:
    """The interval of the mean of paired differences by Student's t, and a note on it."""
    if len(values) == 0:
        return math.nan, math.nan, NO_SEED
    half = half_interval(list(values), CONFIDENCE)
    if half is None:
        return math.nan, math.nan, ONE_SEED
    if (values == values[0]).all():
        return float(values[0]), float(values[0]), SAME
    mean = float(values.mean())
    return mean - half, mean + half, FEW_SEEDS if len(values) < FEW else ""


def quantiles(runs: pd.DataFrame) -> pd.DataFrame:
    """By condition, controller and delay: the part of the samples and the delay that it stays below, over the seeds."""
    import pandas as pd

    rows = [
        {"condition": condition, "controller": controller, "delay": delay, "part": part, "ms": float(value)}
        for (condition, controller), own in _groups(runs)
        for delay in DELAYS
        for part in PARTS
        if (value := own[quantile_column(delay, part)].median()) == value
    ]
    return pd.DataFrame(rows, columns=["condition", "controller", "delay", "part", "ms"])


def common_seeds(runs: pd.DataFrame, controllers: Sequence[str], baseline: str) -> dict[str, int]:
    """By controller, under how many conditions and seeds both it and the baseline have a run, whatever came of it."""
    places = {
        controller: set(map(tuple, own[["condition", "seed"]].to_numpy()))
        for controller, own in runs.groupby("controller", sort=False)
    }
    return {one: len(places.get(one, set()) & places.get(baseline, set())) for one in controllers}
