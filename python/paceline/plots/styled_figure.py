"""A figure that keeps its style: its own settings hold wherever it is drawn, and its parts fit its width."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from paceline.errors import printable

NARROW = 5.5
"""Inches of width below which titles go, and the labels of the axes name the quantity instead."""
LETTER = 0.56
"""Width of a letter on the mean, in parts of the font's size."""
LEAST_LETTERS = 7.0
"""Points: letters of a figure that is made smaller do not go below."""


class StyledFigure(Figure):
    """A figure with the settings of a style; made narrower or wider, it arranges legends, titles and letters anew."""

    def __init__(self, size: tuple[float, float], settings: Any, *, titled: bool) -> None:
        super().__init__(figsize=size, layout="constrained")
        FigureCanvasAgg(self)
        self.settings = settings
        self.titled = titled
        self.fits: list[Callable[[], None]] = []
        """Arrangements that depend on the figure's width; each is run when the width changes."""
        self._designed = size[0]
        self._letters = 1.0
        self._fitted: tuple[float, int] | None = None

    @property
    def width(self) -> float:
        """Width in inches."""
        return float(self.get_size_inches()[0])

    @property
    def shrunk(self) -> float:
        """The size of letters as a part of the designed one: they shrink with the width while they can be read."""
        return min(1.0, max(LEAST_LETTERS / float(self.settings["font.size"]), self.width / self._designed))

    @property
    def shows_titles(self) -> bool:
        """Whether titles stand in the picture: by its style, and while it is wide enough."""
        return self.titled and self.width >= NARROW

    def fit(self) -> None:
        """Arranges everything that depends on the width, if that changed."""
        if self._fitted == (self.width, len(self.fits)):
            return
        self._fitted = self.width, len(self.fits)
        base = float(self.settings["font.size"])
        with mpl.rc_context(self.settings):
            self._scale_letters(1.0, base)
            for one in self.fits:
                one()
            for text in self.findobj(Text):
                assert isinstance(text, Text)
                text.set_text(printable(text.get_text()))
            self._wrap_labels(self.shrunk)
            self._scale_letters(self.shrunk, base)

    def _wrap_labels(self, shrunk: float) -> None:
        """Long labels below axes take several lines where one is too short for them."""
        for axes in self.axes:
            label, span = axes.xaxis.label, axes.get_subplotspec()
            columns = 1 if span is None else span.get_gridspec().ncols
            letters = int(0.85 * 72 * self.width / columns / (LETTER * float(label.get_fontsize()) * shrunk))
            label.set_text("\n".join(wrap(label.get_text().replace("\n", " "), max(letters, 8))))

    def _scale_letters(self, wanted: float, base: float) -> None:
        if wanted == self._letters:
            return
        for text in self.findobj(Text):
            assert isinstance(text, Text)
            text.set_fontsize(float(text.get_fontsize()) * wanted / self._letters)
        for axes in self.axes:
            axes.tick_params(which="both", labelsize=base * wanted)
        self._letters = wanted

    def draw(self, renderer: Any) -> None:
        with mpl.rc_context(self.settings):
            self.fit()
            super().draw(renderer)

    def savefig(self, fname: Any, *args: Any, **how: Any) -> None:
        """As of any figure, with the style's settings: the kind of fonts of a PDF is chosen while it is written."""
        with mpl.rc_context(self.settings):
            self.fit()
            super().savefig(fname, *args, **how)

    def _repr_png_(self) -> bytes:
        """The picture where a notebook shows a value."""
        sink = BytesIO()
        self.savefig(sink, format="png")
        return sink.getvalue()

    def __getstate__(self) -> Any:
        # A copy in another process keeps its arrangement.
        state: Any = super().__getstate__()
        return {**state, "fits": []}
