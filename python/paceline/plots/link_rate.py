"""The rate that a link could carry, alone and beside the carried one (Figures 4 and 7 of study scream-5g's paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.plots.lines import draw_series
from paceline.plots.plot import Plot, Run, flow_looks, flow_table, with_mean_rates
from paceline.plots.style import BLACK, CYCLE, GREY, legend, shortened, time_axis, value_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def trace_table(result: Run) -> pd.DataFrame:
    """Per sample and link: the capacity that the link had."""
    rows = result.links[["time_s", "link", "capacity_mbps"]]
    return rows.rename(columns={"link": "who", "capacity_mbps": "capacity"})


def draw_trace(figure: Figure, rows: pd.DataFrame) -> None:
    draw_series(figure.subplots(), rows, ["capacity"], unit="Mbit/s", colours=(BLACK, *CYCLE))


def throughput_table(result: Run) -> pd.DataFrame:
    """Per sample: the narrowest link's capacity, and what each flow brought through on the mean."""
    import pandas as pd

    capacity = result.links.groupby("time_s")["capacity_mbps"].min().reset_index()
    link = pd.DataFrame(
        {
            "time_s": capacity["time_s"],
            "who": "",
            "controller": "",
            "what": "capacity",
            "mbps": capacity["capacity_mbps"],
        }
    )
    flows = with_mean_rates(flow_table(result, {"throughput_mbps": "mbps"}), "mbps").assign(what="throughput")
    return pd.concat([link, flows[["time_s", "who", "controller", "what", "mbps"]]], ignore_index=True)


def draw_throughput(figure: Figure, rows: pd.DataFrame) -> None:
    axes = figure.subplots()
    carried = rows[rows["what"] == "throughput"]
    link = rows[rows["what"] == "capacity"]
    axes.plot(link["time_s"], link["mbps"], color=GREY, linewidth=1.8, label="capacity", drawstyle="steps-pre")
    flows = list(carried.groupby("who", sort=False))
    looks = flow_looks(carried)
    for who, flow in flows:
        label = "throughput" if len(flows) == 1 else f"{shortened(who)}: throughput"
        axes.plot(flow["time_s"], flow["mbps"], label=label, **looks[str(who)].line)
    value_axis(axes, "rate", "Mbit/s")
    time_axis(axes, float(rows["time_s"].max()))
    highest = carried["mbps"].max()
    if link["mbps"].max() > 4 * highest > 0:
        axes.set_ylim(0, 1.6 * highest)
        axes.annotate("the capacity goes on above", (0.01, 0.93), xycoords="axes fraction", color=GREY)
    legend(axes)


TRACE = Plot("link_trace", "4", "The rate that the link could carry", trace_table, draw_trace)
THROUGHPUT = Plot("throughput", "7", "Link rate and throughput", throughput_table, draw_throughput)
