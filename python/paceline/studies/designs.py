"""Designs: which experiments a study runs. A design is a sequence of points, each known by its number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta

from paceline.overrides import as_pairs
from paceline.studies.factors import Factor, Point
from paceline.studies.real_time import WORLDS, World, WorldName
from paceline.studies.spec import DefinitionError, Named, Settings, Value, expect_known

if TYPE_CHECKING:
    import numpy as np

LARGEST = 100_000_000
"""More points than this in one design are refused as a mistake."""
LARGEST_DRAWN = 50_000_000
"""Values of a Latin hypercube, points times factors: all of them are in memory."""
LARGEST_LEVELS = 1_000_000
"""Values that a grid takes of a factor."""
BLOCK = 4096
"""Points of a Sobol sequence that are drawn at a time; a power of two."""

Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Count = Annotated[int, Meta(ge=1, le=LARGEST)]


class Kind(Named, frozen=True, kw_only=True, tag_field="kind"):
    """The keys that every kind of design may have."""

    help: ClassVar[str] = ""
    title: str = ""
    scenario: str | None = None
    """The file of the study that its points change, in place of the study's own."""
    seeds: tuple[Seed, ...] | None = None
    """Each point runs with each of them, in place of the study's own."""
    set: Settings = {}
    """The design's further changes of the scenario, for all its points."""
    world: WorldName = "simulator"
    """Where its points run."""
    keep: bool = False
    """Whether the time series of each point's first seed are kept, as a named experiment's are."""

    @property
    def chosen(self) -> tuple[str, ...] | None:
        """The factors that it varies; None: all of the study."""
        factors: tuple[str, ...] | None = getattr(self, "factors", None)
        return factors if factors is not None else tuple(getattr(self, "levels", ())) or None

    def levels_of(self, factor: Factor) -> tuple[Value, ...]:
        """The levels that its points take of a factor; none of a design over ranges."""
        return ()

    def size(self, design: Design) -> int:
        """How many points it has."""
        return int(getattr(self, "count", 0))

    def point(self, design: Design, number: int) -> Point:
        """The point of this number, counted from 0."""
        raise NotImplementedError


class _Levels(Kind, frozen=True, kw_only=True):
    factors: tuple[str, ...] | None = None
    levels: dict[str, tuple[Value, ...]] = {}

    def levels_of(self, factor: Factor) -> tuple[Value, ...]:
        levels = self.levels.get(factor.name, factor.values)
        if not levels:
            raise DefinitionError(f"designs.{self.name}", f"found no levels of factor {factor.name!r}, expected some")
        for value in levels:
            factor.check(f"designs.{self.name}", value)
        return levels


class OneAtATime(_Levels, frozen=True, kw_only=True, tag="one-at-a-time"):
    """Points that change one factor each."""

    help: ClassVar[str] = "each level of each factor, all others at their defaults"

    def size(self, design: Design) -> int:
        return sum(len(levels) for levels in design.levels.values())

    def point(self, design: Design, number: int) -> Point:
        name, place = self.varied(design, number)
        return {name: design.levels[name][place]}

    def varied(self, design: Design, number: int) -> tuple[str, int]:
        """Which factor the point changes, and which of its levels it has, from 0."""
        for name, levels in design.levels.items():
            if number < len(levels):
                return name, number
            number -= len(levels)
        raise IndexError(number)


def _combined(levels: Mapping[str, tuple[Value, ...]], number: int) -> Point:
    point: Point = {}
    for name, values in reversed([*levels.items()]):
        number, place = divmod(number, len(values))
        point[name] = values[place]
    return dict(reversed(point.items()))


class Factorial(_Levels, frozen=True, kw_only=True, tag="factorial"):
    """Every combination of levels."""

    help: ClassVar[str] = "every combination of levels; the last factor changes fastest"

    def size(self, design: Design) -> int:
        return math.prod(len(levels) for levels in design.levels.values())

    def point(self, design: Design, number: int) -> Point:
        return _combined(design.levels, number)


