"""The meanings of a word: a key of a scenario, a parameter, a kind, a figure, a command or a term of the glossary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from paceline import library
from paceline.cli.listing import nearest, said
from paceline.errors import UsageError
from paceline.figures import every_figure
from paceline.simulation import registry

# Each family of the registry: its name for people, the path of its table in a scenario, and the key of its kind.
_FAMILIES = {
    "controllers": ("controller", "flows.NAME.controller", "kind"),
    "couplings": ("coupling", "coupling.NAME", "kind"),
    "detections": ("detection of shared bottlenecks", "coupling.NAME.detection", None),
    "generators": ("generator", "flows.NAME.source.generator", "kind"),
    "losses": ("loss model", "links.NAME.loss", "kind"),
    "marks": ("mark", "links.NAME.mark", "kind"),
    "networks": ("network", "links.NAME", "network"),
    "noises": ("delay noise", "links.NAME.noise", "kind"),
    "playouts": ("playout", "flows.NAME.playout", "kind"),
    "queues": ("queue", "links.NAME.queue", "kind"),
    "sources": ("source", "flows.NAME.source", "kind"),
    "traces": ("rate", "links.NAME.rate", "format"),
}
_TABLES = {
    "scenario": "",
    "link": "links.NAME",
    "delay": "links.NAME.delay",
    "policer": "links.NAME.policer",
    "shaper": "links.NAME.shaper",
    "duplicate": "links.NAME.duplicate",
    "flow": "flows.NAME",
    "stream": "flows.NAME.streams.NAME",
    "coupling": "coupling.NAME",
}
_UNITS = {"time": "a time such as 20ms", "rate": "a rate such as 5Mbps", "size": "a size such as 1500B"}
_ROW = re.compile(r"^\| (?P<terms>[^|`]+) \| (?P<code>[^|]*) \| (?P<meaning>[^|]+) \|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Meaning:
    """One meaning of a word."""

    word: str
    thing: str
    """The kind of thing, such as "key of a link"."""
    lines: tuple[str, ...]
    """Its description, its default and unit, and where it may stand."""
    place: str = ""
    """The dotted path of the table it stands in."""
    of: tuple[str, ...] = ()
    """The kinds that have it, of a parameter."""


def meanings(words: str, commands: Iterable[str] = ()) -> list[Meaning]:
    """All meanings of a word or a dotted path; `commands` are the program's.

    Raises:
        UsageError: Nothing is called so; names the nearest words.
    """
    path, _, name = words.strip().rpartition(".")
    known = _known(tuple(commands))
    found = known.get(words.strip().lower(), []) or [
        one for one in known.get(name.lower(), []) if _ends_with(one.place, path)
    ]
    if not found:
        raise UsageError(f"paceline help: found {words!r}, expected {_expected(name or words, known)}")
    return found


def _expected(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return "a key, parameter, kind, figure, command or term" + (f"; near it: {', '.join(near)}" if near else "")


def _ends_with(place: str, path: str) -> bool:
    """Whether a path such as `links.access.queue`, or the end of one, names the table at `place`."""
    given, parts = [one for one in path.split(".") if one], place.split(".")
    ends = parts[len(parts) - len(given) :] if len(given) <= len(parts) else []
    return len(ends) == len(given) and all(
        part in ("NAME", one) or part == one for part, one in zip(ends, given, strict=True)
    )


@cache
def _known(commands: tuple[str, ...]) -> dict[str, list[Meaning]]:
    """All meanings by their words in lower case."""
    known: dict[str, list[Meaning]] = {}
    for one in (*(Meaning(name, "command", ()) for name in commands), *_scenario(), *_figures(), *_glossary()):
        known.setdefault(one.word.lower(), []).append(one)
    return known


def _scenario() -> Iterator[Meaning]:
    """Kinds, their profiles and their parameters, from the registry."""
    shared: dict[tuple[object, ...], Meaning] = {}
    entries = [(family, entry["kind"], entry) for family, found in registry().items() for entry in found]
    # Keys of the scenario's own tables come before parameters of the same name.
    entries.sort(key=lambda entry: entry[0] != "tables")
    for family, kind, entry in entries:
        if family in _FAMILIES:
            yield from _kind(family, kind, entry)
        if family == "networks":
            # Its parameters are keys of a link.
            continue
        thing, place = _holder(family, kind, entry)
        for parameter in entry["parameters"]:
            lines = tuple(_lines(parameter))
            key = (parameter["name"], family, place, lines)
            of = (*shared[key].of, kind) if key in shared else (kind,)
            shared[key] = Meaning(parameter["name"], thing, lines, place, of)
    for one in shared.values():
        yield Meaning(one.word, f"{one.thing} {', '.join(one.of)}".rstrip(), (*one.lines, _stands(one)), one.place)


def _holder(family: str, kind: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """A name for the table that has a parameter, without its kind, and the table's path."""
    if family in _FAMILIES:
        name, place, _ = _FAMILIES[family]
        return f"parameter of the {name}", place
    return ("key of a", _TABLES[kind]) if family == "tables" else ("key of", f"flows.NAME.{kind}")


