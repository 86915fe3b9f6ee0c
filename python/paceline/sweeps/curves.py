"""Curves of a sweep: a metric over a factor, a line for each level of another, and beside them what others measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError
from paceline.plots.style import CYCLE, DASHES, GREY, logarithmic, new_figure, settings
from paceline.studies.checks import expect_keys, expect_known, expect_table
from paceline.sweeps.designs import Design
from paceline.sweeps.factors import Factor
from paceline.sweeps.figures import Selection

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paceline.sweeps.definition import Sweep

KEYS = ("kind", "metric", "title", "figure", "axis", "log", "lines", "levels", "panels", "beside")
PANEL_KEYS = ("of", "over", "title", "beside")
COLUMNS = 2


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    of: Selection
    over: Factor
    title: str
    beside: Selection | None


@dataclass(frozen=True)
class Curves:
    """A picture of kind `curves`."""

    name: str
    title: str
    figure: str | None
    """The paper's figure of the same."""
    metric: str
    axis: str
    log: bool
    lines: Factor
    levels: tuple[Any, ...]
    beside: str
    """What the dashed lines are."""
    panels: tuple[Panel, ...]

    @classmethod
    def read(
        cls,
        name: str,
        spec: Mapping[str, Any],
        designs: Mapping[str, Design],
        factors: Mapping[str, Factor],
        metrics: Mapping[str, object],
    ) -> Curves:
        """The picture as a study's definition says it."""
        where = f"pictures.{name}"
        expect_keys(where, spec, KEYS)
        expect_known(f"{where}.metric", spec.get("metric"), metrics)
        expect_known(f"{where}.lines", spec.get("lines"), factors)
        lines = factors[spec["lines"]]
        levels = tuple(spec.get("levels", lines.levels))
        for level in levels:
            lines.check(f"{where}.levels", level)
        panels = spec.get("panels")
        if not isinstance(panels, list) or not panels:
            raise StudyError(f"{where}.panels: found {panels!r}, expected a list of tables with `of` and `over`")
        return cls(
            name,
            str(spec.get("title", name)),
            spec.get("figure"),
            f"metric.{spec['metric']}",
            str(spec.get("axis", spec["metric"])),
            bool(spec.get("log", False)),
            lines,
            levels,
            str(spec.get("beside", "measured elsewhere")),
            tuple(_panel(f"{where}.panels: {number}", one, designs, factors) for number, one in enumerate(panels, 1)),
        )

    def draw(self, sweep: Sweep, results: pd.DataFrame) -> Figure:
        """The picture."""
        import matplotlib as mpl

        with mpl.rc_context(settings()):
            rows = math.ceil(len(self.panels) / COLUMNS)
            figure = new_figure(width=9.0, height=0.9 + 2.7 * rows)
            grid = figure.subplots(rows, min(COLUMNS, len(self.panels)), squeeze=False).flatten()
            for axes, panel in zip(grid, self.panels, strict=False):
                self._draw(axes, panel, results)
            for axes in grid[len(self.panels) :]:
                axes.set_visible(False)
            handles: dict[str, Any] = {}
            for axes in grid:
                handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
            handles = dict(sorted(handles.items(), key=lambda one: one[0].startswith(self.beside)))
            figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(6, len(handles)))
            figure.suptitle(self.title, x=0.01, ha="left")
        return figure

    def _draw(self, axes: Axes, panel: Panel, results: pd.DataFrame) -> None:
        x = f"factor.{panel.over.name}"
        ours, theirs = panel.of.rows(results), panel.beside.rows(results) if panel.beside else None
        for place, level in enumerate(self.levels):
            style: dict[str, Any] = {"color": CYCLE[place % len(CYCLE)]}
            means = ours[ours[f"factor.{self.lines.name}"] == level].groupby(x)[self.metric].mean()
            if len(means):
                dash = DASHES[place // len(CYCLE)]
                axes.plot(means.index, means, marker="o", markersize=2.5, label=str(level), linestyle=dash, **style)
            if theirs is not None:
                self._beside(axes, x, theirs[theirs[f"factor.{self.lines.name}"] == level], style)
        axes.set_title(panel.title, fontsize=9)
        axes.set_xlabel(f"{panel.over.name}{', ' if panel.over.unit else ''}{panel.over.unit}", fontsize=9)
        axes.set_ylabel(self.axis, fontsize=9)
        if self.log:
            logarithmic(axes, "y")
        else:
            axes.set_ylim(bottom=0)

    def _beside(self, axes: Axes, x: str, rows: pd.DataFrame, style: Mapping[str, Any]) -> None:
        """Dashed, with a cross where the run did not go as it should."""
        rows = rows.sort_values(x)
        if rows.empty:
            return
        axes.plot(rows[x], rows[self.metric], linestyle="--", linewidth=0.9, **style)
        broken = rows[rows["error"].notna()]
        axes.plot(broken[x], broken[self.metric], "x", markersize=6, **style)
        axes.plot([], [], "--", color=GREY, linewidth=0.9, label=self.beside)
        axes.plot([], [], "x", color=GREY, label=f"{self.beside}, broken")


def _panel(where: str, spec: object, designs: Mapping[str, Design], factors: Mapping[str, Factor]) -> Panel:
    spec = expect_table(where, spec, "`of` and `over`")
    expect_keys(where, spec, PANEL_KEYS)
    expect_known(f"{where}.over", spec.get("over"), factors)
    return Panel(
        Selection.read(str(spec.get("of")), designs, factors),
        factors[spec["over"]],
        str(spec.get("title", "")),
        Selection.read(str(spec["beside"]), designs, factors) if "beside" in spec else None,
    )