class _OverRanges(Kind, frozen=True, kw_only=True):
    factors: tuple[str, ...] | None = None
    count: Count


class Grid(_OverRanges, frozen=True, kw_only=True, tag="grid"):
    """Every combination of evenly spread values."""

    help: ClassVar[str] = "every combination of `count` values per range"
    count: Annotated[int, Meta(ge=2, le=LARGEST_LEVELS)]

    def levels_of(self, factor: Factor) -> tuple[Value, ...]:
        return tuple(factor.at(place / (self.count - 1)) for place in range(self.count))

    def size(self, design: Design) -> int:
        return int(self.count ** len(design.factors))

    def point(self, design: Design, number: int) -> Point:
        return _combined(design.levels, number)


class LatinHypercube(_OverRanges, frozen=True, kw_only=True, tag="latin-hypercube"):
    """Points that lie in one slice of every range each."""

    help: ClassVar[str] = "`count` points, one in each slice of a range"
    seed: Seed = 1

    def point(self, design: Design, number: int) -> Point:
        return _scaled(design, _latin_hypercube(len(design.factors), self.count, self.seed)[number])


class Sobol(_OverRanges, frozen=True, kw_only=True, tag="sobol"):
    """Points of a Sobol sequence."""

    help: ClassVar[str] = "the first `count` points of a Sobol sequence"
    seed: Seed = 1
    scramble: bool = True

    def point(self, design: Design, number: int) -> Point:
        block, place = divmod(number, BLOCK)
        return _scaled(design, _sobol(len(design.factors), self.scramble, self.seed, block)[place])


class Listed(Kind, frozen=True, kw_only=True, tag="list"):
    """Points that the definition lists."""

    help: ClassVar[str] = "the points as listed"
    points: tuple[dict[str, Value], ...]

    @property
    def chosen(self) -> tuple[str, ...] | None:
        return tuple(dict.fromkeys(name for point in self.points for name in point))

    def size(self, design: Design) -> int:
        return len(self.points)

    def point(self, design: Design, number: int) -> Point:
        return dict(self.points[number])


class Experiments(Named, frozen=True, kw_only=True):
    """An experiment that the definition names: one run, or one for each value of `over`."""

    title: str
    based_on: str | None = None
    """Another experiment whose settings come first."""
    set: Settings = {}
    over: dict[str, tuple[Any, ...]] = {}
    """A path of the scenario, and the values of its runs, whose figures are averaged."""
    seeds: tuple[Seed, ...] | None = None
    scenario: str | None = None
    world: WorldName = "simulator"
    """Where it runs."""
    beside: dict[str, str] = {}
    """Experiments that are shown beside this one and not judged, by heading."""
    figures: tuple[str, ...] = ()
    """The plots of its first run that the report shows."""
    overview: bool = True
    """Whether the overview is drawn and shown."""
    chosen: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.over and (len(self.over) != 1 or not all(self.over.values())):
            raise ValueError(f".over: found {self.over}, expected one path and its values")

    def size(self, design: Design) -> int:
        """How many runs it has."""
        return max(1, *(len(values) for values in self.over.values())) if self.over else 1

    def point(self, design: Design, number: int) -> Point:
        """No factor is varied."""
        return {}


# Draws are kept here and not in the design, so that a design on its way to a worker stays small.


@lru_cache(maxsize=4)
def _latin_hypercube(dimensions: int, count: int, seed: int) -> np.ndarray[Any, Any]:
    """All its points, a row each: one of them cannot be had without the others."""
    from scipy.stats import qmc

    drawn: np.ndarray[Any, Any] = qmc.LatinHypercube(d=dimensions, rng=seed).random(count)
    return drawn


