"""Pictures of a study that compares cell by cell: shares of good cells by design, and maps over two factors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from paceline.errors import StudyError
from paceline.plots.study import Picture, panel_grid
from paceline.plots.style import heading, new_figure
from paceline.studies.cells import ANY
from paceline.studies.spec import expect_known

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paceline.studies.cells import Judged
    from paceline.studies.designs import Design
    from paceline.studies.factors import Factor
    from paceline.studies.rows import Defined, Rows

COLOURS = "cividis"
"""Dark is bad and light is good, in grey as well."""


class _Cells(Picture, frozen=True, kw_only=True):
    def draw(self, study: Defined, rows: Rows) -> Figure:
        if rows.judged is None:
            raise StudyError("found a study without `[cells]`, expected one: there is no verdict to draw")
        return super().draw(study, rows)


class Groups(_Cells, frozen=True, kw_only=True, tag="groups"):
    """The share of good cells, with a line for each design and a column for each level that is compared."""

    def _draw(self, study: Defined, rows: Rows) -> Figure:
        found = _judged(rows)
        good = found.good.assign(**{ANY: found.any_good})
        by_design = 100 * good.groupby(level="design").mean()
        shares = by_design.reindex([name for name in study.designs if name in by_design.index])
        titles = [*(study.designs[name].title for name in shares.index), "all"]
        shares.loc["all"] = 100 * good.mean()
        figure = new_figure(width=2.8 + 0.5 * len(good.columns), height=1.6 + 0.26 * len(shares), wide=True)
        axes = figure.subplots()
        _shade(axes, shares, 100.0)
        for line, values in enumerate(shares.to_numpy()):
            for column, share in enumerate(values):
                colour = "white" if share < 55 else "black"
                axes.text(column, line, f"{share:.0f}", ha="center", va="center", fontsize="x-small", color=colour)
        _label(axes, titles, list(good.columns))
        heading(figure, self.title or self.name)
        return figure


class Map(_Cells, frozen=True, kw_only=True, tag="map"):
    """A panel for each level that is compared: the share of good cells over two factors of a design."""

    design: str
    across: str
    """The factor along the axis."""
    up: str
    """The factor of the lines; the share is over all others of the design."""

    def checked(
        self, designs: Mapping[str, Design], factors: Mapping[str, Factor], metrics: Mapping[str, object]
    ) -> Picture:
        super().checked(designs, factors, metrics)
        for key, factor in (("across", self.across), ("up", self.up)):
            expect_known(f"pictures.{self.name}.{key}", factor, [one.name for one in designs[self.design].factors])
        return self

    def selections(self) -> Iterator[tuple[str, str]]:
        yield "design", self.design

    def _draw(self, study: Defined, rows: Rows) -> Figure:
        found = _judged(rows)
        own = found.frame[found.frame["design"] == self.design]
        best = own.groupby(["cell", self.up, self.across], sort=False)["good"].any().reset_index()
        panels = [(level, own[own[found.of] == level]) for level in found.levels]
        panels += [(ANY, best)] if len(panels) > 1 else []
        ups, acrosses = (_present(study.factors[name], own) for name in (self.up, self.across))
        width, height = 0.8 + 0.16 * len(acrosses), 0.5 + 0.16 * len(ups)
        figure, grid = panel_grid(len(panels), columns=5, width=max(2.0, width), height=max(1.1, height))
        for place, (axes, (level, frame)) in enumerate(zip(grid, panels, strict=True)):
            shares = frame.pivot_table(index=self.up, columns=self.across, values="good", aggfunc="mean")
            _shade(axes, shares.reindex(index=ups, columns=acrosses).astype(float), 1.0)
            axes.set_title(level, fontsize="small")
            outer = place % 5 == 0, place + 5 >= len(panels)
            _label(axes, ups if outer[0] else [], acrosses if outer[1] else [])
        figure.supxlabel(study.factors[self.across].label, fontsize="small")
        figure.supylabel(study.factors[self.up].label, fontsize="small")
        heading(figure, self.title or self.name)
        return figure


def _judged(rows: Rows) -> Judged:
    assert rows.judged is not None
    return rows.judged


def _present(factor: Factor, frame: pd.DataFrame) -> list[object]:
    """The values of a factor that there are, in its order."""
    there = set(frame[factor.name].dropna())
    return [value for value in factor.values if value in there]


def _shade(axes: Axes, shares: pd.DataFrame, most: float) -> None:
    axes.imshow(shares.to_numpy(), cmap=COLOURS, vmin=0.0, vmax=most, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)


def _label(axes: Axes, lines: Sequence[object], columns: Sequence[object]) -> None:
    """Names at the lines and the columns; none where there are none."""
    axes.set_yticks(range(len(lines)), [_said(one) for one in lines], fontsize="xx-small")
    axes.set_xticks(range(len(columns)), [_said(one) for one in columns], fontsize="xx-small", rotation=90)


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)
