"""Pictures of the time series that designs keep: columns over time, and how their values are distributed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from paceline.errors import StudyError, one_of
from paceline.figures import figures
from paceline.plots.study import Picture, panel_grid
from paceline.plots.style import CYCLE, DASHES, heading, legend_below, logarithmic
from paceline.plots.vocabulary import looks
from paceline.studies.designs import Design, Experiments
from paceline.studies.factors import Factor
from paceline.studies.rows import Rows, equals
from paceline.studies.spec import DefinitionError, Spec, Value, expect_known

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from paceline.studies.rows import Defined

BINS = 60
"""Bins of a distribution."""
Above = Annotated[float, Meta(gt=0)]


class Drawn(Spec, frozen=True, kw_only=True):
    """One pair of axes: a column of flows.parquet of the runs that a design keeps."""

    design: str
    where: str = "true"
    """Which of the design's rows, in SQL."""
    column: str
    draw: Literal["time", "cdf", "distribution"] = "time"
    """Means over time; or the part of the values up to each; or the part of the values in each bin."""
    every: Above = 5.0
    """Seconds of a mean."""
    above_least: bool = False
    """Whether each run's smallest value is taken off."""
    scale: float = 1.0
    end: Above | None = None
    """Where the axis of the column ends."""
    title: str = ""
    axis: str = ""
    log: bool = False
    """Whether the axis of the column is logarithmic."""


PARTS = ("flow", "stream")
"""The parts of a run that a picture can have lines for."""


