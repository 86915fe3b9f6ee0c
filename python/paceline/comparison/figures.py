"""Figures that controllers are compared by, and how each is taken from a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from paceline.errors import UsageError, one_of
from paceline.studies.metrics import Metric, Span

if TYPE_CHECKING:
    import numpy as np

    from paceline.result import Result


@dataclass(frozen=True)
class Figure:
    """A figure of the flows that are compared."""

    name: str
    """Its name in weights."""
    column: str
    """Its column in data frames."""
    title: str
    unit: str
    more: bool
    """Whether more of it is better."""
    floor: float
    """A size below which differences do not matter, in its unit."""
    path: str
    """Where it stands in the summary of a flow; of `utilisation` of a link; of start-up a column of the time series."""
    scale: float = 1.0
    summed: bool = False
    """Whether the figures of several flows add up; otherwise their mean counts."""
    needs: str = ""
    """A figure without which a flow has none of this one either."""
    start_up: bool = False
    """Whether it is of the warm-up, which all others leave out."""

    @property
    def heading(self) -> str:
        """Title and unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


FIGURES = {
    one.name: one
    for one in (
        Figure("throughput", "throughput_mbps", "throughput", "Mbit/s", True, 0.01, "throughput_mbps", summed=True),
        Figure("frame-delay", "frame_delay_p95_ms", "frame delay p95", "ms", False, 1.0, "frame_delay_ms.p95"),
        Figure("delay", "one_way_delay_p95_ms", "one-way delay p95", "ms", False, 1.0, "one_way_delay_ms.p95"),
        Figure("send-queue", "send_queue_delay_p95_ms", "send queue p95", "ms", False, 1.0, "send_queue_delay_ms.p95"),
        Figure("loss", "loss_percent", "loss", "%", False, 0.1, "loss_ratio", 100.0),
        Figure(
            "start-up", "start_up_mbps", "start-up", "Mbit/s", True, 0.01, "throughput_mbps", summed=True, start_up=True
        ),
        Figure("frame-delay-p50", "frame_delay_p50_ms", "frame delay p50", "ms", False, 1.0, "frame_delay_ms.p50"),
        Figure("delay-p50", "one_way_delay_p50_ms", "one-way delay p50", "ms", False, 1.0, "one_way_delay_ms.p50"),
        Figure("queue", "queue_delay_p95_ms", "queue delay p95", "ms", False, 1.0, "queue_delay_ms.p95"),
        Figure("queue-p50", "queue_delay_p50_ms", "queue delay p50", "ms", False, 1.0, "queue_delay_ms.p50"),
        Figure("utilisation", "utilisation_percent", "utilisation", "%", True, 1.0, "utilisation", 100.0),
        Figure(
            "freezes", "freezes", "freezes", "", False, 1.0, "frames.freezes", summed=True, needs="frame_delay_ms.p95"
        ),
        Figure("frozen", "frozen_s", "frozen", "s", False, 0.1, "video.freeze_time_s", summed=True),
        Figure("psnr", "psnr_db", "PSNR", "dB", True, 0.1, "psnr_db"),
        Figure("vmaf", "vmaf", "VMAF", "", True, 1.0, "video.vmaf"),
        Figure(
            "start-up-delay", "start_up_delay_p95_ms", "start-up delay p95", "ms", False, 1.0, "one_way_delay_ms",
            start_up=True,
        ),
    )
}  # fmt: skip
"""Every figure by its name, in the order of the tables' columns; docs/compare.md explains each."""

PARTS = (0.01, *(part / 100 for part in range(5, 100, 5)), 0.99)
"""Parts of the samples whose delays are kept, for distributions."""
DELAYS = {"one_way_delay_ms": "One-way delay of packets", "frame_delay_ms": "Frame delay"}
"""Columns of the time series whose distribution is kept, with their titles."""

ROUNDING_S = 1e-9
"""Times of rows are sums of floats."""

DEFAULT_WEIGHTS = {"throughput": 1.0, "delay": 1.0}
LARGEST_WEIGHT = 1e6


def quantile_column(delay: str, part: float) -> str:
    """The column of a quantile."""
    return f"{delay}.p{round(100 * part):02d}"


class OfFlows(Metric, frozen=True, kw_only=True, tag="of-compared-flows"):
    """A figure of the flows that are compared: their sum or their mean; of links the largest."""

    path: str
    holders: dict[str, tuple[str, ...]]
    """By file of a scenario, the flows, or the links of their paths."""
    links: bool = False
    summed: bool = False
    needs: str = ""

    def value_in(self, scenario: str, result: Result) -> float | None:
        tables = result.summary["links" if self.links else "flows"]
        holders = [tables.get(name) for name in self.holders[scenario]]
        found = [None if self.needs and _at(one, self.needs) is None else _at(one, self.path) for one in holders]
        values = [value for value in found if value is not None]
        # A mean over some of the flows would be another figure.
        if not values or len(values) < len(found):
            return None
        value = max(values) if self.links else sum(values) / (1 if self.summed else len(values))
        return value * self.scale


def _at(table: Any, path: str) -> float | None:
    for key in path.split("."):
        table = table.get(key) if isinstance(table, Mapping) else None
    return float(table) if isinstance(table, (int, float)) else None


