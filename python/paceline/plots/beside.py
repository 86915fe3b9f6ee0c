"""The simulator and the line on one picture: does the call do outside what it does in here?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.figures import titles
from paceline.plots.plot import Plot, Run, flow_table, with_mean_rates
from paceline.plots.style import BLACK, CYCLE, DASHES, legend, shortened, time_axis, value_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


LINE, SIMULATED = "line", "simulated"
_UNITS = {"throughput_mbps": "Mbit/s", "queue_delay_ms": "ms"}


def table(result: Run) -> pd.DataFrame | None:
    """Per sample, flow and world: throughput and queue delay; None of a run that was not simulated as well."""
    import pandas as pd

    if result.simulated is None:
        return None
    names = titles(*_UNITS)
    worlds = {LINE: result, SIMULATED: result.simulated}
    rates = names["throughput_mbps"]
    parts = [with_mean_rates(flow_table(one, names), rates).assign(world=world) for world, one in worlds.items()]
    # A scenario may have flows that did not go over the line.
    rows = pd.concat(parts, ignore_index=True)
    return rows[rows["who"].isin(set(parts[0]["who"]))]


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    panels = figure.subplots(2, 1, sharex=True)
    who = list(dict.fromkeys(rows["who"]))
    for (column, title), axes in zip(titles(*_UNITS).items(), panels, strict=True):
        for place, flow in enumerate(who):
            for world, dashes in ((LINE, DASHES[0]), (SIMULATED, DASHES[1])):
                one = rows[(rows["who"] == flow) & (rows["world"] == world)].dropna(subset=[title])
                colour = CYCLE[place % len(CYCLE)] if world == LINE or len(who) > 1 else BLACK
                said = world if len(who) == 1 else f"{shortened(flow)}: {world}"
                axes.plot(one["time_s"], one[title], color=colour, linestyle=dashes, label=said)
        value_axis(axes, title, _UNITS[column], title=title.capitalize())
        time_axis(axes, float(rows["time_s"].max()), label=axes is panels[-1])
        legend(axes)


PLOT = Plot("beside", "", "", table, draw, height=5.6)
