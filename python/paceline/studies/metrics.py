"""Metrics of a study: named figures, computed from a run. Each kind is a table of settings and what it computes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import filter as matching
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from msgspec import Meta

from paceline.errors import one_of
from paceline.frames import source_frames
from paceline.series import moving_mean
from paceline.simulation import registry
from paceline.studies.real_time import WorldName
from paceline.studies.spec import DefinitionError, Named

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike

    from paceline.result import Result

Statistic = Annotated[str, Meta(pattern=r"^(min|max|mean|sum|count|p[0-9]{1,2})$")]
Span = tuple[float, float]
Array: TypeAlias = "np.ndarray[Any, Any]"
Columns: TypeAlias = "dict[str, Array]"
"""Columns of the time series by their names, `time_s` among them."""


class Metric(Named, frozen=True, kw_only=True, tag_field="kind"):
    """A figure by its name, with its definition."""

    scale: float = 1.0
    scenario: str | None = None
    """The scenario whose runs have the figure; None: those of every scenario."""
    world: WorldName | None = None
    """Where runs have the figure; None: everywhere."""

    def value_in(self, scenario: str, result: Result) -> float | None:
        """The figure of a run of this scenario; None where the run has none."""
        return self.value(result) if self.scenario in (None, scenario) else None

    def value(self, result: Result) -> float | None:
        """The figure of this run; None where the run has none.

        Raises:
            DefinitionError: The run has no flow, link or column of that name.
        """
        value = self.compute(result)
        return None if value is None or not math.isfinite(value) else value * self.scale

    def compute(self, result: Result) -> float | None:
        """The figure before it is scaled."""
        raise NotImplementedError

    def _numbers(self, result: Result, path: str) -> list[float]:
        """The numbers at a path of the summary, where `*` stands for every flow, and `call*` for those called so."""
        found: list[object] = [result.summary]
        for key in path.split("."):
            tables = [value for value in found if isinstance(value, dict)]
            for table in tables:
                if "*" not in key and key not in table:
                    raise DefinitionError(f"metrics.{self.name}", f"{path}: found {key!r}, {one_of(key, table)}")
            found = [table[one] for table in tables for one in (matching(table, key) if "*" in key else (key,))]
        return [float(value) for value in found if isinstance(value, (int, float))]

    def _frame(self, result: Result, columns: Sequence[str], **only: str | None) -> pd.DataFrame:
        """The same as a data frame."""
        import pandas as pd

        return pd.DataFrame(self._columns(result, columns, **only))

    def _columns(self, result: Result, columns: Sequence[str], **only: str | None) -> Columns:
        """The columns with the times of their rows, of the flows' frame or else the links'.

        Args:
            result: The run.
            columns: Names of the columns.
            only: The flow (or link) and the stream whose rows count; None: all.
        """
        import pyarrow.compute as pc

        table = result.flows_arrow if columns[0] in result.flows_arrow.column_names else result.links_arrow
        for column in columns:
            if column not in table.column_names:
                known = [*result.flows_arrow.column_names, *result.links_arrow.column_names]
                raise DefinitionError(f"metrics.{self.name}", f"found column {column!r}, {one_of(column, known)}")
        for what, name in only.items():
            if name is not None:
                names = table[what if what in table.column_names else "link"]
                table = table.filter(pc.equal(names, name))
                if not len(table):
                    known = names.unique().to_pylist()
                    raise DefinitionError(f"metrics.{self.name}", f"found {name!r}, {one_of(name, known)}")
        return {name: table[name].to_numpy() for name in ("time_s", *columns)}


class _Sampled(Metric, frozen=True, kw_only=True):
    """A figure of columns of the time series, which may be smoothed before."""

    mean_over: float | None = None
    """Each value is averaged with those of so many seconds before it."""
    largest_of: float | None = None
    """Only the largest value of each such span of seconds counts."""
    only: str | None = None
    """The flow or link whose rows count; None: all."""
    stream: str | None = None
    """The stream whose rows count; None: all."""

    def _samples(self, result: Result, columns: Sequence[str]) -> Columns:
        if self.largest_of is None and self.mean_over is None:
            return self._columns(result, columns, flow=self.only, stream=self.stream)
        frame = self._frame(result, columns, flow=self.only, stream=self.stream)
        if self.largest_of is not None:
            frame = frame.groupby(_blocks(frame["time_s"], self.largest_of))[["time_s", *columns]].max()
        elif self.mean_over is not None:
            means = {one: moving_mean(frame["time_s"], frame[one], self.mean_over) for one in columns}
            frame = frame.assign(**means)
        return {name: frame[name].to_numpy() for name in ("time_s", *columns)}


class Series(_Sampled, frozen=True, kw_only=True, tag="series"):
    """A statistic of a column of the time series."""

    column: str
    statistic: Statistic
    spans: tuple[Span, ...] | None = None

    def compute(self, result: Result) -> float | None:
        found = self._samples(result, [self.column])
        return statistic(found[self.column][within(found["time_s"], self.spans)], self.statistic)


class SeriesRatio(_Sampled, frozen=True, kw_only=True, tag="series-ratio"):
    """A statistic of a column in a second span over that in a first."""

    column: str
    statistic: Statistic
    first: Span
    second: Span

    def compute(self, result: Result) -> float | None:
        found = self._samples(result, [self.column])
        first, second = (
            statistic(found[self.column][within(found["time_s"], [span])], self.statistic)
            for span in (self.first, self.second)
        )
        return second / first if first and second is not None else None


class Difference(_Sampled, frozen=True, kw_only=True, tag="difference"):
    """The mean distance of two columns, as a part of the first's mean."""

    a: str
    b: str
    spans: tuple[Span, ...] | None = None

    def compute(self, result: Result) -> float | None:
        found = self._samples(result, [self.a, self.b])
        inside = within(found["time_s"], self.spans)
        a, b = (found[name][inside] for name in (self.a, self.b))
        mean, distance = statistic(a, "mean"), statistic(abs(a - b), "mean")
        return distance / mean if mean and distance is not None else None


