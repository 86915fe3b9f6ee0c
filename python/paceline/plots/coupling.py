"""How a group of coupled flows shares: the rate that each is given, under the sum of the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.figures import titles
from paceline.plots.lines import draw_series
from paceline.plots.plot import Plot, Run, flow_table
from paceline.plots.style import BLACK, DASHES, legend

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


NAMES = titles("coupled_rate_mbps", "coupled_sum_mbps")
RATE, SUM = NAMES.values()


def table(result: Run) -> pd.DataFrame | None:
    """Per sample and flow that shares: the rate it is given, and the sum of its group."""
    # Every stream of a flow shows the same.
    own = result.flows.drop_duplicates(["time_s", "flow"])
    rows = flow_table(result, NAMES).loc[own.index].assign(who=own["flow"])
    rows = rows[rows.groupby("who")[RATE].transform("count") > 0]
    return None if rows.empty else rows


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    axes = figure.subplots()
    # Flows of one group have one sum: their lines are one.
    for index, (_, flow) in enumerate(rows.groupby("who", sort=False)):
        label = "_" if index else SUM
        axes.plot(flow["time_s"], flow[SUM], color=BLACK, linewidth=0.9, linestyle=DASHES[1], label=label)
    draw_series(axes, rows, [RATE], unit="Mbit/s")
    axes.set_ylim(bottom=0)
    legend(axes)


PLOT = Plot("coupling", "", "Rates that a group gives its flows", table, draw)
