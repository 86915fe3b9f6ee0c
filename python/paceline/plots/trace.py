"""A recording of rates: the rate over time, and how it is distributed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paceline.plots.style import BLUE, GREY, VERMILION, heading, legend, new_figure, settings, time_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from paceline.trace_figures import Trace

POINTS = 1500
"""Means that are drawn: more stand closer than a picture's dots."""


def table(trace: Trace) -> pd.DataFrame:
    """Per part of the recording: the time of its end in seconds, and its mean rate in Mbit/s."""
    import pandas as pd

    count = min(POINTS, max(2, len(trace.segments.durations_s)))
    means = trace.means(count)
    ends = np.arange(1, len(means) + 1) * trace.length_s / count
    return pd.DataFrame({"time_s": ends, "mbps": means})


def figure(trace: Trace) -> Figure:
    """The rate over time on the left; on the right the part of the time in which it was no higher."""
    from matplotlib import rc_context

    rows = table(trace)
    with rc_context(settings()):
        drawn = new_figure(8.0, 3.6, wide=True)
        left, right = drawn.subplots(1, 2, width_ratios=(3, 1), sharey=True)
        left.plot(rows["time_s"], rows["mbps"], color=BLUE, linewidth=0.9, drawstyle="steps-pre", label="rate")
        left.axhline(trace.mean_mbps, color=VERMILION, linewidth=1.0, label="mean")
        left.set_ylabel("Mbit/s")
        left.set_ylim(bottom=0)
        time_axis(left, trace.length_s)
        legend(left)
        right.plot(np.arange(1, len(rows) + 1) / len(rows), np.sort(rows["mbps"]), color=GREY)
        right.set_xlim(0, 1)
        right.set_xticks([0, 0.5, 1])
        right.set_xlabel("part of the time")
        heading(drawn, Path(trace.file).name)
    return drawn
