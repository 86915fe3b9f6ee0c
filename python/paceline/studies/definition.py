"""A study as its folder defines it: `study.toml` and the files it names, checked as a whole before any run."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import filter as matching
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from paceline import disk, library
from paceline.errors import DataNotFound, ScenarioError, StudyError, UsageError, one_of
from paceline.overrides import as_pairs
from paceline.plots import PLOTS
from paceline.plots.study import Across, Against, Curves, Levels, Numbers, Picture, Placed
from paceline.plots.study_cells import Groups, Map
from paceline.plots.study_series import Runs
from paceline.studies import designs
from paceline.studies.cells import Cells, with_contenders
from paceline.studies.designs import Design, DesignSpec, Experiment, Experiments, Grid, Seed
from paceline.studies.external_runs import Recorded, RecordedSpec, from_published
from paceline.studies.factors import Factor, Point
from paceline.studies.judge import Published, Rule, expect_judged, read_published
from paceline.studies.metrics import Metric, MetricSpec
from paceline.studies.nearest import Reading, read_reading
from paceline.studies.rows import Rows
from paceline.studies.search_definition import Tuning, TuningSpec, tuning_of
from paceline.studies.spec import (
    DefinitionError,
    Settings,
    expect_known,
    member,
    read,
    read_all,
    told_with_line,
)
from paceline.studies.tables import Table
from paceline.toml import TOMLDecodeError, decoded, loads

PictureSpec = Levels | Numbers | Against | Placed | Curves | Across | Runs | Groups | Map

MOST_CONDITIONS = 10_000
"""Experiments of a design that stand for conditions of a search: each set runs under each of them."""
_OF_ROWS = (
    "name",
    "scenario",
    "data",
    "seeds",
    "factors",
    "designs",
    "experiments",
    "metrics",
    "without_data",
    "parameters",
)
"""Keys on which the rows depend; the others say how rows are judged and shown, or what is searched."""


class _Definition(TuningSpec, frozen=True, kw_only=True):
    """study.toml as it stands; tables of named things are read one by one."""

    name: str
    title: str
    scenario: str
    paper: str = ""
    published: str | None = None
    data: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] | None = None
    factors: Settings = {}
    designs: Settings = {}
    experiments: Settings = {}
    metrics: Settings
    rules: Settings = {}
    pictures: Settings = {}
    tables: Settings = {}
    recorded: Settings = {}
    nearest: dict[str, dict[str, float]] = {}
    macros: dict[str, str] = {}
    without_data: dict[str, Settings] = {}
    judged_without_data: tuple[str, ...] = ()
    parameters: bool = True
    cells: Cells | None = None


@dataclass(frozen=True)
class Study:
    """A study as its folder defines it."""

    name: str
    title: str
    paper: str
    folder: Path
    text: str
    """The text of study.toml."""
    scenario: str
    """The file of its scenario."""
    scenarios: dict[str, str]
    """The texts of all its scenarios by their files' names."""
    data_files: tuple[str, ...]
    factors: dict[str, Factor]
    designs: dict[str, Design]
    """Designs and named experiments."""
    metrics: dict[str, Metric]
    published: list[Published]
    rules: dict[str, Rule]
    pictures: dict[str, Picture]
    recorded: dict[str, Recorded]
    """Runs that were measured elsewhere."""
    tables: dict[str, Table]
    nearest: dict[str, Reading]
    """Readings of published figures, where the study looks for the set-up that comes nearest to them."""
    macros: dict[str, str]
    """Functions of SQL that its figures call."""
    tuning: Tuning | None
    """Its searches, if it has any."""
    identity: dict[str, Any]
    """All that its rows depend on, as plain data: a study with another identity may give other rows."""
    judged_without_data: frozenset[str] = frozenset()
    """Published figures, by their ids, that do not depend on the recordings."""
    parameters: bool = True
    """Whether rows have the parameters of their scenarios that differ."""
    cells: Cells | None = None
    """How its points are compared cell by cell, if they are."""
    patience_s: float | None = None
    """Seconds of the wall's clock after which a run is given up; None: never."""

    def __len__(self) -> int:
        return self._ends[-1] if self.designs else 0

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(design) * len(design.seeds) for design in self.designs.values()))

    @property
    def named(self) -> dict[str, Design]:
        """The designs that are named experiments."""
        return {name: one for name, one in self.designs.items() if isinstance(one.spec, Experiments)}

    @property
    def drawn(self) -> dict[str, Design]:
        """The other designs."""
        return {name: one for name, one in self.designs.items() if not isinstance(one.spec, Experiments)}

    @property
    def is_real_time(self) -> bool:
        """Whether any of its experiments takes as long as its scenario, and the machine for itself."""
        return any(design.world.real_time for design in self.designs.values())

    def for_workers(self) -> Study:
        """The study without what only its comparison needs: a cluster gets it with every experiment."""
        return replace(
            self, published=[], rules={}, pictures={}, recorded={}, tables={}, nearest={}, macros={}, text="",
            tuning=None, identity={},
        )  # fmt: skip

    def firsts(self) -> list[int]:
        """Where each design begins."""
        return [0, *self._ends][:-1]

    def experiment(self, index: int, drawn: Point | None = None) -> Experiment:
        """The experiment at this place: designs in their order, points in theirs, the seeds of a point together.

        `drawn` is its point, where that is known already.
        """
        place = bisect_right(self._ends, index)
        design = list(self.designs.values())[place]
        point, seed = divmod(index - (self._ends[place - 1] if place else 0), len(design.seeds))
        number = point if design.numbers is None else design.numbers[point]
        own = design.point(number) if drawn is None else drawn
        return Experiment(index, design, number + 1, design.seeds[seed], own)

    def probes(self) -> Iterator[tuple[Experiment, str]]:
        """The first point of each design, and each value of each of its factors with all others at their defaults."""
        for first, design in zip(self.firsts(), self.designs.values(), strict=True):
            base = self.experiment(first)
            yield base, f"experiments.{design.name}" if design.kind == "named" else f"designs.{design.name}"
            for factor in design.factors:
                levels = () if isinstance(design.spec, Grid) else design.levels.get(factor.name, ())
                for value in levels or (factor.at(0.0), factor.at(1.0)):
                    what = f"designs.{design.name}: {factor.name} = {value}{factor.unit}"
                    yield replace(base, point={factor.name: value}), what

    def overrides(self, design: Design, number: int, point: Point) -> list[tuple[str, str]]:
        """A point's changes of the scenario, with the defaults of the factors that it does not vary."""
        defaults = {name: factor.default for name, factor in self.factors.items() if factor.default is not None}
        # The defaults come first, so that a design can set what its factors leave alone.
        first = [pair for name in defaults if name not in point for pair in self.factors[name].override(defaults[name])]
        last = [pair for name, value in point.items() for pair in self.factors[name].override(value)]
        wanted = [*first, *design.overrides(number), *last]
        return [
            (one, value)
            for path, value in wanted
            for one in (self._spread(design.scenario, path) if "*" in path else (path,))
        ]

    def _spread(self, file: str, path: str) -> tuple[str, ...]:
        return _spread(file, self.scenarios[file], path)


