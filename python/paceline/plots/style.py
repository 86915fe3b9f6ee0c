"""The parts that all pictures have: figures in the current style, axes, legends, titles, and files without a date."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from logging import getLogger
from typing import TYPE_CHECKING, Any

from paceline.plots.styles import (
    BLACK,
    BLUE,
    CYCLE,
    DASHES,
    GREEN,
    GREY,
    ORANGE,
    PALE,
    PURPLE,
    SCREEN,
    SHADE,
    SKY,
    VERMILION,
    current,
    drawn_as,
    formats,
    settings,
)
from paceline.plots.svg import slim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from paceline.outputs import OutputFolder
    from paceline.plots.styled_figure import StyledFigure

__all__ = [
    "BLACK", "BLUE", "CYCLE", "DASHES", "GREEN", "GREY", "ORANGE", "PALE", "PURPLE", "SHADE", "SKY", "VERMILION",
    "heading", "image", "legend", "logarithmic", "new_figure", "note", "settings", "shortened",
    "spans_decades", "stage_pictures", "time_axis", "value_axis",
]  # fmt: skip

# Where its usual folders cannot be written, matplotlib has a temporary one for its fonts, and says so in every process.
_SAID = ("mkdir -p failed", "Matplotlib created a temporary cache directory", "Matplotlib is building the font cache")
for _logger in ("matplotlib", "matplotlib.font_manager"):
    getLogger(_logger).addFilter(lambda record: not record.getMessage().startswith(_SAID))


NAME_LETTERS = 40
TITLE_LETTERS = 80
MANY_DECADES = 300
"""A logarithmic axis whose ends have at least this ratio is labelled at whole decades only."""
DECADES = 30
"""From this ratio of the largest value to the least on, an axis is logarithmic by itself."""
MOST = 12
"""Lines of a legend; of more the first are named, and the rest is counted."""
LEGEND = 0.92
"""Size of a legend's letters, in parts of the others'."""
LETTER = 0.53
"""Width of a letter on the mean, in parts of the font's size."""


def new_figure(width: float = 8.0, height: float = 3.6, *, wide: bool = False) -> StyledFigure:
    """An empty figure in the current style, drawn without a display and without global state.

    Args:
        width: Inches on a screen; other styles have their own.
        height: Inches on a screen.
        wide: Whether it has several pairs of axes side by side, for which a column of a paper is too narrow.
    """
    from matplotlib import rc_context

    from paceline.plots.styled_figure import StyledFigure

    style = current()
    with rc_context(style.settings()):
        return StyledFigure(style.size(width, height, wide=wide), style.settings(), titled=style.titled)


def heading(figure: Figure, title: str) -> None:
    """The picture's title, above all axes; a paper has it in the caption instead."""
    size = 1.21 * current().font
    text = figure.suptitle("", x=0.012, ha="left", fontsize=size, fontweight="bold")

    def fit() -> None:
        letters = min(TITLE_LETTERS, int(72 * figure.get_size_inches()[0] / (0.62 * size)))
        text.set_text(shortened(title, letters) if _titled(figure) else "")
        text.set_in_layout(_titled(figure))

    _fitted(figure, fit)


def _titled(figure: Any) -> bool:
    """Whether titles stand in the picture now; in a figure that is no picture of ours they do."""
    return bool(getattr(figure, "shows_titles", True))


def value_axis(axes: Axes, quantity: str, unit: str, *, title: str = "") -> None:
    """Says on the upright axis what it shows: the unit alone under a title, else the quantity, too."""

    def fit() -> None:
        titled = _titled(axes.figure)
        axes.set_ylabel(unit if titled else f"{quantity}, {unit}")
        if title:
            axes.set_title(title if titled else "")

    _fitted(axes.figure, fit)


def _fitted(figure: Any, fit: Any) -> None:
    """Arranges now, and again whenever the figure gets another width."""
    fit()
    if hasattr(figure, "fits"):
        figure.fits.append(fit)


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


def spans_decades(values: Any) -> bool:
    """Whether an axis of these values is better logarithmic: all above zero, the largest far from the least."""
    import numpy as np

    found = np.asarray(values, float)
    found = found[np.isfinite(found)]
    return bool(len(found) and found.min() > 0 and found.max() >= DECADES * found.min())


