"""Changes of a scenario: by dotted path, nested as the scenario is, or as the texts of `--set`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from paceline import _core
from paceline.errors import UsageError, one_of
from paceline.toml import TOMLDecodeError, decoded, loads, toml_key, toml_value

Overrides: TypeAlias = "Mapping[str, Any] | Sequence[tuple[str, str]]"
_KEY = re.compile(r"""([^."']+)|"((?:[^"\\]|\\.)*)"|'([^']*)'""")
"""A key of a dotted path: bare, in double quotes, or in single ones."""
_PAIR = re.compile(r"""((?:"(?:\\.|[^"\\])*"|'[^']*'|[^="'])+)=(.*)""", re.DOTALL)
"""PATH=VALUE; a key of the path may stand in quotes and hold an equals sign there."""
MOST_NAMED = 3
"""Paths that are proposed at most."""
_TABLES = {"links": "link", "flows": "flow"}
"""The scenario's tables of named things, and the registry's names of their keys."""


def as_pairs(overrides: Overrides | None) -> list[tuple[str, str]]:
    """Overrides as the extension takes them: a path and a TOML value, or else a string."""
    if overrides is None:
        return []
    if isinstance(overrides, Mapping):
        return [_expected_pair(path, toml_value(value)) for path, value in overrides.items()]
    if isinstance(overrides, str) or not isinstance(overrides, Iterable):
        raise _not_overrides(overrides)
    return [_expected_pair(*one) if isinstance(one, (tuple, list)) else _expected_pair(one) for one in overrides]


def merging(text: str, overrides: Mapping[Any, Any]) -> list[tuple[str, str]]:
    """Overrides of a scenario by dotted path, or nested as the scenario is.

    A table merges with the one that the scenario has there. A table that says its `kind` is another thing, and
    replaces it whole.
    """
    try:
        known = loads(text) if any(isinstance(value, Mapping) for value in overrides.values()) else {}
    except ValueError:
        # The reader of scenarios says what is wrong with the text.
        known = {}
    return as_pairs({path: leaf for key, value in overrides.items() for path, leaf in _leaves(key, value, known)})


def _leaves(path: Any, value: object, known: Mapping[str, Any]) -> Iterator[tuple[Any, object]]:
    """The values at the ends of nested tables, each with its dotted path; a table that is new stays whole."""
    there = _at(path, known)
    if not isinstance(value, Mapping) or not isinstance(there, Mapping) or "kind" in value:
        yield path, value
        return
    for key, inner in value.items():
        yield from _leaves(f"{path}.{toml_key(str(key))}", inner, known)


def _at(path: Any, known: Mapping[str, Any]) -> object:
    """The value at a dotted path of a scenario; None where there is none."""
    found: object = known
    for key in _keys(path) if isinstance(path, str) else ():
        found = found.get(key) if isinstance(found, Mapping) else None
    return None if found is known else found


def _keys(path: str) -> list[str]:
    """The keys of a dotted path."""
    found = _KEY.findall(path)
    return [bare.strip() or (json.loads(f'"{quoted}"') if quoted else literal) for bare, quoted, literal in found]


def _expected_pair(*found: object) -> tuple[str, str]:
    match found:
        case (str(path), str(value)):
            return path, value
    raise _not_overrides(found[0] if len(found) == 1 else found)


def _not_overrides(found: object) -> UsageError:
    expected = 'a dictionary such as {"links.bottleneck.delay": "20ms"}, or pairs of a path and a TOML value'
    return UsageError(f"overrides: found {found!r}, expected {expected}")


def changes(texts: list[str] | None) -> list[tuple[str, str]]:
    """The changes that all `--set` ask for, in their order."""
    return [one for text in texts or [] for one in (_set_of(text) if text.startswith("@") else [_path_and_value(text)])]


def _set_of(text: str) -> list[tuple[str, str]]:
    """@FILE:NAME, a table of paths and values in a file as `paceline tune` writes it."""
    file, _, name = text[1:].rpartition(":")
    try:
        found = loads(decoded(Path(file).read_bytes(), file))
    except (OSError, TOMLDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"--set {text}: {file or 'no file'}: {said}, expected @FILE:NAME, the file with a table for each set"
        ) from None
    sets = {name: table for name, table in found.items() if isinstance(table, dict)}
    if name not in sets:
        raise UsageError(f"--set {text}: found no set {name!r} in {file}, {one_of(name, list(sets))}")
    return as_pairs(sets[name])


def _path_and_value(text: str) -> tuple[str, str]:
    """PATH=VALUE taken apart."""
    match = _PAIR.fullmatch(text)
    if match is None or not match[1].strip():
        raise UsageError(f"--set {text}: expected PATH=VALUE, such as links.bottleneck.delay=20ms")
    return match[1].strip(), match[2].strip()


def meant(said: str, overrides: Sequence[tuple[str, str]], text: str) -> str:
    """The end of a message about a scenario: what most likely was meant where it does not say so itself."""
    if "did you mean" in said and "path[" not in said:
        return ""
    line = re.search(r":(\d+): ", said)
    lines = text.splitlines()
    if line and int(line[1]) <= len(lines) and re.search("[\u2018-\u201f]", lines[int(line[1]) - 1]):
        return '; the line has typographic quotes, expected plain ones: "'
    try:
        scenario = loads(text)
    except ValueError:
        return ""
    for path, value in overrides:
        if path in said and (found := _paths_meant(path, scenario)):
            return f"; did you mean {' or '.join(found)} = {value}?"
    for table, kind in _TABLES.items():
        there = scenario.get(table)
        if f"{table}." in said and isinstance(there, Mapping) and set(there) & keys_of_tables()[kind]:
            return f"; did you mean [{table}.NAME]? Each {kind} has a name of its own"
    links = scenario.get("links")
    if re.search(r"path\[\d+\]: found", said) and isinstance(links, Mapping):
        return f"; the scenario's links are {', '.join(links)}"
    return ""


@cache
def keys_of_tables() -> dict[str, set[str]]:
    """The keys of each kind of a scenario's tables."""
    tables = json.loads(_core.registry_json())["tables"]
    return {one["kind"]: {key["name"] for key in one["parameters"]} for one in tables}


def _paths_meant(path: str, scenario: Mapping[str, Any]) -> list[str]:
    """Paths in a scenario that end as this one does: `links.access.rate` for `rate`, `access.rate` and `link.rate`."""
    keys, known = _keys(path), keys_of_tables()
    found = [path for table, kind in _TABLES.items() for path in _in_table(table, keys, scenario, known[kind])]
    return [".".join(map(toml_key, path)) for path in found if path != tuple(keys)][:MOST_NAMED]


def _in_table(
    table: str, keys: Sequence[str], scenario: Mapping[str, Any], known: set[str]
) -> Iterator[tuple[str, ...]]:
    there = scenario.get(table)
    names = list(there) if isinstance(there, Mapping) else []
    rest = keys[1:] if keys and keys[0] in (table, _TABLES[table]) else keys
    if len(rest) > 1 and rest[0] in names and rest[1] in known:
        yield (table, *rest)
    elif rest and rest[0] in known:
        yield from ((table, name, *rest) for name in names)
