"""Pictures of a sweep: a metric over the levels of each factor, over the numbers of a design, or against another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError
from paceline.plots.style import CYCLE, DASHES, GREY, legend, logarithmic, new_figure, settings
from paceline.studies.checks import expect_keys, expect_known, expect_table
from paceline.sweeps.curves import Curves
from paceline.sweeps.designs import Design
from paceline.sweeps.factors import Factor

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paceline.sweeps.definition import Sweep

WIDE = 8
"""From this ratio of a factor's highest level to its lowest on, its axis is logarithmic."""
KEYS = ("kind", "design", "metric", "metrics", "against", "title", "figure", "axis", "log")


@dataclass(frozen=True)
class Picture:
    """A picture that a sweep's definition asks for."""

    name: str
    kind: str
    design: Design
    metrics: tuple[str, ...]
    """One, but for panels."""
    against: str | None
    title: str
    figure: str | None
    """The paper's figure of the same."""
    axis: str
    log: bool

    @classmethod
    def read(
        cls,
        name: str,
        spec: object,
        designs: Mapping[str, Design],
        factors: Mapping[str, Factor],
        metrics: Mapping[str, object],
    ) -> Picture | Curves:
        """The picture as a study's definition says it."""
        where = f"pictures.{name}"
        spec = expect_table(where, spec, "kind, design and metric")
        expect_known(f"{where}.kind", spec.get("kind"), (*KINDS, "curves"))
        if spec["kind"] == "curves":
            return Curves.read(name, spec, designs, factors, metrics)
        expect_keys(where, spec, KEYS)
        expect_known(f"{where}.design", spec.get("design"), designs)
        key = "metrics" if spec["kind"] == "panels" else "metric"
        own = tuple(spec.get(key, ())) if key == "metrics" else (spec.get(key),)
        for metric in own or (None,):
            expect_known(f"{where}.{key}", metric, metrics)
        against = spec.get("against")
        if (against is not None) != (spec["kind"] == "against") or (against is not None and against not in metrics):
            raise StudyError(
                f"{where}.against: found {against!r}, expected a metric with kind 'against' and only there"
            )
        return cls(
            name,
            spec["kind"],
            designs[spec["design"]],
            tuple(str(metric) for metric in own),
            against,
            str(spec.get("title", name)),
            spec.get("figure"),
            str(spec.get("axis", own[0])),
            bool(spec.get("log", False)),
        )

    def draw(self, sweep: Sweep, results: pd.DataFrame) -> Figure:
        """The picture."""
        import matplotlib as mpl

        rows = results[results["design"] == self.design.name]
        with mpl.rc_context(settings()):
            return KINDS[self.kind](self, sweep, rows)

    @property
    def column(self) -> str:
        """Of the results."""
        return f"metric.{self.metrics[0]}"


def _alone(draw: Callable[[Axes, Picture, Sweep, Any], None]) -> Callable[[Picture, Sweep, Any], Figure]:
    """A picture with one pair of axes."""

    def drawn(picture: Picture, sweep: Sweep, rows: pd.DataFrame) -> Figure:
        figure = new_figure(height=4.2)
        axes = figure.subplots()
        axes.set_title(picture.title)
        draw(axes, picture, sweep, rows)
        if picture.log:
            logarithmic(axes, "y")
        else:
            axes.set_ylim(bottom=0)
        return figure

    return drawn


def _levels(axes: Axes, picture: Picture, sweep: Sweep, rows: pd.DataFrame) -> None:
    """A line for each factor, over the numbers of its levels."""
    for place, factor in enumerate(picture.design.factors):
        means = rows[rows["varied"] == factor.name].groupby("number")[picture.column].mean()
        style: dict[str, Any] = {"color": CYCLE[place % len(CYCLE)], "linestyle": DASHES[place // len(CYCLE)]}
        axes.plot(range(1, len(means) + 1), means.to_numpy(), marker="o", markersize=3, label=factor.name, **style)
    axes.set_xlabel("level of the factor, see the table of factors")
    axes.set_ylabel(picture.axis)
    axes.set_xticks(range(1, 1 + max(len(levels) for levels in picture.design.levels.values())))
    # Beside the lines: more factors than there is room for above them, where the title is.
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.5)


def _numbers(axes: Axes, picture: Picture, sweep: Sweep, rows: pd.DataFrame) -> None:
    """A point for each number of the design."""
    means = rows.groupby("number")[picture.column].mean()
    axes.plot(means.index, means.to_numpy(), ".", markersize=3, color=CYCLE[0])
    axes.axhline(float(means.mean()), color=GREY, linewidth=0.8, label="mean of all")
    axes.set_xlabel("number of the experiment")
    axes.set_ylabel(picture.axis)
    legend(axes)


def _against(axes: Axes, picture: Picture, sweep: Sweep, rows: pd.DataFrame) -> None:
    """A point for each experiment: one metric over another."""
    means = rows.groupby("number")[[picture.column, f"metric.{picture.against}"]].mean()
    axes.plot(means[f"metric.{picture.against}"], means[picture.column], ".", markersize=4, color=CYCLE[0])
    axes.set_xlabel(str(picture.against))
    axes.set_ylabel(picture.axis)


def _panels(picture: Picture, sweep: Sweep, rows: pd.DataFrame) -> Figure:
    """A panel for each factor: metrics over its levels, as multiples of what they are at the factor's default."""
    factors = [factor for factor in picture.design.factors if factor.default is not None]
    columns = 4
    figure = new_figure(width=11.0, height=0.8 + 1.9 * math.ceil(len(factors) / columns))
    grid = figure.subplots(math.ceil(len(factors) / columns), columns, squeeze=False, sharey=True).flatten()
    for axes, factor in zip(grid, factors, strict=False):
        own = rows[rows["varied"] == factor.name].groupby(f"factor.{factor.name}")
        for place, metric in enumerate(picture.metrics):
            means = own[f"metric.{metric}"].mean()
            usual = means[means.index == factor.default]
            if len(usual):
                style: dict[str, Any] = {"color": CYCLE[place], "linestyle": DASHES[place % len(DASHES)]}
                axes.plot(means.index, means / usual.iloc[0], marker="o", markersize=3, label=metric, **style)
        axes.axvline(float(factor.default or 0), color=GREY, linewidth=0.8)
        axes.set_title(f"{factor.name}{', ' if factor.unit else ''}{factor.unit}", fontsize=9)
        levels = [float(level) for level in factor.levels]
        if min(levels) > 0 and max(levels) >= WIDE * min(levels):
            logarithmic(axes, "x")
        if picture.log:
            logarithmic(axes, "y")
    for axes in grid[len(factors) :]:
        axes.set_visible(False)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle(picture.title, x=0.01, ha="left")
    figure.supylabel("times the value at the default", fontsize=9)
    return figure


KINDS: dict[str, Callable[[Picture, Sweep, Any], Figure]] = {
    "levels": _alone(_levels),
    "numbers": _alone(_numbers),
    "against": _alone(_against),
    "panels": _panels,
}
