"""The figures of a run as the recorder declares them: what stands in results, on the terminal and in legends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from paceline import _core


@dataclass(frozen=True)
class Figure:
    """One line of the table of figures, as docs/figures.md shows it."""

    table: str
    """Where it stands in the summary, such as `flows.NAME`."""
    name: str
    title: str
    """Its name for people."""
    unit: str
    needs: str
    """The facts that an end needs for it."""
    definition: str
    column: str | None
    """How the cells of its column are made, if it has one."""
    summary: str | None
    """How its field of the summary is made, if it has one."""
    shown: int | None
    """Its place in the table on the terminal, if it stands there."""


@cache
def every_figure() -> tuple[Figure, ...]:
    """All figures, in their order."""
    return tuple(Figure(**figure) for figure in json.loads(_core.figures_json()))


@cache
def figures(table: str) -> dict[str, Figure]:
    """The figures of a part of the summary, by name."""
    return {figure.name: figure for figure in every_figure() if figure.table == table}


def shown(table: str) -> list[Figure]:
    """The figures that stand in the table on the terminal, in its order."""
    return sorted((figure for figure in figures(table).values() if figure.shown), key=lambda figure: figure.shown or 0)


def titles(*names: str) -> dict[str, str]:
    """Columns of flows.parquet with what a legend calls them."""
    return {name: figures("flows.NAME")[name].title for name in names}
