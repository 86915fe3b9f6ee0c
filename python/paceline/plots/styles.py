"""Styles of pictures: for paper, talk and screen, with colours that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from paceline.errors import UsageError, one_of

# Places in a palette: matplotlib looks the colour up in the style of the figure when it draws.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = (f"C{place}" for place in range(7))
GREY, SHADE, WINE, OLIVE, INDIGO, PALE = (f"C{place}" for place in range(7, 13))

CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = ("-", "--", ":", "-.")

# In the order of the names above. The first seven of LIGHT are Okabe and Ito's, the last Paul Tol's.
LIGHT = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222",
    "#8A8A8A", "#DCE6EE", "#882255", "#999933", "#332288", "#D0D0D0",
)  # fmt: skip
PRINT = (
    "#00568A", "#C24E00", "#007F5C", "#B0558A", "#C98300", "#3A9AD6", "#000000",
    "#707070", "#E2E2E2", "#6E1643", "#7A7A1E", "#2A1C70", "#C4C4C4",
)  # fmt: skip
"""Darker, for thin lines on paper."""
DARK = (
    "#4AA8E8", "#FF8A4A", "#2FCB9B", "#E8A5CB", "#F4BC4A", "#9ADBFF", "#EEEEEE",
    "#A0A0A0", "#2B3A48", "#E0709F", "#CCCC66", "#A79BFF", "#505050",
)  # fmt: skip
"""Lighter, for a dark ground."""


def place(colour: str) -> int:
    """The place of a colour in each palette."""
    return int(colour.removeprefix("C"))


@dataclass(frozen=True)
class Style:
    """The look of pictures for a purpose."""

    name: str
    help: str
    palette: tuple[str, ...]
    font: float
    """Size of letters in points."""
    line: float
    """Width of lines in points."""
    widths: tuple[float, float] | None
    """Inches of a picture with one pair of axes from left to right, and with several; None: as it was designed."""
    height: float
    """Heights, as parts of those on a screen."""
    highest: float
    """Inches."""
    titled: bool
    """Whether the title stands in the picture; a paper has it in the caption."""
    dpi: int
    formats: tuple[str, ...]
    """The kinds of files that are written where none is asked for."""
    ground: str = "white"

    def settings(self) -> Any:
        """The settings that `matplotlib.rc_context` is given while a picture is drawn or written."""
        from cycler import cycler

        ink, grid = self.palette[6], "#3A4650" if self.palette is DARK else "#E4E4E4"
        return {
            "font.size": self.font,
            "figure.labelsize": "medium",
            "axes.titlesize": 1.16 * self.font,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.linewidth": 0.6 * self.line,
            "axes.prop_cycle": cycler(color=self.palette),
            "grid.color": grid,
            "grid.linewidth": 0.7,
            "lines.linewidth": self.line,
            "lines.markersize": 0.5 * self.font,
            "legend.frameon": False,
            "legend.handlelength": 1.6,
            "legend.columnspacing": 1.2,
            "legend.fontsize": 0.92 * self.font,
            "figure.facecolor": self.ground,
            "axes.facecolor": self.ground,
            **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), ink),
            "path.simplify_threshold": 0.4,
            # A name may hold dollar signs.
            "text.parse_math": False,
            "svg.hashsalt": "paceline",
            "svg.fonttype": "path",
            # TrueType: IEEE and ACM refuse fonts of Type 3.
            "pdf.fonttype": 42,
            "ps.fonttype": 42,
        }

    def colour(self, place: str) -> str:
        """The colour that this style has for a place in the palette, such as `BLUE`, as #RRGGBB."""
        return self.palette[int(place[1:])]

    def size(self, width: float, height: float, *, wide: bool) -> tuple[float, float]:
        """Inches of a picture that is designed as `width` times `height` inches on a screen."""
        if self.widths is not None:
            width = self.widths[wide]
        return width, min(self.highest, self.height * height)


SCREEN = Style("screen", "for a screen", LIGHT, 9.5, 1.2, None, 1.0, 100.0, True, 120, ("svg", "png"))
PAPER = Style(
    "paper", "for a column of 3.5 in, or a page of 7.16 in", PRINT, 8.0, 0.9, (3.5, 7.16), 0.64, 8.8, False, 300,
    ("pdf",),
)  # fmt: skip
TALK = Style("talk", "for a slide of 16 by 9", LIGHT, 15.0, 2.2, (10.0, 12.0), 1.3, 5.6, True, 150, ("svg", "png"))
NIGHT = Style(
    "dark", "for a dark ground", DARK, 9.5, 1.3, None, 1.0, 100.0, True, 120, ("svg", "png"), ground="#16202A"
)  # fmt: skip
STYLES = {style.name: style for style in (SCREEN, PAPER, TALK, NIGHT)}
"""Every style by its name."""
FORMATS = ("svg", "png", "pdf")
"""The kinds of picture files."""

_CURRENT: ContextVar[tuple[Style, tuple[str, ...]]] = ContextVar("paceline-style", default=(SCREEN, ()))


def current() -> Style:
    """The style of pictures that are drawn now."""
    return _CURRENT.get()[0]


def formats() -> tuple[str, ...]:
    """The kinds of files that are written now."""
    style, asked = _CURRENT.get()
    return asked or style.formats


@contextmanager
def drawn_as(style: str | None = None, formats: Sequence[str] | str = ()) -> Iterator[None]:
    """Within it, all pictures are drawn in a style, and written as files of these formats.

    Args:
        style: A name of `STYLES`; None: as around it.
        formats: `pdf`, `png` or `svg`, one or several; none: the style's own, or as around it if no style is given.

    Raises:
        UsageError: There is no such style or format.
    """
    kinds = (formats,) if isinstance(formats, str) else tuple(formats)
    for kind in kinds:
        if kind not in FORMATS:
            raise UsageError(f"format: found {kind!r}, {one_of(str(kind), FORMATS)}")
    if style is not None and style not in STYLES:
        raise UsageError(f"style: found {style!r}, {one_of(str(style), STYLES)}")
    before = _CURRENT.get()
    token = _CURRENT.set((before[0], kinds or before[1]) if style is None else (STYLES[style], kinds))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def settings() -> Any:
    """The settings of the style that holds now."""
    return current().settings()
