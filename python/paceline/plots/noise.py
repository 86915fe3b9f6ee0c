"""How the delay noise of a path is distributed, as a probe found it: the histogram of Figure 1 of the URCP paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paceline.plots.style import BLUE, VERMILION, legend, new_figure, settings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

BINS = 100
SHOWN_MS = 200.0
"""The paper's axis ends here; more is said in a line."""


def table(noise_s: NDArray[np.float64]) -> pd.DataFrame:
    """Per bin of delay up to 200 ms: its lower end in ms, the part of the packets in it, and the part up to its end."""
    import pandas as pd

    noise = noise_s * 1e3
    top = min(SHOWN_MS, max(float(noise.max()), 0.1))
    counts, edges = np.histogram(noise, bins=BINS, range=(0.0, top))
    parts = counts / len(noise)
    return pd.DataFrame({"ms": edges[:-1], "part": parts, "up_to": parts.cumsum()})


def figure(noise_s: NDArray[np.float64], path: str) -> Figure:
    """The distribution as bars, and how much lies below as a line."""
    from matplotlib import rc_context

    rows = table(noise_s)
    width = float(rows["ms"].iloc[1] - rows["ms"].iloc[0])
    with rc_context(settings()):
        drawn = new_figure(8.0, 3.6)
        axes = drawn.subplots()
        axes.bar(rows["ms"], rows["part"], width=width, align="edge", color=BLUE, label="in a bin")
        right = axes.twinx()
        right.plot(rows["ms"] + width, rows["up_to"], color=VERMILION, label="up to here")
        right.set_ylim(0, 1.02)
        right.grid(visible=False)
        right.set_ylabel("part up to here")
        axes.set_xlabel("one-way delay above the smallest, ms")
        axes.set_ylabel("part of the packets")
        largest = float(noise_s.max() * 1e3)
        axes.set_title(f"Delay noise of {path}: mean {noise_s.mean() * 1e3:.1f} ms, largest {largest:.0f} ms")
        legend(axes)
    return drawn