@lru_cache(maxsize=4)
def _sobol(dimensions: int, scramble: bool, seed: int, block: int) -> np.ndarray[Any, Any]:
    """A block of the sequence, a row for each point."""
    from scipy.stats import qmc

    sampler = qmc.Sobol(d=dimensions, scramble=scramble, rng=seed)
    if block:
        sampler.fast_forward(block * BLOCK)
    drawn: np.ndarray[Any, Any] = sampler.random(BLOCK)
    return drawn


def _scaled(design: Design, row: np.ndarray[Any, Any]) -> Point:
    return {factor.name: factor.at(float(part)) for factor, part in zip(design.factors, row, strict=True)}


@dataclass(frozen=True)
class Design:
    """A design of a study, with the factors that it varies."""

    name: str
    spec: Kind | Experiments
    factors: tuple[Factor, ...]
    """The factors that it varies, in its order: the last changes fastest."""
    levels: dict[str, tuple[Value, ...]]
    """The levels of each of them, for designs of levels."""
    seeds: tuple[int | None, ...]
    """Each point runs with each of them; None: with the scenario's."""
    scenario: str
    """The file of the study that its points change."""
    settings: tuple[tuple[str, str], ...]
    """The design's settings of the scenario for all its points, as overrides."""
    substitutes: tuple[tuple[str, str], ...] = field(default=())
    """Replaces what the study's data would have given, where there is none."""
    numbers: tuple[int, ...] | None = None
    """The points that run, counted from 0, where only a part of the design does; None: all."""

    def __len__(self) -> int:
        return self.spec.size(self) if self.numbers is None else len(self.numbers)

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return str(self.spec.__struct_config__.tag or "named")

    @property
    def world(self) -> World:
        """Where its points run."""
        return WORLDS[self.spec.world]

    @property
    def title(self) -> str:
        """Its description, for a reader."""
        return self.spec.title or self.name

    def point(self, number: int) -> Point:
        """The point of this number, counted from 0."""
        return self.spec.point(self, number)

    def varied(self, number: int) -> tuple[str, int] | None:
        """The one factor that the point changes and the place of its level, in a design that changes one at a time."""
        return self.spec.varied(self, number) if isinstance(self.spec, OneAtATime) else None

    def overrides(self, number: int) -> tuple[tuple[str, str], ...]:
        """The design's settings at the point of this number, besides the point's factors."""
        if not isinstance(self.spec, Experiments):
            return self.settings
        return (*self.settings, *as_pairs({path: values[number] for path, values in self.spec.over.items()}))


DesignSpec = OneAtATime | Factorial | Grid | LatinHypercube | Sobol | Listed
KINDS: dict[str, type[Kind]] = {
    str(kind.__struct_config__.tag): kind for kind in (OneAtATime, Factorial, Grid, LatinHypercube, Sobol, Listed)
}


def drawn(spec: Kind, factors: Mapping[str, Factor], seeds: tuple[int, ...], scenario: str) -> Design:
    """The design of a kind over a study's factors."""
    where = f"designs.{spec.name}"
    names = tuple(factors) if spec.chosen is None else spec.chosen
    if not names and not isinstance(spec, Listed):
        raise DefinitionError(f"{where}.factors", "found none, expected factors")
    for name in (*names, *getattr(spec, "levels", ())):
        expect_known(f"{where}.factors", name, factors)
    if unused := set(getattr(spec, "levels", ())) - set(names):
        raise DefinitionError(f"{where}.levels", f"found {', '.join(unused)}, expected factors of the design")
    if len(set(names)) < len(names):
        raise DefinitionError(f"{where}.factors", f"found {', '.join(names)}, expected each factor once")
    if isinstance(spec, Listed):
        for number, point in enumerate(spec.points, 1):
            for name, value in point.items():
                factors[name].check(f"{where}.points.{number}", value)
    chosen = () if isinstance(spec, Listed) else tuple(factors[name] for name in names)
    _expect_fitting(where, spec, len(chosen))
    levels = {factor.name: spec.levels_of(factor) for factor in chosen} if hasattr(spec, "levels_of") else {}
    own = spec.seeds if spec.seeds is not None else seeds
    expect_seeds(where, own)
    whole = {name: values for name, values in levels.items() if values}
    design = Design(spec.name, spec, chosen, whole, own, spec.scenario or scenario, tuple(as_pairs(spec.set)))
    if isinstance(spec, (LatinHypercube, Sobol)):
        for factor in chosen:
            factor.at(0.0)
    if not 1 <= len(design) <= LARGEST:
        raise DefinitionError(where, f"found a design of {len(design)} points, expected from 1 to {LARGEST}")
    return design


