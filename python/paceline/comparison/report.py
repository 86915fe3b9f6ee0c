"""The report of a comparison: one HTML page with its tables, pictures, curves to zoom, and weights to change."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from paceline.comparison.figures import DELAYS, FIGURES, Figure
from paceline.comparison.statistics import (
    ALIKE,
    CONFIDENCE,
    EVERY,
    FEW,
    FEW_CONDITIONS,
    FEW_SEEDS,
    NO_FIGURE,
    NO_SEED,
    ONE_SEED,
    SAME,
)
from paceline.plots.comparison import looks_of, series
from paceline.plots.styles import DASHES, SCREEN
from paceline.studies.estimates import three
from paceline.studies.report import inline, page

if TYPE_CHECKING:
    import pandas as pd

    from paceline.comparison.result import ComparisonResult

POINTS = 1500
"""Samples of a curve in the page; of more, several in a row are averaged."""
_CURVES = {"throughput_mbps": "Throughput", "one_way_delay_ms": "One-way delay", "frame_delay_ms": "Frame delay"}
_UNITS = {"throughput_mbps": "Mbit/s", "one_way_delay_ms": "ms", "frame_delay_ms": "ms"}
_DASHES = dict(zip(DASHES, ([], [8, 4], [2, 3], [8, 3, 2, 3]), strict=True))
_STEPS = 6
"""Significant digits of a number in a curve."""


@dataclass(frozen=True)
class Cell:
    """A figure of a controller under a condition, with what it has more than the baseline."""

    median: str
    difference: str = ""
    interval: str = ""
    note: str = ""
    verdict: str = ""
    """`holds` where it is better, `does-not-hold` where it is worse."""


@dataclass(frozen=True)
class Line:
    """A controller under a condition."""

    controller: str
    runs: int
    failed: int
    cells: list[Cell]


def render(result: ComparisonResult, drawn: dict[str, str]) -> str:
    """The page, with the drawings by their names."""
    stills = ("rate-delay", *(name for name in drawn if name.endswith("_delay")))
    return page(
        "compare.html",
        result=result,
        figures=shown(result),
        overall=lines(result, EVERY, shown(result)),
        lines={one: lines(result, one, shown(result)) for one in result.conditions},
        beside=beside(result),
        panels=min(3, len(result.conditions)),
        stills={name: inline(drawn[name], f"{name}-") for name in stills},
        colours=_colours(result),
        percent=f"{100 * CONFIDENCE:g} %",
        notes=notes(result),
        after={one: after(result, one) for one in result.conditions},
        weights={name: result.ranking.weights.get(name, 0.0) for name in scored(result)},
        titles={name: one.title for name, one in FIGURES.items()},
        document=_script(_document(result)),
        script=_asset("uPlot.iife.min.js"),
        styles=_asset("uPlot.min.css"),
        licence=_asset("uPlot.LICENSE"),
    )


def tabled(result: ComparisonResult) -> list[str]:
    """The names of the tables: that over all conditions first, if there are several, then each condition."""
    return [*([] if result.overall[0].empty else [EVERY]), *result.conditions]


def title(result: ComparisonResult, condition: str) -> str:
    """The heading of a table."""
    if condition == EVERY:
        return f"all {len(result.conditions)} conditions: means over them"
    return f"{condition}{after(result, condition)}"


def beside(result: ComparisonResult) -> str:
    """The controller that the others are compared with, or the earlier version of each."""
    if not result.earlier:
        return result.baseline
    return "itself in the earlier version" if len(result.earlier) > 1 else next(iter(result.earlier.values()))


def shown(result: ComparisonResult) -> list[Figure]:
    """The figures that any controller has."""
    return [one for one in FIGURES.values() if result.medians[one.column].notna().any()]


def after(result: ComparisonResult, condition: str) -> str:
    """How a condition's name goes on where it has a warm-up."""
    warmup = result.warmups.get(condition)
    return f", after {warmup:g} s of start-up" if warmup else ""


def scored(result: ComparisonResult) -> list[str]:
    """The figures that the ranking knows of all controllers."""
    scores = result.ranking.scores
    return list(next(iter(scores.values()))) if scores else []


def lines(result: ComparisonResult, condition: str, figures: Sequence[Figure]) -> list[Line]:
    """The table of a condition, or of all: a line for each controller, a cell for each of the figures."""
    tables = result.overall if condition == EVERY else (result.medians, result.differences)
    medians, differences = (table[table["condition"] == condition] for table in tables)
    found = {(row.controller, row.figure): row for row in differences.itertuples()}
    return [
        Line(
            str(row["controller"]),
            int(row["runs"]),
            int(row["failed"]),
            [_cell(row[one.column], found.get((row["controller"], one.column))) for one in figures],
        )
        for _, row in medians.iterrows()
    ]


