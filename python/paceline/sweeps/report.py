"""The report of a sweep: one HTML page that needs no other file and no network."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from paceline import _core
from paceline.studies.compare import Comparison
from paceline.studies.judge import VERDICTS
from paceline.studies.report import inline, page

if TYPE_CHECKING:
    from paceline.sweeps.engine import SweepResult


@dataclass(frozen=True)
class Section:
    """What stands in one place of the paper."""

    where: str
    lines: list[Comparison]


def render(result: SweepResult, svgs: dict[str, str]) -> str:
    """The page, with the pictures by their names."""
    sweep = result.sweep
    by_place = groupby(result.comparison, lambda line: line.published.where)
    return page(
        "sweep.html",
        sweep=sweep,
        missing=result.missing,
        version=_core.__version__,
        state=result.state,
        counts=[(verdict, result.verdicts[verdict]) for verdict in VERDICTS if verdict in result.verdicts],
        total=len(result.comparison),
        nearest=result.nearest,
        sections=[Section(where, list(lines)) for where, lines in by_place],
        pictures=[(one, inline(svgs[one.name], f"{one.name}-")) for one in sweep.pictures.values()],
        rows=max((len(factor.levels) for factor in sweep.factors.values()), default=0),
    )
