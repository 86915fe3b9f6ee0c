"""A strip of frames: a stroke for each frame of a stream, by what became of it: shown, late or lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paceline.plots.plot import Plot, Run
from paceline.plots.style import BLACK, GREEN, ORANGE, VERMILION, legend, shortened

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FATES = {"shown": GREEN, "late": ORANGE, "lost": VERMILION}
"""The colour of each outcome of a frame; heights differ too, for readers in grey."""
_HEIGHTS = {"shown": 0.35, "late": 0.65, "lost": 0.95}


def table(result: Run) -> pd.DataFrame | None:
    """Per frame of real video, with the first size of the de-jitter buffer: `time_s` of capture, `who`, `outcome`."""
    frames = result.video
    if frames is None:
        return None
    own = frames[frames["dejitter_ms"] == frames.groupby(["flow", "stream"])["dejitter_ms"].transform("first")]
    several = own.groupby("flow")["stream"].nunique().max() > 1
    found: pd.DataFrame = own[["time_s"]].assign(
        who=own["flow"] + "/" + own["stream"] if several else own["flow"], outcome="late"
    )
    found.loc[own["shown"] == 1, "outcome"] = "shown"
    found.loc[(own["shown"] != 1) & (own["lost_slices"] > 0), "outcome"] = "lost"
    return found.reset_index(drop=True)


def draw(figure: Figure, rows: pd.DataFrame) -> None:
    strips = list(rows.groupby("who", sort=False))
    panels = figure.subplots(len(strips), 1, sharex=True, squeeze=False)[:, 0]
    end = float(rows["time_s"].max())
    for axes, (who, own) in zip(panels, strips, strict=True):
        for outcome, colour in FATES.items():
            times = own.loc[own["outcome"] == outcome, "time_s"]
            label = f"{outcome} ({len(times):,})"
            axes.vlines(times, 0, _HEIGHTS[outcome], color=colour, linewidth=0.6, label=label)
        axes.set_xlim(0, end or 1.0)
        axes.set_ylim(0, 1)
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_ylabel(shortened(who, 16), color=BLACK)
        legend(axes)
    panels[-1].set_xlabel("time of capture, s")


PLOT = Plot("frames", "", "Frames: shown, late, lost", table, draw, height=2.2)
