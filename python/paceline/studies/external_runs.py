"""Runs that were measured elsewhere, by another simulator for instance: rows beside a study's own.

A file has a line for each run: a column for each factor that it tells (the factor's name), one for each metric, and
whatever else. `status` is `ok` for runs that went as they should; pictures mark the others. The numbers that a paper
printed of a design's points are such runs too: they are read from the study's published figures.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.errors import StudyError
from paceline.studies.factors import Factor
from paceline.studies.judge import Published
from paceline.studies.rows import is_number
from paceline.studies.spec import DefinitionError, Named, member

STATUS = "status"
"""The column that says whether a run went as it should."""


class RecordedSpec(Named, frozen=True, kw_only=True):
    """Where the runs are."""

    file: str = ""
    title: str = ""
    where: dict[str, str] = {}
    """The values of columns by which lines of the file are taken."""
    published: str = ""
    """In place of a file: the design of whose points the published figures are taken."""

    def __post_init__(self) -> None:
        if bool(self.file) == bool(self.published):
            raise ValueError("expected either file or published")


_EQUAL = re.compile(r"\s*(\w+)\s*=\s*(?:'([^']*)'|([-+.\w]+))\s*")
"""One condition of a point: `network = 'cable'`, `flows = 2`."""


@dataclass(frozen=True)
class Recorded:
    """Some lines of a file of measured runs, selected by their name as the rows of a design are."""

    name: str
    title: str
    rows: tuple[dict[str, Any], ...]

    @classmethod
    def read(
        cls,
        name: str,
        spec: RecordedSpec,
        folder: Path,
        factors: Mapping[str, Factor],
        metrics: Mapping[str, object],
    ) -> Recorded:
        """The runs as a study's definition says where they are."""
        where = f"recorded.{name}"
        path = member(f"{where}.file", folder, spec.file)
        try:
            reader = csv.DictReader(path.read_text(encoding="utf-8").splitlines(), restval="")
            columns, found = list(reader.fieldnames or []), list(reader)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise StudyError(f"{path}: {error}") from None
        for key in spec.where:
            if key not in columns:
                raise StudyError(f"{path}: found no column {key!r}, expected one: {', '.join(columns)}")
        if not any(metric in columns for metric in metrics):
            raise StudyError(f"{path}: found columns {', '.join(columns)}, expected one of a metric of the study")
        lines = [
            _row(f"{path}: line {number}", line, factors, metrics)
            for number, line in enumerate(found, 2)
            if all(line[key] == value for key, value in spec.where.items())
        ]
        if not lines:
            raise DefinitionError(where, f"found no line of {path} with {spec.where}, expected some")
        rows = tuple({"design": name, "number": number, **row} for number, row in enumerate(lines, 1))
        return cls(name, spec.title or name, rows)


def from_published(
    name: str,
    spec: RecordedSpec,
    figures: Iterable[Published],
    factors: Mapping[str, Factor],
    metrics: Mapping[str, object],
) -> Recorded:
    """The published numbers of a design, a run for each of its points.

    A figure counts if its metric is one of the study's and its experiment says one point: `design = 'table' AND network
    = 'cable'`, factors all of them.
    """
    points: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
    for figure in figures:
        equal = [_EQUAL.fullmatch(part) for part in figure.experiment.split(" AND ")]
        said = {found[1]: found[2] or found[3] for found in equal if found}
        if len(said) != len(equal) or said.pop("design", None) != spec.published or not said.keys() <= factors.keys():
            continue
        if figure.published is None or figure.metric is None or figure.metric not in metrics:
            continue
        point = _row(f"{figure.id}: experiment", said, factors, metrics)
        points.setdefault(tuple(sorted(said.items())), point)[figure.metric] = figure.published
    if not points:
        raise DefinitionError(
            f"recorded.{name}", f"found no published number of design {spec.published!r}, expected some"
        )
    rows = tuple({"design": name, "number": number, **row} for number, row in enumerate(points.values(), 1))
    return Recorded(name, spec.title or name, rows)


def _row(
    where: str, line: Mapping[str, str], factors: Mapping[str, Factor], metrics: Mapping[str, object]
) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, found in line.items():
        if name in factors:
            factors[name].check(f"{where}: {name}", found)
            row[name] = _number(f"{where}: {name}", found) if is_number(factors[name]) else found
        elif name in metrics:
            row[name] = _number(f"{where}: {name}", found) if found else None
    row["error"] = None if line.get(STATUS, "ok") == "ok" else line[STATUS]
    return row


def _number(where: str, found: str) -> float:
    try:
        number = float(found)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise StudyError(f"{where}: found {found!r}, expected a number")
    return number