@lru_cache(maxsize=256)
def _spread(file: str, scenario: str, path: str) -> tuple[str, ...]:
    """The paths that one with `*` in it stands for in this scenario: one for every link, or flow, that it has."""
    found: list[tuple[str, object]] = [("", loads(scenario))]
    for part in path.split("."):
        found = [
            (f"{begun}.{key}" if begun else key, table.get(key) if isinstance(table, Mapping) else None)
            for begun, table in found
            for key in (matching(table, part) if "*" in part and isinstance(table, Mapping) else (part,))
        ]
    paths = tuple(one for one, _ in found)
    if any("*" in one for one in paths) or not paths:
        raise StudyError(f"{path}: found nothing that `*` stands for in {file}")
    return paths


def load(name: str | os.PathLike[str] | Study, *, also: Sequence[str] = ()) -> Study:
    """The study of that name, or in that folder; a study that was read is itself.

    Args:
        name: Its name, or the path of its folder.
        also: Controllers that are compared as well, as `paceline compare` writes them.

    Raises:
        DataNotFound: There is no such study.
        StudyError: The definition is wrong: the message names file, line, key, what was found and what was expected.
    """
    if isinstance(name, Study):
        return name
    folder = find(name)
    path = folder / "study.toml"
    text = decoded(path.read_bytes(), str(path))
    with told_with_line(path, text):
        table = loads(text)
        return _study(folder, text, with_contenders(table, also) if also else table)


