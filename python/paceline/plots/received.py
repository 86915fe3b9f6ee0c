"""The receiver's pictures at its worst moments, beside the source's pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paceline.plots.plot import Plot, Run
from paceline.plots.style import shortened

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


def table(result: Run) -> pd.DataFrame | None:
    """Of the first stream of real pictures per bad moment, the worst first: time, PSNR and both pictures in RGB."""
    import numpy as np
    import pandas as pd

    if not result.videos:
        return None
    video = result.videos[0]
    black = np.zeros((video.clip.size[1], video.clip.size[0], 3), np.uint8)
    rows = [
        {
            "who": video.stream["flow"],
            "time_s": video.arrivals.captured[moment.frame] / 1e9,
            "psnr_db": moment.psnr_db,
            "source": video.clip.rgb(moment.frame, video.stream["repeat"]),
            "seen": black if moment.picture is None else moment.picture.to_ndarray(format="rgb24"),
        }
        for moment in video.judgements[0].worst
    ]
    return pd.DataFrame(rows)


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    axes = figure.subplots(2, len(rows), squeeze=False)
    for column, row in enumerate(rows.to_dict("records")):
        _show(axes[0, column], row["source"], f"{shortened(row['who'], 16)} at {row['time_s']:.2f} s: source")
        _show(axes[1, column], row["seen"], f"seen, {row['psnr_db']:.1f} dB")


def _show(axes: Any, picture: NDArray[np.uint8], title: str) -> None:
    axes.imshow(picture)
    axes.set_title(title, fontsize=9)
    axes.axis("off")


PLOT = Plot("received", "", "The worst moments", table, draw, height=5.2, kind="png")
