"""Which points of a study come nearest to published figures: how a set-up that a paper does not tell is looked for.

A search has several designs with the same points, which differ in what they set besides: the same set-up with L4S and
without, say. A reading says which metric of which design stands for which published figure; the distance of a point is
the mean of |ln(ours / published)| over a reading's figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paceline.studies.designs import Design
from paceline.studies.estimates import short
from paceline.studies.markdown import Cells
from paceline.studies.spec import DefinitionError

if TYPE_CHECKING:
    import pandas as pd

    from paceline.studies.rows import Rows

SHOWN = 10
"""Points that the report shows."""


@dataclass(frozen=True)
class Reading:
    """The experiment that stands for a published figure."""

    name: str
    figures: dict[tuple[str, str], float]
    """The published figures by design and metric."""

    def distances(self, rows: Rows) -> pd.DataFrame:
        """A row for each point that has every figure: its number, its distance, and the figures."""
        import numpy as np
        import pandas as pd

        found = pd.DataFrame(
            {
                f"{design} {metric}": rows.frame(design).groupby("number")[metric].mean()
                for design, metric in self.figures
            }
        )
        found = found[(found > 0).all(axis=1)]
        apart = np.abs(np.log(found / list(self.figures.values()))).mean(axis=1)
        return found.assign(distance=apart, reading=self.name).reset_index()


def read_reading(
    name: str, said: Mapping[str, float], designs: Mapping[str, Design], metrics: Mapping[str, object]
) -> Reading:
    """The reading as a study's definition says it: figures by `DESIGN METRIC`."""
    where = f"nearest.{name}"
    if not said:
        raise DefinitionError(where, "found {}, expected a table of published figures by 'DESIGN METRIC'")
    figures = {}
    for key, value in said.items():
        design, _, metric = key.partition(" ")
        if design not in designs or metric not in metrics:
            expected = f"expected one of {', '.join(designs)} and one of {', '.join(metrics)}"
            raise DefinitionError(where, f"found {key!r}, {expected}")
        if not value > 0:
            raise DefinitionError(f"{where}.{key}", f"found {value:g}, expected a number above zero")
        figures[design, metric] = float(value)
    used = [designs[design] for design, _ in figures]
    if any((one.kind, one.factors, one.levels) != (used[0].kind, used[0].factors, used[0].levels) for one in used):
        raise DefinitionError(where, "found designs of different points, expected the same in all")
    return Reading(name, figures)


@dataclass(frozen=True)
class Near:
    """A point, and how far it is."""

    reading: Reading
    number: int
    distance: float
    point: dict[str, object]
    figures: list[float]


def nearest(readings: Mapping[str, Reading], designs: Mapping[str, Design], rows: Rows) -> list[Near]:
    """The nearest points of all readings, the nearest first."""
    found: list[Near] = []
    for reading in readings.values():
        design = designs[next(iter(reading.figures))[0]]
        for row in reading.distances(rows).nsmallest(SHOWN, "distance").to_dict("records"):
            number = int(row["number"])
            figures = [float(row[f"{one} {metric}"]) for one, metric in reading.figures]
            found.append(Near(reading, number, float(row["distance"]), dict(design.point(number - 1)), figures))
    return sorted(found, key=lambda near: near.distance)[:SHOWN]


def markdown(found: list[Near]) -> str:
    """The points as a Markdown table, the published figures in its first row."""
    if not found:
        return "No point has every figure.\n"
    factors, reading = list(found[0].point), found[0].reading
    figures = [f"{design}: {metric}" for design, metric in reading.figures]
    lines = [["published", *[""] * (1 + len(factors)), *map(short, reading.figures.values()), ""]]
    for near in found:
        own = [near.reading.name, str(near.number), *map(str, near.point.values()), *map(short, near.figures)]
        lines.append([*own, f"{near.distance:.3f}"])
    return str(Cells(["reading", "number", *factors, *figures, "distance"], lines))