def _kind(family: str, kind: str, entry: Mapping[str, Any]) -> Iterator[Meaning]:
    name, place, key = _FAMILIES[family]
    holder, _, last = place.rpartition(".")
    says = f'{key} = "{kind}"'
    if kind == "mmwave" and family == "traces":
        says = 'generator = "mmwave"'
    elif family == "traces":
        says = f'trace = "FILE", {says}'
    stands = f"{says} in [{place}]" if last == "NAME" else f"{last} = {{ {says} }} in [{holder}]"
    full = f"paceline list {family} {kind}"
    yield Meaning(kind, name, (entry["help"], f"Stands as: {stands}", f"In full: {full}"), place)
    for profile in entry["profiles"]:
        yield Meaning(profile["name"], f"profile of the {name} {kind}", (profile["help"], f"In full: {full}"), place)


def _lines(parameter: Mapping[str, Any]) -> Iterator[str]:
    source = f" [{parameter['source']}]" if parameter["source"] else ""
    yield f"{parameter['help']}{source}"
    default, allowed = said(parameter)
    one, either, table = parameter["unit"].partition(" or {")
    unit = _UNITS.get(one, one) + either + table
    yield f"Default: {default.removeprefix('= ')}" if default.startswith("=") else default.strip("()").capitalize()
    if allowed:
        yield f"Value: {allowed.replace(parameter['unit'], unit, 1)}"


def _stands(one: Meaning) -> str:
    if not one.place:
        return "Stands in: the scenario's top"
    holder, _, last = one.place.rpartition(".")
    return f"Stands in: [{one.place}]" if last == "NAME" else f"Stands in: {last} = {{ ... }} of [{holder}]"


def _figures() -> Iterator[Meaning]:
    shared: dict[tuple[str, ...], list[str]] = {}
    for one in every_figure():
        where = " and ".join(
            [
                *(["a column of the time series"] if one.column else []),
                *(["a field of summary.json"] if one.summary else []),
            ]
        )
        unit = f"Unit: {one.unit}" if one.unit else "No unit"
        shared.setdefault((one.name, one.definition, f"{unit}; {where}"), []).append(one.table)
    for (name, *lines), tables in shared.items():
        stands = ", ".join(table or "the run" for table in tables)
        yield Meaning(name, "figure", (*lines, f"Stands in: {stands}"), tables[0])


def _glossary() -> Iterator[Meaning]:
    """The rows of docs/glossary.md."""
    text = (library.HOME / "glossary.md").read_text(encoding="utf-8")
    for row in _ROW.finditer(text):
        code = _CODE.findall(row["code"])
        about = (row["meaning"].replace("`", ""), *([f"Written: {', '.join(code)}"] if code else []))
        for term in row["terms"].split(", "):
            if term != "term":
                yield Meaning(term.strip(), f"term ({row['terms']})" if "," in row["terms"] else "term", about)
