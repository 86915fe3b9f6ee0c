"""Pictures of columns of flows.parquet over time: what most of the pictures are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.figures import titles
from paceline.plots.plot import Plot, Run, flow_looks, flow_table, with_mean_rates
from paceline.plots.style import CYCLE, DASHES, legend, shortened, time_axis, value_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def line_plot(
    name: str, figures: str, title: str, columns: tuple[str, ...], *, unit: str, per: float = 1.0, mean: str = ""
) -> Plot:
    """The named columns, in units of `per`, over time; the rate `mean` is averaged over a short while."""
    names = titles(*columns)
    drawn = list(names.values())

    def table(result: Run) -> pd.DataFrame | None:
        rows = flow_table(result, names)
        if rows[drawn].isna().all(axis=None):
            return None
        rows[drawn] /= per
        # A single column is drawn through the samples that have none of it.
        rows = rows.dropna(subset=drawn) if len(drawn) == 1 else rows
        return with_mean_rates(rows, names[mean]) if mean else rows

    def draw(figure: Figure, rows: pd.DataFrame) -> None:
        draw_series(figure.subplots(), rows, drawn, unit=unit)

    return Plot(name, figures, title, table, draw)


def draw_series(axes: Axes, table: pd.DataFrame, names: list[str], *, unit: str, colours: tuple[str, ...] = ()) -> None:
    """Each named column over `time_s`, once for every `who`; the legend names the flow only where there are several.

    Colours are those of the flows' controllers where a flow has one line or there are several flows, which then differ
    in dashes by column. `colours` are given to lines that are of no controller.
    """
    groups, looks = list(table.groupby("who", sort=False)), flow_looks(table)
    for index, (who, rows) in enumerate(groups):
        own = looks[str(who)]
        for place, name in enumerate(names):
            look = {"color": own.colour, "linestyle": DASHES[place % len(DASHES)]} if len(names) > 1 else own.line
            if colours or (len(groups) == 1 and len(names) > 1):
                look = {"color": (colours or CYCLE)[(index * len(names) + place) % len(colours or CYCLE)]}
            label = name if len(groups) == 1 else f"{shortened(who)}: {name}"
            axes.plot(rows["time_s"], rows[name], label=label, **look)
    value_axis(axes, names[0] if len(names) == 1 else _QUANTITIES[unit], unit)
    time_axis(axes, float(table["time_s"].max()))
    legend(axes)


_QUANTITIES = {"Mbit/s": "rate", "ms": "delay", "kB": "size"}
"""The quantity of several columns of one unit."""

RATES = line_plot(
    "rates", "6, 11", "Target bitrate and send rate", ("target_bitrate_mbps", "send_rate_mbps"),
    unit="Mbit/s", mean="send_rate_mbps",
)  # fmt: skip
ENCODED = line_plot("encoded_frames", "5, 10", "Frames as encoded", ("frame_bytes",), unit="kB", per=1000.0)
WINDOW = line_plot(
    "window", "9, 13", "Congestion window and bytes in flight", ("cwnd_bytes", "bytes_in_flight"),
    unit="kB", per=1000.0,
)  # fmt: skip
# The network queue delay of study scream-5g's paper is the smoothed RTT (the caption of its Figure 8 says so).
DELAYS = line_plot("delays", "8, 12", "Delays", ("send_queue_delay_ms", "srtt_ms", "queue_delay_ms"), unit="ms")
ONE_WAY_DELAY = line_plot("one_way_delay", "", "One-way delay of packets", ("one_way_delay_ms",), unit="ms")
FRAME_DELAY = line_plot("frame_delay", "", "Frame delay, from capture to display", ("frame_delay_ms",), unit="ms")
