"""Conditions that controllers are compared over: scenarios, recordings of rates, and named networks."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from paceline import _core, disk, trace_files
from paceline.comparison import grammar
from paceline.comparison.contenders import OF_TRANSPORTS, Contender
from paceline.errors import DataNotFound, ScenarioError, UsageError
from paceline.fitting.recordings import peak_mbps
from paceline.frames import find
from paceline.overrides import as_pairs
from paceline.scenario import ScenarioText, found_by_name, read
from paceline.simulation import registry
from paceline.toml import loads
from paceline.video.figures import seconds

ConditionLike: TypeAlias = "str | Path | Mapping[str, Any]"

BITRATE = {"min": "50kbps", "start": "300kbps", "max": "100Mbps"}
"""Limits and start of every controller that carries media where the scenario says none: nobody is ahead by its own."""
_FILES = ("trace", "file")
"""Keys of a scenario that name a file."""
MEDIA = {"kind": "trace-encoder", "generator": "frames", "fps": 50}
"""The source over a recording or a named network, unless another one is said."""
WARMUP_S, WARMUP_PART = 10.0, 6
"""The warm-up where nobody says one, and which part of the duration it is at most."""
DURATION, DELAY, QUEUE = "60s", "20ms", "300ms"
"""The defaults of a link that follows a recording: how long it runs, one way, drop-tail."""
_FIXED = {"name", "seed", "links", "flows", "coupling", "rate", "path", "transport", "controller", "count"}
"""Keys that a call over a recording does not leave open."""
_CONCEALED_AT = {"rtp": "feedback", "tcp": "tcp", "sctp": "sctp"}
"""Where a flow of each transport says what its receiver conceals."""
_TEMPLATE = re.compile(r"^scenario(?::\d+)?: ")


@dataclass(frozen=True)
class Condition:
    """A scenario with flows whose controller is replaced."""

    name: str
    kind: str
    """`scenario`, `trace` or `network`."""
    table: dict[str, Any]
    """The scenario, with absolute names of the files beside it."""
    flows: tuple[str, ...]
    """The flows whose controller is replaced."""
    settings: tuple[tuple[str, str], ...]
    """The changes in it, as overrides."""
    links: tuple[str, ...]
    """The links of these flows' paths."""
    copies: Mapping[str, int]
    """How many flows each of these stands for."""
    limits: Mapping[str, Any]
    """Limits of the media where the scenario has no controller that says them."""
    start_up: tuple[float, float]
    """From when to when start-up is, in seconds: from the first of these flows' starts to the warm-up's end."""
    digest: str
    """Of the scenario, its changes and its files: another one gives other rows."""

    @property
    def document(self) -> dict[str, Any]:
        """Its description, as plain data."""
        return {"name": self.name, "kind": self.kind, "flows": list(self.flows), "digest": self.digest}

    def text(self, contender: Contender) -> str:
        """The scenario with its flows under this controller, as TOML."""
        import tomli_w

        table = deepcopy(self.table)
        for name in self.flows:
            _replace(table["flows"][name], contender, self.limits)
        return tomli_w.dumps(table)

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of the flows that are measured: those that are replaced, each of its copies."""
        return tuple(one for name in self.flows for one in _copies(name, self.copies[name]))


def _copies(name: str, count: int) -> list[str]:
    digits = len(str(count))
    return [name] if count == 1 else [f"{name}-{number:0{digits}d}" for number in range(1, count + 1)]


def _replace(flow: dict[str, Any], contender: Contender, limits: Mapping[str, Any]) -> None:
    """Puts a controller into a flow, with what has to change with it."""
    bitrate = _bitrate(flow, contender, limits)
    flow["controller"] = contender.controller
    flow["transport"] = contender.transport
    if "feedback" in contender.keys:
        flow["bitrate"] = bitrate
    else:
        flow.pop("bitrate", None)
    conceals = next((flow[key]["conceals"] for key in OF_TRANSPORTS if "conceals" in (flow.get(key) or {})), None)
    for key in ("record", *(key for key in OF_TRANSPORTS if key not in contender.keys)):
        flow.pop(key, None)
    if conceals is not None and contender.transport in _CONCEALED_AT:
        # A receiver that does not comply is a part of the condition.
        grammar.put(flow, f"{_CONCEALED_AT[contender.transport]}.conceals", conceals)
    if "streams" in flow and (contender.transport == "tcp" or "source" in contender.flow):
        # A connection carries one stream.
        flow["source"] = next(iter(flow.pop("streams").values())).get("source")
    for name, value in contender.flow.items():
        grammar.put(flow, name, value)


def _bitrate(flow: Mapping[str, Any], contender: Contender, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Limits and start: as the flow or its controller says, else alike for all, less those that a contender says."""
    before = flow.get("controller")
    of_controller = _said_as_bitrate(before) if isinstance(before, Mapping) else {}
    said = {**limits, **of_controller, **flow.get("bitrate", {})}
    own = _said_as_bitrate(contender.controller).keys()
    found = {key: value for key, value in (BITRATE | said).items() if key not in own}
    for key in ("start", "min"):
        if key not in said and (own or not _in_order(found)):
            found.pop(key, None)
    return found


