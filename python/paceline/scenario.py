"""The forms of a scenario that a caller may hand in, brought into the one form that the extension reads."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

from paceline import _core, disk, library
from paceline.errors import CORE_SCENARIO_ERROR, LONGEST_FOUND, DataNotFound, ScenarioError, UsageError
from paceline.toml import loads

ScenarioLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_KEY = re.compile(r"""([^."']+)|"((?:[^"\\]|\\.)*)"|'([^']*)'""")
"""A key of a dotted path: bare, in double quotes, or in single ones."""
Overrides: TypeAlias = "Mapping[str, Any] | Sequence[tuple[str, str]]"


@dataclass(frozen=True)
class ScenarioText:
    """A scenario as text, with what is needed to find its files and to name it in messages."""

    text: str
    file: str | None = None
    data: list[str] = field(default_factory=list)
    overrides: list[tuple[str, str]] = field(default_factory=list)
    seed: int | None = None

    @property
    def folders(self) -> list[str]:
        """Where relative trace and frame files are looked for, in this order."""
        own = str(Path(self.file).parent) if self.file else "."
        return [own, *self.data]

    def load(self) -> LoadedScenario:
        """Reads everything that the scenario names, and checks it.

        Raises:
            ScenarioError: Something in it is wrong.
        """
        try:
            core = _core.Scenario(self.text, file=self.file, data=self.data, overrides=self.overrides, seed=self.seed)
        except CORE_SCENARIO_ERROR as error:
            raise ScenarioError(str(error)) from None
        return LoadedScenario(core, self.folders)


@dataclass(frozen=True)
class LoadedScenario:
    """A scenario that is ready to run, and where its files were looked for."""

    core: _core.Scenario
    folders: list[str]


def read(
    scenario: ScenarioLike,
    *,
    overrides: Overrides | None = None,
    seed: int | None = None,
    data: str | os.PathLike[str] | None = None,
) -> ScenarioText:
    """Reads a scenario given as a path, a TOML text or a dictionary."""
    text, file = _text_and_file(scenario)
    if seed is not None and not (isinstance(seed, int) and 0 <= seed < 2**63):
        raise UsageError(f"seed: found {seed!r}, expected a whole number from 0 to {2**63 - 1}")
    pairs = merging(text, overrides) if isinstance(overrides, Mapping) else as_pairs(overrides)
    return ScenarioText(text, file, data_folders(data), pairs, seed)


def _text_and_file(scenario: ScenarioLike) -> tuple[str, str | None]:
    if isinstance(scenario, Mapping):
        return _toml_text(scenario), None
    if isinstance(scenario, str) and _is_toml(scenario):
        return scenario, None
    if not isinstance(scenario, (str, os.PathLike)):
        raise UsageError(f"scenario: found {scenario!r}, expected a path, a TOML text or a dictionary")
    path = found_by_name(scenario)
    try:
        return decoded(path.read_bytes(), str(path)), str(path)
    except FileNotFoundError:
        raise DataNotFound(f"{path}: no such scenario file{_nearest(path)}") from None
    except IsADirectoryError:
        raise ScenarioError(f"{path}: found a folder, expected a scenario file (TOML)") from None
    except OSError as error:
        raise DataNotFound(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"scenario: found {str(path)!r}, expected the path of a file: {error}") from None


def found_by_name(scenario: str | os.PathLike[str]) -> Path:
    """The path of a scenario, given by its path or by its name: under `scenarios` here, or of one that comes along."""
    path = Path(scenario)
    named = None if disk.is_file(path) or disk.is_folder(path) else library.scenario(os.fspath(scenario))
    return named or path


def _nearest(path: Path) -> str:
    near = get_close_matches(path.stem[:LONGEST_FOUND], library.scenarios(), 1, 0.7)
    return f"; did you mean {near[0]!r}? That name is known in any folder" if near else ""


def decoded(content: bytes, name: str) -> str:
    """The text of a scenario that was read from `name`."""
    if _is_utf16(content):
        expected = "text in UTF-8: `iconv -f UTF-16 -t UTF-8` makes it of this"
        raise ScenarioError(f"{name}: found text in UTF-16, expected {expected}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(
            f"{name}: found bytes that are not UTF-8 at offset {error.start}, expected a scenario (TOML)"
        ) from None


def _is_utf16(content: bytes) -> bool:
    """Whether bytes begin with the mark of UTF-16, or every other one of the first is zero."""
    letters = [byte != 0 for byte in content[:4]]
    marked = content[:2] in (b"\xff\xfe", b"\xfe\xff") and len(letters) > 2
    return marked or letters in ([True, False] * 2, [False, True] * 2)


def _is_toml(scenario: str) -> bool:
    return "\n" in scenario or ("=" in scenario and not disk.is_file(Path(scenario)))


def _toml_text(scenario: Mapping[str, Any]) -> str:
    import tomli_w

    try:
        return tomli_w.dumps(scenario)
    except TypeError as error:
        raise ScenarioError(f"the scenario's dictionary holds a value that TOML cannot: {error}") from None


def as_pairs(overrides: Overrides | None) -> list[tuple[str, str]]:
    """Overrides as the extension takes them: a path and a TOML value, or else a string."""
    if overrides is None:
        return []
    if isinstance(overrides, Mapping):
        return [_pair(path, toml_value(value)) for path, value in overrides.items()]
    if isinstance(overrides, str) or not isinstance(overrides, Iterable):
        raise _not_overrides(overrides)
    return [_pair(*one) if isinstance(one, (tuple, list)) else _pair(one) for one in overrides]


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
        name = str(key) if _BARE_KEY.fullmatch(str(key)) else _toml_string(str(key))
        yield from _leaves(f"{path}.{name}", inner, known)


def _at(path: Any, known: Mapping[str, Any]) -> object:
    """The value at a dotted path of a scenario; None where there is none."""
    found: object = known
    for bare, quoted, literal in _KEY.findall(path) if isinstance(path, str) else ():
        key = bare.strip() or (json.loads(f'"{quoted}"') if quoted else literal)
        found = found.get(key) if isinstance(found, Mapping) else None
    return None if found is known else found


def _pair(*found: object) -> tuple[str, str]:
    match found:
        case (str(path), str(value)):
            return path, value
    raise _not_overrides(found[0] if len(found) == 1 else found)


def _not_overrides(found: object) -> UsageError:
    expected = 'a dictionary such as {"links.bottleneck.delay": "20ms"}, or pairs of a path and a TOML value'
    return UsageError(f"overrides: found {found!r}, expected {expected}")


def toml_value(value: object) -> str:
    """A value as it would stand to the right of `=` in TOML, on one line."""
    if value is None:
        raise UsageError("found None as a value, expected one that TOML has: a text, number, flag, list or table")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_toml_string(str(key))} = {toml_value(item)}" for key, item in value.items())
        return "{ " + inner + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return _toml_string(str(value))


def _toml_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def data_folders(data: str | os.PathLike[str] | None = None) -> list[str]:
    """Where trace and frame files are looked for after the scenario's own folder.

    A folder that `PACELINE_DATA` names need not exist: it is said for all scenarios, and most need none. A file that
    is not found there ends the run with a message that names the folder.
    """
    if data is not None:
        if not isinstance(data, (str, os.PathLike)):
            raise UsageError(f"data: found {data!r}, expected the path of a folder")
        folder = Path(data)
        if not disk.is_folder(folder):
            raise DataNotFound(f"--data {folder}: no such folder")
        return [str(folder)]
    named = os.environ.get("PACELINE_DATA", "")
    return [named] if named else []
