"""The look of every picture: colours that colour-blind readers can tell apart, sizes, and files without a date."""

from __future__ import annotations

import io
from functools import cache
from logging import getLogger
from typing import TYPE_CHECKING, Any

from paceline.plots.svg import slim

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paceline.outputs import OutputFolder

# Where its usual folders cannot be written, matplotlib has a temporary one for its fonts, and says so in every process.
_SAID = ("mkdir -p failed", "Matplotlib created a temporary cache directory")
getLogger("matplotlib").addFilter(lambda record: not record.getMessage().startswith(_SAID))

# Okabe and Ito's palette.
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
BLACK = "#222222"
GREY = "#8A8A8A"
SHADE = "#DCE6EE"

CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = ("-", "--", ":", "-.")

LEGEND_LETTERS = 110
"""Letters of a legend that fit into a picture's width, about."""
NAME_LETTERS = 40
TITLE_LETTERS = 80

_SETTINGS: dict[str, Any] = {
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "path.simplify_threshold": 0.4,
    # A name may hold dollar signs.
    "text.parse_math": False,
    "svg.hashsalt": "paceline",
    "svg.fonttype": "path",
}


MANY_DECADES = 300
"""A logarithmic axis whose ends have at least this ratio is labelled at whole decades only."""


def new_figure(width: float = 8.0, height: float = 3.6) -> Figure:
    """An empty figure, drawn without a display and without global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _drawing()(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


@cache
def _drawing() -> type[Figure]:
    """A figure that a notebook shows, made when the first is drawn: matplotlib takes long to load."""
    from matplotlib.figure import Figure

    class Drawing(Figure):
        def _repr_png_(self) -> bytes:
            return image(self, "png")

    return Drawing


def settings() -> Any:
    """The settings that `matplotlib.rc_context` is given while a picture is drawn or written."""
    return dict(_SETTINGS)


def time_axis(axes: Axes, end: float, *, label: bool = True) -> None:
    """Time in seconds from 0 to the end of the run, and nothing below 0 to the left."""
    axes.set_xlim(0, end)
    axes.set_ylim(bottom=0)
    if label:
        axes.set_xlabel("time, s")


def logarithmic(axes: Axes, which: str) -> None:
    """The axis `x` or `y` of what is drawn in decades, with labels at 1, 2 and 5 of each while these are few."""
    from matplotlib.ticker import LogLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < MANY_DECADES * low else (1,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def legend(axes: Axes, *, columns: int = 4) -> None:
    """The legend above the axes, on the right, where it hides nothing; in fewer columns where the labels are long."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    fitting = LEGEND_LETTERS // (max(map(len, labels)) + 6)
    axes.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=max(1, min(columns, fitting)),
        borderaxespad=0.2,
    )


def shortened(said: object, letters: int = NAME_LETTERS) -> str:
    """A name cut to what a picture has room for. The middle is left out, as similar names often differ at the end."""
    name = str(said)
    if len(name) <= letters:
        return name
    tail = (letters - 1) // 2
    return f"{name[: letters - 1 - tail]}…{name[-tail:]}"


def stage_pictures(folder: OutputFolder, figures: Iterable[tuple[str, Figure]]) -> dict[str, str]:
    """Writes each figure to `plots/` as SVG and PNG; the SVG texts by the figures' names, for a report."""
    svgs = {}
    for name, figure in figures:
        svgs[name] = image(figure, "svg").decode()
        folder.stage(f"plots/{name}.svg", svgs[name])
        folder.stage(f"plots/{name}.png", image(figure, "png"))
    return svgs


def image(figure: Figure, kind: str) -> bytes:
    """The figure as an SVG or PNG file; the same picture gives the same bytes."""
    import matplotlib as mpl

    sink = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context(settings()):
        _lay_out(figure)
        figure.savefig(sink, format=kind, dpi=120, metadata=metadata)
    return slim(sink.getvalue().decode()).encode() if kind == "svg" else sink.getvalue()


def _lay_out(figure: Figure) -> None:
    """Places what the figure shows, once: with a layout engine each file places all of it anew and draws it twice."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
