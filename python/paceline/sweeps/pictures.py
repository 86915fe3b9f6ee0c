"""Pictures of a sweep: a metric over the levels of each factor, over the numbers of a design, or against another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError
from paceline.plots.style import CYCLE, DASHES, GREY, legend, new_figure, settings
from paceline.sweeps.designs import Design

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paceline.sweeps.definition import Sweep

KEYS = ("kind", "design", "metric", "against", "title", "figure", "axis", "log")


@dataclass(frozen=True)
class Picture:
    """A picture that a sweep's definition asks for."""

    name: str
    kind: str
    design: Design
    metric: str
    against: str | None
    title: str
    figure: str | None
    """The paper's figure of the same."""
    axis: str
    log: bool

    @classmethod
    def read(cls, name: str, spec: object, designs: Mapping[str, Design], metrics: Mapping[str, object]) -> Picture:
        """The picture as a study's definition says it."""
        where = f"pictures.{name}"
        if not isinstance(spec, Mapping):
            raise StudyError(f"{where}: found {spec!r}, expected a table with kind, design and metric")
        for key in spec:
            if key not in KEYS:
                raise StudyError(f"{where}: found key {key!r}, expected one of {', '.join(KEYS)}")
        for key, known in (("kind", KINDS), ("design", designs), ("metric", metrics)):
            if spec.get(key) not in known:
                raise StudyError(f"{where}.{key}: found {spec.get(key)!r}, expected one of {', '.join(known)}")
        against = spec.get("against")
        if (against is not None) != (spec["kind"] == "against") or (against is not None and against not in metrics):
            raise StudyError(
                f"{where}.against: found {against!r}, expected a metric with kind 'against' and only there"
            )
        return cls(
            name,
            spec["kind"],
            designs[spec["design"]],
            spec["metric"],
            against,
            str(spec.get("title", name)),
            spec.get("figure"),
            str(spec.get("axis", spec["metric"])),
            bool(spec.get("log", False)),
        )

    def draw(self, sweep: Sweep, results: pd.DataFrame) -> Figure:
        """The picture."""
        import matplotlib as mpl

        rows = results[results["design"] == self.design.name]
        with mpl.rc_context(settings()):
            figure = new_figure(height=4.2)
            axes = figure.subplots()
            axes.set_title(self.title)
            KINDS[self.kind](axes, self, sweep, rows)
            if self.log:
                axes.set_yscale("log")
            else:
                axes.set_ylim(bottom=0)
        return figure


def _levels(axes: Axes, picture: Picture, sweep: Sweep, rows: pd.DataFrame) -> None:
    """A line for each factor, over the numbers of its levels."""
    for place, factor in enumerate(picture.design.factors):
        means = rows[rows["varied"] == factor.name].groupby("number")[f"metric.{picture.metric}"].mean()
        style: dict[str, Any] = {"color": CYCLE[place % len(CYCLE)], "linestyle": DASHES[place // len(CYCLE)]}
        axes.plot(range(1, len(means) + 1), means.to_numpy(), marker="o", markersize=3, label=factor.name, **style)
    axes.set_xlabel("level of the factor, see the table of factors")
    axes.set_ylabel(picture.axis)
    axes.set_xticks(range(1, 1 + max(len(levels) for levels in picture.design.levels.values())))
    legend(axes)


def _numbers(axes: Axes, picture: Picture, sweep: Sweep, rows: pd.DataFrame) -> None:
    """A point for each number of the design."""
    means = rows.groupby("number")[f"metric.{picture.metric}"].mean()
    axes.plot(means.index, means.to_numpy(), ".", markersize=3, color=CYCLE[0])
    axes.axhline(float(means.mean()), color=GREY, linewidth=0.8, label="mean of all")
    axes.set_xlabel("number of the experiment")
    axes.set_ylabel(picture.axis)
    legend(axes)


def _against(axes: Axes, picture: Picture, sweep: Sweep, rows: pd.DataFrame) -> None:
    """A point for each experiment: one metric over another."""
    means = rows.groupby("number")[[f"metric.{picture.metric}", f"metric.{picture.against}"]].mean()
    axes.plot(means[f"metric.{picture.against}"], means[f"metric.{picture.metric}"], ".", markersize=4, color=CYCLE[0])
    axes.set_xlabel(str(picture.against))
    axes.set_ylabel(picture.axis)


KINDS: dict[str, Callable[[Axes, Picture, Sweep, Any], None]] = {
    "levels": _levels,
    "numbers": _numbers,
    "against": _against,
}
