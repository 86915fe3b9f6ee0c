"""Figures of a scorecard: metrics of studies with a title and a unit, and a few that the field's documents define."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from paceline.errors import one_of
from paceline.series import moving_mean
from paceline.studies.metrics import Columns, Metric, MetricSpec, Span, Statistic, statistic, within
from paceline.studies.spec import DefinitionError, Spec, read, told_with_line
from paceline.toml import decoded, loads

if TYPE_CHECKING:
    import numpy as np

    from paceline.result import Result

Kind: TypeAlias = Literal["media", "bytes"]
"""Controllers of media that a codec makes, and of byte streams."""
SLACK = 1e-9
WHOLE: Span = (0.0, float("inf"))
"""The span of a whole run."""


class FlowRatio(Metric, frozen=True, kw_only=True, tag="flow-ratio"):
    """The largest over the smallest rate of several flows, over windows of some seconds (RFC 8868 section 3)."""

    flows: str = "call*"
    """The flows that count: those called so."""
    window: Annotated[float, Meta(gt=0)]
    spans: tuple[Span, ...] | None = None
    statistic: Statistic = "p95"

    def compute(self, result: Result) -> float | None:
        import numpy as np

        rates = _by_flow(self, result, "throughput_mbps", self.flows)
        found = []
        for span in self.spans or (WHOLE,):
            means = [_windows(own, "throughput_mbps", span, self.window) for own in rates.values()]
            count = min(map(len, means), default=0)
            together = np.array([mean[:count] for mean in means])
            fastest = together.max(axis=0, initial=0.0)
            together, fastest = together[:, fastest > 0.0], fastest[fastest > 0.0]
            # A flow that stands still is a thousand times slower, so that the figure stays a number.
            found += list(fastest / np.maximum(together.min(axis=0, initial=np.inf), fastest / 1000))
        return statistic(np.array(found), self.statistic) if found else None


class Swings(Metric, frozen=True, kw_only=True, tag="swings"):
    """How often the rate of the flows together falls from above a high mark to below a low one (RFC 8868 section 3)."""

    flows: str = "call*"
    column: str = "throughput_mbps"
    low: float
    high: float
    mean_over: Annotated[float, Meta(gt=0)] = 0.5
    """Seconds over which rates are averaged before."""
    spans: tuple[Span, ...] | None = None

    def compute(self, result: Result) -> float | None:
        import numpy as np

        times, rates = _summed(self, result, self.column, self.flows, self.mean_over)
        count = 0
        for span in self.spans or (WHOLE,):
            own = rates[within(times, [span])]
            marks = np.where(own >= self.high, 1, np.where(own <= self.low, -1, 0))
            marks = marks[marks != 0]
            count += int(np.count_nonzero(np.diff(marks) < 0))
        return float(count)


class Reached(Metric, frozen=True, kw_only=True, tag="reached"):
    """Seconds from `start` until a column of the flows together has been within a band for some seconds on end."""

    flows: str = "call*"
    column: str = "throughput_mbps"
    start: float
    low: float = 0.0
    high: float = float("inf")
    lasting: Annotated[float, Meta(gt=0)] = 1.0

    def compute(self, result: Result) -> float | None:
        import numpy as np

        times, means = _summed(self, result, self.column, self.flows, self.lasting)
        kept = (times >= self.start + self.lasting - SLACK) & (means >= self.low) & (means <= self.high)
        return float(times[np.argmax(kept)] - self.start) if kept.any() else None


class OfSome(Metric, frozen=True, kw_only=True, tag="of-flows"):
    """A statistic of a column of several flows together: rates add up, delays are averaged."""

    flows: str = "call*"
    column: str
    statistic: Statistic
    mean_over: float | None = None
    spans: tuple[Span, ...] | None = None

    def compute(self, result: Result) -> float | None:
        times, values = _summed(self, result, self.column, self.flows, self.mean_over)
        return statistic(values[within(times, self.spans or None)], self.statistic)


def _by_flow(metric: Metric, result: Result, column: str, flows: str) -> dict[str, Columns]:
    """The column of each flow that a pattern means; streams of a flow add up or are averaged.

    Raises:
        DefinitionError: There is no such column or flow.
    """
    import numpy as np

    table = result.flows_arrow
    if column not in table.column_names:
        raise DefinitionError(
            f"figures.{metric.name}", f"found column {column!r}, {one_of(column, table.column_names)}"
        )
    names = table["flow"].to_numpy(zero_copy_only=False)
    known = list(dict.fromkeys(names))
    wanted = [name for name in known if fnmatch(name, flows)]
    if not wanted:
        raise DefinitionError(f"figures.{metric.name}", f"found flows {flows!r}, {one_of(flows, known)}")
    times, values = table["time_s"].to_numpy(), table[column].to_numpy().astype(float)
    found = {}
    for name in wanted:
        own = names == name
        ends, places = np.unique(times[own], return_inverse=True)
        found[name] = {"time_s": ends, column: gathered(column, values[own], places, len(ends))}
    return found


RATES = ("throughput_mbps", "send_rate_mbps", "target_bitrate_mbps", "bytes_in_flight")
"""Columns whose values add up over streams and flows; others are averaged."""


def gathered(
    column: str, values: np.ndarray[Any, Any], places: np.ndarray[Any, Any], count: int
) -> np.ndarray[Any, Any]:
    """The values of a column together at each of so many places; NaN where there is none."""
    import numpy as np

    present = ~np.isnan(values)
    sums = np.bincount(places[present], values[present], count)
    counts = np.bincount(places[present], minlength=count)
    whole = sums if column in RATES else sums / np.maximum(counts, 1)
    return np.where(counts > 0, whole, np.nan)


def _windows(own: Columns, column: str, span: Span, window: float) -> np.ndarray[Any, Any]:
    """Means over windows on end in a span."""
    import numpy as np

    times, values = own["time_s"], own[column]
    low, high = span[0], min(span[1], float(times[-1]))
    edges = np.arange(low, high - window + SLACK, window)
    means = [values[(times > edge + SLACK) & (times <= edge + window + SLACK)] for edge in edges]
    return np.array([np.nan_to_num(one).mean() if len(one) else 0.0 for one in means])


def _summed(
    metric: Metric, result: Result, column: str, flows: str, over: float | None
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Times, and the column of the flows together, averaged over the seconds before each."""
    import numpy as np
    import pandas as pd

    parts = list(_by_flow(metric, result, column, flows).values())
    times = np.unique(np.concatenate([one["time_s"] for one in parts]))
    total, count = np.zeros(len(times)), np.zeros(len(times))
    for one in parts:
        present = ~np.isnan(one[column])
        places = np.searchsorted(times, one["time_s"][present])
        total[places] += one[column][present]
        count[places] += 1
    values = total if column in RATES else np.where(count > 0, total / np.maximum(count, 1), np.nan)
    if over is not None:
        values = moving_mean(pd.Series(times), pd.Series(values), over).to_numpy()
    return times, values


MetricOf: Any = MetricSpec | FlowRatio | Swings | Reached | OfSome


class FigureSpec(Spec, frozen=True, kw_only=True):
    """A figure: its title, its unit, and how it is taken from a run."""

    title: str
    unit: str = ""
    metric: dict[str, Any]
    """A metric as studies have it, or one of `flow-ratio`, `swings`, `reached` and `of-flows`."""

    def read(self, where: str, name: str) -> Metric:
        """The metric under a name."""
        found: Metric = read(where, {**self.metric, "name": name}, MetricOf)
        return found

    @property
    def heading(self) -> str:
        """Title and unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


def figures_of(path: Path) -> dict[str, FigureSpec]:
    """The figures that all cases may name."""
    text = decoded(path.read_bytes(), str(path))
    with told_with_line(path, text):
        found: Mapping[str, Any] = loads(text)
        return {name: read(f"{name}", table, FigureSpec) for name, table in found.items()}


class ByCase(Metric, frozen=True, kw_only=True, tag="by-case"):
    """A figure that cases take in ways of their own, by file of a scenario."""

    of: dict[str, Metric]

    def value_in(self, scenario: str, result: Result) -> float | None:
        own = self.of.get(scenario)
        return None if own is None else own.value(result)
