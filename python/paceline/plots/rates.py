"""Target bitrate and transmitted rate (Figures 6 and 11 of study scream-5g's paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.plots.lines import draw_series
from paceline.plots.plot import Plot, flow_table, with_mean_rates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from paceline.result import Result


def table(result: Result) -> pd.DataFrame:
    """Per sample: the target told to the encoder and the mean rate at which packets left the sender."""
    columns = {"target_bitrate_mbps": "target bitrate", "send_rate_mbps": "transmitted rate"}
    return with_mean_rates(flow_table(result, columns), "transmitted rate")


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    draw_series(figure.subplots(), rows, ["target bitrate", "transmitted rate"], unit="Mbit/s")


PLOT = Plot("rates", "6, 11", "Target bitrate and transmitted rate", table, draw)
