"""Rate against delay: a point for each run, with the interval of the mean and the spread of the runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paceline.plots.style import logarithmic, shortened, spans_decades
from paceline.studies.estimates import half_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes

    from paceline.plots.vocabulary import Look

FEW = 5
"""Of fewer runs neither an interval nor an ellipse is drawn: it would say more than they know."""


def draw(axes: Axes, runs: pd.DataFrame, looks: Mapping[str, Look], delay: str, rate: str) -> None:
    """A small mark for each run, a large one at the median; from five runs on also intervals and an ellipse.

    Args:
        axes: Where it is drawn.
        runs: A row for each run, with the columns `series` and those that `delay` and `rate` name.
        looks: The look of each series, in their order.
        delay: The column across.
        rate: The column upwards.
    """
    import numpy as np

    found = runs[["series", delay, rate]].dropna()
    decades = spans_decades(found[delay])
    for series, look in looks.items():
        points = found[found["series"] == series][[delay, rate]].to_numpy(float)
        if not len(points):
            continue
        axes.plot(*points.T, look.mark, color=look.colour, markersize=2.5, alpha=0.5)
        axes.plot(*np.median(points, axis=0), look.mark, color=look.colour, markersize=6, label=shortened(series))
        if len(points) < FEW:
            continue
        _interval(axes, points, look.colour)
        outline = _spread(points, decades=decades)
        axes.fill(*outline.T, color=look.colour, alpha=0.15, linewidth=0)
        axes.plot(*outline.T, color=look.colour, linewidth=0.9)
    if decades:
        logarithmic(axes, "x")
    else:
        axes.set_xlim(0, 1.06 * found[delay].max() if found[delay].max() > 0 else 1.0)
    # Room for the marks of the last runs.
    axes.set_ylim(0, 1.06 * found[rate].max() if found[rate].max() > 0 else 1.0)


def _interval(axes: Axes, points: np.ndarray[Any, Any], colour: str) -> None:
    """A cross at the mean: along each axis the 95 % interval of the mean by Student's t."""
    (x, y), (across, up) = points.mean(axis=0), (half_interval(list(values)) or 0.0 for values in points.T)
    axes.errorbar(x, y, xerr=across, yerr=up, fmt="none", ecolor=colour, elinewidth=1.1, capsize=1.5)


def _spread(points: np.ndarray[Any, Any], *, decades: bool) -> np.ndarray[Any, Any]:
    """The ellipse, as it looks on the axis."""
    import numpy as np

    if not decades:
        return ellipse(points)
    outline = ellipse(np.column_stack([np.log(points[:, 0]), points[:, 1]]))
    return np.column_stack([np.exp(outline[:, 0]), outline[:, 1]])


def ellipse(points: np.ndarray[Any, Any], corners: int = 72) -> np.ndarray[Any, Any]:
    """The outline of the points' covariance ellipse: one standard deviation along each of its axes."""
    import numpy as np

    values, vectors = np.linalg.eigh(np.cov(points.T))
    angles = np.linspace(0, 2 * np.pi, corners + 1)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    # Rounding makes a variance of zero negative.
    outline: np.ndarray[Any, Any] = (vectors * np.sqrt(np.maximum(values, 0.0)) @ circle).T + points.mean(axis=0)
    return outline