def _cell(median: float, difference: Any) -> Cell:
    text = "" if math.isnan(median) else three(median)
    if difference is None or math.isnan(difference.difference):
        return Cell(text, note=NO_SEED if difference is not None and difference.note == NO_SEED else "")
    verdict = {True: "holds", False: "does-not-hold"}.get(difference.better, "")
    return Cell(text, signed(difference.difference), interval_of(difference), verdict=verdict)


def signed(value: float) -> str:
    """A difference with its sign; what is below the fourth decimal is nothing."""
    value = round(value, 4)
    return "±0" if value == 0 else f"{'+' if value > 0 else '-'}{three(abs(value))}"


def interval_of(difference: Any) -> str:
    """The interval of a difference, if it has one that has a width."""
    if math.isnan(difference.low) or difference.note == SAME:
        return ""
    return f"{signed(difference.low)} to {signed(difference.high)}"


NOTES = {
    ONE_SEED: "One seed tells nothing of the spread, so there is no interval.",
    SAME: "A difference without an interval is the same with every seed: nothing is left to chance, its width is zero.",
    ALIKE: "A difference without an interval was the same in all these runs, which tell nothing of its spread.",
    FEW_SEEDS: f"With fewer than {FEW} seeds nothing is marked as better or worse.",
    FEW_CONDITIONS: f"With fewer than {FEW} conditions nothing is marked over all of them.",
    NO_SEED: "Where no seed went well for both there is no difference.",
    NO_FIGURE: "Where one of the two has no such figure, as a file has no frames, there is no difference.",
}


def notes(result: ComparisonResult) -> list[str]:
    """The remark on the intervals."""
    found = {*result.differences["note"], *result.overall[1]["note"]}
    return [said for note, said in NOTES.items() if note in found]


def _colours(result: ComparisonResult) -> dict[str, str]:
    """The colour of each controller on the page, as in the pictures."""
    return {one: SCREEN.colour(look.colour) for one, look in looks_of(result).items()}


def _document(result: ComparisonResult) -> dict[str, Any]:
    """The data that the page's script draws and computes."""
    names = result.controllers
    looks, colours = looks_of(result), _colours(result)
    return {
        "controllers": names,
        "colours": [colours[one] for one in names],
        "dashes": [_DASHES[looks[one].dashes] for one in names],
        "scores": {one: result.ranking.scores[one] for one in names if one in result.ranking.scores},
        "charts": [*_curves(result), *_distributions(result)],
    }


def _curves(result: ComparisonResult) -> list[dict[str, Any]]:
    charts = []
    for number, condition in enumerate(result.conditions):
        tables = {
            one: _thinned(series(result, condition, one))
            for one in result.controllers
            if (condition, one) in result.series
        }
        if not tables:
            continue
        times = max((table["time_s"] for table in tables.values()), key=len)
        for column, title in _CURVES.items():
            drawn = {one: _plain(table[column]) for one, table in tables.items() if table[column].notna().any()}
            if not drawn:
                continue
            first = next(iter(tables.values()))
            capacity = _plain(first["capacity_mbps"]) if column == "throughput_mbps" else None
            charts.append(
                {
                    "id": f"c{number}-{column}",
                    "group": f"c{number}",
                    "title": f"{title}, {_UNITS[column]}",
                    "x": _plain(times),
                    "axis": "time, s",
                    "capacity": capacity,
                    "lines": drawn,
                }
            )
    return charts


def _thinned(table: pd.DataFrame) -> pd.DataFrame:
    """The table with as many rows as a page has room for: means of several rows, each under the last one's time."""
    each = math.ceil(len(table) / POINTS)
    if each <= 1:
        return table
    grouped = table.groupby(table.index // each)
    return grouped.mean().assign(time_s=grouped["time_s"].last())


def _plain(values: pd.Series[float]) -> list[float | None]:
    """Numbers as JSON has them; None for what is absent."""
    return [None if value != value else float(f"{value:.{_STEPS}g}") for value in values]


def _distributions(result: ComparisonResult) -> list[dict[str, Any]]:
    charts = []
    for number, condition in enumerate(result.conditions):
        for delay, title in DELAYS.items():
            own = result.quantiles[(result.quantiles["condition"] == condition) & (result.quantiles["delay"] == delay)]
            drawn = {str(one): _plain(rows["ms"]) for one, rows in own.groupby("controller", sort=False)}
            if drawn:
                parts = list(dict.fromkeys(own["part"]))
                charts.append(
                    {
                        "id": f"c{number}-{delay}-parts",
                        "group": f"parts-{number}",
                        "title": f"{title}: what a part of the samples stays below, ms",
                        "x": parts,
                        "axis": "part of the samples",
                        "capacity": None,
                        "lines": drawn,
                    }
                )
    return charts


def _script(document: dict[str, Any]) -> str:
    """JSON that may stand in a page: nothing in it ends the element."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return (files("paceline.comparison") / "assets" / name).read_text(encoding="utf-8")