def legend(axes: Axes, *, columns: int = 4) -> None:
    """The legend above the axes, on the right, where it hides nothing; in as many columns as there is room for."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    if len(labels) > MOST:
        more = axes.plot([], [], color="none")
        handles, labels = [*handles[: MOST - 1], *more], [*labels[: MOST - 1], f"and {len(labels) - MOST + 1} more"]
    figure: Any = axes.figure
    size = LEGEND * current().font

    def fit() -> None:
        letters = size * getattr(figure, "shrunk", 1.0)
        room = 72 * float(figure.get_size_inches()[0]) - 4 * letters
        count = columns_for(labels, min(columns, len(labels)), room, letters)
        axes.legend(
            handles, labels, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=count, borderaxespad=0.2, fontsize=size
        )
        # The title stands above the legend.
        axes.set_title(axes.get_title(loc="left"), pad=size * (0.4 + 1.5 * -(-len(labels) // count)))

    _fitted(figure, fit)


def legend_below(figure: Figure, grid: Iterable[Axes], *, last: str = "\n", title: str = "") -> None:
    """One legend below all axes: each label once, those that begin with `last` at the end; `title` names the factor."""
    handles: dict[str, Any] = {}
    for axes in grid:
        handles |= dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    labels = sorted(handles, key=lambda label: label.startswith(last))
    if not labels:
        return
    size = LEGEND * current().font
    count = columns_for(labels, min(6, len(labels)), 72 * float(figure.get_size_inches()[0]) - 2 * size, size)
    figure.legend(
        [handles[one] for one in labels], labels, loc="outside lower center", ncols=count, title=title or None
    )


def columns_for(labels: Sequence[str], most: int, points: float, size: float) -> int:
    """How many columns of a legend fit a width: each is as wide as its longest label, its mark and a gap."""
    for count in range(most, 1, -1):
        # As matplotlib fills them: the first columns have one more where it does not come out even.
        lines, more = divmod(len(labels), count)
        starts = [place * lines + min(place, more) for place in range(count + 1)]
        parts = [labels[start:end] for start, end in pairwise(starts)]
        if sum(max(map(len, part)) * LETTER + 3.6 for part in parts) * size <= points:
            return count
    return 1


def note(axes: Axes, said: Text) -> None:
    """A remark beside what is drawn, which only stands where the figure is wide enough for it."""

    def fit() -> None:
        said.set_visible(_titled(axes.figure))
        said.set_in_layout(_titled(axes.figure))

    _fitted(axes.figure, fit)


def shortened(said: object, letters: int = NAME_LETTERS) -> str:
    """A name cut to what a picture has room for. The middle is left out, as similar names often differ at the end."""
    name = str(said)
    if len(name) <= letters:
        return name
    tail = (letters - 1) // 2
    return f"{name[: letters - 1 - tail]}…{name[-tail:]}"


def stage_pictures(
    folder: OutputFolder, draw: Callable[[], Iterable[tuple[str, Figure]]], *, reported: bool = True
) -> dict[str, str]:
    """Writes each figure to `plots/` in the current style and formats.

    Returns the SVG texts by the figures' names for a report, which shows them as on a screen; none if not `reported`.
    """
    style, kinds, svgs = current(), formats(), {}
    for name, figure in draw():
        files = {kind: image(figure, kind) for kind in kinds}
        for kind, content in files.items():
            folder.stage(f"plots/{name}.{kind}", content)
        if reported and style is SCREEN:
            svgs[name] = (files.get("svg") or image(figure, "svg")).decode()
    if reported and style is not SCREEN:
        with drawn_as(SCREEN.name):
            svgs = {name: image(figure, "svg").decode() for name, figure in draw()}
    return svgs


_METADATA = {"svg": {"Date": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
"""The parts of files that would differ from day to day."""


def image(figure: Figure, kind: str) -> bytes:
    """The figure as an SVG, PNG or PDF file; the same picture gives the same bytes."""
    from matplotlib import rc_context

    sink = io.BytesIO()
    with rc_context(settings()):
        _lay_out(figure)
        figure.savefig(sink, format=kind, dpi=current().dpi, metadata=_METADATA[kind])
    return slim(sink.getvalue().decode()).encode() if kind == "svg" else sink.getvalue()


def _lay_out(figure: Figure) -> None:
    """Places what the figure shows, once: with a layout engine each file places all of it anew and draws it twice."""
    engine = figure.get_layout_engine()
    if engine is not None:
        if hasattr(figure, "fit"):
            figure.fit()
        engine.execute(figure)
        figure.set_layout_engine(None)
