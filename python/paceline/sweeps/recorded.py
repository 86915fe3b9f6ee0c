"""Runs that were measured elsewhere, with another simulator say: rows beside a sweep's own, for figures and pictures.

A file has a line for each run: a column for each factor that it tells (the factor's name), one for each metric, and
whatever else. `status` is `ok` for runs that went as they should; pictures mark the others.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError
from paceline.studies.checks import expect_keys
from paceline.sweeps.designs import Design
from paceline.sweeps.factors import Factor

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("file", "title", "where")
STATUS = "status"
"""The column that says whether a run went as it should."""


@dataclass(frozen=True)
class Recorded:
    """Some lines of a file of measured runs, selected as the points of a design are."""

    design: Design
    """Its name and title; nothing of it is run."""
    rows: tuple[dict[str, Any], ...]

    @classmethod
    def read(
        cls, name: str, spec: object, folder: Path, factors: Mapping[str, Factor], metrics: Mapping[str, object]
    ) -> Recorded:
        """The runs as a study's definition says where they are."""
        where = f"recorded.{name}"
        if not isinstance(spec, Mapping) or not isinstance(spec.get("file"), str):
            raise StudyError(f"{where}: found {spec!r}, expected a table with `file`")
        expect_keys(where, spec, KEYS)
        path = folder / spec["file"]
        if not path.is_file():
            raise StudyError(f"{where}.file: found {spec['file']!r}, which is no file in {folder}")
        wanted = {str(key): str(value) for key, value in spec.get("where", {}).items()}
        rows = tuple(_rows(path, wanted, factors, metrics))
        if not rows:
            raise StudyError(f"{where}: found no line of {path} with {wanted}, expected some")
        points = [{key: row[f"factor.{key}"] for key in factors if f"factor.{key}" in row} for row in rows]
        title = str(spec.get("title", name))
        return cls(Design(name, "list", title, (), {}, (), (), "", {"points": points}), rows)

    def frame(self) -> pd.DataFrame:
        """The runs as rows of results."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"design": self.design.name, "number": number, "varied": None, **row}
                for number, row in enumerate(self.rows, 1)
            ]
        )


def _rows(
    path: Path, wanted: Mapping[str, str], factors: Mapping[str, Factor], metrics: Mapping[str, object]
) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {error}") from None
    reader = csv.DictReader(lines)
    columns = reader.fieldnames or []
    for key in wanted:
        if key not in columns:
            raise StudyError(f"{path}: found no column {key!r}, expected one: {', '.join(columns)}")
    if not any(metric in columns for metric in metrics):
        raise StudyError(f"{path}: found columns {', '.join(columns)}, expected one of a metric of the study")
    return [
        _row(f"{path}: line {number}", line, factors, metrics)
        for number, line in enumerate(reader, 2)
        if all(line[key] == value for key, value in wanted.items())
    ]


def _row(
    where: str, line: Mapping[str, str], factors: Mapping[str, Factor], metrics: Mapping[str, object]
) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, found in line.items():
        if name in factors:
            row[f"factor.{name}"] = _level(f"{where}: {name}", found, factors[name])
        elif name in metrics:
            row[f"metric.{name}"] = _number(f"{where}: {name}", found) if found else None
    row["error"] = None if line.get(STATUS, "ok") == "ok" else line[STATUS]
    return row


def _level(where: str, found: str, factor: Factor) -> float | str:
    factor.check(where, found)
    texts = factor.sets or any(isinstance(level, str) for level in factor.levels)
    return found if texts else _number(where, found)


def _number(where: str, found: str) -> float:
    try:
        number = float(found)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise StudyError(f"{where}: found {found!r}, expected a number")
    return number