def _said_as_bitrate(controller: Mapping[str, Any]) -> dict[str, Any]:
    """The limits in a controller's table, by the keys of `bitrate`."""
    names = zip(BITRATE, _core.bitrate_names(str(controller.get("kind"))), strict=True)
    return {key: controller[name] for key, name in names if name is not None and name in controller}


def _in_order(bitrate: Mapping[str, Any]) -> bool:
    rates = [_core.quantity(str(bitrate[key])) or (0.0, "") for key in BITRATE if key in bitrate]
    return rates == sorted(rates)


def conditions(
    given: Sequence[ConditionLike],
    *,
    flows: Sequence[str] = (),
    duration: str | None = None,
    warmup: str | None = None,
    data: Sequence[str] = (),
    say: Callable[[str], None] | None = None,
) -> list[Condition]:
    """The conditions that are meant, each read and checked; `say` is told what the headers of recordings said.

    Raises:
        UsageError: One is written wrongly, or has no such flow.
        DataNotFound: It is no file and no named network.
        ScenarioError: Its scenario is wrong as it stands.
    """
    if not given:
        raise UsageError("over: found nothing, expected scenarios, traces or named networks to compare over (--over)")
    times = {name: value for name, value in (("duration", duration), ("warmup", warmup)) if value is not None}
    for name, value in times.items():
        if not isinstance(value, str) or (_core.quantity(value) or (0.0, ""))[1] != "s":
            raise UsageError(f"{name}: found {value!r}, expected a time such as 60s")
    found = [_condition(one, flows, times, list(data), say) for one in given]
    grammar.expect_labels("over", [one.name for one in found])
    known = {name for one in found for name in one.flows}
    for name in flows:
        if name not in known:
            raise UsageError(f"flows: found {name!r}, expected flows of a scenario here, such as {', '.join(known)}")
    return found


def _condition(
    given: ConditionLike,
    flows: Sequence[str],
    times: Mapping[str, str],
    data: list[str],
    say: Callable[[str], None] | None,
) -> Condition:
    if isinstance(given, Mapping) or (isinstance(given, str) and "\n" in given):
        text = read(given)
        return _scenario(None, text, {}, flows, times, data)
    if not isinstance(given, (str, os.PathLike)):
        raise UsageError(f"over: found {given!r}, expected a scenario, a trace file or the name of a network")
    words = str(given)
    path = Path(words)
    phrase = grammar.Phrase(None, words, {}) if disk.is_file(path) else grammar.read("over", words)
    path = Path(phrase.head)
    networks = [one["kind"] for one in registry().get("networks", ())]
    if path.suffix != ".toml" and phrase.head not in networks:
        path = found_by_name(phrase.head)
    if path.suffix == ".toml":
        return _scenario(phrase.label, read(path), phrase.values, flows, times, data)
    if phrase.head in networks and not disk.is_file(path):
        table = _call(phrase.head, {"network": phrase.head}, phrase.values, times)
        kind, name = "network", phrase.head
        limits: dict[str, Any] = {}
    else:
        table, limits = _recording(phrase, times, data, networks, say)
        kind, name = "trace", _stem(path)
    found = ScenarioText(_toml(table), None, data)
    return _checked(kind, phrase.label or name, table, found, ("media",), limits)


