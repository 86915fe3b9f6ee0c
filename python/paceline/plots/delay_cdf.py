"""Distribution functions of delays: the part of the samples that is at most as late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paceline.figures import titles
from paceline.plots.plot import Plot, Run, flow_looks, flow_table
from paceline.plots.style import BLUE, VERMILION, legend, logarithmic, shortened, spans_decades

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = 501
"""Points of a curve; more samples are drawn by their quantiles."""


def table(result: Run) -> pd.DataFrame | None:
    """Per sample and flow: the mean delay of packets and of frames within the sample's interval."""
    names = titles("one_way_delay_ms", "frame_delay_ms")
    rows = flow_table(result, names)
    return None if rows[list(names.values())].isna().all(axis=None) else rows


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    axes = figure.subplots()
    names = list(titles("one_way_delay_ms", "frame_delay_ms").values())
    looks, several = flow_looks(rows), rows["who"].nunique() > 1
    curves: dict[str, tuple[Any, dict[str, Any]]] = {}
    for who, flow in rows.groupby("who", sort=False):
        for name, colour, dashes in zip(names, (BLUE, VERMILION), ("-", "--"), strict=True):
            look = {"color": looks[str(who)].colour if several else colour, "linestyle": dashes}
            curves[f"{shortened(who)}: {name}" if several else name] = flow[name], look
    draw_cdf(axes, curves)
    axes.set_xlabel("delay, ms")
    axes.set_ylabel("part of the samples")
    legend(axes)


def draw_cdf(axes: Axes, curves: Mapping[str, tuple[Any, dict[str, Any]]]) -> None:
    """The distribution function of each curve's values, in its look; decades of values make the axis logarithmic."""
    import numpy as np

    drawn = []
    for label, (values, look) in curves.items():
        found = np.sort(np.asarray(values, float)[~np.isnan(np.asarray(values, float))])
        if len(found):
            parts = np.linspace(1 / len(found), 1, min(len(found), PARTS))
            axes.step(np.quantile(found, parts, method="inverted_cdf"), parts, where="post", label=label, **look)
            drawn.append(found)
    if drawn and spans_decades(np.concatenate(drawn)):
        logarithmic(axes, "x")
    else:
        axes.set_xlim(left=0)
    axes.set_ylim(0, 1)


PLOT = Plot("delay_cdf", "", "Distribution of the delays", table, draw)
