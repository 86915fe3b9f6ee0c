"""One picture for somebody who has never seen a congestion controller: does the call fit the link, and who waits?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.figures import titles
from paceline.plots.plot import Plot, Run, flow_looks, flow_table, with_mean_rates
from paceline.plots.style import BLACK, BLUE, DASHES, SHADE, VERMILION, legend, note, shortened, time_axis, value_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def table(result: Run) -> pd.DataFrame:
    """Per sample and flow: capacity of the narrowest link, target, mean throughput, and both queues' delays."""
    columns = titles("target_bitrate_mbps", "throughput_mbps", "queue_delay_ms", "send_queue_delay_ms")
    rows = with_mean_rates(flow_table(result, columns), "throughput")
    capacity = result.links.groupby("time_s")["capacity_mbps"].min()
    rows["capacity"] = rows["time_s"].map(capacity)
    return rows


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    _draw_rates(top, rows)
    _draw_delays(bottom, rows)


def _draw_rates(axes: Axes, rows: pd.DataFrame) -> None:
    flows = list(rows.groupby("who", sort=False))
    link = rows.drop_duplicates("time_s")
    axes.fill_between(
        link["time_s"],
        link["capacity"],
        step="pre",
        color=SHADE,
        label="capacity",
        linewidth=0,
    )
    looks = flow_looks(rows)
    for who, flow in flows:
        label = "throughput" if len(flows) == 1 else shortened(who)
        axes.plot(flow["time_s"], flow["throughput"], label=label, **looks[str(who)].line)
        if len(flows) == 1:
            axes.plot(
                flow["time_s"], flow["target bitrate"], color=BLACK, linewidth=0.9, linestyle=DASHES[1],
                label="target bitrate",
            )  # fmt: skip
    rate = "rate" if len(flows) == 1 else "throughput"
    value_axis(axes, rate, "Mbit/s", title=rate.capitalize())
    end = float(rows["time_s"].max())
    time_axis(axes, end, label=False)
    highest = float(rows[["throughput", "target bitrate"]].max().max())
    if link["capacity"].max() > 2.5 * highest > 0:
        axes.set_ylim(0, 1.35 * highest)
    legend(axes, columns=3)
    _mark_changes(axes, link)


def _mark_changes(axes: Axes, link: pd.DataFrame) -> None:
    """Marks the changes of the link's rate, if there are only a few."""
    capacity = link["capacity"]
    changed = link[(capacity.diff().abs() > 0.2 * capacity.shift())]
    if not 0 < len(changed) <= 4:
        return
    top = axes.get_ylim()[1]
    for time, rate in zip(changed["time_s"], changed["capacity"], strict=True):
        axes.axvline(time, color=BLACK, linewidth=0.7, linestyle=DASHES[2])
        said = f"link: {rate:.4g} Mbit/s"
        note(
            axes,
            axes.annotate(said, (time, top), (3, -11), textcoords="offset points", color=BLACK, fontsize="small"),
        )


def _draw_delays(axes: Axes, rows: pd.DataFrame) -> None:
    # A file always waits in its sender: only flows that an encoder feeds have a delay there.
    fed = rows["send-queue delay"].where(rows.groupby("who")["target bitrate"].transform("count") > 0)
    rows = rows.assign(network=rows["queue delay"].fillna(0.0), sender=fed.fillna(0.0))
    rows["both"] = rows["network"] + rows["sender"]
    value_axis(axes, "delay of queues", "ms", title="Delay that queues add")
    time_axis(axes, float(rows["time_s"].max()))
    if rows["who"].nunique() == 1:
        time = rows["time_s"]
        axes.fill_between(time, rows["network"], color=BLUE, alpha=0.55, linewidth=0, label="queue delay")
        axes.fill_between(
            time, rows["network"], rows["both"], color=VERMILION, alpha=0.55, linewidth=0, label="send-queue delay"
        )
    else:
        looks = flow_looks(rows)
        for who, flow in rows.groupby("who", sort=False):
            axes.plot(flow["time_s"], flow["both"], label=shortened(who), **looks[str(who)].line)
    legend(axes)
    peak = float(rows["both"].max())
    if peak > 0:
        _mark_peak(axes, float(rows["time_s"].iloc[int(rows["both"].to_numpy().argmax())]), peak)


def _mark_peak(axes: Axes, time: float, peak: float) -> None:
    axes.set_ylim(0, 1.22 * peak)
    left = time > 0.8 * axes.get_xlim()[1]
    said = axes.annotate(
        f"longest wait: {peak:.0f} ms",
        (time, peak),
        (-8 if left else 8, 2),
        textcoords="offset points",
        ha="right" if left else "left",
        fontsize="small",
    )
    note(axes, said)


PLOT = Plot("overview", "", "", table, draw, height=5.6)
