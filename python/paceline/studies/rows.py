"""Figures of a study: SQL over its rows, with a column for each factor and each metric by its name.

A figure has rows and a metric. Its rows are those of a design, an experiment or recorded runs by name, or what a
condition selects, such as `design = 'l4s' AND target = 20`. Its metric is one of the study's, or an expression such as
`100 * (avg(delay_ms) FILTER (target = 200) / avg(delay_ms) FILTER (target = 20) - 1)`. The view `selected` has the rows
of the figure, the table `rows` all of them; `[macros]` of the definition adds functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from paceline.errors import StudyError
from paceline.studies.designs import Design
from paceline.studies.factors import Factor
from paceline.studies.queries import Queries, QueryError
from paceline.studies.spec import DefinitionError, expect_known

if TYPE_CHECKING:
    import pandas as pd

    from paceline.studies.cells import Judged


_LEADING = {
    "experiment": "VARCHAR", "design": "VARCHAR", "number": "BIGINT", "seed": "BIGINT", "varied": "VARCHAR",
    "level": "BIGINT", "error": "VARCHAR", "cell": "VARCHAR", "half": "VARCHAR",
}  # fmt: skip


CELL = 16
"""Bytes that a cell of the rows takes, about."""
_ARROW = {"VARCHAR": "string", "BIGINT": "int64", "DOUBLE": "float64"}
"""Arrow's names of the types of columns."""

_TEXT = re.compile(r"'((?:[^']|'')*)'")
_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,62}"
_MACRO = re.compile(rf"\s*({_NAME})\s*\(\s*((?:{_NAME}(?:\s*,\s*{_NAME})*)?)\s*\)\s*")
"""How a function of a study's own is named: `share_above(metric, one)`."""


class _Recorded(Protocol):
    @property
    def rows(self) -> Sequence[Mapping[str, Any]]: ...


class Defined(Protocol):
    """The parts of a study's definition that figures and pictures refer to; `Study` says more of each."""

    @property
    def factors(self) -> Mapping[str, Factor]: ...
    @property
    def designs(self) -> Mapping[str, Design]: ...
    @property
    def named(self) -> Mapping[str, Design]: ...
    @property
    def metrics(self) -> Mapping[str, object]: ...
    @property
    def recorded(self) -> Mapping[str, _Recorded]: ...
    @property
    def macros(self) -> Mapping[str, str]: ...


def columns_of(study: Defined) -> dict[str, str]:
    """The columns of the results that figures need, by their names in SQL."""
    return {
        **{name: name for name in _LEADING},
        **{name: f"factor.{name}" for name in study.factors},
        **{name: f"metric.{name}" for name in study.metrics},
    }


