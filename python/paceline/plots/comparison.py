"""Pictures of a comparison: rates over delays with ellipses, distributions of delays, time series side by side."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from paceline.comparison.figures import DELAYS, FIGURES
from paceline.plots import rate_delay
from paceline.plots.plot import RATE_MEAN_S
from paceline.plots.style import (
    SHADE,
    heading,
    legend_below,
    logarithmic,
    new_figure,
    settings,
    shortened,
    spans_decades,
)
from paceline.plots.vocabulary import Look, looks
from paceline.series import moving_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paceline.comparison.result import ComparisonResult

RATE, DELAY = FIGURES["throughput"], FIGURES["delay"]
LARGEST = 24
"""Conditions that are drawn; the report has the figures and the curves of all."""
_RISE = {"linewidth": 1.0}


def looks_of(result: ComparisonResult) -> dict[str, Look]:
    """The look of each controller that is compared: its kind's, wherever it is drawn."""
    return looks({label: result.kinds.get(label, label) for label in result.controllers})


def drawn(result: ComparisonResult) -> Iterator[tuple[str, Figure]]:
    """The pictures of all conditions together, with their names."""
    import matplotlib as mpl

    conditions = result.conditions[:LARGEST]
    with mpl.rc_context(settings()):
        yield "rate-delay", _grid(result, conditions, _scatter)
        for delay, title in DELAYS.items():
            own = result.quantiles[result.quantiles["delay"] == delay]
            found = [one for one in conditions if one in set(own["condition"])]
            if found:
                yield delay.removesuffix("_ms"), _grid(result, found, _distribution(own, title))


def all_series(result: ComparisonResult) -> Iterator[tuple[str, Figure]]:
    """The time series of each condition, with the pictures' names."""
    import matplotlib as mpl

    with mpl.rc_context(settings()):
        for number, condition in enumerate(result.conditions[:LARGEST], 1):
            controllers = [one for one in result.controllers if (condition, one) in result.series]
            if controllers:
                name = re.sub(r"[^\w.-]", "_", shortened(condition))
                yield f"series-{number:02d}-{name}", _side_by_side(result, condition, controllers)


Panel = Callable[["Axes", "ComparisonResult", str], None]


def _grid(result: ComparisonResult, conditions: Sequence[str], panel: Panel) -> Figure:
    """A panel for each condition, with one legend below all."""
    columns = min(3, max(1, len(conditions)))
    lines = max(1, math.ceil(len(conditions) / columns))
    figure = new_figure(width=1.4 + 3.3 * columns, height=0.8 + 2.8 * lines, wide=columns > 1)
    grid = figure.subplots(lines, columns, squeeze=False).flatten()
    for axes, condition in zip(grid, conditions, strict=False):
        panel(axes, result, condition)
        axes.set_title(shortened(condition))
    for axes in grid[len(conditions) :]:
        axes.set_visible(False)
    legend_below(figure, grid)
    return figure


def _scatter(axes: Axes, result: ComparisonResult, condition: str) -> None:
    """Rate over delay of each run."""
    own = result.runs[result.runs["condition"] == condition].rename(columns={"controller": "series"})
    rate_delay.draw(axes, own, looks_of(result), DELAY.column, RATE.column)
    axes.set_xlabel(DELAY.heading)
    axes.set_ylabel(RATE.heading)


def _distribution(quantiles: pd.DataFrame, title: str) -> Panel:
    """A panel with the distribution of a delay."""

    def draw(axes: Axes, result: ComparisonResult, condition: str) -> None:
        own = quantiles[quantiles["condition"] == condition]
        for controller, look in looks_of(result).items():
            line = own[own["controller"] == controller]
            if not line.empty:
                axes.plot(line["ms"], line["part"], label=shortened(controller), **look.line)
        if spans_decades(own["ms"]):
            logarithmic(axes, "x")
        else:
            axes.set_xlim(left=0)
        axes.set_ylim(0, 1)
        axes.set_xlabel(f"{title.lower()}, ms")
        axes.set_ylabel("part of the samples")

    return draw


def _side_by_side(result: ComparisonResult, condition: str, controllers: Sequence[str]) -> Figure:
    """A column for each controller: rates with the capacity above, delays below, all on the same axes."""
    width = 1.0 + 2.6 * len(controllers)
    figure = new_figure(width=width, height=4.6)
    # Fitting the panels to their labels would take longer than all else.
    figure.set_layout_engine(None)
    figure.subplots_adjust(left=0.75 / width, right=1 - 0.2 / width, bottom=0.11, top=0.85, wspace=0.1, hspace=0.12)
    rates, delays = figure.subplots(2, len(controllers), squeeze=False, sharex=True, sharey="row")
    for place, controller in enumerate(controllers):
        table = series(result, condition, controller)
        colour = looks_of(result)[controller].colour
        upper, lower = rates[place], delays[place]
        upper.fill_between(table["time_s"], table["capacity_mbps"], step="pre", color=SHADE, linewidth=0)
        upper.plot(table["time_s"], table["throughput_mbps"], color=colour, **_RISE)
        lower.plot(table["time_s"], table["one_way_delay_ms"], color=colour, **_RISE)
        upper.set_title(shortened(controller, 24))
        lower.set_xlabel("time, s")
    rates[0].set_ylabel("throughput, Mbit/s")
    delays[0].set_ylabel("one-way delay, ms")
    rates[0].set_ylim(bottom=0)
    delays[0].set_ylim(bottom=0)
    heading(figure, f"{shortened(condition)}: the first seed")
    return figure


def series(result: ComparisonResult, condition: str, controller: str) -> pd.DataFrame:
    """The time series of the first seed: the rate of all flows that are compared, their delays, the capacity.

    The capacity is the least of the links of their paths. Rates are means over the past `RATE_MEAN_S`.
    """
    flows, links = result.flows(condition, controller), result.links(condition, controller)
    measured, path = result.measured[condition]
    own = flows[flows["flow"].isin(measured)]
    # Streams and flows add up to one rate; their delays are averaged.
    table = own.groupby("time_s").agg(
        {"throughput_mbps": "sum", "one_way_delay_ms": "mean", "queue_delay_ms": "mean", "frame_delay_ms": "mean"}
    )
    table["capacity_mbps"] = links[links["link"].isin(path)].groupby("time_s")["capacity_mbps"].min()
    table = table.reset_index()
    table["throughput_mbps"] = moving_mean(table["time_s"], table["throughput_mbps"], RATE_MEAN_S)
    return table
