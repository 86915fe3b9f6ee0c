"""Tables of a study: metrics, or one metric over a factor, with a line for each level of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from paceline.studies.estimates import estimate, three
from paceline.studies.factors import Factor
from paceline.studies.markdown import Cells
from paceline.studies.rows import equals, is_number
from paceline.studies.spec import Named, Value, expect_known

if TYPE_CHECKING:
    import pandas as pd

    from paceline.studies.designs import Design
    from paceline.studies.rows import Rows

MANY = 12
"""If a factor has more different values than this, its rows are averaged in four groups of equal size."""


class Table(Named, frozen=True, kw_only=True):
    """A table that a study's definition asks for."""

    of: str
    """Which rows it is of: a name, or a condition in SQL."""
    rows: str
    """The factor that has a line for each level."""
    levels: tuple[Value, ...] = ()
    """The levels that have a line, in this order; all of the factor's unless given."""
    columns: str | None = None
    """The factor that has a column for each level; None: a column for each metric."""
    metric: str | None = None
    metrics: dict[str, str] = {}
    """Headings by metric."""
    beside: str | None = None
    """Rows of the same points from elsewhere, such as recorded runs; their figures stand in brackets."""

    def __post_init__(self) -> None:
        if (self.metric is None) == (not self.metrics) or (self.metric is None) != (self.columns is None):
            raise ValueError("expected either `metric` over `columns`, or `metrics`")

    def checked(self, factors: Mapping[str, Factor], metrics: Mapping[str, object]) -> Table:
        """The table, if the study has the factors and metrics that it names."""
        where = f"tables.{self.name}"
        for key, factor in (("rows", self.rows), ("columns", self.columns)):
            if factor is not None:
                expect_known(f"{where}.{key}", factor, factors)
        for metric in (*self.metrics, *(() if self.metric is None else (self.metric,))):
            expect_known(f"{where}.metrics", metric, metrics)
        for level in self.levels:
            factors[self.rows].check(f"{where}.levels", level)
        return self

    def cells(self, rows: Rows, factors: Mapping[str, Factor]) -> Cells:
        """The table: means, with their 95 % intervals over the seeds and how many; what no run has is left empty."""
        ours, theirs = rows.frame(self.of), None if self.beside is None else rows.frame(self.beside)
        factor = factors[self.rows]
        columns = self._columns(ours, factors)
        lines = []
        for label, ours_of, theirs_of in _groups(factor, self.levels, ours, theirs):
            cells = []
            for _, metric, level in columns:
                cell = str(estimate(self._at(ours_of, level), metric) or "")
                if theirs_of is not None:
                    cell += _recorded(self._at(theirs_of, level), metric)
                cells.append(cell.strip())
            if any(cells):
                lines.append([label, *cells])
        return Cells([factor.label, *(heading for heading, _, _ in columns)], lines)

    def _columns(self, rows: pd.DataFrame, factors: Mapping[str, Factor]) -> list[tuple[str, str, Any]]:
        """Heading, metric, and the level of `columns` of each column."""
        if self.columns is None:
            return [(heading, metric, None) for metric, heading in self.metrics.items()]
        factor, metric = factors[self.columns], str(self.metric)
        return [(_level(level, factor.unit), metric, level) for level in _levels(factor, rows)]

    def _at(self, rows: pd.DataFrame, level: Any) -> pd.DataFrame:
        return rows if self.columns is None else rows[rows[self.columns] == level]


def by_factor(drawn: Mapping[str, Design], metrics: Iterable[str]) -> dict[str, Table]:
    """The tables of a study that defines none: of each design, every metric over each factor that it varies."""
    shown = {name: name for name in metrics}
    tables = {}
    for design in drawn.values():
        names = [factor.name for factor in design.factors] or design.spec.chosen or ()
        for name in names:
            own = equals("design", design.name)
            of = f"{own} AND {equals('varied', name)}" if design.kind == "one-at-a-time" else own
            levels = design.levels.get(name, ())
            key = f"{design.name}-{name}"
            tables[key] = Table(name=key, of=of, rows=name, levels=levels, metrics=shown)
    return tables


def _levels(factor: Factor, rows: pd.DataFrame) -> list[Any]:
    """The levels that rows have: numbers by size, names in the factor's order."""
    found = list(rows[factor.name].dropna().unique())
    known = list(factor.values)
    if all(isinstance(one, str) for one in found):
        return sorted(found, key=lambda one: known.index(one) if one in known else len(known))
    return sorted(found)


def _groups(
    factor: Factor, levels: tuple[Value, ...], ours: pd.DataFrame, theirs: pd.DataFrame | None
) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame | None]]:
    """The rows of each level; of a factor that was drawn from its range, of each quarter of its values."""
    present = _levels(factor, ours)
    found = list(levels or factor.values)
    if not levels and not set(present) <= set(found):
        found = present
    if not levels and is_number(factor) and len(found) > MANY:
        for quarter in range(4):
            part = found[quarter * len(found) // 4 : (quarter + 1) * len(found) // 4]
            yield f"{three(float(part[0]))} to {three(float(part[-1]))}", ours[ours[factor.name].isin(part)], None
        return
    for level in found:
        wanted = [None if rows is None else rows[rows[factor.name] == level] for rows in (ours, theirs)]
        if wanted[0] is not None:
            yield _level(level, ""), wanted[0], wanted[1]


def _level(level: Any, unit: str) -> str:
    return f"{level:g} {unit}".strip() if isinstance(level, float) else str(level)


def _recorded(rows: pd.DataFrame, metric: str) -> str:
    found = estimate(rows, metric)
    faults = "".join(f", {error}" for error in rows["error"].dropna().unique())
    return f" ({found}{faults})" if found else ""
