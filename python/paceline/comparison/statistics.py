"""Medians and paired differences of runs that have their seeds in common."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from paceline.comparison.figures import DELAYS, FIGURES, PARTS, quantile_column
from paceline.studies.estimates import half_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

CONFIDENCE = 0.95
FEW = 5
"""With fewer seeds nothing is called better or worse."""

EVERY = "all conditions"
"""In place of a condition's name, where figures are taken over all of them."""

ONE_SEED = "one seed: no interval"
NO_SEED = "no seed in common"
NO_FIGURE = "one of the two has no such figure"
SAME = "the same with every seed"
ALIKE = "alike in these runs"
FEW_SEEDS = "few seeds"
FEW_CONDITIONS = "few conditions"

_DIFFERENCES = (
    "condition", "controller", "baseline", "figure", "unit", "seeds", "baseline_mean", "difference", "low", "high",
    "percent", "better", "note",
)  # fmt: skip
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


def differences(runs: pd.DataFrame, baseline: str, earlier: Mapping[str, str] = MappingProxyType({})) -> pd.DataFrame:
    """By condition, controller and figure: the mean over the seeds of what it has more than the baseline.

    `earlier` names, for a controller, the one that it is compared with in place of the baseline. `low` and `high` are
    the ends of the interval; `seeds` is how many runs both have; `note` says why there is no interval, or what to hold
    of it.
    """
    import pandas as pd

    rows = []
    for condition, of_condition in runs.groupby("condition", sort=False):
        for controller, own in of_condition.groupby("controller", sort=False):
            other = earlier.get(str(controller), baseline)
            if controller != other and controller not in earlier.values():
                base = of_condition[of_condition["controller"] == other].set_index("seed")
                key = {"condition": str(condition), "controller": str(controller), "baseline": other}
                rows += [{**key, **row} for row in _paired(own.set_index("seed"), base)]
    return pd.DataFrame(rows, columns=_DIFFERENCES)


def over_conditions(medians: pd.DataFrame, differences: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same two tables over all conditions: means of the medians, and of the differences with their interval.

    A condition counts once, however many seeds it has. `seeds` is how many conditions both have a figure of. Means of
    medians are over the conditions that have the figure of every controller. With one condition both are empty.
    """
    import numpy as np
    import pandas as pd

    rows, pairs = [], []
    if medians["condition"].nunique() > 1:
        means = {column: _mean_of_all(medians, column) for column in _COLUMNS}
        for label, own in medians.groupby("controller", sort=False):
            controller = str(label)
            counts = {"runs": int(own["runs"].sum()), "failed": int(own["failed"].sum())}
            figures = {column: found.get(controller, math.nan) for column, found in means.items()}
            rows.append({"condition": EVERY, "controller": controller, **counts, **figures})
        for names, own in differences.groupby(["controller", "baseline", "figure"], sort=False):
            controller, base, column = map(str, names)
            known = own.dropna(subset=["difference"])
            found, figure = known["difference"].to_numpy(dtype=float), _COLUMNS[column]
            low, high, note = interval(found)
            mean, usual = (float(np.mean(one)) if len(known) else math.nan for one in (found, known["baseline_mean"]))
            row: dict[str, Any] = {"condition": EVERY, "controller": controller, "baseline": base, "figure": column}
            row |= {"unit": figure.unit, "seeds": len(known), "baseline_mean": usual, "difference": mean}
            row |= {"low": low, "high": high, "percent": 100 * mean / usual if usual else math.nan}
            row["better"] = _verdict(low, high, figure.more) if len(known) >= FEW else None
            pairs.append(row | {"note": FEW_CONDITIONS if len(known) < FEW else note})
    return pd.DataFrame(rows, columns=medians.columns), pd.DataFrame(pairs, columns=_DIFFERENCES)


def _mean_of_all(medians: pd.DataFrame, column: str) -> dict[str, float]:
    """By controller, the mean of a figure over the conditions that have it of every controller."""
    table = medians.pivot(index="condition", columns="controller", values=column)
    whole = table.dropna(axis="columns", how="all").dropna()
    return {str(name): float(value) for name, value in whole.mean().items()} if len(whole) else {}


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
