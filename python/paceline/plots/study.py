"""Pictures of a study: metrics over what was varied, over the numbers of a design, or against each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from paceline.plots.style import CYCLE, DASHES, GREY, heading, legend, legend_below, logarithmic, new_figure, settings
from paceline.plots.vocabulary import looks
from paceline.studies.designs import Design
from paceline.studies.estimates import estimate
from paceline.studies.factors import Factor
from paceline.studies.rows import is_number
from paceline.studies.spec import Named, Spec, Value, expect_known

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paceline.studies.rows import Defined, Rows

WIDE = 8
"""From this ratio of a factor's highest level to its lowest on, its axis is logarithmic."""


class Picture(Named, frozen=True, kw_only=True, tag_field="kind"):
    """A picture that a study's definition asks for."""

    title: str = ""
    figure: str | None = None
    """The paper's figure of the same."""
    axis: str = ""
    log: bool = False

    def checked(
        self, designs: Mapping[str, Design], factors: Mapping[str, Factor], metrics: Mapping[str, object]
    ) -> Picture:
        """The picture, if the study has the designs, factors and metrics that it names."""
        where = f"pictures.{self.name}"
        for key, known in (("design", designs), ("metric", metrics), ("against", metrics), ("lines", factors)):
            if (found := getattr(self, key, None)) is not None:
                expect_known(f"{where}.{key}", found, known)
        for metric in getattr(self, "metrics", ()):
            expect_known(f"{where}.metrics", metric, metrics)
        return self

    def selections(self) -> Iterator[tuple[str, str]]:
        """The conditions by which it chooses rows, with their keys."""
        return iter(())

    def draw(self, study: Defined, rows: Rows) -> Figure:
        """The picture."""
        import matplotlib as mpl

        with mpl.rc_context(settings()):
            return self._draw(study, rows)

    def _draw(self, study: Defined, rows: Rows) -> Figure:
        figure = new_figure(height=4.2)
        axes = figure.subplots()
        heading(figure, self.title or self.name)
        self._points(axes, study, rows)
        if self.log:
            logarithmic(axes, "y")
        else:
            axes.set_ylim(bottom=0)
        return figure

    def _points(self, axes: Axes, study: Defined, rows: Rows) -> None:
        raise NotImplementedError


class Levels(Picture, frozen=True, kw_only=True, tag="levels"):
    """A panel for each factor of a design that changes one at a time: metrics over its levels."""

    design: str
    metric: str | None = None
    metrics: tuple[str, ...] = ()
    relative: bool = False
    """Whether metrics are shown as multiples of what they are at the factor's default."""

    def __post_init__(self) -> None:
        if (self.metric is None) == (not self.metrics):
            raise ValueError("expected either `metric` or `metrics`")

    def _draw(self, study: Defined, rows: Rows) -> Figure:
        own, design = rows.frame(self.design), study.designs[self.design]
        factors = [factor for factor in design.factors if not self.relative or factor.default is not None]
        figure, grid = panel_grid(len(factors), columns=4, width=2.5, height=1.9, sharey=True)
        for axes, factor in zip(grid, factors, strict=False):
            self._panel(axes, factor, design, own[own["varied"] == factor.name])
        # The panels share the axis: its end is known when all are drawn.
        if self.log:
            logarithmic(grid[0], "y")
        elif not self.relative:
            grid[0].set_ylim(bottom=0)
        if len(self._shown) > 1:
            legend_below(figure, grid)
        heading(figure, self.title or self.name)
        what = self.axis or ", ".join(axis_of(study, metric) for metric in self._shown)
        figure.supylabel("times the value at the default" if self.relative else what)
        return figure

    @property
    def _shown(self) -> tuple[str, ...]:
        return self.metrics or (str(self.metric),)

    def _panel(self, axes: Axes, factor: Factor, design: Design, rows: pd.DataFrame) -> None:
        levels = design.levels[factor.name]
        for place, metric in enumerate(self._shown):
            usual = rows[rows[factor.name] == factor.default][metric].mean() if self.relative else 1.0
            if usual == usual:
                style: dict[str, Any] = {"color": CYCLE[place], "linestyle": DASHES[place % len(DASHES)]}
                means_over(axes, rows, factor, levels, metric, label=metric, over=float(usual), style=style)
        if factor.default is not None and is_number(factor):
            axes.axvline(float(factor.default), color=GREY, linewidth=0.8)
        axes.set_xlabel(factor.label)
        numbers = [float(level) for level in levels] if is_number(factor) else []
        if numbers and min(numbers) > 0 and max(numbers) >= WIDE * min(numbers):
            logarithmic(axes, "x")