class Correlation(Metric, frozen=True, kw_only=True, tag="correlation"):
    """The correlation of two columns, each averaged over `smooth` seconds so that single frames do not hide it."""

    a: str
    b: str
    smooth: float = 1.0
    flows: tuple[str, str] | None = None
    """The flow that has `a` and the flow that has `b`; None: rows have both."""
    spans: tuple[Span, ...] | None = None

    def compute(self, result: Result) -> float | None:
        columns = (self.a, self.b)
        of_flows = [self._frame(result, columns, flow=flow) for flow in self.flows or (None,)]
        rows = [frame[within(frame["time_s"].to_numpy(), self.spans)].dropna() for frame in of_flows]
        first, second = (
            one.groupby(_blocks(one["time_s"], self.smooth))[column].mean()
            for one, column in zip((rows[0], rows[-1]), columns, strict=True)
        )
        return float(first.corr(second))


class Summary(Metric, frozen=True, kw_only=True, tag="summary"):
    """A figure of the summary."""

    path: str

    def compute(self, result: Result) -> float | None:
        values = self._numbers(result, self.path)
        return values[0] if values else None


class SummaryRatio(Metric, frozen=True, kw_only=True, tag="summary-ratio"):
    """One figure of the summary over another, such as drops over arrivals; with `*`, sums over flows or links."""

    path: str
    of: str

    def compute(self, result: Result) -> float | None:
        part, whole = (self._numbers(result, path) for path in (self.path, self.of))
        return sum(part) / sum(whole) if part and sum(whole) else None


class SummaryOver(Metric, frozen=True, kw_only=True, tag="summary-over"):
    """A statistic of one figure of the summary over several flows or links: `*` in its path stands for each."""

    path: str
    statistic: Statistic

    def compute(self, result: Result) -> float | None:
        return statistic(self._numbers(result, self.path), self.statistic)


class Until(Metric, frozen=True, kw_only=True, tag="until"):
    """Seconds from `start` to the end of the first window of `window` seconds in which every condition is kept."""

    start: float
    window: float
    of_capacity: dict[str, tuple[float, float]]
    """By column, the lowest and the highest part of the capacity that its mean may have."""
    below: dict[str, float] = {}
    """By column, the value that its mean stays below."""

    def compute(self, result: Result) -> float | None:
        columns = [*self.of_capacity, *self.below]
        flows = self._frame(result, columns)
        frame = flows.merge(result.links[["time_s", "capacity_mbps"]], on="time_s")
        means = {name: moving_mean(frame["time_s"], frame[name], self.window) for name in ("capacity_mbps", *columns)}
        kept = frame["time_s"] >= self.start + self.window - 1e-9
        for name, (low, high) in self.of_capacity.items():
            kept &= means[name].between(low * means["capacity_mbps"], high * means["capacity_mbps"])
        for name, limit in self.below.items():
            kept &= means[name] < limit
        return float(frame["time_s"][kept].min()) - self.start if kept.any() else None


