"""A check as its file says it: scenarios, seeds, and bands that figures of their runs must keep."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from paceline.comparison.figures import FIGURES
from paceline.comparison.grammar import LARGEST_COUNT, checked_seeds
from paceline.errors import DataNotFound, PacelineError, StudyError, UsageError
from paceline.overrides import as_pairs
from paceline.scenario import ScenarioText, data_folders
from paceline.scenario import read as read_scenario
from paceline.studies.metrics import Metric, MetricSpec
from paceline.studies.spec import DefinitionError, Named, Settings, Spec, read, read_all, told_with_line
from paceline.toml import decoded, loads

SEEDS = 5
"""How many seeds there are unless the file says."""
WITHIN = "5%"
"""How far a run may be from an earlier one where nobody says."""

_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


@dataclass(frozen=True)
class Distance:
    """How far a figure may be from an earlier one."""

    size: float
    """In the figure's unit, or as a part of the earlier figure."""
    is_part: bool
    floor: float = 0.0
    """A distance, in the figure's unit, that is always allowed."""

    def around(self, earlier: float) -> tuple[float, float]:
        """The lowest and the highest figure that is allowed."""
        size = max(self.size * abs(earlier) if self.is_part else self.size, self.floor)
        return earlier - size, earlier + size

    def __str__(self) -> str:
        return f"{100 * self.size:g} %" if self.is_part else f"{self.size:g}"


@dataclass(frozen=True)
class Band:
    """Where a figure must lie."""

    figure: str
    """Its path in `summary.json`, or `metrics.NAME`; `*` stands for every flow, or every link."""
    min: float | None = None
    max: float | None = None
    within: Distance | None = None
    statistic: str = "each"
    """`each` seed must keep the band, or the `mean`, the `median`, the smallest or the largest over the seeds."""
    optional: bool = False
    """Whether a run may be without the figure."""

    def without_distance(self) -> Band:
        """The band where there is no earlier figure."""
        return replace(self, within=None)


@dataclass(frozen=True)
class Case:
    """A scenario with its bands."""

    name: str
    scenario: ScenarioText
    seeds: tuple[int, ...]
    bands: tuple[Band, ...]
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """Figures that are computed from a run, as a study has them; in the summary they stand under `metrics`."""


class Scorecard(Spec, frozen=True, kw_only=True):
    """The scorecard that a check runs in place of scenarios."""

    controllers: tuple[str, ...]
    """Controllers as `paceline scorecard` takes them."""
    only: tuple[str, ...] = ()
    """The cases by their names, their files, or either with `*`; all without it."""
    cases: tuple[str, ...] = ()
    """Folders of further cases, beside the check."""


@dataclass(frozen=True)
class Check:
    """Everything that a check runs and judges."""

    name: str
    cases: tuple[Case, ...]
    against: Path | None = None
    """The folder of earlier figures that the file names."""
    text: str = ""
    """The file."""
    scorecard: Scorecard | None = None
    bands: tuple[Band, ...] = ()
    """The bands of a scorecard."""
    folder: Path = Path()
    """The folder of the file."""

    @property
    def needs_earlier(self) -> bool:
        """Whether a band is around an earlier figure."""
        return any(band.within is not None for case in self.cases for band in case.bands)


class _Band(Spec, frozen=True, kw_only=True):
    min: float | None = None
    max: float | None = None
    within: float | str | None = None
    floor: float = 0.0
    statistic: Literal["each", "mean", "median", "min", "max"] = "each"


class _Scenario(Named, frozen=True, kw_only=True):
    file: str
    set: Settings = {}
    bands: Settings = {}


class _Definition(Spec, frozen=True, kw_only=True):
    scenario: str | None = None
    scenarios: Settings = {}
    scorecard: Scorecard | None = None
    seeds: int | list[int] | None = None
    set: Settings = {}
    bands: Settings = {}
    metrics: Settings = {}
    against: str | None = None


def load(path: Path, data: Path | None = None) -> Check:
    """The check of a file; files that it names are looked for beside it.

    Raises:
        DataNotFound: The file, or a scenario that it names, is not there.
        StudyError: It is wrong: the message names file, line and key.
    """
    try:
        text = decoded(path.read_bytes(), str(path))
    except IsADirectoryError:
        raise StudyError(
            f"{path}: found a folder, expected the file of a check (TOML); --against {path} repeats a run"
        ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, PacelineError):
            raise
        raise DataNotFound(f"{path}: no such check: {getattr(error, 'strerror', None) or error}") from None
    with told_with_line(path, text):
        return _check(path, loads(text), data, text)


