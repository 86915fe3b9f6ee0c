"""One result of what the ends of a call wrote down: each figure from the end that knows it best."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from paceline import _core
from paceline.disk import is_file, is_folder
from paceline.errors import DataNotFound, ScenarioError, UsageError
from paceline.figures import figures
from paceline.result import Result
from paceline.series import read_parquet

if TYPE_CHECKING:
    import pyarrow as pa

    from paceline.scenario import LoadedScenario

ENDS = ("sender", "link", "receiver")
"""The ends of a call, in the order of the way."""
KEYS = ("time_s", "flow", "stream")
"""The columns that name a row of flows.parquet."""
FILES = ("summary.json", "scenario.toml", "flows.parquet", "links.parquet")
"""The files that an end writes."""
CLOCK_DOUBT_MS = 2.0
"""By so much the clocks of two ends may seem to differ before delays between them are held to be wrong."""
_FLOW = "flows.NAME"


def knowing(needs: str) -> tuple[str, ...]:
    """The ends that a figure is taken from, the best first, by what an end must know for it."""
    words = set(needs.split(", ")) - {""}
    if "sender" in words:
        return ("sender",)
    if words & {"link queues", "noise"}:
        return ("link", "sender")
    if words:
        return ("receiver", "link", "sender")
    return ("sender", "receiver", "link")


@dataclass(frozen=True)
class Kept:
    """The record of an end, or several ends together."""

    summary_json: str
    resolved_toml: str
    warnings: list[str]
    flows: pa.Table
    links: pa.Table


class Merged(Result):
    """The outcome of a call of which each end wrote down its part."""

    def __init__(
        self, ends: Mapping[str, Result], simulated: Result | None = None, *, keeps_ends: bool = False
    ) -> None:
        super().__init__(merge(ends), next(iter(ends.values())).loaded)
        self.ends = dict(ends)
        """The record of each end."""
        self.simulated = simulated
        self._keeps_ends = keeps_ends

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Every figure of `summary.json`; beside those of a run, `ends` has the sockets of each end."""
        summary: dict[str, Any] = json.loads(self._output.summary_json)
        if self.simulated is not None:
            summary["simulated"] = {part: self.simulated.summary[part] for part in ("flows", "links")}
        return summary

    @property
    def summary_json(self) -> str:
        """The summary as the JSON document that `--json` prints."""
        return json.dumps(self.summary, indent=2)

    def files(self, *, plots: bool | Sequence[str] = False) -> dict[str, bytes]:
        """The files that `save` writes: the files of a run, and in folders those of each end and of the simulation."""
        parts = dict(self.ends) if self._keeps_ends else {}
        if self.simulated is not None:
            parts["simulated"] = self.simulated
        files = super().files(plots=plots)
        for part, result in parts.items():
            files |= {f"{part}/{name}": content for name, content in result.files().items()}
        return files


def merge(ends: Mapping[str, Result]) -> Kept:
    """The parts of a call as one: at least two ends, of the same scenario."""
    _check_same(ends)
    first = ends[next(end for end in ENDS if end in ends)]
    summaries = {end: ends[end].summary for end in ENDS if end in ends}
    links = ends.get("link", first)
    summary = _summary(summaries)
    warnings = _warnings(ends)
    tables = {end: ends[end].flows_arrow for end in summaries}
    odd = _odd_clocks(summary, tables, first.settings if "link" in ends else {})
    warnings += odd.values()
    flows = _rows(tables, without_clocks=set(odd))
    for name in odd:
        _forget_clocks(summary["flows"][name])
    return Kept(json.dumps(summary, indent=2), first.scenario, warnings, flows, links.links_arrow)


def _check_same(ends: Mapping[str, Result]) -> None:
    if len(ends) < 2:
        raise UsageError(f"found one end ({', '.join(ends)}), expected at least two of {', '.join(ENDS)}")
    told = {end: (result.summary["name"], sorted(result.summary["flows"])) for end, result in ends.items()}
    if len({json.dumps(call) for call in told.values()}) > 1:
        found = "; ".join(f"{end}: {name!r} with {', '.join(flows)}" for end, (name, flows) in told.items())
        raise UsageError(f"the ends are not of one call: {found}")


