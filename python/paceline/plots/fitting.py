"""Distribution functions of recordings and generator, beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from paceline.fitting.blockage import states_of, stays_of
from paceline.fitting.recordings import Values, joined
from paceline.fitting.run import FramesResult, RatesResult
from paceline.plots.style import BLACK, BLUE, GREEN, GREY, VERMILION, logarithmic, new_figure, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FITTED, HELD_OUT, GENERATOR = BLUE, GREEN, VERMILION


def rates_figure(result: RatesResult, title: str) -> Figure:
    """Rates, their changes, and the dwell times of each state, the recordings one by one."""
    with mpl.rc_context(settings()):
        states = result.fit.states
        figure = new_figure(9.0, 6.4)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        axes = figure.subplots(2, 3).ravel()
        sides = _sides(result)
        draw(axes[0], [(name, [one.mbps for one in side]) for name, side in sides], "rate, Mbit/s")
        step = max(1, round(1.0 / result.drawn.interval_s))
        changes = [(name, [one.mbps[step:] - one.mbps[:-step] for one in side]) for name, side in sides]
        draw(axes[1], changes, f"change of the rate over {step * result.drawn.interval_s:g} s, Mbit/s")
        axes[1].set_xlim(-600, 600)
        for number, (state, panel) in enumerate(zip(states, axes[2:], strict=False)):
            stays = [
                (
                    name,
                    [stays_of([states_of(one.mbps, result.fit.bounds)], number).whole * one.interval_s for one in side],
                )
                for name, side in sides
            ]
            draw(panel, stays, f"dwell time, {state.name}, s")
            logarithmic(panel, "x")
        _finish(figure, axes)
        return figure


def frames_figure(result: FramesResult, title: str) -> Figure:
    """Sizes of delta and key frames, and changes from frame to frame."""
    with mpl.rc_context(settings()):
        figure = new_figure(9.0, 3.6)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        axes = figure.subplots(1, 3)
        sides = _sides(result)
        mean = {id(one): float(one.sizes.mean()) for _, side in sides for one in side}
        for panel, is_key in ((axes[0], False), (axes[1], True)):
            sizes = [(name, [one.sizes[one.keys == is_key] / mean[id(one)] for one in side]) for name, side in sides]
            draw(panel, sizes, f"{'key' if is_key else 'delta'} frame / mean frame")
        changes = [(name, [np.diff(one.sizes) / mean[id(one)] for one in side]) for name, side in sides]
        draw(axes[2], changes, "change to the next frame / mean")
        _finish(figure, axes)
        return figure


def _sides(result: Any) -> list[tuple[str, list[Any]]]:
    sides = [("recordings, fitted", result.fitted), ("recordings, left out", result.held_out)]
    return [(name, side) for name, side in [*sides, ("generator", [result.drawn])] if side]


def draw(axes: Axes, sides: Sequence[tuple[str, Sequence[Values]]], unit: str) -> None:
    """Distribution functions: of recordings each by itself, thin, and together, thick."""
    colours = {"recordings, fitted": FITTED, "recordings, left out": HELD_OUT, "generator": GENERATOR}
    for name, parts in sides:
        if len(parts) > 1:
            for part in parts:
                _curve(axes, part, color=colours[name], linewidth=0.7, alpha=0.45)
        dashes = "--" if name == "generator" else "-"
        _curve(axes, joined(parts), color=colours[name], linewidth=1.8, linestyle=dashes, label=name)
    axes.set_ylim(0, 1)
    axes.set_xlabel(unit)


def _curve(axes: Axes, values: Values, **look: Any) -> None:
    if not len(values):
        return
    # The large sample of the generator is drawn by its quantiles.
    x = np.sort(values) if len(values) <= 2000 else np.quantile(values, np.linspace(0, 1, 2001))
    axes.step(x, np.linspace(1 / len(x), 1, len(x)), where="post", **look)


def _finish(figure: Figure, axes: Sequence[Axes]) -> None:
    for panel in axes:
        if not panel.lines:
            panel.set_visible(False)
    axes[0].set_ylabel("part of the values at most as large", color=BLACK)
    handles, labels = axes[0].get_legend_handles_labels()
    if any(line.get_linewidth() < 1 for line in axes[0].lines):
        handles = [*handles, axes[0].plot([], [], color=GREY, linewidth=0.7)[0]]
        labels = [*labels, "thin: each recording"]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
