"""Congestion window and bytes in flight (Figures 9 and 13 of study scream-5g's paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.plots.lines import draw_series
from paceline.plots.plot import Plot, flow_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from paceline.result import Result

NAMES = {"cwnd_bytes": "congestion window", "bytes_in_flight": "bytes in flight"}


def table(result: Result) -> pd.DataFrame:
    """Per sample: the window and what it holds, in kB of 1000 bytes."""
    rows = flow_table(result, NAMES)
    rows[list(NAMES.values())] /= 1000.0
    return rows


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    draw_series(figure.subplots(), rows, list(NAMES.values()), unit="kB")


PLOT = Plot("window", "9, 13", "Congestion window and bytes in flight", table, draw)