class Rows:
    """The rows of a study as a table that SQL is asked of."""

    def __init__(self, study: Defined) -> None:
        self._study = study
        self.folder = Path()
        """Where the results stand, and the time series that designs keep."""
        self.judged: Judged | None = None
        """The verdicts cell by cell, of a study that has cells."""
        self._names = {*study.designs, *study.recorded}
        levels = (level for one in study.factors.values() for level in one.values if isinstance(level, str))
        self._texts = [*study.designs, *study.recorded, *study.factors, *levels]
        factors = {name: "DOUBLE" if is_number(one) else "VARCHAR" for name, one in study.factors.items()}
        self._types = {**_LEADING, **factors, **dict.fromkeys(study.metrics, "DOUBLE")}
        self._rows_bytes = 0

    @cached_property
    def _queries(self) -> Queries:
        """The table, with the study's own functions."""
        queries = Queries(self._types, self._rows_bytes)
        for said, body in self._study.macros.items():
            match = _MACRO.fullmatch(said)
            if match is None:
                expected = "expected a name and parameters, such as spread(metric, one): letters of ASCII, digits and _"
                raise DefinitionError(f"macros.{said}", f"found {said!r}, {expected}")
            try:
                queries.ask("macro", name=match[1], parameters=match[2], body=body)
            except QueryError as error:
                raise DefinitionError(f"macros.{said}", str(error)) from None
        return queries

    def fill(self, results: Path) -> Rows:
        """Takes in the rows of results.parquet, and those that were recorded elsewhere."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.folder = results.parent
        try:
            with pq.ParquetFile(results, page_checksum_verification=True) as file:
                names = {own: name for name, own in columns_of(self._study).items() if own in file.schema_arrow.names}
                self._rows_bytes = file.metadata.num_rows * len(names) * CELL
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group, columns=list(names))
                    self._queries.fill(table.rename_columns([names[name] for name in table.column_names]))
        except (OSError, pa.ArrowException) as error:
            raise StudyError(f"{results}: found a damaged file: {error}; run the study again") from None
        self.put(*(row for one in self._study.recorded.values() for row in one.rows))
        return self

    def put(self, *rows: Mapping[str, Any]) -> None:
        """Takes in rows, each with some of the columns."""
        import pyarrow as pa

        schema = pa.schema([(name, _ARROW[kind]) for name, kind in self._types.items()])
        self._queries.fill(pa.Table.from_pylist(list(rows), schema))

    def check(self) -> None:
        """Refuses functions of the study's own that cannot be read."""
        if self._study.macros:
            _ = self._queries

    def expect(self, where: str, condition: str, metric: str | None = None) -> None:
        """Refuses a condition or an expression that is no SQL over these rows.

        Raises:
            DefinitionError: It names no column there is, or cannot be read.
        """
        for found, asked in ((condition, (self._where(condition), None)), (metric, (None, metric))):
            if found is None:
                continue
            for text in _TEXT.findall(found) if found not in self._names else ():
                expect_known(f"{where}: {found!r}", text, self._texts)
            try:
                self._queries.ask("check", condition=asked[0], metric=asked[1])
            except QueryError as error:
                names = "" if found != condition else f", expected one of {', '.join(sorted(self._names))}, or SQL"
                raise DefinitionError(where, f"found {found!r}{names}: {error}") from None

    def figure(self, condition: str, metric: str) -> float | None:
        """The figure of these rows; None where they have none.

        Raises:
            StudyError: It is no number, or takes too long.
        """
        if metric in self._study.metrics:
            return self._mean(condition, metric)
        [found] = self._asked(condition, [metric])
        return found

    def _mean(self, condition: str, metric: str) -> float | None:
        """The mean over the runs of an experiment, or over the seeds of a point; none if any has none."""
        own = _quoted(metric)
        wanted = [f"avg({own})", "count(*)", f"count({own})", "count(DISTINCT (design, number))"]
        mean, rows, present, points = self._asked(condition, wanted)
        if (points or 0) > 1 and condition not in self._study.named:
            raise StudyError(f"{condition}: found {points:.0f} points for {metric!r}, expected one, or an expression")
        return mean if present == rows else None

    def _asked(self, condition: str, metrics: Sequence[str]) -> list[float | None]:
        try:
            found: list[float | None] = self._queries.ask(
                "figures", condition=self._where(condition), metrics=list(metrics)
            )
        except QueryError as error:
            raise StudyError(f"{condition}: {metrics[0]}: {error}") from None
        return found

    def frame(self, condition: str) -> pd.DataFrame:
        """The rows that a condition selects, in their order, as a data frame."""
        import pyarrow as pa

        try:
            content = self._queries.ask("frame", condition=self._where(condition))
        except QueryError as error:
            raise StudyError(f"{condition}: {error}") from None
        with pa.ipc.open_stream(content) as reader:
            selected: pd.DataFrame = reader.read_all().to_pandas()
        return selected.astype(dict.fromkeys(("varied", "error"), object))

    def _where(self, condition: str) -> str:
        return equals("design", condition) if condition in self._names else condition


def equals(column: str, text: str) -> str:
    """The condition that a column has this text."""
    return f"{_quoted(column)} = '" + text.replace("'", "''") + "'"


def is_number(factor: Any) -> bool:
    """Whether a factor's values are numbers; the others are texts, flags among them."""
    found = (*factor.values, *(() if factor.default is None else (factor.default,)))
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in found)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
