"""How the delays of packets and frames are distributed: the quantiles that the summary has of each flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.figures import titles
from paceline.plots.plot import Plot, Run, flow_looks
from paceline.plots.style import CYCLE, DASHES, legend, shortened, value_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


QUANTILES = {"p50": "50 %", "p95": "95 %", "p99": "99 %", "max": "all"}
"""Which part of the packets or frames is at most as late, by the statistic of the summary."""


def table(result: Run) -> pd.DataFrame | None:
    """Per flow, delay and quantile: the delay in milliseconds; None if no flow has any, or no sample."""
    import pandas as pd

    delays = titles("one_way_delay_ms", "frame_delay_ms")
    rows = [
        {
            "who": name,
            "controller": str(flow.get("controller") or ""),
            "what": title,
            "part": part,
            "ms": flow[key][statistic],
        }
        for name, flow in result.summary["flows"].items()
        for key, title in delays.items()
        for statistic, part in QUANTILES.items()
        if (flow.get(key) or {}).get(statistic) is not None
    ]
    return pd.DataFrame(rows) if rows and len(result.flows) else None


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    axes = figure.subplots()
    several = rows["who"].nunique() > 1
    looks = flow_looks(rows)
    for who, flow in rows.groupby("who", sort=False):
        for place, (what, delay) in enumerate(flow.groupby("what", sort=False)):
            label = f"{shortened(who)}: {what}" if several else str(what)
            colour = looks[str(who)].colour if several else CYCLE[place % len(CYCLE)]
            axes.plot(delay["part"], delay["ms"], color=colour, linestyle=DASHES[place], marker="o", label=label)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("part of the packets, or of the frames, that is at most as late")
    value_axis(axes, "delay", "ms")
    legend(axes)


PLOT = Plot("delay_quantiles", "", "Quantiles of the delays", table, draw)
