"""One picture for somebody who has never seen a congestion controller: does the call fit the link, and who waits?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.figures import titles
from paceline.plots.plot import Plot, Run, flow_table, with_mean_rates
from paceline.plots.style import BLACK, BLUE, CYCLE, DASHES, SHADE, VERMILION, legend, shortened, time_axis

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
    for index, (who, flow) in enumerate(flows):
        label = "throughput" if len(flows) == 1 else shortened(who)
        colour = CYCLE[index % len(CYCLE)]
        axes.plot(flow["time_s"], flow["throughput"], color=colour, label=label)
        if len(flows) == 1:
            axes.plot(
                flow["time_s"], flow["target bitrate"], color=BLACK, linewidth=0.9, linestyle=DASHES[1],
                label="target bitrate",
            )  # fmt: skip
    axes.set_ylabel("Mbit/s")
    axes.set_title("Rate" if len(flows) == 1 else "Throughput", pad=18)
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
        axes.annotate(
            f"link: {rate:.4g} Mbit/s", (time, top), (3, -11), textcoords="offset points", color=BLACK, fontsize=8
        )


def _draw_delays(axes: Axes, rows: pd.DataFrame) -> None:
    # A file always waits in its sender: only flows that an encoder feeds have a delay there.
    fed = rows["send-queue delay"].where(rows.groupby("who")["target bitrate"].transform("count") > 0)
    waits = rows.assign(**{"send-queue delay": fed}).groupby("time_s")[["queue delay", "send-queue delay"]]
    worst = waits.max().fillna(0.0)
    network = worst["queue delay"]
    send = network + worst["send-queue delay"]
    time = worst.index
    axes.fill_between(time, network, color=BLUE, alpha=0.55, linewidth=0, label="queue delay")
    axes.fill_between(time, network, send, color=VERMILION, alpha=0.55, linewidth=0, label="send-queue delay")
    axes.set_ylabel("ms")
    axes.set_title("Delay that queues add", pad=18)
    time_axis(axes, float(rows["time_s"].max()))
    legend(axes)
    if send.max() > 0:
        _mark_peak(axes, float(time[int(send.to_numpy().argmax())]), float(send.max()))


def _mark_peak(axes: Axes, time: float, peak: float) -> None:
    axes.set_ylim(0, 1.22 * peak)
    left = time > 0.8 * axes.get_xlim()[1]
    axes.annotate(
        f"longest wait: {peak:.0f} ms",
        (time, peak),
        (-8 if left else 8, 2),
        textcoords="offset points",
        ha="right" if left else "left",
        fontsize=8,
    )


PLOT = Plot("overview", "", "", table, draw, height=5.6)