class Longest(_Sampled, frozen=True, kw_only=True, tag="longest"):
    """The longest time in seconds for which a column stays at a value or below."""

    column: str
    at_most: float

    def compute(self, result: Result) -> float | None:
        import numpy as np

        found = self._samples(result, [self.column])
        times = np.concatenate([[0.0], found["time_s"]])
        # Where samples are above the value; between two such places lies a stretch.
        above = np.flatnonzero(~(found[self.column] <= self.at_most)) + 1
        return float(np.diff([0.0, *np.column_stack([times[above - 1], times[above]]).ravel(), times[-1]])[::2].max())


class Frames(Metric, frozen=True, kw_only=True, tag="frames"):
    """A statistic of the sizes of the frames that the first encoder was given."""

    statistic: Annotated[str, Meta(pattern=r"^(min|max|mean|sum|count|p[0-9]{1,2}|length|encoded-loss)$")]
    first_frames: int = 0
    """How many frames `encoded-loss` looks at."""

    def compute(self, result: Result) -> float | None:
        source = source_frames(result)
        if source is None:
            return None
        if self.statistic == "length":
            return len(source.sizes) / source.fps
        if self.statistic == "encoded-loss":
            return self._encoded_loss(result, source.sizes, source.fps)
        return statistic(source.sizes, self.statistic)

    def _encoded_loss(self, result: Result, sizes: Sequence[float], fps: float) -> float | None:
        """By which part the first frames were encoded smaller than they are in the trace."""
        found = self._columns(result, ["frame_bytes"])
        encoded = statistic(found["frame_bytes"][within(found["time_s"], [(0.0, self.first_frames / fps)])], "mean")
        whole = sum(sizes[: self.first_frames]) / self.first_frames
        return None if encoded is None else 1.0 - encoded / whole


class LinkTrace(Metric, frozen=True, kw_only=True, tag="link-trace"):
    """A statistic of the rates of the recording that the first link with one replays."""

    statistic: Statistic

    def compute(self, result: Result) -> float | None:
        from paceline.fitting.recordings import rate_samples

        folders = result.loaded.folders if result.loaded is not None else []
        for link in result.settings.get("links", {}).values():
            for trace in _traces(link.get("rate")):
                return statistic(rate_samples(trace, folders), self.statistic)
        return None


class Setting(Metric, frozen=True, kw_only=True, tag="setting"):
    """A value of the scenario as it was run, in base units: seconds, bit/s, bytes."""

    path: str | tuple[str, ...]
    """Where it stands, or several places, of which the first counts that the scenario has; `*` stands for any flow."""

    def compute(self, result: Result) -> float | None:
        known = {} if result.loaded is None else result.loaded.parameters
        for path in (self.path,) if isinstance(self.path, str) else self.path:
            for found in matching(known, path) if "*" in path else (path,):
                value, _ = known.get(found, (None, None))
                if isinstance(value, (bool, int, float)):
                    return float(value)
        return None


class Parameters(Metric, frozen=True, kw_only=True, tag="parameters"):
    """How many parameters a controller has."""

    controller: str

    def compute(self, result: Result) -> float | None:
        known = {one["kind"]: one["parameters"] for one in registry()["controllers"]}
        return float(len(known[self.controller])) if self.controller in known else None


MetricSpec = (
    Series | SeriesRatio | Difference | Correlation | Summary | SummaryRatio | SummaryOver | Until | Longest
    | Frames | LinkTrace | Setting | Parameters
)  # fmt: skip


def statistic(values: ArrayLike, name: str) -> float | None:
    """A statistic by its name, of the values that exist."""
    import numpy as np

    present = np.asarray(values, dtype=float)
    present = present[~np.isnan(present)]
    if not len(present):
        return None
    if name.startswith("p"):
        return float(np.quantile(present, int(name[1:]) / 100))
    return float(len(present) if name == "count" else getattr(np, name)(present))


def within(times: Array, spans: Sequence[Span] | None) -> Array:
    """Whether each sample, named by its end, lies in one of the spans; in the whole run where there are none."""
    import numpy as np

    slack = 1e-9
    inside = [(times > start + slack) & (times <= end + slack) for start, end in spans or ()]
    found: Array = np.ones(len(times), dtype=bool) if spans is None else np.any(inside, axis=0)
    return found


def _blocks(times: pd.Series[float], seconds: float) -> pd.Series[int]:
    """Which span of `seconds` each sample, named by its end, lies in."""
    import numpy as np

    blocks: pd.Series[int] = np.ceil((times / seconds).round(9)).astype(int)  # type: ignore[assignment]
    return blocks


def _traces(rate: object) -> list[dict[str, Any]]:
    """The recorded rates of a link that keep each value for a time: its whole rate, or some of its steps."""
    if not isinstance(rate, dict):
        return []
    if rate.get("format") == "mbps-hold":
        return [rate]
    return [trace for _, step in rate.get("steps", []) for trace in _traces(step)]
