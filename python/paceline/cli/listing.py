"""`paceline list`: what there is, with every parameter, its default, unit and source."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from paceline import _core, library
from paceline.cli.tables import wrapped
from paceline.errors import LONGEST_FOUND, UsageError, one_of, printable
from paceline.simulation import registry

if TYPE_CHECKING:
    from rich.text import Text


NEAR = 3
"""The most names that are offered in place of one that is not known."""


def kinds() -> tuple[str, ...]:
    """The lists: everything that scenarios choose from, and the parts of studies."""
    return (*_core.registry_families(), "scenarios", "studies", "designs")


def entries(kind: str) -> list[dict[str, Any]]:
    """Everything of one kind, or what is called so itself: `controllers`, or `scream`."""
    if kind in ("studies", "scenarios"):
        return [{"kind": name, "help": title} for name, title in library.titles(kind)]
    if kind == "designs":
        from paceline.studies.designs import KINDS

        return [{"kind": name, "help": design.help} for name, design in KINDS.items()]
    every = registry()
    called = [entry for listed in every.values() for entry in listed if entry["kind"] == kind]
    found: list[dict[str, Any]] = every.get(kind, called)
    if kind not in every and not found:
        raise UsageError(f"paceline list: found {kind!r}, {one_of(kind, kinds())}")
    return found


def chosen(kind: str, name: str | None) -> list[dict[str, Any]]:
    """Everything of one kind, or the one entry called `name`."""
    found = entries(kind)
    if name is None:
        return found
    if one := [entry for entry in found if entry["kind"] == name]:
        return one
    near = nearest(name, [entry["kind"] for entry in found])
    raise UsageError(
        f"paceline list {kind}: found {name!r}, expected one of the names that `paceline list {kind}` shows"
        + (f"; near it: {', '.join(near)}" if near else "")
    )


def print_json(kind: str | None, name: str | None) -> None:
    """How many there are of each kind; or everything of one kind, or one of it, as one JSON document."""
    found = {one: len(entries(one)) for one in kinds()} if kind is None else {kind: chosen(kind, name)}
    print(json.dumps(found, indent=2, ensure_ascii=False))


def print_short(kind: str | None) -> None:
    """The kinds with their counts, or the names of one kind, each with its summary."""
    if kind is None:
        rows = [(one, str(len(entries(one)))) for one in kinds()]
        more = "`paceline list KIND` shows the names, `paceline list KIND NAME` all about one."
    else:
        found = entries(kind)
        rows = [(printable(entry["kind"]), printable(entry["help"])) for entry in found]
        full = any(entry.get("parameters") for entry in found)
        more = f"`paceline list {kind} NAME` shows one in full, --full all." if full else ""
    width = max((len(name) for name, _ in rows), default=0) + 2
    for name, summary in rows:
        print(wrapped(f"{name:<{width}}", summary, width))
    if more:
        print("\n" + wrapped("", more, 0))
    if not rows:
        print(f"no {kind}")


def print_full(kind: str, name: str | None) -> None:
    """Everything of one kind, or one of it, with profiles and parameters, as tables for people."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for entry in chosen(kind, name):
        console.print(Text.assemble((entry["kind"], "bold"), f": {entry['help']}"), soft_wrap=True)
        for profile in entry.get("profiles", ()):
            console.print(Text(f"  profile {profile['name']}: {profile['help']}"), soft_wrap=True)
        for parameter in entry.get("parameters", ()):
            console.print(_parameter(parameter), soft_wrap=True)


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """The names most like a word, at most three."""
    lower, known = word.lower(), list(known)
    if not lower or len(lower) > LONGEST_FOUND:
        return []
    near = get_close_matches(lower, known, NEAR, 0.6)
    return [*near, *(one for one in known if lower in one and one not in near)][:NEAR]


# The words for a parameter without a default.
_NEEDS = {"required": "must be given", "optional": "may be left out", "one-of": "one of these must be given"}


def _range(parameter: Mapping[str, Any]) -> str:
    match parameter.get("min"), parameter.get("max"):
        case None, None:
            return ""
        case low, None:
            return f"from {low}"
        case None, high:
            return f"up to {high}"
        case low, high:
            return f"{low} to {high}"


def said(parameter: Mapping[str, Any]) -> tuple[str, str]:
    """Its default, with those of the profiles that differ, and its unit and range."""
    differing = [f"{name}: {value}" for name, value in parameter.get("profiles", {}).items()]
    allowed = ", ".join(part for part in (parameter["unit"], _range(parameter)) if part)
    default = f"= {parameter['default']}" if parameter.get("default") else f"({_NEEDS[parameter['need']]})"
    return "; ".join([default, *differing]), allowed


def _parameter(parameter: dict[str, Any]) -> Text:
    """Name, default and range on one line, what it does and where that is from on the next."""
    from rich.text import Text

    default, allowed = said(parameter)
    return Text.assemble(
        "  ",
        (parameter["name"], "bold"),
        f" {default}",
        (f"  ({allowed})\n" if allowed else "\n", "dim"),
        f"      {parameter['help']}",
        (f" [{parameter['source']}]" if parameter["source"] else "", "dim"),
    )
