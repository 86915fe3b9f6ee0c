"""Figures of earlier runs, which another build or another version of a controller is held against."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from paceline import disk, guests
from paceline.checks.definition import Case, Check
from paceline.comparison.conditions import named_files
from paceline.errors import DataNotFound, StudyError
from paceline.frames import find
from paceline.outputs import OutputFolder
from paceline.toml import loads

FILE = "check.json"
"""Figures that `paceline check --record` wrote."""
_RUN = ("summary.json", "scenario.toml")
_OTHERS = {
    "comparison.json": "a comparison: paceline compare --with says what changed since",
    "results.parquet": "a study: paceline study --strict holds it against its rules",
}

Summaries = dict[tuple[str, int], Mapping[str, Any]]
"""By scenario and seed, the summary of a run."""


class _Recorded(msgspec.Struct):
    digest: str
    runs: dict[str, dict[str, Any]]


class _Document(msgspec.Struct):
    """The form of `check.json`."""

    version: str
    scenarios: dict[str, _Recorded]


@dataclass(frozen=True)
class Earlier:
    """Figures of earlier runs."""

    folder: Path
    version: str | None
    """The build that made them; None if the folder does not say."""
    summaries: Summaries


def is_run(folder: Path) -> bool:
    """Whether a folder has a run that `paceline run --out` wrote."""
    return all(disk.is_file(folder / name) for name in _RUN)


def digest(case: Case) -> str:
    """A digest of a scenario as it was written, with its changes and the content of files that it names."""
    text = case.scenario
    core = text.load().core
    found = hashlib.sha256(
        json.dumps([loads(text.text), text.overrides, case.metrics], sort_keys=True, default=str).encode()
    )
    for holder, key in named_files(loads(core.resolved_toml)):
        found.update(find(holder[key], text.folders).read_bytes())
    return found.hexdigest()[:16]


def of_run(folder: Path, case: Case) -> Earlier:
    """The figures of a run in its folder."""
    return Earlier(folder, None, {(case.name, case.seeds[0]): _json(folder / "summary.json")})


def expect_run(folder: Path) -> None:
    """Refuses a folder without a run that can be repeated.

    Raises:
        DataNotFound: There is none, or other results.
    """
    if disk.is_file(folder / FILE):
        raise DataNotFound(f"--against {folder}: found the record of a check, expected the check's FILE as well")
    if not is_run(folder):
        raise DataNotFound(f"--against {folder}: {_nothing(folder, 'paceline run --out')}")


def _nothing(folder: Path, command: str) -> str:
    expected = f"expected a folder that {command} wrote"
    for name, said in _OTHERS.items():
        if disk.is_file(folder / name):
            return f"found the results of {said}; {expected}"
    return f"found no earlier result there, {expected}" if folder.is_dir() else f"no such folder, {expected}"


def read(folder: Path, check: Check) -> Earlier:
    """The recorded figures of each scenario and seed of a check.

    Raises:
        DataNotFound: There are none, or not all.
        StudyError: They are damaged, or of other scenarios.
    """
    path = folder / FILE
    if not disk.is_file(path):
        command = "paceline check FILE --record"
        if is_run(folder):
            raise DataNotFound(
                f"--against {folder}: found a single run, which is repeated without FILE; with one, expected a folder "
                f"that {command} wrote"
            )
        raise DataNotFound(f"--against {folder}: {_nothing(folder, command)}")
    try:
        said = msgspec.json.decode(disk.read(path), type=_Document)
    except (OSError, msgspec.MsgspecError, RecursionError):
        raise StudyError(f"{path}: found a damaged file, expected one that paceline check --record wrote") from None
    summaries: Summaries = {}
    for case in (one for one in check.cases if any(band.within for band in one.bands)):
        recorded = said.scenarios.get(case.name)
        if recorded is None:
            known = ", ".join(said.scenarios) or "none"
            raise DataNotFound(f"{path}: found no scenario {case.name!r}, expected it recorded; found {known}")
        if recorded.digest != digest(case):
            raise StudyError(
                f"{path}: scenario {case.name!r} is another one than was recorded there: it, its changes, its files or "
                "its metrics differ; expected the same, or a new --record"
            )
        for seed in case.seeds:
            if str(seed) not in recorded.runs:
                seeds = ", ".join(recorded.runs) or "none"
                raise DataNotFound(
                    f"{path}: found no run of {case.name!r} with seed {seed}, expected it recorded; found seeds {seeds}"
                )
            summaries[case.name, seed] = recorded.runs[str(seed)]
    return Earlier(folder, said.version, summaries)


def record(folder: OutputFolder, check: Check, summaries: Summaries) -> Path:
    """Writes the figures of a check's runs for a later one."""
    document = {
        "version": guests.version(),
        "scenarios": {
            case.name: {
                "digest": digest(case),
                "runs": {
                    str(seed): summaries[case.name, seed] for seed in case.seeds if (case.name, seed) in summaries
                },
            }
            for case in check.cases
        },
    }
    with folder:
        return folder.stage(FILE, json.dumps(document, indent=1) + "\n")


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(disk.read(path))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise StudyError(f"{path}: found a damaged file, expected one that paceline run wrote")
    return found