def find(name: str | os.PathLike[str]) -> Path:
    """The folder of a study: a path, or a name under `studies` here or among those that come along."""
    if not isinstance(name, str | os.PathLike):
        raise UsageError(f"study: found {name!r}, expected a name of `paceline list studies`, or the path of a folder")
    own = Path(name).parent if Path(name).name == "study.toml" else Path(name)
    for candidate in (own, *(folder / name for folder in library.folders("studies"))):
        if disk.is_file(candidate / "study.toml"):
            return candidate
    if disk.is_folder(own):
        raise DataNotFound(f"study {os.fspath(name)!r}: found a folder without study.toml, expected one with it")
    known = list(library.studies())
    raise DataNotFound(f"study {os.fspath(name)!r}: no such study, {one_of(Path(name).name, known)}")


def _study(folder: Path, text: str, table: Mapping[str, Any]) -> Study:
    said = read("", table, _Definition)
    factors = read_all("factors", said.factors, Factor)
    metrics: dict[str, Metric] = dict(read_all("metrics", said.metrics, MetricSpec))
    if said.seeds is not None:
        designs.expect_seeds("", said.seeds)
    drawn = _designs(said, factors)
    if not drawn and not said.searches:
        raise DefinitionError("", "found no experiments, designs or searches, expected some")
    scenarios = dict(_scenarios(folder, [said.scenario, *(design.scenario for design in drawn.values())]))
    rules = read_all("rules", said.rules, Rule)
    published = _published(folder, said.published, rules)
    expect_judged("judged_without_data", said.judged_without_data, published, rules)
    recorded = {
        name: from_published(name, spec, published, factors, metrics)
        if spec.published
        else Recorded.read(name, spec, folder, factors, metrics)
        for name, spec in read_all("recorded", said.recorded, RecordedSpec).items()
    }
    for name in recorded:
        if name in drawn:
            raise DefinitionError(f"recorded.{name}", "found a design of the same name, expected another one")
    study = Study(
        name=said.name,
        title=said.title,
        paper=said.paper,
        folder=folder,
        text=text,
        scenario=said.scenario,
        scenarios=scenarios,
        data_files=said.data,
        factors=factors,
        designs=drawn,
        metrics=metrics,
        published=published,
        rules=rules,
        pictures={
            name: spec.checked(drawn, factors, metrics)
            for name, spec in read_all("pictures", said.pictures, PictureSpec).items()
        },
        recorded=recorded,
        tables={name: one.checked(factors, metrics) for name, one in read_all("tables", said.tables, Table).items()},
        nearest={name: read_reading(name, figures, drawn, metrics) for name, figures in said.nearest.items()},
        macros=said.macros,
        parameters=said.parameters,
        cells=None if said.cells is None else said.cells.checked(factors),
        tuning=None,
        identity={key: value for key, value in table.items() if key in _OF_ROWS}
        | {"order of factors": list(factors), "order of designs": list(drawn)}
        | ({} if said.cells is None else {"cells": [said.cells.of, *said.cells.halves]})
        | {f"file {file}": hashlib.sha256(content.encode()).hexdigest()[:16] for file, content in scenarios.items()},
        judged_without_data=frozenset(said.judged_without_data),
    )
    study = replace(study, tuning=tuning_of(said, factors, metrics, _conditions(study, said)))
    _check(study)
    return study


