"""Controllers that are compared: what was written of them, checked by the reader of scenarios itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from paceline.comparison import grammar
from paceline.errors import ScenarioError, UsageError, one_of
from paceline.scenario import ScenarioText
from paceline.simulation import registry
from paceline.toml import loads, toml_value

ContenderLike: TypeAlias = "str | Mapping[str, Any]"

_PROBE = """\
duration = "1s"
[links.probe]
rate = "1Mbps"
queue = { packets = 10 }
[flows.probe]
path = ["probe"]
"""
_PLACE = re.compile(r"^scenario(?::\d+)?: (?:flows\.probe\.?)?")
OF_TRANSPORTS = ("feedback", "playout", "tcp", "dccp", "sctp")
"""Keys of a flow that only some transports know."""


@dataclass(frozen=True)
class Contender:
    """A controller as it is compared."""

    label: str
    controller: dict[str, Any]
    """The table `controller` of a flow."""
    flow: dict[str, Any]
    """Further keys of the flow, by their dotted names."""
    transport: str
    """The controller's usual transport, as the reader of scenarios chooses it."""
    keys: frozenset[str]
    """The keys of `OF_TRANSPORTS` that a flow over it knows."""
    parameters: frozenset[str]
    """The names of the controller's parameters."""

    @property
    def document(self) -> dict[str, Any]:
        """Its description, as plain data."""
        return {"label": self.label, "controller": self.controller, "flow": self.flow, "transport": self.transport}


def contenders(given: Sequence[ContenderLike], data: Sequence[str] = ()) -> list[Contender]:
    """The controllers that are to be compared, checked.

    Raises:
        UsageError: One is written wrongly, or two have the same label.
        ScenarioError: There is no such controller, profile or parameter.
    """
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise UsageError(f"controllers: found {given!r}, expected a list of at least two")
    found = [_contender(one, data) for one in given]
    grammar.expect_labels("controllers", [one.label for one in found])
    return found


def _contender(given: ContenderLike, data: Sequence[str]) -> Contender:
    if isinstance(given, str):
        phrase = grammar.read("controller", given)
        kind, colon, profile = phrase.head.partition(":")
        label = phrase.label or given
        said = {"kind": kind.strip(), **({"profile": profile.strip()} if colon else {})}
        values = phrase.values
    elif isinstance(given, Mapping):
        values = {str(name): value for name, value in given.items() if name not in ("kind", "profile", "label")}
        flow = values.pop("flow", {})
        if not isinstance(flow, Mapping):
            raise UsageError(f"controller {given!r}: found flow {flow!r}, expected a table of the flow's keys")
        values |= {f"flow.{name}": value for name, value in flow.items()}
        said = {key: given[key] for key in ("kind", "profile") if key in given}
        label = str(given.get("label") or ":".join(map(str, said.values())))
    else:
        raise UsageError(f"controller: found {given!r}, expected a text such as scream:rfc8298, or a table")
    for reserved in ("kind", "profile", "flow.path"):
        if reserved in values:
            raise UsageError(f"controller {label}: found {reserved!r}, expected KIND:PROFILE and names of parameters")
    own = {name.removeprefix("flow."): value for name, value in values.items() if name.startswith("flow.")}
    if isinstance(own.get("source"), str):
        own["source"] = {"kind": own["source"]}
    of_controller = {name: value for name, value in values.items() if not name.startswith("flow.")}
    return _checked(label, said | of_controller, own, data)


def _checked(label: str, controller: dict[str, Any], flow: dict[str, Any], data: Sequence[str]) -> Contender:
    known = {one["kind"]: one for one in registry()["controllers"]}
    kind = controller.get("kind")
    if not isinstance(kind, str) or kind not in known:
        raise UsageError(f"controller {label}: found kind {kind!r}, {one_of(str(kind or ''), known)}")
    table: dict[str, Any] = {"source": {"kind": "cbr", "rate": "1Mbps"}}
    for name, value in flow.items():
        grammar.put(table, name, value)
    lines = [f"{key} = {toml_value(value)}" for key, value in (table | {"controller": controller}).items()]
    try:
        core = ScenarioText(_PROBE + "\n".join(lines), None, list(data)).load().core
    except ScenarioError as error:
        # The user did not write this scenario: the message names the controller and the key.
        raise ScenarioError(f"controller {label}: {_PLACE.sub('', str(error))}") from None
    resolved = loads(core.resolved_toml)["flows"]["probe"]
    return Contender(
        label,
        controller,
        flow,
        str(resolved["transport"]),
        frozenset(key for key in OF_TRANSPORTS if key in resolved),
        frozenset(one["name"] for one in known[kind]["parameters"]),
    )
