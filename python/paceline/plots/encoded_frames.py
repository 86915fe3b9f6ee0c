"""Frame sizes of the trace, and as the encoder sent them (Figures 3, 5 and 10 of study scream-5g's paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.frames import source_frames
from paceline.plots.lines import draw_series
from paceline.plots.plot import Plot, flow_table
from paceline.plots.style import BLUE, GREY, legend

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from paceline.result import Result


def original_table(result: Result) -> pd.DataFrame | None:
    """Per frame of the trace that the first flow encodes: its number and its size in kB; None without such a file."""
    import pandas as pd

    for source in source_frames(result):
        return pd.DataFrame({"frame": range(1, len(source.sizes) + 1), "kB": [s / 1000 for s in source.sizes]})
    return None


def draw_original(figure: Figure, rows: pd.DataFrame) -> None:
    axes = figure.subplots()
    axes.vlines(rows["frame"], 0, rows["kB"], color=BLUE, linewidth=0.5)
    mean = float(rows["kB"].mean())
    axes.axhline(mean, color=GREY, linewidth=1.2, label=f"mean {mean:.1f} kB")
    axes.set_xlim(1, len(rows))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("frame")
    axes.set_ylabel("kB")
    legend(axes)


def encoded_table(result: Result) -> pd.DataFrame:
    """Per sample with a frame: the mean size of what the encoder handed to the send queue, in kB."""
    rows = flow_table(result, {"frame_bytes": "encoded frame"})
    rows["encoded frame"] /= 1000.0
    return rows.dropna(subset=["encoded frame"])


def draw_encoded(figure: Figure, rows: pd.DataFrame) -> None:
    draw_series(figure.subplots(), rows, ["encoded frame"], unit="kB")


ORIGINAL = Plot("original_frames", "3", "The video trace before encoding", original_table, draw_original)
ENCODED = Plot("encoded_frames", "5, 10", "Frames as encoded", encoded_table, draw_encoded)
