"""Designs: which combinations of levels a sweep runs. A design is a sequence of points, each known by its number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from paceline.errors import StudyError
from paceline.studies.checks import expect_keys, expect_known, expect_table
from paceline.sweeps.factors import Factor, Value

if TYPE_CHECKING:
    import numpy as np

Point: TypeAlias = "dict[str, Value]"
"""The value of each factor that the design sets; the others keep their defaults."""

LARGEST = 100_000_000
"""More experiments than this in one design are taken for a slip."""
BLOCK = 4096
"""Points of a Sobol sequence that are drawn at a time; a power of two."""
KEYS = ("kind", "title", "factors", "levels", "set", "points", "count", "seed", "scramble", "scenario", "seeds")


@dataclass(frozen=True)
class Design:
    """Points drawn from factors by a rule."""

    name: str
    kind: str
    title: str
    factors: tuple[Factor, ...]
    """Those that it varies, in its order: the last changes fastest."""
    levels: dict[str, tuple[Value, ...]]
    """The levels of each of them, for designs of levels."""
    overrides: tuple[tuple[str, str], ...]
    """What the design sets besides, for all its points."""
    seeds: tuple[int, ...]
    """Each point runs with each of them."""
    scenario: str
    """The file of the study that its points change."""
    options: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return KINDS[self.kind].count(self)

    def point(self, number: int) -> Point:
        """The point of this number, counted from 0."""
        return KINDS[self.kind].point(self, number)

    def varied(self, number: int) -> str | None:
        """The one factor that the point changes, in a design that changes one at a time."""
        return self.factors[_one_at_a_time_place(self, number)[0]].name if self.kind == "one-at-a-time" else None

    def drawn(self, number: int) -> np.ndarray[Any, Any]:
        """The point of this number of a sampled design, in the unit cube."""
        scramble, seed = bool(self.options.get("scramble", True)), int(self.options.get("seed", 1))
        if self.kind == "latin-hypercube":
            drawn, place = _latin_hypercube(len(self.factors), len(self), seed), number
        else:
            block, place = divmod(number, BLOCK)
            drawn = _sobol(len(self.factors), scramble, seed, block)
        row: np.ndarray[Any, Any] = drawn[place]
        return row


# What is drawn is kept here and not in the design, so that a design on its way to a worker stays small.


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


@dataclass(frozen=True)
class Kind:
    """How a kind of design counts and makes its points."""

    count: Callable[[Design], int]
    point: Callable[[Design, int], Point]
    not_with: tuple[str, ...]
    """Keys of a definition that mean nothing here."""
    help: str


def _one_at_a_time_place(design: Design, number: int) -> tuple[int, int]:
    """Which factor, and which of its levels."""
    for place, factor in enumerate(design.factors):
        if number < len(design.levels[factor.name]):
            return place, number
        number -= len(design.levels[factor.name])
    raise IndexError(number)


def _one_at_a_time(design: Design, number: int) -> Point:
    place, level = _one_at_a_time_place(design, number)
    factor = design.factors[place]
    return {factor.name: design.levels[factor.name][level]}


def _factorial(design: Design, number: int) -> Point:
    point: Point = {}
    for factor in reversed(design.factors):
        levels = design.levels[factor.name]
        number, level = divmod(number, len(levels))
        point[factor.name] = levels[level]
    return {factor.name: point[factor.name] for factor in design.factors}


def _sampled(design: Design, number: int) -> Point:
    row = design.drawn(number)
    return {factor.name: factor.at(float(part)) for factor, part in zip(design.factors, row, strict=True)}


def _listed(design: Design, number: int) -> Point:
    return dict(design.options["points"][number])


def _count(design: Design) -> int:
    return int(design.options["count"])


def _product(design: Design) -> int:
    return math.prod(len(design.levels[factor.name]) for factor in design.factors)


def _sum(design: Design) -> int:
    return sum(len(design.levels[factor.name]) for factor in design.factors)


_LEVELS = ("points", "count", "seed", "scramble")
_SAMPLED = ("points", "levels")
KINDS: dict[str, Kind] = {
    "one-at-a-time": Kind(_sum, _one_at_a_time, _LEVELS, "each level of each factor, all others at their defaults"),
    "factorial": Kind(_product, _factorial, _LEVELS, "every combination of levels; the last factor changes fastest"),
    "grid": Kind(
        _product, _factorial, ("points", "levels", "seed", "scramble"), "every combination of `count` values per range"
    ),
    "latin-hypercube": Kind(_count, _sampled, (*_SAMPLED, "scramble"), "`count` points, one in each slice of a range"),
    "sobol": Kind(_count, _sampled, _SAMPLED, "the first `count` points of a Sobol sequence"),
    "list": Kind(
        lambda design: len(design.options["points"]),
        _listed,
        ("factors", "levels", "count", "seed", "scramble"),
        "the points as listed",
    ),
}


def read(
    name: str,
    spec: object,
    factors: Mapping[str, Factor],
    *,
    overrides: list[tuple[str, str]],
    seeds: tuple[int, ...],
    scenario: str,
) -> Design:
    """The design as a study's definition says it. `overrides` is its `set` as pairs.

    Seeds and scenario are the study's, for a design that has none of its own.
    """
    where = f"designs.{name}"
    spec = expect_table(where, spec, "its `kind`")
    expect_keys(where, spec, KEYS)
    expect_known(f"{where}.kind", spec.get("kind"), KINDS)
    kind = spec["kind"]
    for key in KINDS[kind].not_with:
        if key in spec:
            raise StudyError(f"{where}.{key}: found with kind {kind!r}, which has none")
    chosen = _chosen(where, kind, spec, factors)
    design = Design(
        name=name,
        kind=kind,
        title=str(spec.get("title", name)),
        factors=chosen,
        levels=_levels(where, kind, spec, chosen),
        overrides=tuple(overrides),
        seeds=tuple(read_seeds(where, spec["seeds"])) if "seeds" in spec else seeds,
        scenario=str(spec.get("scenario", scenario)),
        options={key: spec[key] for key in ("points", "count", "seed", "scramble") if key in spec},
    )
    if kind == "list":
        _check_points(where, spec.get("points"), factors)
    if kind in ("latin-hypercube", "sobol", "grid"):
        _check_ranges(where, spec.get("count"), chosen)
    if not 1 <= len(design) <= LARGEST:
        raise StudyError(f"{where}: found a design of {len(design)} points, expected from 1 to {LARGEST}")
    return design


def read_seeds(where: str, found: object) -> Iterator[int]:
    """The seeds that a definition lists, of the study (`where` is empty) or of a design."""
    key = f"{where}.seeds" if where else "seeds"
    if not isinstance(found, list) or not found:
        raise StudyError(f"{key}: found {found!r}, expected a list of whole numbers")
    for seed in found:
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
            raise StudyError(f"{key}: found {seed!r}, expected a whole number from 0 to {2**63 - 1}")
        yield seed
    if len(set(found)) < len(found):
        raise StudyError(f"{key}: found {found!r}, expected each once")


def _chosen(where: str, kind: str, spec: Mapping[str, Any], factors: Mapping[str, Factor]) -> tuple[Factor, ...]:
    default: list[str] = list(spec.get("levels") or factors)
    names = spec.get("factors", [] if kind == "list" else default)
    if not isinstance(names, list) or (not names and kind != "list"):
        raise StudyError(f"{where}.factors: found {names!r}, expected a list of factors")
    for given in [*names, *spec.get("levels", {})]:
        if given not in factors:
            raise StudyError(f"{where}: found factor {given!r}, expected one of {', '.join(factors)}")
    for given in spec.get("levels", {}):
        if given not in names:
            raise StudyError(f"{where}.levels: found {given!r}, which is not among the design's factors")
    if len(set(names)) < len(names):
        raise StudyError(f"{where}.factors: found {names!r}, expected each factor once")
    return tuple(factors[given] for given in names)


def _levels(
    where: str, kind: str, spec: Mapping[str, Any], factors: tuple[Factor, ...]
) -> dict[str, tuple[Value, ...]]:
    if kind == "grid":
        count = spec.get("count")
        if not isinstance(count, int) or isinstance(count, bool) or count < 2:
            raise StudyError(f"{where}.count: found {count!r}, expected how many values per factor, at least 2")
        return {factor.name: tuple(factor.at(place / (count - 1)) for place in range(count)) for factor in factors}
    if kind not in ("one-at-a-time", "factorial"):
        return {}
    given = spec.get("levels", {})
    levels = {factor.name: tuple(given.get(factor.name, factor.levels)) for factor in factors}
    named = {factor.name: factor for factor in factors}
    for name, values in levels.items():
        if not values:
            raise StudyError(f"{where}: found no levels of factor {name!r}, expected some")
        for value in values:
            named[name].check(where, value)
    return levels


def _check_points(where: str, points: object, factors: Mapping[str, Factor]) -> None:
    if not isinstance(points, list) or not points:
        raise StudyError(f"{where}.points: found {points!r}, expected a list of tables, a value for each factor named")
    for number, point in enumerate(points, 1):
        if not isinstance(point, Mapping):
            raise StudyError(f"{where}.points: {number}: found {point!r}, expected a table")
        for name, value in point.items():
            expect_known(f"{where}.points: {number}", name, factors)
            factors[name].check(f"{where}.points: {number}", value)


def _check_ranges(where: str, count: object, factors: tuple[Factor, ...]) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= LARGEST:
        raise StudyError(f"{where}.count: found {count!r}, expected a whole number from 1 to {LARGEST}")
    for factor in factors:
        factor.at(0.0)