def _expect_fitting(where: str, spec: Kind, factors: int) -> None:
    """Refuses a design whose values take too much memory, before they are drawn."""
    if isinstance(spec, Grid) and spec.count**factors > LARGEST:
        said = f"found a grid of {spec.count} values of {factors} factors, expected {LARGEST} points at most"
        raise DefinitionError(where, said)
    if isinstance(spec, LatinHypercube) and spec.count * factors > LARGEST_DRAWN:
        said = f"found {spec.count} points of {factors} factors, expected {LARGEST_DRAWN} values of both at most"
        raise DefinitionError(f"{where}.count", f'{said}; kind = "sobol" draws its points a part at a time')


def expect_seeds(where: str, seeds: tuple[int, ...]) -> None:
    """Refuses a list of seeds that is empty or has one twice."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise DefinitionError(
            f"{where}.seeds" if where else "seeds", f"found {list(seeds)}, expected a list of whole numbers, each once"
        )


def named(specs: Mapping[str, Experiments], seeds: tuple[int, ...] | None, scenario: str) -> dict[str, Design]:
    """The designs of a study's named experiments: one for each, with the settings of those it is based on."""
    designs = {}
    for name, spec in specs.items():
        for figure_of in spec.beside.values():
            expect_known(f"experiments.{name}.beside", figure_of, specs)
        lineage = _lineage(name, specs)
        settings = [pair for one in lineage for pair in as_pairs(specs[one].set)]
        own: tuple[int | None, ...] = spec.seeds or seeds or (None,)
        file = next((specs[one].scenario for one in reversed(lineage) if specs[one].scenario), None)
        designs[name] = Design(name, spec, (), {}, own, file or scenario, tuple(settings))
    return designs


def _lineage(name: str, specs: Mapping[str, Experiments]) -> list[str]:
    """The experiment and those it is based on, the furthest first."""
    lineage = [name]
    while base := specs[lineage[0]].based_on:
        if base not in specs or base in lineage:
            raise DefinitionError(f"experiments.{lineage[0]}.based_on", f"found {base!r}, expected another experiment")
        lineage.insert(0, base)
    return lineage


def without_data_of(name: str, specs: Mapping[str, Experiments]) -> list[str]:
    """Which tables of `without_data` hold for an experiment or a design, the most general first."""
    return ["all", *(_lineage(name, specs) if name in specs else [name])]


@dataclass(frozen=True)
class Experiment:
    """A point of a design with a seed."""

    index: int
    design: Design
    number: int
    """The point's place in its design, from 1."""
    seed: int | None
    point: Point

    @property
    def is_named(self) -> bool:
        """Whether the definition names it."""
        return isinstance(self.design.spec, Experiments)

    @property
    def name(self) -> str:
        """Its design and number; of a named experiment with one run its name."""
        alone = self.is_named and len(self.design) == 1
        return self.design.name if alone else f"{self.design.name}/{self.number}"

    @property
    def plots(self) -> tuple[str, ...] | None:
        """The pictures that are drawn of it; None if its own outputs are not kept."""
        spec = self.design.spec
        if not isinstance(spec, Experiments):
            return () if spec.keep and self.seed == self.design.seeds[0] else None
        return (*(["overview"] if spec.overview else ()), *(spec.figures if self.number == 1 else ()))
