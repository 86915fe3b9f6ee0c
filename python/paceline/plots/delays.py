"""Waiting in the send queue, and the smoothed round-trip time (Figures 8 and 12 of study scream-5g's paper).

What the paper calls network queue delay is the smoothed RTT (the caption of its Figure 8 says so); the delay that the
link's queue really adds is drawn beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.plots.lines import draw_series
from paceline.plots.plot import Plot, flow_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from paceline.result import Result

NAMES = {
    "send_queue_delay_ms": "RTP queue delay",
    "srtt_ms": "network delay (smoothed RTT)",
    "queue_delay_ms": "wait in the link's queue",
}


def table(result: Result) -> pd.DataFrame:
    """Per sample: the three delays in milliseconds."""
    return flow_table(result, NAMES)


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    draw_series(figure.subplots(), rows, list(NAMES.values()), unit="ms")


PLOT = Plot("delays", "8, 12", "Delays", table, draw)
