"""How a table of a definition becomes a typed record, and what is said of one that is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from paceline import disk
from paceline.errors import StudyError, one_of
from paceline.toml import TOMLDecodeError

Record = TypeVar("Record")

Value = bool | int | float | str
"""A value of a parameter: a flag, a number in the unit of its factor, or a text such as a file's name."""
Settings = dict[str, Any]
"""Values of a scenario by their dotted paths."""


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a definition; a key that it does not know is refused."""


class Named(Spec, frozen=True, kw_only=True):
    """A table that a definition knows by its name."""

    name: str


class DefinitionError(StudyError):
    """A part of a definition is wrong; `where` is its dotted path."""

    def __init__(self, where: str, said: str) -> None:
        super().__init__(f"{where}: {said}" if where else said)
        self.where = where


@contextmanager
def about(where: str) -> Iterator[None]:
    """A block whose errors say which part of a study they are about."""
    try:
        yield
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from None


_WORDS = {
    "array": "a list", "object": "a table", "str": "a text", "int": "a whole number", "float": "a number",
    "bool": "true or false",
}  # fmt: skip
_EXPECTED = re.compile(r"Expected `(.+?)`(.*?)(?:, got .*)?")
_MISSING = re.compile(r"Object missing required field `(.+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.+)`")
_INVALID = re.compile(r"Invalid (?:enum )?value .*")
_STEP = re.compile(r"\.([^.\[]+)|\[(\.\.\.|\d+)\]")


def read(where: str, found: object, kind: type[Record], *, strict: bool = True) -> Record:
    """The record that a table says; unless `strict`, numbers may stand there as texts.

    Raises:
        DefinitionError: A key is missing, unknown or has a value that it cannot have.
    """
    try:
        return msgspec.convert(found, kind, strict=strict)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        steps = [name or number for name, number in _STEP.findall(path.removesuffix("`"))]
        raise _explained(where, found, kind, said, _named(found, kind, str(error), steps)) from None


def read_all(where: str, tables: object, kind: Any) -> dict[str, Any]:
    """The records of a table of tables, each of this kind, or of one of these kinds, with its key as its name."""
    if not isinstance(tables, Mapping):
        raise DefinitionError(where, f"found {tables!r}, expected a table of tables")
    found = {}
    for name, table in tables.items():
        expect_name(where, name)
        if not isinstance(table, Mapping):
            raise DefinitionError(f"{where}.{name}", f"found {table!r}, expected a table")
        if "name" in table:
            raise DefinitionError(f"{where}.{name}", "found key 'name', expected none: the table's own is its name")
        found[name] = read(f"{where}.{name}", {**table, "name": name}, kind)
    return found


LONGEST_NAME = 100
"""Bytes of a name: those of two, and what comes to them, are the name of a file."""
_NAME = re.compile(r"[^\W_][\w.,=:@+-]*|_[\w.,=:@+-]+")


def expect_name(where: str, name: str) -> None:
    """Refuses a name that files cannot have, or that would lead to another folder."""
    if _NAME.fullmatch(name) is None or len(name.encode()) > LONGEST_NAME:
        raise DefinitionError(
            f"{where}.{json.dumps(name[:LONGEST_NAME])}",
            "found a name that no file can have, expected letters, digits and - _ . , = : @ +, first a letter or a "
            f"digit, {LONGEST_NAME} bytes at most",
        )


def member(where: str, folder: Path, file: str) -> Path:
    """A file that a study names: in its own folder, or in that of another study beside it.

    Raises:
        DefinitionError: There is no such file, or it stands elsewhere.
    """
    path = folder / file
    if not disk.is_file(path):
        raise DefinitionError(where, f"found {file!r}, which is no file in {folder}")
    home, found = folder.resolve(), path.resolve()
    beside = any(one.parent == home.parent and disk.is_file(one / "study.toml") for one in found.parents)
    if home not in found.parents and not beside:
        raise DefinitionError(where, f"found {file!r}, which is {found}, expected a file in {folder} or a study beside")
    return path


def _named(found: object, kind: Any, said: str, steps: list[str]) -> list[str]:
    """The steps of a path with the keys of tables, which the library does not tell: each is tried alone."""
    for place, step in enumerate(steps):
        if step == "...":
            table: Any = found
            for one in steps[:place]:
                table = table[int(one) if isinstance(table, (list, tuple)) else one]
            if isinstance(table, (list, tuple)):
                continue
            steps[place] = next(
                (str(key) for key in table if _fails(_only(found, steps[:place], key), kind, said)), step
            )
    return steps


def _only(found: Any, steps: list[str], key: object) -> Any:
    """A copy in which the table behind the steps has only this key."""
    if not steps:
        return {key: found[key]}
    if isinstance(found, (list, tuple)):
        return [_only(one, steps[1:], key) if str(at) == steps[0] else one for at, one in enumerate(found)]
    return {name: _only(one, steps[1:], key) if name == steps[0] else one for name, one in found.items()}


def _fails(found: object, kind: Any, said: str) -> bool:
    try:
        msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        return str(error) == said
    return False


def _explained(where: str, found: Any, kind: Any, said: str, steps: list[str]) -> DefinitionError:
    for step in steps:
        found = found[int(step) if isinstance(found, (list, tuple)) else step] if step != "..." else found
        kind = _kind_at(kind, step)
    path = ".".join(filter(None, [where, *(str(int(step) + 1) if step.isdigit() else step for step in steps)]))
    if match := _MISSING.fullmatch(said):
        keys = _keys(kind, found)
        others = f"; its keys are {', '.join(keys)}" if keys else ""
        return DefinitionError(path, f"found no key {match[1]!r}, expected one{others}")
    if match := _UNKNOWN.fullmatch(said):
        return DefinitionError(path, f"found key {match[1]!r}, {one_of(match[1], _keys(kind, found))}")
    if match := _EXPECTED.fullmatch(said):
        words = " or ".join(_WORDS.get(word, word) for word in match[1].split(" | ") if word != "null")
        return DefinitionError(path, f"found {found!r}, expected {words}{match[2]}")
    if _INVALID.fullmatch(said):
        return DefinitionError(path, f"found {found!r}, {one_of(found, _choices(kind))}")
    key, separator, rest = said.partition(": ") if said.startswith(".") else ("", "", said)
    return DefinitionError(path + key, rest if separator or not key else said)


def _kind_at(kind: Any, step: str) -> Any:
    for one in get_args(kind) if get_origin(kind) is not dict else (kind,):
        if isinstance(one, type) and issubclass(one, msgspec.Struct) and one.__struct_config__.tag is not None:
            return kind
    arguments = get_args(kind)
    if get_origin(kind) in (dict, list, tuple):
        return arguments[1] if get_origin(kind) is dict else arguments[0]
    for one in (kind, *arguments):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            return get_type_hints(one).get(step, Any)
    return Any


def _structs(kind: Any) -> Iterator[Any]:
    for one in (kind, *get_args(kind)):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            yield one


def _keys(kind: Any, found: Mapping[str, Any]) -> list[str]:
    """The keys that the record knows; of several records, the one that the table's `kind` names."""
    for one in _structs(kind):
        if one.__struct_config__.tag in (None, found.get("kind")):
            tag = ["kind"] if one.__struct_config__.tag else []
            return tag + [name for name in one.__struct_encode_fields__ if name != "name"]
    return []