def _summary(summaries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    first = next(iter(summaries.values()))
    merged = {key: _first_known(summaries, key, knowing(figure.needs)) for key, figure in figures("").items()}
    merged["flows"] = {
        name: _flow({end: summary["flows"][name] for end, summary in summaries.items()}) for name in first["flows"]
    }
    merged["links"] = summaries["link"]["links"] if "link" in summaries else {}
    merged["events"] = sum(summary["events"] for summary in summaries.values())
    merged["wall_s"] = max(summary["wall_s"] for summary in summaries.values())
    merged["fairness"] = _first_known(summaries, "fairness", knowing("arrivals"))
    merged["sockets"] = None
    merged["ends"] = {end: summary["sockets"] for end, summary in summaries.items()}
    return merged


def _flow(ends: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The figures of one flow."""
    known = figures(_FLOW)
    merged: dict[str, Any] = {}
    for name in next(iter(ends.values())):
        needs = known[name].needs if name in known else "sender"
        parts = figures(f"{_FLOW}.{name}")
        if name == "sampled":
            merged[name] = _sampled({end: flow[name] for end, flow in ends.items()})
        elif parts and not needs:
            groups = {end: flow[name] or {} for end, flow in ends.items()}
            group = {part: _first_known(groups, part, knowing(figure.needs)) for part, figure in parts.items()}
            merged[name] = group if any(groups.values()) else None
        else:
            merged[name] = _first_known(ends, name, knowing(needs))
    return merged


def _sampled(ends: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    names = dict.fromkeys(name for columns in ends.values() for name in columns)
    return {name: _first_known(ends, name, _column_ends(name)) for name in names}


def _column_ends(name: str) -> tuple[str, ...]:
    """The ends that a column is taken from; inner states of a controller are the sender's."""
    column = figures(_FLOW).get(name)
    return knowing(column.needs if column else "sender")


def _first_known(ends: Mapping[str, dict[str, Any]], name: str, order: Sequence[str]) -> Any:
    """A figure from the first of these ends that knows it; else as absent as every end has it."""
    found = (ends[end].get(name) for end in order if end in ends)
    known = next((value for value in found if _is_known(value)), None)
    return next(iter(ends.values())).get(name) if known is None else known


def _is_known(value: object) -> bool:
    return any(map(_is_known, value.values())) if isinstance(value, dict) else value is not None


def _rows(tables: Mapping[str, pa.Table], without_clocks: set[str]) -> pa.Table:
    """The time series of all ends, row by row of the same time; each column from the end that knows it best."""
    import pyarrow as pa

    keys = {end: list(zip(*(table[key].to_pylist() for key in KEYS), strict=True)) for end, table in tables.items()}
    order = {key[1:]: None for rows in keys.values() for key in rows}
    places = {who: place for place, who in enumerate(order)}
    rows = sorted({key for part in keys.values() for key in part}, key=lambda key: (key[0], places[key[1:]]))
    at = {end: _places(part, rows) for end, part in keys.items()}
    fields = {field.name: field for table in tables.values() for field in table.schema}
    forgotten = pa.array([key[1] in without_clocks for key in rows], pa.bool_())
    columns = []
    for name, field in fields.items():
        if name in KEYS:
            columns.append(pa.array([key[KEYS.index(name)] for key in rows], field.type))
            continue
        column = _column(name, tables, at, len(rows), field.type)
        columns.append(_forget(column, forgotten) if without_clocks and _is_of_clocks(name) else column)
    return pa.Table.from_arrays(columns, schema=pa.schema(list(fields.values())))


def _places(part: Sequence[tuple[Any, ...]], rows: Sequence[tuple[Any, ...]]) -> pa.Array:
    """Which row of an end is each of the merged rows; null where it has none."""
    import pyarrow as pa

    own = {key: place for place, key in enumerate(part)}
    return pa.array([own.get(key) for key in rows], pa.int64())


def _column(
    name: str, tables: Mapping[str, pa.Table], at: Mapping[str, pa.Array], rows: int, kind: pa.DataType
) -> pa.Array:
    import pyarrow as pa

    for end in _column_ends(name):
        if end in tables and name in tables[end].column_names:
            column = tables[end][name]
            if column.null_count < len(column):
                return column.combine_chunks().take(at[end])
    return pa.nulls(rows, kind)


def _forget(column: pa.Array, forgotten: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(forgotten, pa.scalar(None, column.type), column)


def _is_of_clocks(name: str) -> bool:
    column = figures(_FLOW).get(name)
    return column is not None and "clocks" in column.needs


def _forget_clocks(flow: dict[str, Any]) -> None:
    """Removes the figures that only clocks which agree can give."""
    for name, figure in figures(_FLOW).items():
        if "clocks" in figure.needs and isinstance(flow.get(name), dict):
            flow[name] = dict.fromkeys(flow[name])
        if name in flow["sampled"] and "clocks" in figure.needs:
            flow["sampled"][name] = None
    for name, figure in figures(f"{_FLOW}.frame_delay_parts_ms").items():
        if "clocks" in figure.needs:
            flow["frame_delay_parts_ms"][name] = None


def _odd_clocks(summary: dict[str, Any], tables: Mapping[str, pa.Table], scenario: dict[str, Any]) -> dict[str, str]:
    """The remark on flows whose delays cannot be: shorter than the links' own, or longer than a round trip."""
    told = {}
    for name, flow in summary["flows"].items():
        mean, above = flow["one_way_delay_ms"]["mean"], flow["delay_above_minimum_ms"]["mean"]
        if mean is None or above is None:
            continue
        least, most = _path_ms(scenario, name), _least_round_trip_ms(tables, name)
        smallest = mean - above
        if least - CLOCK_DOUBT_MS <= smallest and (most is None or smallest <= most + CLOCK_DOUBT_MS):
            continue
        bounds = f"at least {least:.1f} ms" + ("" if most is None else f" and at most {most:.1f} ms")
        told[name] = (
            f"flow {name}: the clocks of sender and receiver do not agree: the shortest one-way delay seems to be "
            f"{smallest:.1f} ms, expected {bounds}; figures that need both clocks are left out"
        )
    return told


def _path_ms(scenario: dict[str, Any], flow: str) -> float:
    """The delay that the links of a flow's path add to every packet."""
    links: dict[str, Any] = scenario.get("links", {})
    path = scenario.get("flows", {}).get(flow, {}).get("path", [])
    return 1e3 * sum(_least_delay(links.get(link, {}).get("delay", "")) for link in path)


def _least_delay(delay: Any) -> float:
    """The least delay of a link in seconds, as a scenario says it; 0 where only a recording tells it."""
    if not isinstance(delay, dict):
        return (_core.quantity(delay) or (0.0,))[0]
    points = delay.get("steps") or delay.get("ramp") or []
    return min((_least_delay(value) for _, value in points), default=0.0)


def _least_round_trip_ms(tables: Mapping[str, pa.Table], flow: str) -> float | None:
    """The smallest smoothed round trip that the sender saw."""
    if "sender" not in tables:
        return None
    table = tables["sender"]
    seen = [
        value
        for value, who in zip(table["srtt_ms"].to_pylist(), table["flow"].to_pylist(), strict=True)
        if who == flow and value is not None
    ]
    return min(seen, default=None)


def _warnings(ends: Mapping[str, Result]) -> list[str]:
    """The warnings of the ends; a common one once."""
    said = {end: list(dict.fromkeys(result.warnings)) for end, result in ends.items()}
    shared = [text for text in next(iter(said.values())) if all(text in texts for texts in said.values())]
    own = [f"{end}: {text}" for end, texts in said.items() for text in texts if text not in shared]
    texts = {result.scenario for result in ends.values()}
    differ = ["the scenarios of the ends differ; that of the first counts"] if len(texts) > 1 else []
    return [*shared, *own, *differ]


def read_folders(folders: Sequence[Path]) -> dict[str, Result]:
    """The ends that folders hold, each by its role, which its figures tell."""
    ends: dict[str, Result] = {}
    homes: dict[str, Path] = {}
    for folder in folders:
        result = _read(folder)
        role = _role(folder, result)
        if role in ends:
            raise UsageError(f"{folder}: found a {role}, but {homes[role]} is one, expected each end once")
        ends[role], homes[role] = result, folder
    return {end: ends[end] for end in ENDS if end in ends}


def _role(folder: Path, result: Result) -> str:
    summary = result.summary
    if summary.get("sockets") is None:
        what = "a result that was merged" if "ends" in summary else "a simulation"
        raise UsageError(f"{folder}: found {what}, expected what `paceline send`, `link` or `receive` wrote")
    if summary["links"]:
        return "link"
    rates = result.flows_arrow["send_rate_mbps"]
    return "sender" if rates.null_count < len(rates) else "receiver"


def _read(folder: Path) -> Result:
    """The record that an end wrote into a folder."""
    import pyarrow as pa

    if not is_folder(folder):
        raise DataNotFound(f"{folder}: no such folder, expected one that `paceline send`, `link` or `receive` wrote")
    try:
        missing = next((name for name in FILES if not is_file(folder / name)), None)
        if missing is not None:
            raise DataNotFound(
                f"{folder}: found no {missing}, expected what `paceline send`, `link` or `receive` wrote with --out"
            )
        summary = (folder / "summary.json").read_text(encoding="utf-8")
        scenario = (folder / "scenario.toml").read_text(encoding="utf-8")
        flows, links = (read_parquet(folder / f"{name}.parquet") for name in ("flows", "links"))
    except DataNotFound:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataNotFound(f"{folder}: cannot be read: {error}") from None
    result = Result(Kept(summary, scenario, [], flows, links), _load(scenario, folder))
    _check_form(folder, result)
    return result


class _Form(msgspec.Struct):
    """The form of an end's `summary.json`."""

    name: str
    flows: dict[str, dict[str, Any]]
    links: dict[str, dict[str, Any]]
    wall_s: float
    events: int
    sockets: dict[str, Any] | None = None


def _check_form(folder: Path, result: Result) -> None:
    """An error if the files are not what an end writes."""
    try:
        summary = result.summary
        said = msgspec.convert(summary, _Form)
        well = {*KEYS, "send_rate_mbps", "srtt_ms"} <= set(result.flows_arrow.column_names)
        well = well and set(said.flows) <= set(result.settings["flows"])
    except (ValueError, TypeError, KeyError, RecursionError):
        well = False
    if not well:
        raise _other_files(folder)


def _other_files(*folders: Path) -> DataNotFound:
    named = ", ".join(map(str, folders))
    return DataNotFound(f"{named}: found other files than those that `paceline send`, `link` or `receive` writes")


def merged(folders: Sequence[Path]) -> Merged:
    """The ends that folders hold as one result.

    Raises:
        DataNotFound: The files are not what ends write.
        UsageError: They are not the ends of one call.
    """
    import pyarrow as pa

    ends = read_folders(folders)
    try:
        return Merged(ends)
    except (LookupError, TypeError, AttributeError, pa.ArrowException):
        raise _other_files(*folders) from None


def _load(text: str, folder: Path) -> LoadedScenario | None:
    """The scenario with its files, if they are here: only a picture of frames needs them."""
    from paceline.scenario import ScenarioText, data_folders

    try:
        return ScenarioText(text, str(folder / "scenario.toml"), data_folders()).load()
    except ScenarioError:
        return None
