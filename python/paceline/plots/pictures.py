"""Pictures of data of one's own: each is a function of data frames, in the style and the vocabulary of all pictures.

Frames of `flows` and `links` have the columns of flows.parquet and links.parquet, which docs/figures.md lists with
their units; `paceline.Result.flows` is one. Only the columns that a function names are needed. Frames of `flows` may
have a column `controller`, the kind of each flow's controller, which gives the flow its colour.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paceline.errors import UsageError, one_of
from paceline.plots import delay_cdf, draw, drawn_as, frame_strip, rate_delay
from paceline.plots.style import heading, legend, new_figure, settings
from paceline.plots.vocabulary import looks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = [
    "cdf", "delays", "encoded_frames", "frame_delay", "frames", "link_trace", "one_way_delay", "overview",
    "rate_against_delay", "rates", "throughput", "topology", "window",
]  # fmt: skip


@dataclass
class _Frames:
    """Data frames in the place of a run."""

    flows: pd.DataFrame
    links: pd.DataFrame
    title: str
    loaded: Any = None
    videos: tuple[Any, ...] = ()
    video: Any = None
    simulated: Any = None
    settings: dict[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> dict[str, Any]:
        return {"name": self.title, "flows": {flow: {"controller": kind} for flow, kind in self.kinds.items()}}


def overview(flows: pd.DataFrame, links: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """Rates under the capacity, and the delay that queues add.

    Args:
        flows: Columns `time_s` (s), `flow`, `target_bitrate_mbps` and `throughput_mbps` (Mbit/s), `queue_delay_ms` and
            `send_queue_delay_ms` (ms).
        links: Columns `time_s` (s), `link`, `capacity_mbps` (Mbit/s).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    needed = ("target_bitrate_mbps", "throughput_mbps", "queue_delay_ms", "send_queue_delay_ms")
    return _of_run("overview", flows, needed, title, style, links)


