"""Figures of a study: SQL over its rows, with a column for each factor and each metric by its name.

A figure has rows and a metric. Its rows are those of a design, an experiment or recorded runs by name, or what a
condition selects, such as `design = 'l4s' AND target = 20`. Its metric is one of the study's, or an expression such as
`100 * (avg(delay_ms) FILTER (target = 200) / avg(delay_ms) FILTER (target = 20) - 1)`. The view `selected` has the rows
of the figure, the table `rows` all of them; `[macros]` of the definition adds functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError
from paceline.studies.spec import DefinitionError, expect_known

if TYPE_CHECKING:
    import pandas as pd

    from paceline.studies.definition import Study

_LEADING = {
    "experiment": "VARCHAR", "design": "VARCHAR", "number": "BIGINT", "seed": "BIGINT", "varied": "VARCHAR",
    "level": "BIGINT", "error": "VARCHAR",
}  # fmt: skip


_TEXT = re.compile(r"'((?:[^']|'')*)'")


def columns_of(study: Study) -> dict[str, str]:
    """The columns of the results that figures need, by their names in SQL."""
    return {
        **{name: name for name in _LEADING},
        **{name: f"factor.{name}" for name in study.factors},
        **{name: f"metric.{name}" for name in study.metrics},
    }


class Rows:
    """The rows of a study as a table of a database in memory."""

    def __init__(self, study: Study) -> None:
        import duckdb

        self._study = study
        self.folder = Path()
        """Where the results stand, and the time series that designs keep."""
        self._wrong = duckdb.Error
        self._names = {*study.designs, *study.recorded}
        levels = (level for one in study.factors.values() for level in one.values if isinstance(level, str))
        self._texts = [*study.designs, *study.recorded, *study.factors, *levels]
        # One thread: sums come out the same, whatever the machine.
        self._database = duckdb.connect(":memory:", config={"threads": 1})
        types = _LEADING | {name: "DOUBLE" if is_number(one) else "VARCHAR" for name, one in study.factors.items()}
        types |= dict.fromkeys(study.metrics, "DOUBLE")
        self._columns = list(types)
        self._database.execute(f"CREATE TABLE rows ({', '.join(f'{_quoted(n)} {t}' for n, t in types.items())})")
        self._database.execute("CREATE VIEW selected AS SELECT * FROM rows")
        for name, body in study.macros.items():
            try:
                self._database.execute(f"CREATE MACRO {name} AS ({body})")
            except duckdb.Error as error:
                raise DefinitionError(f"macros.{name}", _said(error)) from None

    def fill(self, results: Path) -> Rows:
        """Takes in the rows of results.parquet, and those that were recorded elsewhere."""
        self.folder = results.parent
        named = columns_of(self._study)
        picked = ", ".join(_quoted(named[name]) for name in self._columns)
        self._database.execute(f"INSERT INTO rows SELECT {picked} FROM read_parquet(?)", [str(results)])
        for recorded in self._study.recorded.values():
            for row in recorded.rows:
                self.put(row)
        self._database.execute("SET enable_external_access = false")
        return self

    def put(self, row: Mapping[str, Any]) -> None:
        """Takes in one row."""
        names, marks = ", ".join(map(_quoted, row)), ", ".join("?" * len(row))
        self._database.execute(f"INSERT INTO rows ({names}) VALUES ({marks})", list(row.values()))

    def expect(self, where: str, condition: str, metric: str | None = None) -> None:
        """Refuses a condition or an expression that is no SQL over these rows.

        Raises:
            DefinitionError: It names no column there is, or cannot be read.
        """
        for found, query in (
            (condition, f"SELECT * FROM rows WHERE {self._where(condition)}"),
            (metric, f"SELECT {metric} FROM selected"),
        ):
            if found is None:
                continue
            for text in _TEXT.findall(found) if found not in self._names else ():
                expect_known(f"{where}: {found!r}", text, self._texts)
            try:
                self._database.execute(f"PREPARE checked AS {query}")
            except self._wrong as error:
                names = "" if found != condition else f", expected one of {', '.join(sorted(self._names))}, or SQL"
                raise DefinitionError(where, f"found {found!r}{names}: {_said(error)}") from None

    def figure(self, condition: str, metric: str) -> float | None:
        """The figure of these rows; None where they have none."""
        self._select(condition)
        try:
            if metric in self._study.metrics:
                return self._mean(condition, metric)
            found = self._database.execute(f"SELECT {metric} FROM selected LIMIT 1").fetchone()
        except self._wrong as error:
            raise StudyError(f"{condition}: {metric}: {_said(error)}") from None
        return _number(found[0]) if found else None

    def _mean(self, condition: str, metric: str) -> float | None:
        """The mean over the runs of an experiment, or over the seeds of a point; none if any has none."""
        own = _quoted(metric)
        query = f"SELECT avg({own}), count(*), count({own}), count(DISTINCT (design, number)) FROM selected"
        mean, rows, present, points = self._database.execute(query).fetchone() or (None, 0, 0, 0)
        if points > 1 and condition not in self._study.named:
            raise StudyError(f"{condition}: found {points} points for {metric!r}, expected one, or an expression")
        return _number(mean) if present == rows else None

    def frame(self, condition: str) -> pd.DataFrame:
        """The rows that a condition selects, in their order, as a data frame."""
        self._select(condition)
        selected: pd.DataFrame = self._database.execute("SELECT * FROM selected").df()
        return selected.astype(dict.fromkeys(("varied", "error"), object))

    def _select(self, condition: str) -> None:
        self._database.execute(f"CREATE OR REPLACE VIEW selected AS SELECT * FROM rows WHERE {self._where(condition)}")

    def _where(self, condition: str) -> str:
        return "design = '" + condition.replace("'", "''") + "'" if condition in self._names else condition


def is_number(factor: Any) -> bool:
    """Whether a factor's values are numbers; the others are texts, flags among them."""
    found = (*factor.values, *(() if factor.default is None else (factor.default,)))
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in found)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _number(found: Any) -> float | None:
    return None if found is None or not math.isfinite(found) else float(found)


def _said(error: Exception) -> str:
    """What the database says, without the picture of where."""
    return " ".join(line.strip() for line in str(error).split("\n\n")[0].splitlines())
