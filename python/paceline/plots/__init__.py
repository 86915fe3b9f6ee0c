"""Pictures of a run. Each is a function that computes a table and a function that draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.errors import UsageError
from paceline.plots import (
    beside,
    coupling,
    delay_cdf,
    delay_quantiles,
    frame_strip,
    lines,
    link_rate,
    original_frames,
    overview,
    psnr,
    received,
    topology,
)
from paceline.plots.plot import Plot, Run
from paceline.plots.style import heading, image, new_figure, settings
from paceline.plots.styles import FORMATS, SCREEN, STYLES, drawn_as, formats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.figure import Figure


__all__ = ["FORMATS", "PLOTS", "STYLES", "Plot", "Run", "draw", "drawn_as", "files", "named", "title"]

PLOTS: dict[str, Plot] = {
    plot.name: plot
    for plot in (
        overview.PLOT,
        beside.PLOT,
        original_frames.PLOT,
        link_rate.TRACE,
        lines.ENCODED,
        lines.RATES,
        link_rate.THROUGHPUT,
        lines.DELAYS,
        lines.ONE_WAY_DELAY,
        lines.FRAME_DELAY,
        delay_quantiles.PLOT,
        delay_cdf.PLOT,
        lines.WINDOW,
        coupling.PLOT,
        psnr.PLOT,
        frame_strip.PLOT,
        received.PLOT,
    )
}
"""Every picture, by name."""


def draw(name: str, result: Run) -> Figure:
    """The picture called `name` of a run; `topology` is that of its scenario."""
    if not hasattr(result, "flows"):
        raise UsageError(f"draw: found {result!r}, expected the result of a run, as `paceline.run` gives it")
    if name == "topology":
        return topology.figure(topology.table(result.settings))
    figure = _draw(named(name), result)
    if figure is None:
        raise UsageError(f"plot {name!r}: this run has nothing to show there")
    return figure


def named(name: str) -> Plot:
    """The plot of that name."""
    if name not in PLOTS:
        raise UsageError(f"plot: found {name!r}, expected one of {', '.join(PLOTS)}")
    return PLOTS[name]


def _draw(plot: Plot, result: Run) -> Figure | None:
    from matplotlib import rc_context

    table = plot.table(result)
    if table is None or table.empty:
        return None
    with rc_context(settings()):
        figure = new_figure(height=plot.height)
        heading(figure, title(plot, result))
        plot.draw(figure, table)
    return figure


def title(plot: Plot, result: Run) -> str:
    """The picture's title: what is shown, and of which run."""
    name = str(result.summary.get("name", ""))
    return ": ".join(filter(None, (plot.title, name)))


def files(result: Run, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The named pictures, as far as they fit the run, as (name of the file, content)."""
    for plot in map(named, names):
        figure = _draw(plot, result)
        if figure is None:
            continue
        for kind in kinds(plot):
            yield f"plots/{plot.name}.{kind}", image(figure, kind)


def kinds(plot: Plot) -> tuple[str, ...]:
    """The kinds of a picture's files. On a screen that is SVG, or PNG for photographs; the overview has both."""
    asked = formats()
    return asked if asked != SCREEN.formats or plot is overview.PLOT else (plot.kind,)


def __getattr__(name: str) -> object:
    """The pictures of data frames, imported when first asked for: they need pandas."""
    if name != "pictures":
        raise AttributeError(f"module 'paceline.plots' has no attribute {name!r}", name=name)
    from importlib import import_module

    return import_module("paceline.plots.pictures")
