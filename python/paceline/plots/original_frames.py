"""Frame sizes of the trace before encoding (Figure 3 of study scream-5g's paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.frames import source_frames
from paceline.plots.plot import Plot, Run
from paceline.plots.style import BLUE, GREY, legend, value_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def table(result: Run) -> pd.DataFrame | None:
    """Per frame of the trace that the first flow encodes: its number and its size in kB; None without such a file."""
    import pandas as pd

    source = source_frames(result)
    if source is None:
        return None
    return pd.DataFrame({"frame": range(1, len(source.sizes) + 1), "kB": [size / 1000 for size in source.sizes]})


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    axes = figure.subplots()
    axes.vlines(rows["frame"], 0, rows["kB"], color=BLUE, linewidth=0.5)
    mean = float(rows["kB"].mean())
    axes.axhline(mean, color=GREY, linewidth=1.2, label=f"mean {mean:.1f} kB")
    axes.set_xlim(1, len(rows))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("frame")
    value_axis(axes, "size of the frame", "kB")
    legend(axes)


PLOT = Plot("original_frames", "3", "The video trace before encoding", table, draw)