class Runs(Picture, frozen=True, kw_only=True, tag="runs"):
    """Panels of kept time series, with a line for each level of a factor, for each flow or for each stream."""

    lines: str = "flow"
    """The factor that has a line for each level; `flow`, `stream`: each flow, each stream has one."""
    levels: tuple[Value, ...] = ()
    labels: dict[str, str] = {}
    """Legend of a level, a flow or a stream."""
    panels: tuple[Drawn, ...]
    columns: Annotated[int, Meta(ge=1, le=4)] = 2

    def __post_init__(self) -> None:
        if not self.panels:
            raise ValueError(".panels: found none, expected a list of tables with `design` and `column`")

    def checked(
        self, designs: Mapping[str, Design], factors: Mapping[str, Factor], metrics: Mapping[str, object]
    ) -> Picture:
        where = f"pictures.{self.name}"
        if self.lines not in PARTS:
            expect_known(f"{where}.lines", self.lines, (*PARTS, *factors))
            for level in self.levels:
                factors[self.lines].check(f"{where}.levels", level)
        for number, panel in enumerate(self.panels, 1):
            expect_known(f"{where}.panels.{number}.design", panel.design, designs)
            spec = designs[panel.design].spec
            if not isinstance(spec, Experiments) and not spec.keep:
                said = f"found {panel.design!r}, which keeps no time series, expected `keep = true` in it"
                raise DefinitionError(f"{where}.panels.{number}.design", said)
        return self

    def selections(self) -> Iterator[tuple[str, str]]:
        for number, panel in enumerate(self.panels, 1):
            yield f"panels.{number}.where", panel.where

    def _draw(self, study: Defined, rows: Rows) -> Figure:
        figure, grid = panel_grid(len(self.panels), columns=self.columns, width=4.0, height=2.5)
        for axes, panel in zip(grid, self.panels, strict=True):
            self._panel(axes, panel, study, rows)
        named = self.lines in PARTS
        legend_below(figure, grid, title="" if named else study.factors[self.lines].label)
        heading(figure, self.title or self.name)
        return figure

    def _panel(self, axes: Axes, panel: Drawn, study: Defined, rows: Rows) -> None:
        known = [] if self.lines in PARTS else self.levels or study.factors[self.lines].values
        looked = looks(str(level) for level in known)
        for place, name, values in self._values(panel, study, rows):
            cycled = {"color": CYCLE[place % len(CYCLE)], "linestyle": DASHES[place // len(CYCLE) % len(DASHES)]}
            look = looked[name].line if name in looked else cycled
            if not values.empty:
                _DRAWN[panel.draw](axes, panel, values, look | {"label": self.labels.get(name, name)})
        axes.set_title(panel.title, fontsize="medium")
        what, other = panel.axis or _title(panel), _OTHER_AXIS[panel.draw]
        along, up = (other, what) if panel.draw == "time" else (what, other)
        axes.set_xlabel(along)
        axes.set_ylabel(up)
        _ends(axes, panel)

    def _values(self, panel: Drawn, study: Defined, rows: Rows) -> Iterator[tuple[int, str, pd.DataFrame]]:
        """Of each line its place, its name, and the columns `time_s` and `value` of the first run that has it."""
        condition = f"{equals('design', panel.design)} AND ({panel.where}\n)"
        frame = rows.frame(condition).drop_duplicates("experiment")
        if self.lines in PARTS:
            for experiment in frame["experiment"][:1]:
                parts = self._run(panel, rows, experiment).groupby(self.lines, sort=False)
                yield from ((place, str(part), own) for place, (part, own) in enumerate(parts))
            return
        for place, level in enumerate(self.levels or study.factors[self.lines].values):
            own = frame[frame[self.lines] == level]
            if not own.empty:
                yield place, str(level), self._run(panel, rows, own["experiment"].iloc[0])

    def _run(self, panel: Drawn, rows: Rows, experiment: str) -> pd.DataFrame:
        """Columns flow, stream, time_s and value of a run; only the samples that have one."""
        import pyarrow.parquet as pq

        path = rows.folder / "experiments" / experiment / "flows.parquet"
        if not path.is_file():
            return _nothing()
        names = pq.read_schema(path).names
        if panel.column not in names:
            raise StudyError(f"found column {panel.column!r}, {one_of(panel.column, names)}")
        wanted = list(dict.fromkeys([*PARTS, "time_s", panel.column]))
        table = pq.read_table(path, columns=wanted).to_pandas().dropna(subset=[panel.column])
        value = table[panel.column] - (table[panel.column].min() if panel.above_least else 0.0)
        found: pd.DataFrame = table[[*PARTS, "time_s"]].assign(value=value * panel.scale)
        return found


def _title(panel: Drawn) -> str:
    """The column as people call it, with its unit; of values that are scaled or shifted, the column's name."""
    figure = figures("flows.NAME").get(panel.column)
    if figure is None or panel.scale != 1.0 or panel.above_least:
        return panel.column
    return f"{figure.title}, {figure.unit}" if figure.unit else figure.title


def _nothing() -> pd.DataFrame:
    """A run that failed has no time series."""
    import pandas as pd

    return pd.DataFrame({"flow": [], "stream": [], "time_s": [], "value": []})


def over_time(values: pd.DataFrame, every: float) -> pd.DataFrame:
    """Means of the values over spans of `every` seconds, each at its middle."""
    spans = (values["time_s"] / every).round(9).apply(math.ceil)
    means = values.groupby(spans)["value"].mean()
    found: pd.DataFrame = means.rename_axis("span").reset_index()
    return found.assign(time_s=(found["span"] - 0.5) * every)


def distribution(values: pd.DataFrame, end: float | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middles of bins up to `end`, and the part of all values in each."""
    import numpy as np

    found = values["value"].to_numpy()
    counts, edges = np.histogram(found, bins=BINS, range=(0.0, end or float(found.max()) or 1.0))
    return (edges[:-1] + edges[1:]) / 2, counts / len(found)


def _time(axes: Axes, panel: Drawn, values: pd.DataFrame, style: dict[str, Any]) -> None:
    means = over_time(values, panel.every)
    axes.plot(means["time_s"], means["value"], linewidth=1.0, **style)


def _cdf(axes: Axes, panel: Drawn, values: pd.DataFrame, style: dict[str, Any]) -> None:
    import numpy as np

    parts = np.linspace(0.0, 1.0, 201)
    axes.plot(np.quantile(values["value"], parts), parts, **style)


def _distribution(axes: Axes, panel: Drawn, values: pd.DataFrame, style: dict[str, Any]) -> None:
    middles, parts = distribution(values, panel.end)
    axes.plot(middles, parts, **style)


def _ends(axes: Axes, panel: Drawn) -> None:
    """Where the axes begin and end."""
    which = "y" if panel.draw == "time" else "x"
    if panel.log:
        logarithmic(axes, which)
    elif which == "y":
        axes.set_ylim(0, panel.end)
    else:
        axes.set_xlim(0, panel.end)
    if panel.draw == "time":
        axes.set_xlim(left=0)
    else:
        axes.set_ylim(0, 1 if panel.draw == "cdf" else None)


_DRAWN = {"time": _time, "cdf": _cdf, "distribution": _distribution}
_OTHER_AXIS = {"time": "time, s", "cdf": "part of the samples", "distribution": "part of the samples"}