def throughput(flows: pd.DataFrame, links: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """Throughput of each flow, and the rate that the narrowest link could carry.

    Args:
        flows: Columns `time_s` (s), `flow`, `throughput_mbps` (Mbit/s).
        links: Columns `time_s` (s), `link`, `capacity_mbps` (Mbit/s).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    return _of_run("throughput", flows, ("throughput_mbps",), title, style, links)


def link_trace(links: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """The rate that each link could carry.

    Args:
        links: Columns `time_s` (s), `link`, `capacity_mbps` (Mbit/s).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    return _of_run("link_trace", None, (), title, style, links)


def rates(flows: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """Target bitrate and send rate.

    Args:
        flows: Columns `time_s` (s), `flow`, `target_bitrate_mbps` and `send_rate_mbps` (Mbit/s).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    return _of_run("rates", flows, ("target_bitrate_mbps", "send_rate_mbps"), title, style)


def encoded_frames(flows: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """Sizes of frames as they were encoded.

    Args:
        flows: Columns `time_s` (s), `flow`, `frame_bytes` (B).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    return _of_run("encoded_frames", flows, ("frame_bytes",), title, style)


def window(flows: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """Congestion window and bytes in flight.

    Args:
        flows: Columns `time_s` (s), `flow`, `cwnd_bytes` and `bytes_in_flight` (B).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    return _of_run("window", flows, ("cwnd_bytes", "bytes_in_flight"), title, style)


def delays(flows: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """Delay of the send queue, smoothed round-trip time and delay of the links' queues.

    Args:
        flows: Columns `time_s` (s), `flow`, `send_queue_delay_ms`, `srtt_ms` and `queue_delay_ms` (ms).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    return _of_run("delays", flows, ("send_queue_delay_ms", "srtt_ms", "queue_delay_ms"), title, style)


def one_way_delay(flows: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """One-way delay of packets.

    Args:
        flows: Columns `time_s` (s), `flow`, `one_way_delay_ms` (ms).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    return _of_run("one_way_delay", flows, ("one_way_delay_ms",), title, style)


def frame_delay(flows: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """Delay of frames, from capture to display.

    Args:
        flows: Columns `time_s` (s), `flow`, `frame_delay_ms` (ms).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    return _of_run("frame_delay", flows, ("frame_delay_ms",), title, style)


def cdf(
    values: pd.DataFrame,
    column: str = "one_way_delay_ms",
    *,
    by: str = "flow",
    axis: str = "delay, ms",
    title: str = "",
    style: str | None = None,
) -> Figure:
    """The distribution function of a column, with a curve for each series.

    Args:
        values: A row for each sample, with the columns that `column` and `by` name, and maybe `controller`.
        column: The values; samples without one are left out.
        by: The series that a sample belongs to.
        axis: Quantity and unit of the values.
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    _expect(values, (column, by), "values")
    looked = looks(_kinds(values, by))
    with _drawing(style, title) as figure:
        axes = figure.subplots()
        curves = {
            name: (values.loc[values[by].astype(str) == name, column], look.line) for name, look in looked.items()
        }
        delay_cdf.draw_cdf(axes, curves)
        axes.set_xlabel(axis)
        axes.set_ylabel("part of the samples")
        legend(axes)
    return figure


def rate_against_delay(
    runs: pd.DataFrame,
    *,
    delay: str = "one_way_delay_p95_ms",
    rate: str = "throughput_mbps",
    by: str = "controller",
    axes: tuple[str, str] = ("one-way delay p95, ms", "throughput, Mbit/s"),
    title: str = "",
    style: str | None = None,
) -> Figure:
    """A point for each run; from five runs on also a cross, the 95 % interval of the means, and an ellipse.

    The ellipse has one standard deviation of the runs; the large mark is their median.

    Args:
        runs: A row for each run, such as `runs` of a comparison, with the columns that are named below.
        delay: The column across (ms).
        rate: The column upwards (Mbit/s).
        by: The series that a run belongs to.
        axes: Quantity and unit across and upwards.
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    _expect(runs, (delay, rate, by), "runs")
    with _drawing(style, title) as figure:
        drawn = figure.subplots()
        series = runs.assign(series=runs[by].astype(str))
        rate_delay.draw(drawn, series, looks(_kinds(runs, by)), delay, rate)
        drawn.set_xlabel(axes[0])
        drawn.set_ylabel(axes[1])
        legend(drawn)
    return figure


def frames(frames: pd.DataFrame, *, title: str = "", style: str | None = None) -> Figure:
    """A stroke for each frame of a flow, by what became of it.

    Args:
        frames: Columns `time_s` (s, of capture), `flow`, `outcome` (`shown`, `late` or `lost`).
        title: The subject, for the title; a paper leaves the title out.
        style: A name of `paceline.plots.STYLES`.
    """
    _expect(frames, ("time_s", "flow", "outcome"), "frames")
    for outcome in frames["outcome"].unique():
        if outcome not in frame_strip.FATES:
            raise UsageError(f"frames: found outcome {outcome!r}, {one_of(str(outcome), frame_strip.FATES)}")
    with _drawing(style, title, frame_strip.PLOT.height) as figure:
        frame_strip.draw(figure, frames.rename(columns={"flow": "who"}))
    return figure


def topology(scenario: str | os.PathLike[str] | dict[str, Any], *, style: str | None = None) -> Figure:
    """Links as boxes in the order of the paths, and flows as lines through them.

    Args:
        scenario: A path to a scenario file, a scenario as TOML text, or as a dictionary.
        style: A name of `paceline.plots.STYLES`.
    """
    from paceline.plots import topology as drawing
    from paceline.scenario import read
    from paceline.toml import loads

    with drawn_as(style):
        return drawing.figure(drawing.table(loads(read(scenario).load().core.resolved_toml)))


@contextmanager
def _drawing(style: str | None, title: str, height: float = 3.6) -> Iterator[Figure]:
    """An empty figure in a style, which is drawn within the block."""
    from matplotlib import rc_context

    with drawn_as(style), rc_context(settings()):
        figure = new_figure(height=height)
        if title:
            heading(figure, title)
        yield figure


def _of_run(
    name: str,
    flows: pd.DataFrame | None,
    needed: Sequence[str],
    title: str,
    style: str | None,
    links: pd.DataFrame | None = None,
) -> Figure:
    """The picture of that name, of data frames in the place of a run's."""
    import pandas as pd

    if flows is None:
        flows = pd.DataFrame({"time_s": [], "flow": []})
    _expect(flows, ("time_s", "flow", *needed), "flows")
    if links is None:
        links = pd.DataFrame({"time_s": [], "link": [], "capacity_mbps": []})
    _expect(links, ("time_s", "link", "capacity_mbps"), "links")
    streams = flows["stream"].astype(str) if "stream" in flows else ""
    flows = flows.assign(flow=flows["flow"].astype(str), stream=streams)
    run = _Frames(flows, links, title, kinds=_kinds(flows, "flow"))
    with drawn_as(style):
        return draw(name, run)


def _kinds(rows: pd.DataFrame, by: str) -> dict[str, str]:
    """The kind of each series' controller: of the column `controller`, or else the series' own name."""
    first = rows.drop_duplicates(by)
    kinds = first["controller"] if "controller" in first else first[by]
    return dict(zip(first[by].astype(str), kinds.astype(str), strict=True))


def _expect(frame: pd.DataFrame, columns: Sequence[str], argument: str) -> None:
    """Refuses a frame that lacks a column."""
    known = [str(name) for name in getattr(frame, "columns", ())]
    for column in columns:
        if column not in known:
            found = f"columns {', '.join(known)}" if known else f"{type(frame).__name__} without columns"
            raise UsageError(f"{argument}: found {found}, expected a data frame with the column {column!r}")
