"""The beliefs of both ends of a call with a browser, and the links between, in one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from paceline.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SHADE,
    VERMILION,
    image,
    legend,
    new_figure,
    settings,
    time_axis,
    value_axis,
)  # fmt: skip
from paceline.plots.styles import formats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paceline.plots.plot import Run


class Call(Protocol):
    """The parts of a call that are drawn; `paceline.browser.call.BrowserCall` says more of each."""

    role: str

    @property
    def endpoint(self) -> Run: ...
    @property
    def link(self) -> Run: ...
    @property
    def browser(self) -> pd.DataFrame: ...


def draw(call: Call) -> Figure:
    """Rates, delays and frames over time, one below the other."""
    from matplotlib import rc_context

    with rc_context(settings()):
        figure = new_figure(height=7.2)
        rates, delays, frames = figure.subplots(3, 1, sharex=True, height_ratios=[3, 3, 2])
        end = max([1.0, *call.link.links["time_s"].tail(1), *call.browser["time_s"].tail(1)])
        _rates(rates, call)
        _delays(delays, call)
        _frames(frames, call)
        for axes in (rates, delays, frames):
            time_axis(axes, end, label=axes is frames)
            legend(axes, columns=3)
    return figure


def pictures(call: Call) -> dict[str, bytes]:
    """The picture as files, by their names."""
    figure = draw(call)
    return {f"plots/browser.{kind}": image(figure, kind) for kind in formats()}


def _rates(axes: Axes, call: Call) -> None:
    links = call.link.links.groupby("time_s", as_index=False)["capacity_mbps"].min()
    axes.fill_between(
        links["time_s"], links["capacity_mbps"], step="pre", color=SHADE, linewidth=0, label="capacity (links)"
    )
    flow = call.endpoint.flows
    if call.role == "send":
        _line(axes, flow, "target_bitrate_mbps", "target (our sender)", BLACK)
        _line(axes, call.browser, "received_mbps", "received (browser)", VERMILION)
    else:
        _line(axes, call.browser, "target_mbps", "target (browser)", BLACK)
        _line(axes, call.browser, "sent_mbps", "sent (browser)", VERMILION)
        _line(axes, flow, "throughput_mbps", "received (our receiver)", BLUE)
    value_axis(axes, "rate", "Mbit/s", title="Rate")


def _delays(axes: Axes, call: Call) -> None:
    _line(axes, call.link.flows, "queue_delay_ms", "wait in queues (links)", BLUE)
    _line(axes, call.browser, "round_trip_ms", "round trip (browser)", VERMILION)
    if call.role == "send":
        _line(axes, call.endpoint.flows, "srtt_ms", "round trip (our sender)", BLACK)
        _line(axes, call.browser, "jitter_buffer_ms", "jitter buffer (browser)", PURPLE)
    value_axis(axes, "delay", "ms", title="Delay")


def _frames(axes: Axes, call: Call) -> None:
    if call.role == "send":
        _line(axes, call.browser, "decoded_fps", "decoded (browser)", GREEN)
        frozen = call.browser[call.browser["freezes"].diff() > 0]
        axes.plot(frozen["time_s"], [0] * len(frozen), "x", color=ORANGE, label="freeze (browser)", clip_on=False)
    else:
        _line(axes, call.browser, "encoded_fps", "encoded (browser)", GREEN)
    value_axis(axes, "frames", "per second", title="Frames")


def _line(axes: Axes, rows: pd.DataFrame, column: str, label: str, colour: str) -> None:
    seen = rows[["time_s", column]].dropna()
    if not seen.empty:
        axes.plot(seen["time_s"], seen[column], color=colour, label=label)
