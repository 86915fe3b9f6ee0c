"""The report of a tuning study: one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline import _core
from paceline.studies.report import inline, page

if TYPE_CHECKING:
    from paceline.tuning.engine import TuningResult
    from paceline.tuning.sensitivity import SensitivityResult


def render(result: TuningResult, svgs: dict[str, str]) -> str:
    """The page, with the pictures by their names."""
    tuning = result.tuning
    tables = {
        name: [
            (
                one,
                judged.found.named[one].objectives,
                measured.objectives(tuning, tuning.held_out),
                measured.point,
            )
            for one, measured in judged.sets.items()
        ]
        for name, judged in result.judged.items()
    }
    return page(
        "tuning.html",
        tuning=tuning,
        version=_core.__version__,
        judged=result.judged,
        tables=tables,
        svgs={name: inline(svg, f"{name}-") for name, svg in svgs.items()},
    )


def render_sensitivity(result: SensitivityResult, svgs: dict[str, str]) -> str:
    """The page of the ranking."""
    return page(
        "sensitivity.html",
        tuning=result.tuning,
        search=result.search,
        version=_core.__version__,
        ranking=result.ranking,
        sobol=result.sobol,
        failed=result.failed,
        svgs={name: inline(svg, f"{name}-") for name, svg in svgs.items()},
    )