def _check(path: Path, table: Mapping[str, Any], data: Path | None, text: str) -> Check:
    said = read("", table, _Definition)
    named = read_all("scenarios", said.scenarios, _Scenario)
    if said.scenario is not None and named:
        raise DefinitionError("scenario", "found it beside [scenarios.NAME], expected one of them")
    if said.scenario is not None:
        stem = Path(said.scenario).stem
        named = {stem: _Scenario(name=stem, file=said.scenario)}
    against = None if said.against is None else path.parent / said.against
    if said.scorecard is not None:
        return Check(path.stem, (), against, text, said.scorecard, _of_scorecard(said, bool(named)), path.parent)
    if not named:
        expected = 'scenario = "call.toml", a table [scenarios.NAME], or [scorecard]'
        raise DefinitionError("", f"found no scenario, expected {expected}")
    of_all = dict(_bands("bands", said.bands))
    metrics = read_all("metrics", said.metrics, MetricSpec)
    seeds = _seeds(SEEDS if said.seeds is None else said.seeds)
    cases = []
    for name, one in named.items():
        key = "scenario" if said.scenario is not None else f"scenarios.{name}.file"
        bands = {**of_all, **dict(_bands(f"scenarios.{name}.bands", one.bands))}
        if not bands:
            raise DefinitionError(f"scenarios.{name}", "found no band, expected some in [bands] or its own `bands`")
        scenario = _scenario(key, path.parent / one.file, {**said.set, **one.set}, data)
        cases.append(Case(name, scenario, seeds, tuple(bands.values()), metrics))
    return Check(path.stem, tuple(cases), against, text)


def _of_scorecard(said: _Definition, has_scenarios: bool) -> tuple[Band, ...]:
    """The bands of a check of a scorecard, whose cases say all else."""
    for key, found in (
        ("scenarios", has_scenarios),
        ("seeds", said.seeds is not None),
        ("set", said.set),
        ("metrics", said.metrics),
    ):
        if found:
            raise DefinitionError(key, "found it beside [scorecard], whose cases say it: expected one of them")
    bands = dict(_bands("bands", said.bands))
    for name, band in bands.items():
        if band.statistic != "each":
            raise DefinitionError(
                f"bands.{name}.statistic", f"found {band.statistic!r}, expected none: a case has means"
            )
    return tuple(bands.values())


def _scenario(key: str, file: Path, changes: Settings, data: Path | None) -> ScenarioText:
    try:
        return read_scenario(file, overrides=as_pairs(changes), data=data)
    except DataNotFound as error:
        if data is not None and str(error).startswith("--data"):
            raise
        raise DefinitionError(key, str(error)) from None


def _seeds(given: int | list[int]) -> tuple[int, ...]:
    try:
        if isinstance(given, list):
            return checked_seeds(given)
    except UsageError as error:
        raise DefinitionError("seeds", str(error).removeprefix("seeds: ")) from None
    if not 1 <= given <= LARGEST_COUNT:
        raise DefinitionError("seeds", f"found {given}, expected a count from 1 to {LARGEST_COUNT:,}, or a list")
    return tuple(range(1, given + 1))


def _bands(where: str, tables: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Band]]:
    """The bands by their figures; a dotted key may stand in quotes or not."""
    for key, table in tables.items():
        figure = f"{before}{key}"
        if not isinstance(table, Mapping):
            raise DefinitionError(f"{where}.{figure}", f"found {table!r}, expected a table such as {{ max = 100 }}")
        if any(isinstance(value, Mapping) for value in table.values()):
            yield from _bands(where, table, f"{figure}.")
        else:
            yield figure, _band(f"{where}.{figure}", figure, table)


def _band(where: str, figure: str, table: Mapping[str, Any]) -> Band:
    said = read(where, table, _Band)
    if said.min is None and said.max is None and said.within is None:
        raise DefinitionError(where, "found no limit, expected min, max or within")
    for name, limit in (("min", said.min), ("max", said.max), ("floor", said.floor)):
        if limit is not None and not (isfinite(limit) and (name != "floor" or limit >= 0)):
            raise DefinitionError(f"{where}.{name}", f"found {limit}, expected a number")
    if said.min is not None and said.max is not None and said.min > said.max:
        raise DefinitionError(where, f"found min {said.min:g} above max {said.max:g}, expected at most that")
    within = None if said.within is None else distance(f"{where}.within", said.within, said.floor)
    return Band(figure, said.min, said.max, within, said.statistic)


def distance(where: str, said: float | str, floor: float = 0.0) -> Distance:
    """A distance from an earlier figure: in its unit, or as a part of it, such as `5%`."""
    part = _PART.fullmatch(said) if isinstance(said, str) else None
    size = float(part[1]) / 100 if part else said
    if not isinstance(size, (int, float)) or not 0 <= size < float("inf"):
        raise DefinitionError(where, f"found {said!r}, expected a part such as '5%', or a number in the figure's unit")
    return Distance(float(size), part is not None, floor)


def of_run(folder: Path, within: str | None, data: Path | None = None) -> Check:
    """The run that stands in a folder, repeated: its main figures must be near those that it had.

    Raises:
        DataNotFound: There is no run.
        UsageError: The distance is no number.
    """
    scenario = folder / "scenario.toml"
    text = ScenarioText(decoded(scenario.read_bytes(), str(scenario)), str(scenario), data_folders(data))
    table = loads(text.text)
    if not isinstance(within, (str, type(None))):
        raise UsageError(f"--within: found {within!r}, expected a part such as 5%")
    try:
        part = distance("--within", within if within is None or "%" in within else _number(within)) if within else None
    except DefinitionError as error:
        raise UsageError(str(error)) from None
    part = part or distance("--within", WITHIN)
    bands = tuple(
        Band(f"flows.*.{one.path}", within=Distance(part.size, part.is_part, one.floor / one.scale), optional=True)
        for one in FIGURES.values()
        if not one.start_up and one.path != "utilisation"
    )
    seed = table.get("seed", 1)
    case = Case(str(table.get("name") or folder.name), text, (int(seed),), bands)
    return Check(folder.name, (case,), folder)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