def _choices(kind: Any) -> list[str]:
    tags = [str(one.__struct_config__.tag) for one in _structs(kind)]
    literals = [one for one in (kind, *get_args(kind)) if get_origin(one) is Literal]
    return tags or [str(choice) for one in literals for choice in get_args(one)]


def expect_known(where: str, found: object, known: Collection[str]) -> None:
    """Refuses a name that is none of those known."""
    if found not in known:
        raise DefinitionError(where, f"found {found!r}, {one_of(found, known)}")


@contextmanager
def told_with_line(path: Path, text: str) -> Iterator[None]:
    """A block that reads a file of TOML: its errors name the file, and the line of the part that they are about."""
    try:
        yield
    except TOMLDecodeError as error:
        raise StudyError(f"{path}: {error}") from None
    except DefinitionError as error:
        line = line_of(text, error.where)
        raise StudyError(f"{path}{f':{line}' if line else ''}: {error}") from None


def line_of(text: str, where: str) -> int | None:
    """The line of a TOML text at which the value of a dotted path stands, or the nearest table around it."""
    keys = [key for key in re.split(r"[.\s:]+", where) if key]
    best, depth, header = None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*\[\[?([^\]]+)\]", line):
            header = [part.strip(" \"'") for part in match[1].split(".")]
            own = header
        elif match := re.match(r"\s*[\"']?([^\"'=#]+?)[\"']?\s*=", line):
            own = [*header, *re.split(r"[.\s]+", match[1])]
        else:
            continue
        if len(own) > depth and own == keys[: len(own)]:
            best, depth = number, len(own)
    return best