class OfStartUp(Metric, frozen=True, kw_only=True, tag="start-up-of-compared-flows"):
    """A figure of the warm-up: a mean rate, or the 95th percentile of a delay's samples."""

    column: str
    holders: dict[str, tuple[str, ...]]
    spans: dict[str, Span]
    """By file of a scenario, from when to when start-up is."""
    summed: bool = False
    """Whether the samples of several flows add up, as rates do."""

    def value_in(self, scenario: str, result: Result) -> float | None:
        import numpy as np

        times, samples = _samples(result, self.column, self.holders[scenario], self.spans[scenario])
        if not len(samples):
            return None
        return float(samples.sum() / len(np.unique(times)) if self.summed else np.quantile(samples, 0.95))


class QuantileOfFlows(Metric, frozen=True, kw_only=True, tag="quantile-of-compared-flows"):
    """A quantile of a column of the time series, over the samples of the flows that are compared."""

    column: str
    place: int
    """Which of `PARTS`."""
    holders: dict[str, tuple[str, ...]]
    spans: dict[str, Span]
    """By file of a scenario, from when to when start-up is; it is left out."""

    def value_in(self, scenario: str, result: Result) -> float | None:
        after = self.spans[scenario][1], math.inf
        quantiles = _quantiles(result, self.column, self.holders[scenario], after)
        return None if quantiles is None else float(quantiles[self.place])


_KNOWN: WeakKeyDictionary[Result, dict[str, np.ndarray[Any, Any] | None]] = WeakKeyDictionary()
"""Quantiles of the run at hand: one metric asks for each, all are computed at once."""


def _quantiles(result: Result, column: str, flows: tuple[str, ...], span: Span) -> np.ndarray[Any, Any] | None:
    import numpy as np

    known = _KNOWN.setdefault(result, {})
    if column not in known:
        _, samples = _samples(result, column, flows, span)
        known[column] = np.quantile(samples, PARTS) if len(samples) else None
    return known[column]


def _samples(
    result: Result, column: str, flows: tuple[str, ...], span: Span
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The times and values of these flows' samples whose intervals lie in the span."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    table = result.flows_arrow
    if column not in table.column_names or not table.num_rows:
        return np.empty(0), np.empty(0)
    table = table.filter(pc.is_in(table["flow"], value_set=pa.array(flows, type=pa.string())))
    times, values = table["time_s"].to_numpy(), table[column].to_numpy()
    # A row has the time at which its interval ends: the first one's is the length of all.
    begun = times - pc.min(result.flows_arrow["time_s"]).as_py()
    own = (begun >= span[0] - ROUNDING_S) & (times <= span[1] + ROUNDING_S) & ~np.isnan(values)
    return times[own], values[own]


def metrics(
    flows: dict[str, tuple[str, ...]], links: dict[str, tuple[str, ...]], spans: dict[str, Span]
) -> dict[str, Metric]:
    """The metrics of a comparison, by name; flows, links and the span of start-up are those of each scenario's file."""
    found: dict[str, Metric] = {}
    for one in FIGURES.values():
        if one.start_up:
            found[one.column] = OfStartUp(
                name=one.column, column=one.path, holders=flows, spans=spans, summed=one.summed
            )
            continue
        of_links = one.path == "utilisation"
        found[one.column] = OfFlows(
            name=one.column, path=one.path, holders=links if of_links else flows, links=of_links, summed=one.summed,
            scale=one.scale, needs=one.needs,
        )  # fmt: skip
    for delay in DELAYS:
        for place, part in enumerate(PARTS):
            name = quantile_column(delay, part)
            found[name] = QuantileOfFlows(name=name, column=delay, place=place, holders=flows, spans=spans)
    return found


def weights_of(given: str | Mapping[str, float] | None) -> dict[str, float]:
    """Weights by the figures' names, as `throughput=1,delay=2` or a table says them.

    Raises:
        UsageError: There is no such figure, a weight is no number from 0 on, or all are zero.
    """
    if given is None:
        return dict(DEFAULT_WEIGHTS)
    if not isinstance(given, (str, Mapping)):
        raise UsageError(f"weights: found {given!r}, expected names with numbers, such as throughput=1,delay=2")
    pairs = [part.partition("=")[::2] for part in given.split(",")] if isinstance(given, str) else list(given.items())
    found: dict[str, float] = {}
    for name, value in pairs:
        known = str(name).strip()
        if known not in FIGURES:
            raise UsageError(f"weights: found {known!r}, {one_of(known, FIGURES)}")
        if known in found:
            raise UsageError(f"weights: found {known!r} twice, expected it once")
        try:
            found[known] = float(value)
        except (TypeError, ValueError, OverflowError):
            found[known] = -1.0
        if value == "":
            raise UsageError(f"weights: found {known!r} without a number, expected one, such as {known}=1")
        if not 0 <= found[known] <= LARGEST_WEIGHT:
            raise UsageError(
                f"weights: found {known}={str(value)[:40]}, expected a number from 0 to {LARGEST_WEIGHT:g}"
            )
    if not any(found.values()):
        raise UsageError("weights: found no weight above zero, expected one, such as throughput=1,delay=1")
    return found
