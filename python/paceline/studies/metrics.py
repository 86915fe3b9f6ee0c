"""Metrics of a study: named figures, computed from a run. Each kind is a table of settings and what it computes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from paceline import _core
from paceline.errors import one_of
from paceline.frames import source_frames
from paceline.series import moving_mean
from paceline.simulation import registry
from paceline.studies.real_time import WorldName
from paceline.studies.spec import DefinitionError, Named

if TYPE_CHECKING:
    import pandas as pd

    from paceline.result import Result

Statistic = Annotated[str, Meta(pattern=r"^(min|max|mean|sum|count|p[0-9]{1,2})$")]
Span = tuple[float, float]


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
        """The numbers at a path of the summary, where `*` stands for every flow, say."""
        found: list[object] = [result.summary]
        for key in path.split("."):
            tables = [value for value in found if isinstance(value, dict)]
            for table in tables:
                if key != "*" and key not in table:
                    raise DefinitionError(f"metrics.{self.name}", f"{path}: found {key!r}, {one_of(key, table)}")
            found = [value for table in tables for value in (table.values() if key == "*" else (table[key],))]
        return [float(value) for value in found if isinstance(value, (int, float))]

    def _frame(self, result: Result, columns: Sequence[str], **only: str | None) -> pd.DataFrame:
        """The columns with the times of their rows, of the flows' frame or else the links'.

        Args:
            result: The run.
            columns: Names of the columns.
            only: The flow (or link) and the stream whose rows count; None: all.
        """
        frame = result.flows if columns[0] in result.flows else result.links
        for column in columns:
            if column not in frame:
                known = [str(name) for name in (*result.flows, *result.links)]
                raise DefinitionError(f"metrics.{self.name}", f"found column {column!r}, {one_of(column, known)}")
        rows = frame[list(dict.fromkeys(["time_s", *columns]))]
        for what, name in only.items():
            if name is not None:
                names = frame[what if what in frame else "link"].loc[rows.index]
                rows = rows[names == name]
                if rows.empty:
                    raise DefinitionError(f"metrics.{self.name}", f"found {name!r}, {one_of(name, names.unique())}")
        return rows


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

    def _samples(self, result: Result, columns: Sequence[str]) -> pd.DataFrame:
        frame = self._frame(result, columns, flow=self.only, stream=self.stream)
        if self.largest_of is not None:
            return frame.groupby(_blocks(frame["time_s"], self.largest_of))[["time_s", *columns]].max()
        if self.mean_over is None:
            return frame
        return frame.assign(**{one: moving_mean(frame["time_s"], frame[one], self.mean_over) for one in columns})


class Series(_Sampled, frozen=True, kw_only=True, tag="series"):
    """A statistic of a column of the time series."""

    column: str
    statistic: Statistic
    spans: tuple[Span, ...] | None = None

    def compute(self, result: Result) -> float | None:
        rows = _within(self._samples(result, [self.column]), self.spans)
        return statistic(rows[self.column], self.statistic)


class SeriesRatio(_Sampled, frozen=True, kw_only=True, tag="series-ratio"):
    """A statistic of a column in a second span over that in a first."""

    column: str
    statistic: Statistic
    first: Span
    second: Span

    def compute(self, result: Result) -> float | None:
        frame = self._samples(result, [self.column])
        first, second = (
            statistic(_span(frame, *span)[self.column], self.statistic) for span in (self.first, self.second)
        )
        return second / first if first and second is not None else None


class Difference(_Sampled, frozen=True, kw_only=True, tag="difference"):
    """The mean distance of two columns, as a part of the first's mean."""

    a: str
    b: str
    spans: tuple[Span, ...] | None = None

    def compute(self, result: Result) -> float | None:
        rows = _within(self._samples(result, [self.a, self.b]), self.spans)
        mean = float(rows[self.a].mean())
        return float((rows[self.a] - rows[self.b]).abs().mean()) / mean if mean else None


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
        rows = [_within(frame, self.spans).dropna() for frame in of_flows]
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
        import pandas as pd

        return statistic(pd.Series(self._numbers(result, self.path), dtype=float), self.statistic)


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


class Frames(Metric, frozen=True, kw_only=True, tag="frames"):
    """A statistic of the sizes of the frames that the first encoder was given."""

    statistic: Annotated[str, Meta(pattern=r"^(min|max|mean|sum|count|p[0-9]{1,2}|length|encoded-loss)$")]
    first_frames: int = 0
    """How many frames `encoded-loss` looks at."""

    def compute(self, result: Result) -> float | None:
        import pandas as pd

        source = source_frames(result)
        if source is None:
            return None
        if self.statistic == "length":
            return len(source.sizes) / source.fps
        if self.statistic == "encoded-loss":
            return self._encoded_loss(result, source.sizes, source.fps)
        return statistic(pd.Series(source.sizes), self.statistic)

    def _encoded_loss(self, result: Result, sizes: Sequence[float], fps: float) -> float | None:
        """By which part the first frames were encoded smaller than they are in the trace."""
        encoded = statistic(_span(result.flows, 0.0, self.first_frames / fps)["frame_bytes"], "mean")
        whole = sum(sizes[: self.first_frames]) / self.first_frames
        return None if encoded is None else 1.0 - encoded / whole


class LinkTrace(Metric, frozen=True, kw_only=True, tag="link-trace"):
    """A statistic of the rates of the recording that the first link with one replays."""

    statistic: Statistic

    def compute(self, result: Result) -> float | None:
        import pandas as pd

        from paceline.fitting.recordings import rate_samples

        folders = result.loaded.folders if result.loaded is not None else []
        for link in result.settings.get("links", {}).values():
            for trace in _traces(link.get("rate")):
                return statistic(pd.Series(rate_samples(trace, folders)), self.statistic)
        return None


class Setting(Metric, frozen=True, kw_only=True, tag="setting"):
    """A value of the scenario as it was run, in base units: seconds, bit/s, bytes."""

    path: str

    def compute(self, result: Result) -> float | None:
        value: object = result.settings
        for key in self.path.split("."):
            if not isinstance(value, dict) or key not in value:
                return None
            value = value[key]
        if isinstance(value, str):
            found = _core.quantity(value)
            return None if found is None else found[0]
        return float(value) if isinstance(value, (bool, int, float)) else None


class Parameters(Metric, frozen=True, kw_only=True, tag="parameters"):
    """How many parameters a controller has."""

    controller: str

    def compute(self, result: Result) -> float | None:
        known = {one["kind"]: one["parameters"] for one in registry()["controllers"]}
        return float(len(known[self.controller])) if self.controller in known else None


MetricSpec = (
    Series | SeriesRatio | Difference | Correlation | Summary | SummaryRatio | SummaryOver | Until | Frames
    | LinkTrace | Setting | Parameters
)  # fmt: skip


def statistic(values: pd.Series[float], name: str) -> float | None:
    """A statistic by its name, of the values that exist."""
    present = values.dropna()
    if present.empty:
        return None
    if name.startswith("p"):
        return float(present.quantile(int(name[1:]) / 100))
    return float(getattr(present, name)())


def _span(frame: pd.DataFrame, start: float, end: float) -> pd.DataFrame:
    """The samples whose interval ends after `start` and not after `end`."""
    slack = 1e-9
    return frame[(frame["time_s"] > start + slack) & (frame["time_s"] <= end + slack)]


def _within(frame: pd.DataFrame, spans: tuple[Span, ...] | None) -> pd.DataFrame:
    """The samples of the spans that a metric is about; of the whole run where it names none."""
    import pandas as pd

    return frame if spans is None else pd.concat([_span(frame, start, end) for start, end in spans])


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
