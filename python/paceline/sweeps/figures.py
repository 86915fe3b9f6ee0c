"""Figures of a sweep: an expression over the rows of a selection, such as the smallest delay and where it lies.

A selection names rows: `DESIGN`, `DESIGN/NUMBER`, or `DESIGN/FACTOR` (in a design that changes one factor at a time,
the rows that change this one). `DESIGN+DESIGN` are the rows of both. `[FACTOR=VALUE, ...]` behind it keeps the rows
with these values; `>=` and `<=` are known, too. Runs measured elsewhere are selected by their name as a design is.

An expression is `STATISTIC METRIC`, or `METRIC` alone where the selection is one row:

| statistic | |
|---|---|
| `min`, `max`, `mean`, `median` | of the metric |
| `spread` | largest less smallest, in percent of the mean |
| `level-of-min`, `level-of-max` | of `DESIGN/FACTOR`: which level, counted from 1, has the extreme |
| `number-of-min`, `number-of-max` | the number in its design of the row that has the extreme |
| `FACTOR-at-min`, `FACTOR-at-max` | the factor's value in the row that has the extreme |
| `count-below`, `count-above` | rows whose metric is below, or above, that of a second selection |
| `change` | mean of the metric less that of a second selection, in percent of the latter |
| `ratio` | mean of the metric over that of a second selection |
| `share-above` | of the pairs of rows that differ only in what the selections fix: percent in which ours is above |
| `share-near` | percent of these pairs in which ours differs by at most a tenth of the other |
| `paired-ratio` | geometric mean of ours over the other, over these pairs |

The second selection follows the metric: `change rate standalone/speed[speed=20] standalone/speed[speed=10]` is written
as experiment `standalone/speed[speed=20]` and metric `change rate standalone/speed[speed=10]`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError
from paceline.sweeps.designs import Design
from paceline.sweeps.factors import Factor, Value

if TYPE_CHECKING:
    import pandas as pd

_SELECTION = re.compile(r"([^/\[\]\s]+)(?:/([^/\[\]\s]+))?(?:\[([^\]]*)\])?")
_CONDITION = re.compile(r"\s*([^\s<>=]+)\s*(=|>=|<=)\s*(.*?)\s*")
_KEEPS: dict[str, Callable[[Any, Any], Any]] = {"=": operator.eq, ">=": operator.ge, "<=": operator.le}


@dataclass(frozen=True)
class Selection:
    """Some rows of a sweep."""

    text: str
    designs: tuple[Design, ...]
    number: int | None
    varied: str | None
    kept: tuple[tuple[str, str, Value], ...]
    """What the rows fulfil: a factor, how it compares, and with what."""

    @property
    def fixed(self) -> set[str]:
        """The factors that have one value in all rows."""
        return {name for name, how, _ in self.kept if how == "="}

    @classmethod
    def read(cls, text: str, designs: Mapping[str, Design], factors: Mapping[str, Factor]) -> Selection:
        """The selection as `published.csv` writes it."""
        match = _SELECTION.fullmatch(text.strip())
        names = match[1].split("+") if match is not None else []
        if match is None or not all(name in designs for name in names) or len(set(names)) < len(names):
            raise StudyError(f"found selection {text!r}, expected one of {', '.join(designs)}, with /NUMBER or /FACTOR")
        chosen = tuple(designs[name] for name in names)
        if match[2] and len(chosen) > 1:
            raise StudyError(f"found selection {text!r}, expected one design before /{match[2]}")
        number = int(match[2]) if match[2] and match[2].isdigit() else None
        if number is not None and not 1 <= number <= len(chosen[0]):
            raise StudyError(f"found selection {text!r}, expected a number from 1 to {len(chosen[0])}")
        varied = match[2] if match[2] and number is None else None
        if varied is not None and (
            chosen[0].kind != "one-at-a-time" or varied not in {factor.name for factor in chosen[0].factors}
        ):
            raise StudyError(f"found selection {text!r}, expected a factor that {names[0]!r} changes one at a time")
        return cls(text, chosen, number, varied, tuple(_kept(text, match[3], factors)))

    def rows(self, results: pd.DataFrame) -> pd.DataFrame:
        """Its rows, in the order of their design."""
        rows = results[results["design"].isin([design.name for design in self.designs])]
        if self.number is not None:
            rows = rows[rows["number"] == self.number]
        if self.varied is not None:
            rows = rows[rows["varied"] == self.varied]
        for name, how, value in self.kept:
            rows = rows[_KEEPS[how](rows[f"factor.{name}"], value)]
        return rows


def _kept(text: str, conditions: str | None, factors: Mapping[str, Factor]) -> list[tuple[str, str, Value]]:
    kept: list[tuple[str, str, Value]] = []
    for condition in filter(None, (conditions or "").split(",")):
        match = _CONDITION.fullmatch(condition)
        if match is None or match[1] not in factors or not match[3]:
            raise StudyError(f"found selection {text!r}, expected FACTOR=VALUE in brackets")
        name, how, value = match.groups()
        factors[name].check(f"selection {text!r}", value)
        try:
            kept.append((name, how, float(value)))
        except ValueError:
            if how != "=":
                raise StudyError(f"found selection {text!r}, expected a number behind {how}") from None
            kept.append((name, how, value))
    return kept


@dataclass(frozen=True)
class Expression:
    """What is computed from the rows of a selection."""

    text: str
    statistic: str
    metric: str
    factor: str | None
    other: Selection | None

    @classmethod
    def read(
        cls, text: str, designs: Mapping[str, Design], factors: Mapping[str, Factor], metrics: Mapping[str, object]
    ) -> Expression:
        """The expression as `published.csv` writes it."""
        words = text.split(maxsplit=2)
        if len(words) == 1:
            words = ["value", *words]
        statistic, metric, *rest = words
        factor = None
        if statistic.endswith(("-at-min", "-at-max")):
            factor, statistic = statistic[: -len("-at-min")], f"at{statistic[-4:]}"
            if factor not in factors:
                raise StudyError(f"found {factor!r} in {text!r}, expected one of {', '.join(factors)}")
        if statistic not in STATISTICS:
            raise StudyError(f"found {statistic!r} in {text!r}, expected one of {', '.join(STATISTICS)}")
        if metric not in metrics:
            raise StudyError(f"found metric {metric!r} in {text!r}, expected one of {', '.join(metrics)}")
        if bool(rest) != (statistic in _COMPARING):
            raise StudyError(f"found {text!r}, expected a second selection with {', '.join(_COMPARING)} and only there")
        other = Selection.read(rest[0], designs, factors) if rest else None
        return cls(text, statistic, f"metric.{metric}", factor, other)

    def of(self, selection: Selection, results: pd.DataFrame) -> float | None:
        """The figure; None where no row has the metric."""
        rows = selection.rows(results).dropna(subset=[self.metric])
        if rows.empty:
            return None
        return STATISTICS[self.statistic](self, selection, rows, results)

    def _second(self, results: pd.DataFrame) -> float:
        assert self.other is not None
        return float(self.other.rows(results)[self.metric].mean())


def _value(one: Expression, selection: Selection, rows: pd.DataFrame, _: pd.DataFrame) -> float:
    values = rows[one.metric]
    if values.nunique() > 1:
        raise StudyError(f"{selection.text}: found {len(rows)} rows for {one.text!r}, expected one, or a statistic")
    return float(values.iloc[0])


def _plain(name: str) -> Callable[..., float | None]:
    return lambda one, selection, rows, results: float(getattr(rows[one.metric], name)())


def _spread(one: Expression, _: Selection, rows: pd.DataFrame, __: pd.DataFrame) -> float:
    values = rows[one.metric]
    return 100.0 * float((values.max() - values.min()) / values.mean())


def _extreme(one: Expression, rows: pd.DataFrame, which: str) -> Any:
    """The row that has the extreme; the first of several."""
    return rows.loc[getattr(rows[one.metric], f"idx{which}")()]


def _level(which: str) -> Callable[..., float | None]:
    def level(one: Expression, selection: Selection, rows: pd.DataFrame, _: pd.DataFrame) -> float | None:
        if selection.varied is None:
            raise StudyError(f"{selection.text}: found no factor for {one.text!r}, expected DESIGN/FACTOR")
        value = _extreme(one, rows, which)[f"factor.{selection.varied}"]
        return float(selection.designs[0].levels[selection.varied].index(value) + 1)

    return level


def _number(which: str) -> Callable[..., float | None]:
    return lambda one, selection, rows, results: float(_extreme(one, rows, which)["number"])


def _at(which: str) -> Callable[..., float | None]:
    return lambda one, selection, rows, results: float(_extreme(one, rows, which)[f"factor.{one.factor}"])


def _below(one: Expression, _: Selection, rows: pd.DataFrame, results: pd.DataFrame) -> float:
    return float((rows[one.metric] < one._second(results)).sum())


def _above(one: Expression, _: Selection, rows: pd.DataFrame, results: pd.DataFrame) -> float:
    return float((rows[one.metric] > one._second(results)).sum())


def _change(one: Expression, _: Selection, rows: pd.DataFrame, results: pd.DataFrame) -> float:
    return 100.0 * (float(rows[one.metric].mean()) / one._second(results) - 1.0)


def _ratio(one: Expression, _: Selection, rows: pd.DataFrame, results: pd.DataFrame) -> float:
    return float(rows[one.metric].mean()) / one._second(results)


def _pairs(one: Expression, selection: Selection, rows: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Rows of both selections that differ only in what these fix, as `ours` and `other`: means over the seeds."""
    import pandas as pd

    assert one.other is not None
    fixed = selection.fixed | one.other.fixed
    others = one.other.rows(results)
    # What one side does not tell, pairs cannot differ in.
    factors = [name for name in map(str, rows.columns) if name.startswith("factor.")]
    told = [name for name in factors if rows[name].notna().any() and others[name].notna().any()]
    known = [name for name in told if name.removeprefix("factor.") not in fixed]

    def means(some: pd.DataFrame) -> Any:
        return some.groupby(known, dropna=False)[one.metric].mean() if known else some[[one.metric]].mean()

    pairs = pd.DataFrame({"ours": means(rows), "other": means(others)})
    return pairs.dropna()