def means_over(
    axes: Axes,
    rows: pd.DataFrame,
    factor: Factor,
    levels: tuple[Value, ...],
    metric: str,
    *,
    label: str,
    over: float = 1.0,
    style: Mapping[str, Any],
) -> None:
    """A line of means over a factor's levels, in their order, with the 95 % interval over the seeds."""
    found = [(level, estimate(rows[rows[factor.name] == level], metric)) for level in levels]
    points = [(level, one) for level, one in found if one is not None]
    if not points:
        return
    across = [level if is_number(factor) else str(level) for level, _ in points]
    up = [one.mean / over for _, one in points]
    half = [(one.half or 0.0) / abs(over) for _, one in points]
    axes.plot(across, up, marker="o", markersize=2.5, label=label, **style)
    if any(half):
        axes.errorbar(across, up, yerr=half, fmt="none", ecolor=style["color"], capsize=2, linewidth=0.7)


def panel_grid(
    panels: int, *, columns: int, width: float, height: float, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of so many axes, at least one, in lines of at most `columns`; `width` and `height` of each in inches."""
    panels = max(1, panels)
    columns = min(columns, panels)
    lines = math.ceil(panels / columns)
    figure = new_figure(width=1.0 + width * columns, height=0.9 + height * lines, wide=columns > 1)
    grid = list(figure.subplots(lines, columns, squeeze=False, sharey=sharey).flatten())
    for axes in grid[panels:]:
        axes.set_visible(False)
    return figure, grid[:panels]


UNITS = {"mbps": "Mbit/s", "ms": "ms", "s": "s", "db": "dB", "bytes": "B", "percent": "%"}
"""Units by the endings of names."""


def axis_of(study: Defined, metric: str) -> str:
    """A metric's name and its unit, if that is the ending of its name or of the figure that it takes from a run."""
    one = study.metrics.get(metric)
    names = [metric.replace("-", "_")]
    if getattr(one, "scale", 1.0) == 1.0:
        names += str(getattr(one, "path", "") or getattr(one, "column", "")).split(".")
    unit = next((UNITS[end] for name in names if (end := name.rpartition("_")[2]) in UNITS and end != name), "")
    return f"{metric}, {unit}" if unit else metric


class Numbers(Picture, frozen=True, kw_only=True, tag="numbers"):
    """A point for each number of a design."""

    design: str
    metric: str

    def _points(self, axes: Axes, study: Defined, rows: Rows) -> None:
        means = rows.frame(self.design).groupby("number")[self.metric].mean()
        axes.plot(means.index, means.to_numpy(), ".", markersize=3, color=CYCLE[0])
        axes.axhline(float(means.mean()), color=GREY, linewidth=0.8, label="mean of all")
        axes.set_xlabel("number of the experiment")
        axes.set_ylabel(self.axis or axis_of(study, self.metric))
        legend(axes)


class Against(Picture, frozen=True, kw_only=True, tag="against"):
    """A point for each experiment: one metric over another."""

    design: str
    metric: str
    against: str

    def _points(self, axes: Axes, study: Defined, rows: Rows) -> None:
        means = rows.frame(self.design).groupby("number")[[self.metric, self.against]].mean()
        axes.plot(means[self.against], means[self.metric], ".", markersize=4, color=CYCLE[0])
        axes.set_xlabel(axis_of(study, self.against))
        axes.set_ylabel(self.axis or axis_of(study, self.metric))


class Placed(Picture, frozen=True, kw_only=True, tag="placed"):
    """A panel for each level of a factor, and a line for each of another: a point that two metrics place and colour."""

    design: str
    metric: str
    """The number."""
    against: str
    """Where the points are, on a logarithmic axis."""
    shade: str
    """A metric from 0.5 to 1 that is the colour of a point."""
    lines: str
    """The factor that has a line for each level."""
    panels: str
    """The factor that has a panel for each level."""
    labels: dict[str, str] = {}
    """Descriptions by metric."""

    def checked(
        self, designs: Mapping[str, Design], factors: Mapping[str, Factor], metrics: Mapping[str, object]
    ) -> Picture:
        super().checked(designs, factors, metrics)
        expect_known(f"pictures.{self.name}.shade", self.shade, metrics)
        expect_known(f"pictures.{self.name}.panels", self.panels, factors)
        return self

    def _draw(self, study: Defined, rows: Rows) -> Figure:
        own, levels = rows.frame(self.design), study.designs[self.design].levels[self.panels]
        order = own.groupby(self.lines)[self.against].mean().sort_values(ascending=False).index
        height = 0.4 + 0.14 * len(order)
        figure, grid = panel_grid(len(levels), columns=3, width=3.2, height=height, sharey=True)
        for axes, level in zip(grid, levels, strict=True):
            means = own[own[self.panels] == level].groupby(self.lines)[[self.against, self.metric, self.shade]].mean()
            shades = self._panel(axes, means.reindex(order))
            axes.set_title(str(level), fontsize=8)
            axes.set_xlabel(self.labels.get(self.against) or axis_of(study, self.against))
        figure.colorbar(shades, ax=grid, shrink=0.5, pad=0.04, label=self.labels.get(self.shade, self.shade))
        heading(figure, self.title or self.name)
        return figure

    def _panel(self, axes: Axes, means: pd.DataFrame) -> Any:
        places = range(len(means))
        across = means[self.against].clip(lower=0.1)
        shades = axes.scatter(across, places, c=means[self.shade], cmap="viridis", vmin=0.5, vmax=1.0, s=20, zorder=3)
        axes.set_yticks(places, [str(level) for level in means.index], fontsize=7)
        for place, number in zip(places, means[self.metric], strict=True):
            axes.text(1.02, place, f"{number:.2f}", transform=axes.get_yaxis_transform(), fontsize=6, va="center")
        logarithmic(axes, "x")
        axes.grid(axis="y", linewidth=0.3)
        return shades


class Panel(Spec, frozen=True, kw_only=True):
    """One pair of axes."""

    of: str
    """Its rows: a name, or a condition in SQL."""
    over: str
    """The factor along the axis."""
    title: str = ""
    beside: str | None = None
    """Runs of the same that others measured."""


class Curves(Picture, frozen=True, kw_only=True, tag="curves"):
    """A metric over a factor, a line for each level of another, and dashed what others measured."""

    metric: str
    lines: str
    """The factor that has a line for each level."""
    levels: tuple[Value, ...] = ()
    panels: tuple[Panel, ...]
    beside: str = "measured elsewhere"
    """Legend of the dashed lines."""

    def __post_init__(self) -> None:
        if not self.panels:
            raise ValueError(".panels: found none, expected a list of tables with `of` and `over`")

    def checked(
        self, designs: Mapping[str, Design], factors: Mapping[str, Factor], metrics: Mapping[str, object]
    ) -> Picture:
        super().checked(designs, factors, metrics)
        for level in self.levels:
            factors[self.lines].check(f"pictures.{self.name}.levels", level)
        for number, panel in enumerate(self.panels, 1):
            expect_known(f"pictures.{self.name}.panels.{number}.over", panel.over, factors)
        return self

    def selections(self) -> Iterator[tuple[str, str]]:
        for number, panel in enumerate(self.panels, 1):
            yield f"panels.{number}.of", panel.of
            if panel.beside is not None:
                yield f"panels.{number}.beside", panel.beside

    def _draw(self, study: Defined, rows: Rows) -> Figure:
        figure, grid = panel_grid(len(self.panels), columns=2, width=4.0, height=2.7)
        for axes, panel in zip(grid, self.panels, strict=True):
            self._panel(axes, panel, study, rows)
        legend_below(figure, grid, last=self.beside, title=study.factors[self.lines].label)
        heading(figure, self.title or self.name)
        return figure

    def _panel(self, axes: Axes, panel: Panel, study: Defined, rows: Rows) -> None:
        ours, theirs = rows.frame(panel.of), None if panel.beside is None else rows.frame(panel.beside)
        over, lines = study.factors[panel.over], study.factors[self.lines]
        across = tuple(sorted(ours[over.name].dropna().unique())) if is_number(over) else over.values
        shown = self.levels or lines.values
        for level, look in zip(shown, looks(str(level) for level in shown).values(), strict=True):
            style = {"color": look.colour}
            # Dashes are of others where there are such.
            dashes = look.line if theirs is None else style
            own = ours[ours[lines.name] == level]
            means_over(axes, own, over, across, self.metric, label=str(level), style=dashes)
            if theirs is not None:
                self._beside(axes, over.name, theirs[theirs[lines.name] == level], style)
        axes.set_title(panel.title, fontsize="medium")
        axes.set_xlabel(over.label)
        axes.set_ylabel(self.axis or axis_of(study, self.metric))
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


class Shown(Spec, frozen=True, kw_only=True):
    """One pair of axes over metrics."""

    of: str
    """Its rows: a name, or a condition in SQL."""
    title: str = ""


class Across(Picture, frozen=True, kw_only=True, tag="across"):
    """Metrics that differ in a number, such as the size of a buffer, over it; a line for each level of a factor."""

    points: dict[str, float]
    """Each metric with its number."""
    over: str
    """Meaning of the number, with its unit."""
    lines: str
    levels: tuple[Value, ...] = ()
    labels: dict[str, str] = {}
    """Legend of a level."""
    panels: tuple[Shown, ...]

    def __post_init__(self) -> None:
        if not self.panels or not self.points:
            raise ValueError("expected `panels` and `points`, at least one of each")

    def checked(
        self, designs: Mapping[str, Design], factors: Mapping[str, Factor], metrics: Mapping[str, object]
    ) -> Picture:
        super().checked(designs, factors, metrics)
        for metric in self.points:
            expect_known(f"pictures.{self.name}.points", metric, metrics)
        for level in self.levels:
            factors[self.lines].check(f"pictures.{self.name}.levels", level)
        return self

    def selections(self) -> Iterator[tuple[str, str]]:
        for number, panel in enumerate(self.panels, 1):
            yield f"panels.{number}.of", panel.of

    def _draw(self, study: Defined, rows: Rows) -> Figure:
        figure, grid = panel_grid(len(self.panels), columns=3, width=3.0, height=2.5, sharey=True)
        for axes, panel in zip(grid, self.panels, strict=True):
            frame = rows.frame(panel.of)
            shown = self.levels or study.factors[self.lines].values
            for level, look in zip(shown, looks(str(level) for level in shown).values(), strict=True):
                means = frame[frame[self.lines] == level][list(self.points)].mean()
                across = sorted((number, float(means[metric])) for metric, number in self.points.items())
                label = self.labels.get(str(level), str(level))
                axes.plot(*zip(*across, strict=True), marker="o", markersize=2.5, label=label, **look.line)
            axes.set_title(panel.title, fontsize="medium")
        for axes in grid[-3:]:
            axes.set_xlabel(self.over)
        legend_below(figure, grid, title=study.factors[self.lines].label)
        heading(figure, self.title or self.name)
        figure.supylabel(self.axis or ", ".join(axis_of(study, metric) for metric in self.points))
        return figure
