"""The forms of a scenario that a caller may hand in, brought into the one form that the extension reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from paceline import _core, disk, library
from paceline.errors import CORE_SCENARIO_ERROR, LONGEST_FOUND, DataNotFound, ScenarioError, UsageError
from paceline.overrides import Overrides, as_pairs, meant, merging
from paceline.toml import decoded

ScenarioLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"


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
            raise ScenarioError(f"{error}{meant(str(error), self.overrides, self.text)}") from None
        return LoadedScenario(core, self.folders)


@dataclass(frozen=True)
class LoadedScenario:
    """A scenario that is ready to run, and where its files were looked for."""

    core: _core.Scenario
    folders: list[str]

    @cached_property
    def parameters(self) -> dict[str, tuple[bool | int | float | str, str | None]]:
        """Every value of the scenario as resolved by its dotted path, in base units, with its unit."""
        return self.core.parameters


def read(
    scenario: ScenarioLike,
    *,
    overrides: Overrides | None = None,
    seed: int | None = None,
    data: str | os.PathLike[str] | None = None,
) -> ScenarioText:
    """Reads a scenario given as a path, a TOML text or a dictionary."""
    text, file = _text_and_file(scenario)
    if seed is not None and not (isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63):
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
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataNotFound(f"{os.fspath(scenario)}: no such scenario file{_nearest(path)}") from None
    except IsADirectoryError:
        raise ScenarioError(f"{path}: found a folder, expected a scenario file (TOML)") from None
    except OSError as error:
        raise DataNotFound(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"scenario: found {str(path)!r}, expected the path of a file: {error}") from None
    return expect_text(decoded(content, str(path)), str(path)), str(path)


def found_by_name(scenario: str | os.PathLike[str]) -> Path:
    """The path of a scenario, given by its path or by its name: under `scenarios` here, or of one that comes along."""
    path = Path(scenario)
    named = None if disk.is_file(path) or disk.is_folder(path) else library.scenario(os.fspath(scenario))
    return named or path


def expect_text(text: str, name: str) -> str:
    """A scenario's text that says something."""
    if not text.strip():
        raise ScenarioError(f"{name}: found nothing in it, expected a scenario (TOML); `paceline new call` writes one")
    return text


def _nearest(path: Path) -> str:
    if path.parts and path.parts[0].endswith(":"):
        return ": found an address, expected a file of this machine: fetch it first"
    if path.parts and path.parts[0].startswith("~"):
        return ": a shell puts your home in the place of ~ only without quotes"
    near = get_close_matches(path.stem[:LONGEST_FOUND], library.scenarios(), 1, 0.7)
    return f"; did you mean {near[0]!r}? That name is known in any folder" if near else ""


def _is_toml(scenario: str) -> bool:
    return "\n" in scenario or ("=" in scenario and not disk.is_file(Path(scenario)))


def _toml_text(scenario: Mapping[str, Any]) -> str:
    import tomli_w

    try:
        return tomli_w.dumps(scenario)
    except TypeError as error:
        raise ScenarioError(f"the scenario's dictionary holds a value that TOML cannot: {error}") from None


def data_folders(data: str | os.PathLike[str] | None = None) -> list[str]:
    """Where trace and frame files are looked for after the scenario's own folder.

    A folder that `PACELINE_DATA` names need not exist: it is said for all scenarios, and most need none. A file that
    is not found there ends the run with a message that names the folder.
    """
    if data is not None:
        if not isinstance(data, (str, os.PathLike)):
            raise UsageError(f"data: found {data!r}, expected the path of a folder")
        folder = Path(data)
        if disk.is_file(folder):
            raise DataNotFound(f"--data {folder}: found a file, expected the folder of recordings")
        if not disk.is_folder(folder):
            raise DataNotFound(f"--data {folder}: no such folder")
        return [str(folder)]
    named = os.environ.get("PACELINE_DATA", "")
    return [named] if named else []
