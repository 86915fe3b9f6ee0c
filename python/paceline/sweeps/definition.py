"""A sweep as its folder defines it: scenario, factors, designs and metrics. Checked whole before any run."""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from paceline.errors import StudyError
from paceline.scenario import as_pairs, decoded
from paceline.studies.checks import expect_keys
from paceline.studies.definition import Published, check_published, find, published_rows
from paceline.studies.judge import Rule
from paceline.studies.metrics import Metric
from paceline.sweeps import designs
from paceline.sweeps.curves import Curves
from paceline.sweeps.designs import Design, Point
from paceline.sweeps.factors import Factor
from paceline.sweeps.figures import Expression, Selection
from paceline.sweeps.nearest import Reading
from paceline.sweeps.pictures import Picture
from paceline.sweeps.recorded import Recorded
from paceline.sweeps.tables import Table
from paceline.toml import TOMLDecodeError, loads

KEYS = (
    "name", "title", "paper", "scenario", "published", "data", "seeds", "factors", "designs", "metrics", "rules",
    "pictures", "without_data", "nearest", "recorded", "tables",
)  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """One run: a point of a design with a seed."""

    index: int
    """Its place in the sweep, from 0."""
    design: Design
    number: int
    """The point's place in its design, from 1."""
    seed: int
    point: Point

    @property
    def name(self) -> str:
        """Its design and number."""
        return f"{self.design.name}/{self.number}"


@dataclass(frozen=True)
class Sweep:
    """A study whose experiments are drawn by designs."""

    name: str
    title: str
    paper: str
    folder: Path
    scenarios: dict[str, str]
    """The texts of its scenarios by their files' names."""
    data_files: tuple[str, ...]
    substitutes: tuple[tuple[str, str], ...]
    """Replaces what the data would have given, where there is none."""
    factors: dict[str, Factor]
    designs: dict[str, Design]
    metrics: dict[str, Metric]
    published: list[Published]
    rules: dict[str, Rule]
    pictures: dict[str, Picture | Curves]
    recorded: dict[str, Recorded]
    """Runs that were measured elsewhere."""
    tables: dict[str, Table]
    nearest: dict[str, Reading]
    """Readings of published figures, where the sweep looks for the set-up that comes nearest to them."""
    fingerprint: str
    """Changes when an experiment could come out otherwise."""

    def __len__(self) -> int:
        return self._ends[-1]

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(design) * len(design.seeds) for design in self.designs.values()))

    def for_workers(self) -> Sweep:
        """The sweep without what only its comparison needs: a cluster gets it with every experiment."""
        return replace(self, published=[], rules={}, pictures={}, recorded={}, tables={}, nearest={})

    @property
    def known_designs(self) -> dict[str, Design]:
        """What rows can be selected by: the designs, and what was measured elsewhere."""
        return self.designs | {name: one.design for name, one in self.recorded.items()}

    def firsts(self) -> list[int]:
        """Where each design begins."""
        return [0, *self._ends[:-1]]

    def probes(self) -> Iterator[tuple[Experiment, str]]:
        """The first point of each design, and each value of each of its factors with all others at their defaults."""
        for first, design in zip(self.firsts(), self.designs.values(), strict=True):
            base = self.experiment(first)
            yield base, f"designs.{design.name}"
            for factor in design.factors:
                for value in design.levels.get(factor.name) or (factor.at(0.0), factor.at(1.0)):
                    what = f"designs.{design.name}: {factor.name} = {value}{factor.unit}"
                    yield replace(base, point={factor.name: value}), what

    def experiment(self, index: int) -> Experiment:
        """The experiment at this place: designs in their order, points in theirs, the seeds of a point together."""
        design, point, seed = self._place(index)
        return Experiment(index, design, point + 1, design.seeds[seed], design.point(point))

    def name_of(self, index: int) -> str:
        """The name of the experiment at this place, without making its point."""
        design, point, _ = self._place(index)
        return f"{design.name}/{point + 1}"

    def _place(self, index: int) -> tuple[Design, int, int]:
        """The design, and the numbers of the point and the seed, from 0."""
        place = bisect_right(self._ends, index)
        design = list(self.designs.values())[place]
        point, seed = divmod(index - (self._ends[place - 1] if place else 0), len(design.seeds))
        return design, point, seed

    def overrides(self, experiment: Experiment) -> list[tuple[str, str]]:
        """What the experiment changes in the sweep's scenario, with the defaults of the factors it does not vary."""
        defaults = {name: factor.default for name, factor in self.factors.items() if factor.default is not None}
        values = defaults | experiment.point
        # The defaults come first, so that a design can set what its factors leave alone.
        first = [pair for name in defaults if name not in experiment.point for pair in self._pairs(name, values[name])]
        last = [pair for name in experiment.point for pair in self._pairs(name, values[name])]
        wanted = [*first, *experiment.design.overrides, *last]
        return [pair for path, value in wanted for pair in self._named(experiment.design.scenario, path, value)]

    def _named(self, scenario: str, path: str, value: str) -> list[tuple[str, str]]:
        """The path as it is; with `*` for every link, or flow, or stream, one for each that the scenario has."""
        return (
            [(one, value) for one in _spread(scenario, self.scenarios[scenario], path)]
            if "*" in path
            else [(path, value)]
        )

    def _pairs(self, name: str, value: Any) -> list[tuple[str, str]]:
        return self.factors[name].override(value)