def _share(holds: Callable[[pd.DataFrame], pd.Series[bool]]) -> Callable[..., float | None]:
    def share(one: Expression, selection: Selection, rows: pd.DataFrame, results: pd.DataFrame) -> float | None:
        pairs = _pairs(one, selection, rows, results)
        return 100.0 * float(holds(pairs).mean()) if len(pairs) else None

    return share


def _paired_ratio(one: Expression, selection: Selection, rows: pd.DataFrame, results: pd.DataFrame) -> float | None:
    pairs = _pairs(one, selection, rows, results)
    logarithms = [math.log(ours / other) for ours, other in pairs.to_numpy() if ours > 0 and other > 0]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


_COMPARING = ("count-below", "count-above", "change", "ratio", "share-above", "share-near", "paired-ratio")
STATISTICS: dict[str, Callable[..., float | None]] = {
    "value": _value,
    "min": _plain("min"),
    "max": _plain("max"),
    "mean": _plain("mean"),
    "median": _plain("median"),
    "spread": _spread,
    "level-of-min": _level("min"),
    "level-of-max": _level("max"),
    "number-of-min": _number("min"),
    "number-of-max": _number("max"),
    "at-min": _at("min"),
    "at-max": _at("max"),
    "count-below": _below,
    "count-above": _above,
    "change": _change,
    "ratio": _ratio,
    "share-above": _share(lambda pairs: pairs["ours"] > pairs["other"]),
    "share-near": _share(lambda pairs: (pairs["ours"] - pairs["other"]).abs() <= 0.1 * pairs["other"].abs()),
    "paired-ratio": _paired_ratio,
}
