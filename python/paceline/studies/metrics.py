"""Metrics of a study: named figures, computed from a run. Each kind is a function of the run and of its settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError
from paceline.frames import find, source_frames
from paceline.quantity import base_units
from paceline.series import moving_mean
from paceline.simulation import registry
from paceline.studies.checks import expect_known
from paceline.toml import loads

if TYPE_CHECKING:
    import pandas as pd

    from paceline.result import Result


@dataclass(frozen=True)
class Metric:
    """A figure by its name, with its definition."""

    name: str
    spec: dict[str, Any]

    def __post_init__(self) -> None:
        expect_known(f"metrics.{self.name}: kind", self.spec.get("kind"), KINDS)

    def of(self, result: Result) -> float | None:
        """The figure of this run; None where the run has none."""
        try:
            value = KINDS[self.spec["kind"]](result, self.spec)
        except KeyError as error:
            raise StudyError(f"metrics.{self.name}: found no {error}, expected one") from None
        if value is None or not math.isfinite(value):
            return None
        return value * float(self.spec.get("scale", 1.0))


def statistic(values: pd.Series[float], name: str) -> float | None:
    """A statistic by its name, of the values that exist."""
    present = values.dropna()
    if present.empty:
        return None
    if name.startswith("p") and name[1:].isdigit():
        return float(present.quantile(int(name[1:]) / 100))
    if name not in ("min", "max", "mean", "sum", "count"):
        raise StudyError(f"statistic: found {name!r}, expected min, max, mean, sum, count or pNN")
    return float(getattr(present, name)())


def _span(frame: pd.DataFrame, start: float, end: float) -> pd.DataFrame:
    """The samples whose interval ends after `start` and not after `end`."""
    slack = 1e-9
    return frame[(frame["time_s"] > start + slack) & (frame["time_s"] <= end + slack)]


def _rows(frame: pd.DataFrame, spec: dict[str, Any]) -> pd.DataFrame:
    """The samples of the spans that a metric is about; of the whole run where it names none."""
    import pandas as pd

    spans = spec.get("spans")
    return frame if spans is None else pd.concat([_span(frame, start, end) for start, end in spans])


def _frame(result: Result, spec: dict[str, Any], *columns: str) -> pd.DataFrame:
    """The frame that holds the columns, the flows' or else the links'.

    Averaged over the past `mean_over` seconds, or one row with the largest values per `largest_of` seconds.
    """
    frame = result.flows if columns[0] in result.flows else result.links
    if "largest_of" in spec:
        return frame.groupby(_blocks(frame["time_s"], spec["largest_of"]))[["time_s", *columns]].max()
    if "mean_over" not in spec:
        return frame
    averaged = {column: moving_mean(frame["time_s"], frame[column], float(spec["mean_over"])) for column in columns}
    return frame.assign(**averaged)


def _blocks(times: pd.Series[float], seconds: float) -> pd.Series[int]:
    """Which span of `seconds` each sample, named by its end, lies in."""
    return (times / float(seconds)).round(9).apply(math.ceil)


def _series(result: Result, spec: dict[str, Any]) -> float | None:
    rows = _rows(_frame(result, spec, spec["column"]), spec)
    return statistic(rows[spec["column"]], spec["statistic"])


def _series_ratio(result: Result, spec: dict[str, Any]) -> float | None:
    frame = _frame(result, spec, spec["column"])
    first, second = (
        statistic(_span(frame, *spec[span])[spec["column"]], spec["statistic"]) for span in ("first", "second")
    )
    return second / first if first and second is not None else None


def _difference(result: Result, spec: dict[str, Any]) -> float | None:
    rows = _rows(_frame(result, spec, spec["a"], spec["b"]), spec)
    mean = float(rows[spec["a"]].mean())
    return float((rows[spec["a"]] - rows[spec["b"]]).abs().mean()) / mean if mean else None


def _correlation(result: Result, spec: dict[str, Any]) -> float | None:
    """Of two columns, each averaged over `smooth` seconds so that single frames do not hide what they follow."""
    columns = result.flows[["time_s", spec["a"], spec["b"]]].dropna()
    means = columns.groupby(_blocks(columns["time_s"], spec.get("smooth", 1.0)))[[spec["a"], spec["b"]]].mean()
    return float(means[spec["a"]].corr(means[spec["b"]]))


def _summary(result: Result, spec: dict[str, Any]) -> float | None:
    return _of_summary(result, spec["path"])


def _summary_ratio(result: Result, spec: dict[str, Any]) -> float | None:
    """One figure of the summary over another, such as drops over arrivals; with `*`, sums over flows or links."""
    part, whole = (_all_of_summary(result, spec[key]) for key in ("path", "of"))
    return sum(part) / sum(whole) if part and sum(whole) else None


def _of_summary(result: Result, path: str) -> float | None:
    values = _all_of_summary(result, path)
    return values[0] if values else None


def _all_of_summary(result: Result, path: str) -> list[float]:
    """The numbers at a path, where `*` stands for every flow, say."""
    found: list[object] = [result.summary]
    for key in path.split("."):
        tables = [value for value in found if isinstance(value, dict)]
        found = [value for table in tables for value in (table.values() if key == "*" else (table[key],))]
    return [float(value) for value in found if isinstance(value, (int, float))]


def _summary_over(result: Result, spec: dict[str, Any]) -> float | None:
    """A statistic of one figure of the summary over several flows or links: `*` in its path stands for each."""
    import pandas as pd

    return statistic(pd.Series(_all_of_summary(result, spec["path"]), dtype=float), spec["statistic"])


def _until(result: Result, spec: dict[str, Any]) -> float | None:
    """Seconds from `start` to the end of the first window of `window` seconds in which every condition is kept."""
    frame = result.flows.merge(result.links[["time_s", "capacity_mbps"]], on="time_s")
    window, start = float(spec["window"]), float(spec["start"])
    means = {column: moving_mean(frame["time_s"], frame[column], window) for column in _columns(spec)}
    kept = frame["time_s"] >= start + window - 1e-9
    for column, (low, high) in spec["of_capacity"].items():
        kept &= means[column].between(low * means["capacity_mbps"], high * means["capacity_mbps"])
    for column, limit in spec.get("below", {}).items():
        kept &= means[column] < limit
    return float(frame["time_s"][kept].min()) - start if kept.any() else None


def _columns(spec: dict[str, Any]) -> list[str]:
    return ["capacity_mbps", *spec["of_capacity"], *spec.get("below", {})]


def _frames(result: Result, spec: dict[str, Any]) -> float | None:
    import pandas as pd

    for source in source_frames(result):
        if spec["statistic"] == "length":
            return len(source.sizes) / source.fps
        if spec["statistic"] == "encoded-loss":
            return _encoded_loss(result, source.sizes, int(spec["first_frames"]), source.fps)
        return statistic(pd.Series(source.sizes), spec["statistic"])
    return None


def _encoded_loss(result: Result, sizes: list[float], count: int, fps: float) -> float | None:
    """By which part the first `count` frames were encoded smaller than the trace holds them."""
    encoded = statistic(_span(result.flows, 0.0, count / fps)["frame_bytes"], "mean")
    return None if encoded is None else 1.0 - encoded / (sum(sizes[:count]) / count)


def _link_trace(result: Result, spec: dict[str, Any]) -> float | None:
    import pandas as pd

    for link in loads(result.scenario).get("links", {}).values():
        for trace in _traces(link.get("rate")):
            rates = [float(line.split(",")[0]) for line in _lines(find(trace["trace"], result.folders))]
            return statistic(pd.Series(rates), spec["statistic"])
    return None


def _traces(rate: object) -> list[dict[str, Any]]:
    """The recorded rates of a link that keep each value for a time: its whole rate, or some of its steps."""
    if not isinstance(rate, dict):
        return []
    if rate.get("format") == "mbps-hold":
        return [rate]
    return [trace for _, step in rate.get("steps", []) for trace in _traces(step)]


def _lines(path: Any) -> list[str]:
    return [line for line in path.read_text().splitlines() if line.strip()]


def _setting(result: Result, spec: dict[str, Any]) -> float | None:
    value: object = loads(result.scenario)
    for key in spec["path"].split("."):
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return base_units(value)


def _parameters(result: Result, spec: dict[str, Any]) -> float | None:
    for controller in registry()["controllers"]:
        if controller["kind"] == spec["controller"]:
            return float(len(controller["parameters"]))
    return None


KINDS: dict[str, Callable[[Result, dict[str, Any]], float | None]] = {
    "series": _series,
    "series-ratio": _series_ratio,
    "difference": _difference,
    "correlation": _correlation,
    "summary": _summary,
    "summary-over": _summary_over,
    "summary-ratio": _summary_ratio,
    "until": _until,
    "frames": _frames,
    "link-trace": _link_trace,
    "setting": _setting,
    "parameters": _parameters,
}