@lru_cache(maxsize=256)
def _spread(file: str, scenario: str, path: str) -> tuple[str, ...]:
    """The paths that one with `*` in it stands for in this scenario."""
    found: list[tuple[str, object]] = [("", loads(scenario))]
    for part in path.split("."):
        found = [
            (f"{begun}.{key}" if begun else key, table.get(key) if isinstance(table, Mapping) else None)
            for begun, table in found
            for key in (table if part == "*" and isinstance(table, Mapping) else (part,))
        ]
    paths = tuple(one for one, _ in found)
    if any("*" in one for one in paths) or not paths:
        raise StudyError(f"{path}: found nothing that `*` stands for in {file}")
    return paths


def is_sweep(folder: Path) -> bool:
    """Whether the study in this folder is a sweep: it has designs."""
    try:
        return "designs" in loads((folder / "study.toml").read_text(encoding="utf-8"))
    except (OSError, TOMLDecodeError):
        return False


def load(name: str | os.PathLike[str]) -> Sweep:
    """The sweep of that name, or in that folder."""
    folder = find(name)
    path = folder / "study.toml"
    content = path.read_bytes()
    try:
        text = loads(decoded(content, str(path)))
    except TOMLDecodeError as error:
        raise StudyError(f"{path}: {error}") from None
    try:
        return _sweep(folder, text)
    except KeyError as error:
        raise StudyError(f"{path}: found no key {error}, expected one") from None
    except StudyError as error:
        raise StudyError(f"{path}: {error}") from None


def _sweep(folder: Path, text: Mapping[str, Any]) -> Sweep:
    expect_keys("", text, KEYS)
    factors = {name: Factor.read(name, spec) for name, spec in text["factors"].items()}
    seeds = tuple(designs.read_seeds("", text.get("seeds", [1])))
    drawn = {
        name: designs.read(
            name,
            spec,
            factors,
            overrides=as_pairs(spec.get("set", {}) if isinstance(spec, Mapping) else {}),
            seeds=seeds,
            scenario=text["scenario"],
        )
        for name, spec in text["designs"].items()
    }
    if not factors or not drawn:
        raise StudyError("found no factors or no designs, expected at least one of each")
    scenarios = dict(_scenarios(folder, text["scenario"], drawn))
    metrics = {name: Metric(name, spec) for name, spec in text["metrics"].items()}
    rules = {name: Rule.read(name, spec) for name, spec in text.get("rules", {}).items()}
    published = list(published_rows(folder / text["published"])) if "published" in text else []
    check_published(folder / text.get("published", ""), published, rules)
    recorded = {
        name: Recorded.read(name, spec, folder, factors, metrics) for name, spec in text.get("recorded", {}).items()
    }
    for name in recorded:
        if name in drawn:
            raise StudyError(f"recorded.{name}: found a design of the same name, expected another one")
    known = drawn | {name: one.design for name, one in recorded.items()}
    for row in published:
        _check_expression(row, factors, known, metrics)
    pictures = text.get("pictures", {}).items()
    return Sweep(
        name=text["name"],
        title=text["title"],
        paper=text.get("paper", ""),
        folder=folder,
        scenarios=scenarios,
        data_files=tuple(text.get("data", ())),
        substitutes=tuple(as_pairs(text.get("without_data", {}))),
        factors=factors,
        designs=drawn,
        metrics=metrics,
        published=published,
        rules=rules,
        nearest={name: Reading.read(name, spec, drawn, metrics) for name, spec in text.get("nearest", {}).items()},
        recorded=recorded,
        tables={name: Table.read(name, spec, known, factors, metrics) for name, spec in text.get("tables", {}).items()},
        pictures={name: Picture.read(name, spec, known, factors, metrics) for name, spec in pictures},
        fingerprint=_fingerprint(text, scenarios),
    )


def _check_expression(
    row: Published, factors: Mapping[str, Factor], drawn: Mapping[str, Design], metrics: Mapping[str, Metric]
) -> None:
    try:
        Selection.read(row.experiment, drawn, factors)
        if row.metric is not None:
            Expression.read(row.metric, drawn, factors, metrics)
    except StudyError as error:
        raise StudyError(f"published.csv: {row.id}: {error}") from None


def _scenarios(folder: Path, usual: str, drawn: Mapping[str, Design]) -> Iterator[tuple[str, str]]:
    """The scenario of the study and those of its designs."""
    for file in dict.fromkeys([usual, *(design.scenario for design in drawn.values())]):
        path = folder / file
        if not path.is_file():
            raise StudyError(f"scenario: found {file!r}, which is no file in {folder}")
        text = decoded(path.read_bytes(), str(path))
        try:
            loads(text)
        except TOMLDecodeError as error:
            raise StudyError(f"{path}: {error}") from None
        yield file, text


_SHOWN = ("title", "paper", "published", "rules", "pictures", "nearest", "recorded", "tables")


def _fingerprint(text: Mapping[str, Any], scenarios: Mapping[str, str]) -> str:
    """Of what makes the rows: how they are judged and shown may change without running them again."""
    rows = {key: text[key] for key in text if key not in _SHOWN}
    texts = "\0".join(scenarios.values())
    return hashlib.sha256((json.dumps(rows, sort_keys=True) + "\0" + texts).encode()).hexdigest()
