"""`paceline list`: what there is, with every parameter, its default, unit and source."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from paceline.errors import UsageError, one_of
from paceline.simulation import registry

if TYPE_CHECKING:
    from rich.text import Text


@cache
def kinds() -> tuple[str, ...]:
    """The lists: everything that scenarios choose from, and the parts of studies."""
    return (*registry(), "studies", "designs")


def entries(kind: str) -> list[dict[str, Any]]:
    """Everything of one kind, or what is called so itself: `controllers`, or `scream`."""
    if kind == "studies":
        from paceline.studies.definition import known_studies

        return [{"kind": name, "help": title} for name, title in known_studies()]
    if kind == "designs":
        from paceline.studies.designs import KINDS

        return [{"kind": name, "help": design.help} for name, design in KINDS.items()]
    every = registry()
    called = [entry for listed in every.values() for entry in listed if entry["kind"] == kind]
    found: list[dict[str, Any]] = every.get(kind, called)
    if kind not in every and not found:
        raise UsageError(f"paceline list: found {kind!r}, {one_of(kind, kinds())}")
    return found


def print_json(kind: str) -> None:
    """Everything of one kind as one JSON document."""
    print(json.dumps({kind: entries(kind)}, indent=2, ensure_ascii=False))


def print_tables(kind: str) -> None:
    """Everything of one kind as tables for people."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    found = entries(kind)
    if not found:
        console.print(f"no {kind}")
    for entry in found:
        console.print(Text.assemble((entry["kind"], "bold"), f": {entry['help']}"), soft_wrap=True)
        for profile in entry.get("profiles", ()):
            console.print(Text(f"  profile {profile['name']}: {profile['help']}"), soft_wrap=True)
        for parameter in entry.get("parameters", ()):
            console.print(_parameter(parameter), soft_wrap=True)


# The words for a parameter without a default.
_NEEDS = {"required": "must be given", "optional": "may be left out", "one-of": "one of these must be given"}


def _range(parameter: dict[str, Any]) -> str:
    match parameter.get("min"), parameter.get("max"):
        case None, None:
            return ""
        case low, None:
            return f"from {low}"
        case None, high:
            return f"up to {high}"
        case low, high:
            return f"{low} to {high}"


def _parameter(parameter: dict[str, Any]) -> Text:
    """Name, default and range on one line, what it does and where that is from on the next."""
    from rich.text import Text

    differing = [f"{name}: {value}" for name, value in parameter.get("profiles", {}).items()]
    allowed = ", ".join(part for part in (parameter["unit"], _range(parameter)) if part)
    default = f"= {parameter['default']}" if parameter.get("default") else f"({_NEEDS[parameter['need']]})"
    return Text.assemble(
        "  ",
        (parameter["name"], "bold"),
        f" {'; '.join([default, *differing])}",
        (f"  ({allowed})\n" if allowed else "\n", "dim"),
        f"      {parameter['help']}",
        (f" [{parameter['source']}]" if parameter["source"] else "", "dim"),
    )
