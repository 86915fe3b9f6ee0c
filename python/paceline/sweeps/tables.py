"""Tables of a sweep: metrics, or one metric over a factor, with a line for each level of another. In Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError
from paceline.studies.checks import expect_keys, expect_known, expect_table
from paceline.sweeps.designs import Design
from paceline.sweeps.factors import Factor
from paceline.sweeps.figures import Selection

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("of", "rows", "columns", "metric", "metrics", "beside", "levels")


@dataclass(frozen=True)
class Table:
    """A table that a sweep's definition asks for."""

    name: str
    of: Selection
    rows: Factor
    levels: tuple[Any, ...]
    """Of the rows, in their order."""
    columns: Factor | None
    """None: a column for each metric."""
    metrics: dict[str, str]
    """Headings by metric."""
    beside: Selection | None
    """Runs of the same, shown in brackets."""

    @classmethod
    def read(
        cls,
        name: str,
        spec: object,
        designs: Mapping[str, Design],
        factors: Mapping[str, Factor],
        metrics: Mapping[str, object],
    ) -> Table:
        """The table as a study's definition says it."""
        where = f"tables.{name}"
        spec = expect_table(where, spec, "of, rows and metric or metrics")
        expect_keys(where, spec, KEYS)
        expect_known(f"{where}.rows", spec.get("rows"), factors)
        if ("metric" in spec) == ("metrics" in spec) or ("metric" in spec) != ("columns" in spec):
            raise StudyError(f"{where}: expected either `metric` over `columns`, or `metrics`")
        if "columns" in spec:
            expect_known(f"{where}.columns", spec["columns"], factors)
        shown = {spec["metric"]: ""} if "metric" in spec else spec["metrics"]
        if not isinstance(shown, Mapping) or not shown:
            raise StudyError(f"{where}.metrics: found {shown!r}, expected headings by metric")
        for metric in shown:
            expect_known(f"{where}.metrics", metric, metrics)
        rows = factors[spec["rows"]]
        levels = tuple(spec.get("levels", rows.levels))
        for level in levels:
            rows.check(f"{where}.levels", level)
        return cls(
            name,
            Selection.read(str(spec.get("of")), designs, factors),
            rows,
            levels,
            factors[spec["columns"]] if "columns" in spec else None,
            {str(metric): str(heading) for metric, heading in shown.items()},
            Selection.read(str(spec["beside"]), designs, factors) if "beside" in spec else None,
        )

    def markdown(self, results: pd.DataFrame) -> str:
        """The table. Means over seeds; what no run has is left empty."""
        ours = self.of.rows(results)
        theirs = self.beside.rows(results) if self.beside is not None else None
        columns = self._columns(ours)
        lines = [f"| {self.rows.name} | {' | '.join(heading for heading, _, _ in columns)} |"]
        lines.append("|---" * (len(columns) + 1) + "|")
        for level in self.levels:
            cells = []
            for _, metric, at in columns:
                cell = _figure(self._those(ours, level, at)[metric])
                if theirs is not None:
                    cell += _recorded(self._those(theirs, level, at), metric)
                cells.append(cell.strip())
            if any(cells):
                lines.append(f"| {level} | {' | '.join(cells)} |")
        return "\n".join(lines) + "\n"

    def _columns(self, rows: pd.DataFrame) -> list[tuple[str, str, Any]]:
        """Heading, metric, and the level of `columns` of each column."""
        if self.columns is None:
            return [(heading, f"metric.{metric}", None) for metric, heading in self.metrics.items()]
        ((metric, _),) = self.metrics.items()
        levels = sorted(rows[f"factor.{self.columns.name}"].dropna().unique())
        heads = [f"{level:g} {self.columns.unit}".strip() if isinstance(level, float) else level for level in levels]
        return [(head, f"metric.{metric}", level) for head, level in zip(heads, levels, strict=True)]

    def _those(self, rows: pd.DataFrame, level: Any, at: Any) -> pd.DataFrame:
        wanted = rows[f"factor.{self.rows.name}"] == level
        if self.columns is not None:
            wanted &= rows[f"factor.{self.columns.name}"] == at
        those: pd.DataFrame = rows[wanted]
        return those


def _figure(values: pd.Series[float]) -> str:
    mean = values.mean()
    return "" if mean != mean else _short(float(mean))


def _recorded(rows: pd.DataFrame, metric: str) -> str:
    found = _figure(rows[metric])
    faults = "".join(f", {error}" for error in rows["error"].dropna().unique())
    return f" ({found}{faults})" if found else ""


def _short(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
