"""How real pictures look over time: PSNR of each second, mean and worst frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.plots.plot import Plot, Run
from paceline.plots.style import CYCLE, legend, shortened, time_axis, value_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def table(result: Run) -> pd.DataFrame | None:
    """Per stream, size of the de-jitter buffer and second: mean and worst PSNR; None without real pictures."""
    frames = result.video
    if frames is None:
        return None
    several = frames.groupby("flow")["stream"].nunique().max() > 1
    who = frames["flow"] + "/" + frames["stream"] if several else frames["flow"]
    second = frames["time_s"].astype(int)
    seconds = frames["psnr_db"].groupby([who.rename("who"), frames["dejitter_ms"], second], sort=False)
    table: pd.DataFrame = seconds.agg(["mean", "min"]).reset_index()
    return table


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    axes = figure.subplots()
    lines = rows.groupby(["who", "dejitter_ms"], sort=False)
    several = rows["who"].nunique() > 1
    for index, ((who, size), line) in enumerate(lines):
        label = f"{shortened(who)}, {size:g} ms" if several else f"de-jitter buffer of {size:g} ms"
        middle, colour = line["time_s"] + 0.5, CYCLE[index % len(CYCLE)]
        axes.plot(middle, line["mean"], color=colour, label=label)
        axes.fill_between(middle, line["min"], line["mean"], color=colour, alpha=0.15, linewidth=0)
    time_axis(axes, float(rows["time_s"].max()) + 1)
    axes.set_ylim(bottom=max(0.0, float(rows["min"].min()) - 2))
    value_axis(axes, "PSNR", "dB; shaded down to the worst frame")
    legend(axes)


PLOT = Plot("psnr", "", "PSNR of what is shown", table, draw)