def _stem(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return Path(name).stem if Path(name).suffix in (".csv", ".txt", ".log", ".json", ".down", ".up", ".pps") else name


def _toml(table: Mapping[str, Any]) -> str:
    return read(table).text


def _scenario(
    label: str | None,
    text: ScenarioText,
    values: Mapping[str, Any],
    flows: Sequence[str],
    times: Mapping[str, str],
    data: list[str],
) -> Condition:
    folder = Path(text.file).parent if text.file else Path()
    for path, value in values.items():
        holder = {path.rpartition(".")[2]: value}
        _absolute(holder, folder)
        values = {**values, path: next(iter(holder.values()))}
    settings = as_pairs({**times, **values})
    whole = ScenarioText(text.text, text.file, data, settings)
    # Says what is wrong with a scenario that is no TOML, or not sound as it stands.
    whole.load()
    table = loads(text.text)
    where = text.file or "the scenario"
    names = _chosen(where, list(table.get("flows", {})), flows)
    for path, _ in settings:
        for name in names:
            if re.match(rf'flows\.("?){re.escape(name)}\1\.(controller|transport)\b', path):
                raise UsageError(f"over {where}: found {path}, expected other keys: that flow gets each controller")
    _absolute(table, folder)
    name = label or (Path(text.file).stem if text.file else str(table.get("name", "scenario")))
    return _checked("scenario", name, table, whole, names, {})


def _chosen(where: str, known: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """The flows whose controller is replaced."""
    found = tuple(name for name in known if name in wanted)
    if found:
        return found
    if len(known) == 1:
        return (known[0],)
    said = f"none of {', '.join(wanted)}" if wanted else "several flows"
    raise UsageError(f"over {where}: found {said}, expected --flow with one or more of {', '.join(known)}")


def _absolute(table: dict[str, Any], folder: Path) -> None:
    """Files that stand beside a scenario get absolute names: it is run from elsewhere."""
    for holder, key in named_files(table):
        for name in (holder[key], f"{holder[key]}.gz"):
            if disk.is_file(folder / name):
                holder[key] = str((folder / holder[key]).resolve())
                break


def named_files(table: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Every table that names a file, with its key."""
    if isinstance(table, dict):
        for key, value in table.items():
            if key in _FILES and isinstance(value, str):
                yield table, key
            else:
                yield from named_files(value)
    elif isinstance(table, list):
        for value in table:
            yield from named_files(value)


def _checked(
    kind: str,
    name: str,
    table: dict[str, Any],
    text: ScenarioText,
    flows: tuple[str, ...],
    limits: Mapping[str, Any],
) -> Condition:
    try:
        core = text.load().core
    except ScenarioError as error:
        raise ScenarioError(f"over {name}: {_TEMPLATE.sub('', str(error))}" if text.file is None else error) from None
    resolved = loads(core.resolved_toml)
    settings = tuple(text.overrides)
    if "warmup" not in {*table, *dict(settings)}:
        usual = min(WARMUP_S, seconds(resolved["duration"]) / WARMUP_PART)
        table["warmup"] = resolved["warmup"] = f"{round(usual, 3):g}s"
    digest = hashlib.sha256(repr((_toml(table), settings, flows, dict(limits))).encode())
    for holder, key in named_files(resolved):
        digest.update(find(holder[key], text.folders).read_bytes())
    copies = {one: sum(_is_copy(one, other) for other in resolved["flows"]) for one in flows}
    paths = [resolved["flows"][one]["path"] for flow in flows for one in _copies(flow, copies[flow])]
    links = tuple(dict.fromkeys(link for path in paths for link in path))
    begin = min(seconds(resolved["flows"][one]["start"]) for flow in flows for one in _copies(flow, copies[flow]))
    start_up = begin, seconds(resolved["warmup"])
    return Condition(name, kind, table, flows, settings, links, copies, limits, start_up, digest.hexdigest()[:16])


def _is_copy(name: str, other: str) -> bool:
    return other == name or re.fullmatch(rf"{re.escape(name)}-\d+", other) is not None


def _keys(kind: str) -> set[str]:
    return {one["name"] for table in registry()["tables"] if table["kind"] == kind for one in table["parameters"]}


def _call(name: str, link: dict[str, Any], values: Mapping[str, Any], times: Mapping[str, str]) -> dict[str, Any]:
    """A call over one link; values are keys of the scenario, its link and its flow, by their names alone."""
    queue = values.get("queue")
    if isinstance(queue, str) and queue[:1].isdigit():
        values = {**values, "queue": {"kind": "droptail", "limit": queue}}
    top = {key: value for key, value in values.items() if key in _keys("scenario")}
    own = {key: value for key, value in values.items() if key in _keys("link") and key not in top}
    flow = {key: value for key, value in values.items() if key not in top and key not in own}
    return {
        "name": name,
        "duration": DURATION,
        **times,
        **top,
        "links": {"network": {**link, **own}},
        "flows": {"media": {"controller": "fixed", "source": dict(MEDIA), **flow, "path": ["network"]}},
    }


def _recording(
    phrase: grammar.Phrase,
    times: Mapping[str, str],
    data: list[str],
    networks: Sequence[str],
    say: Callable[[str], None] | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A call over a link that follows a recording; its media may reach the most that this carries in a second."""
    try:
        file = find(phrase.head, [".", *data])
    except DataNotFound:
        others_are = f"; named networks: {', '.join(networks)}" if networks else ""
        looked = ", ".join([".", *data])
        raise DataNotFound(
            f"over {phrase.head}: no such scenario (.toml), trace file or named network; looked in {looked}{others_are}"
        ) from None
    beside = {key: value for key, value in phrase.values.items() if key in trace_files.options()}
    others = {key: value for key, value in phrase.values.items() if key not in beside}
    known = sorted({*trace_files.options(), *_keys("scenario"), *_keys("link"), *_keys("flow")} - _FIXED)
    for key in others:
        if key not in known:
            raise UsageError(f"over {phrase.head}: found key {key!r}, expected one of {', '.join(known)}")
    # Data folders need not be the same on every machine: a name that they resolve stays as it is.
    own = any(disk.is_file(Path(name)) for name in (phrase.head, f"{phrase.head}.gz"))
    name = str(Path(phrase.head).resolve()) if own else phrase.head
    try:
        found = trace_files.reading(file, beside)
    except (UsageError, DataNotFound) as error:
        raise type(error)(f"over {error}") from None
    if not found.is_direct:
        raise UsageError(f"over {file}: {found.said}, {trace_files.NOT_DIRECT.format(file=phrase.head)}")
    if found.said and say is not None:
        say(f"{phrase.head}: {found.said}")
    rate = {"trace": name, "repeat": True, **found.keys}
    peak = peak_mbps(rate, data)
    link = {"rate": rate, "delay": DELAY, "queue": {"kind": "droptail", "limit": QUEUE}}
    table = _call(_stem(Path(phrase.head)), link, others, times)
    return table, {"max": f"{max(1, round(peak * 1000))}kbps"}
