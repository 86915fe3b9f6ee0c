"""Drawing lines over time: the shape that most of the pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.plots.style import CYCLE, legend, shortened, time_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def draw_series(
    axes: Axes, table: pd.DataFrame, names: list[str], *, unit: str, colours: tuple[str, ...] = CYCLE
) -> None:
    """Each named column over `time_s`, once for every `who`; the legend names the flow only where there are several."""
    groups = list(table.groupby("who", sort=False))
    index = 0
    for who, rows in groups:
        for name in names:
            label = name if len(groups) == 1 else f"{shortened(who)}: {name}"
            axes.plot(rows["time_s"], rows[name], color=colours[index % len(colours)], label=label)
            index += 1
    axes.set_ylabel(unit)
    time_axis(axes, float(table["time_s"].max()))
    legend(axes)