def _conditions(study: Study, said: TuningSpec) -> dict[str, dict[str, Settings]]:
    """Of each design that stands for conditions of searches, what each of its experiments sets in the scenario."""
    wanted = {*said.training, *said.held_out, *said.confirmation} - set(said.conditions)
    found: dict[str, dict[str, Settings]] = {}
    for first, design in zip(study.firsts(), study.designs.values(), strict=True) if study.designs else ():
        if design.name not in wanted or design.name not in study.drawn:
            continue
        if len(design) * len(design.seeds) > MOST_CONDITIONS:
            found_ = f"found {len(design) * len(design.seeds)} experiments among the conditions of searches"
            raise DefinitionError(f"designs.{design.name}", f"{found_}, expected {MOST_CONDITIONS} at most")
        found[design.name] = {}
        for index in range(first, first + len(design) * len(design.seeds)):
            one = study.experiment(index)
            pairs = [*study.overrides(design, one.number - 1, one.point), ("seed", str(one.seed))]
            # As it was read: texts of TOML become values again.
            settings = {path: loads(f"value = {text}")["value"] for path, text in pairs}
            found[design.name][f"{one.name}/{one.seed}"] = settings
    return found


def _designs(said: _Definition, factors: Mapping[str, Factor]) -> dict[str, Design]:
    specs = read_all("experiments", said.experiments, Experiments)
    found = designs.named(specs, said.seeds, said.scenario)
    for name, kind in read_all("designs", said.designs, DesignSpec).items():
        if name in found:
            raise DefinitionError(f"designs.{name}", "found an experiment of the same name, expected another one")
        found[name] = designs.drawn(kind, factors, said.seeds or (1,), said.scenario)
    for name in said.without_data:
        expect_known("without_data", name, ("all", *found))
    return {
        name: replace(
            design,
            substitutes=tuple(
                pair
                for one in designs.without_data_of(name, specs)
                for pair in as_pairs(said.without_data.get(one, {}))
            ),
        )
        for name, design in found.items()
    }


def _published(folder: Path, file: str | None, rules: Mapping[str, Rule]) -> list[Published]:
    if file is None:
        return []
    path = member("published", folder, file)
    try:
        return read_published(path, rules)
    except DefinitionError as error:
        raise StudyError(f"{path}: {error}") from None


def _scenarios(folder: Path, files: list[str]) -> Iterator[tuple[str, str]]:
    for file in dict.fromkeys(files):
        path = member("scenario", folder, file)
        text = decoded(path.read_bytes(), str(path))
        try:
            loads(text)
        except TOMLDecodeError as error:
            raise ScenarioError(f"{path}: {error}") from None
        yield file, text


def _check(study: Study) -> None:
    for name, design in study.named.items():
        for figure in getattr(design.spec, "figures", ()):
            expect_known(f"experiments.{name}.figures", figure, PLOTS)
    for metric in study.metrics.values():
        if metric.scenario is not None:
            expect_known(f"metrics.{metric.name}.scenario", metric.scenario, study.scenarios)
    for factor in study.factors:
        if factor in study.metrics:
            raise DefinitionError(f"metrics.{factor}", "found a factor of the same name, expected another one")
    rows = Rows(study)
    rows.check()
    for row in study.published:
        if row.metric is not None:
            rows.expect(f"{study.folder / 'published.csv'}: {row.id}", row.experiment, row.metric)
    for where, condition in _selections(study):
        rows.expect(where, condition)


def _selections(study: Study) -> Iterator[tuple[str, str]]:
    """Every condition by which tables and pictures choose rows, with where it stands."""
    for name, table in study.tables.items():
        for key, condition in (("of", table.of), ("beside", table.beside)):
            if condition is not None:
                yield f"tables.{name}.{key}", condition
    for name, condition in ({} if study.cells is None else study.cells.bad).items():
        yield f"cells.bad.{name}", condition
    for name, picture in study.pictures.items():
        for where, condition in picture.selections():
            yield f"pictures.{name}.{where}", condition
