"""Figures of runs held against their bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any, TypeVar

from paceline.checks.definition import Band, Case
from paceline.checks.earlier import Earlier
from paceline.errors import one_of
from paceline.studies.estimates import short
from paceline.studies.spec import DefinitionError

Seed = TypeVar("Seed", int, None)
"""A seed, or None for a figure of all seeds together."""
_STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "median": median, "min": min, "max": max}


@dataclass(frozen=True)
class Verdict:
    """A figure of a scenario, and whether its band holds."""

    scenario: str
    figure: str
    """Its path in the summary, with the statistic over seeds, if there is one."""
    expected: str
    found: str
    holds: bool
    details: tuple[str, ...] = ()
    """For each seed that is outside, or for the statistic, the figure and its limits."""
    seed: int | None = None
    """A seed that is outside."""


@dataclass(frozen=True)
class Failed:
    """A run that came to no end."""

    scenario: str
    seed: int
    error: str


@dataclass(frozen=True)
class Judged:
    """The outcome of a check."""

    name: str
    verdicts: tuple[Verdict, ...]
    failed: tuple[Failed, ...]
    runs: int
    against: str = ""
    """The earlier figures, and the build that made them."""
    commands: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """By scenario and seed, the command that repeats a run alone."""

    @property
    def scenarios(self) -> list[str]:
        """The scenarios by name."""
        judged = [one.scenario for one in self.verdicts]
        return list(dict.fromkeys([*judged, *(one.scenario for one in self.failed)]))

    @property
    def holds(self) -> bool:
        """Whether every run ended and every band holds."""
        return not self.failed and all(one.holds for one in self.verdicts)


def figures(summary: Mapping[str, Any], path: str, where: str) -> dict[str, float | None]:
    """The figures at a path of a summary, by their whole paths: `*` stands for every flow, say.

    A figure that a run does not have is None.

    Raises:
        DefinitionError: There is no such figure, or the path leads to a table or a text.
    """
    found: dict[str, Any] = {"": summary}
    for key in path.split("."):
        inner: dict[str, Any] = {}
        for before, value in found.items():
            if value is None:
                inner[f"{before}{key}."] = None
            elif not isinstance(value, Mapping):
                raise DefinitionError(where, f"{before[:-1]} is a figure, expected the band there")
            elif key == "*":
                inner |= {f"{before}{name}.": one for name, one in value.items()}
            elif key in value:
                inner[f"{before}{key}."] = value[key]
            else:
                raise DefinitionError(where, f"found {key!r}, {one_of(key, list(value))}")
        found = inner
    for name, value in found.items():
        if isinstance(value, Mapping):
            raise DefinitionError(where, f"found a table, expected a figure in it: {_inside(name, value)}")
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise DefinitionError(where, f"found {value!r}, expected a figure that is a number")
    return {name[:-1]: value for name, value in found.items()}


def _inside(name: str, table: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}{key}" for key in table) or "it is empty"


def judged(case: Case, band: Band, runs: Mapping[int, Mapping[str, Any]], earlier: Earlier | None) -> list[Verdict]:
    """The verdict on each figure that a band is about, over the seeds whose runs came to an end."""
    where = f"bands.{band.figure}"
    own = {seed: figures(summary, band.figure, where) for seed, summary in runs.items()}
    before: dict[int, dict[str, float | None]] = {}
    if band.within is not None and earlier is not None:
        before = {seed: _recorded(earlier, (case.name, seed), band.figure, where) for seed in runs}
    paths = list(dict.fromkeys(path for one in own.values() for path in one))
    if not paths and runs:
        raise DefinitionError(where, "found nothing that `*` stands for, expected a flow or a link")
    found = []
    for path in paths:
        values = {seed: one.get(path) for seed, one in own.items()}
        bases = {seed: one.get(path) for seed, one in before.items()}
        if not (band.optional and all(one is None for one in (*values.values(), *bases.values()))):
            found.append(verdict(case.name, path, band, values, bases))
    return found


def _recorded(earlier: Earlier, run: tuple[str, int], path: str, where: str) -> dict[str, float | None]:
    try:
        return figures(earlier.summaries[run], path, where)
    except DefinitionError as error:
        raise DefinitionError(where, f"in {earlier.folder}: {str(error).removeprefix(f'{where}: ')}") from None


def verdict(
    scenario: str,
    path: str,
    band: Band,
    values: Mapping[Seed, float | None],
    bases: Mapping[Seed, float | None],
    reasons: Sequence[str] = (),
) -> Verdict:
    """The verdict on a figure.

    Args:
        scenario: The scenario or controller.
        path: The figure.
        band: Its band.
        values: The figure by seed.
        bases: The earlier figure by seed; empty where there is none.
        reasons: Said, if the band does not hold, of a figure without seeds.
    """
    title = path if band.statistic == "each" else f"{path}, {band.statistic}"
    if band.statistic != "each":
        over = _STATISTICS[band.statistic]
        outside = _outside(band, _over(over, values), _over(over, bases), bool(bases))
        details = [f"{band.statistic} over {len(values)} seeds: {outside}"] if outside else []
        seed = next(iter(values), None) if outside else None
        told, base = _span([_over(over, values)]), [_over(over, bases)] if bases else []
    else:
        outsides = {seed: _outside(band, value, bases.get(seed), bool(bases)) for seed, value in values.items()}
        said_of = [(seed, said) for seed, said in outsides.items() if said]
        details = [f"seed {seed}: {said}" for seed, said in said_of if seed is not None]
        details += [reason for seed, _ in said_of if seed is None for reason in reasons]
        seed = next((seed for seed, said in outsides.items() if said), None)
        told, base = _span(list(values.values())), list(bases.values())
    holds = not outside if band.statistic != "each" else not any(outsides.values())
    return Verdict(scenario, title, _expected(band, base), told, holds, tuple(details), seed)


def _over(over: Callable[[Sequence[float]], float], values: Mapping[Seed, float | None]) -> float | None:
    """The statistic over all seeds; None where a seed has no figure."""
    present = [value for value in values.values() if value is not None]
    return over(present) if present and len(present) == len(values) else None


def _outside(band: Band, value: float | None, base: float | None, has_base: bool) -> str:
    """In words, how a figure is outside of its band; empty if it is inside."""
    if value is None:
        absent = has_base and base is None and band.min is None and band.max is None
        return "" if absent else "found no figure, expected one"
    lows, highs = [band.min], [band.max]
    if band.within is not None and has_base:
        if base is None:
            return f"found {_exact(value)}, expected none, as before"
        low, high = band.within.around(base)
        lows.append(low)
        highs.append(high)
    low = max((one for one in lows if one is not None), default=value)
    high = min((one for one in highs if one is not None), default=value)
    if value < low:
        return f"found {_exact(value)}, expected at least {_exact(low)}"
    return f"found {_exact(value)}, expected at most {_exact(high)}" if value > high else ""


def _exact(value: float) -> str:
    return f"{value:.6g}"


def _expected(band: Band, bases: Sequence[float | None]) -> str:
    parts = []
    if band.min is not None and band.max is not None:
        parts.append(f"{band.min:g} to {band.max:g}")
    elif band.min is not None:
        parts.append(f"at least {band.min:g}")
    elif band.max is not None:
        parts.append(f"at most {band.max:g}")
    if band.within is not None:
        parts.append(f"within {band.within} of {_span(bases) if bases else 'the record'}")
    return ", ".join(parts)


def _span(values: Sequence[float | None]) -> str:
    """The smallest and the largest figure."""
    present = [value for value in values if value is not None]
    if not present:
        return "none"
    told = " to ".join(dict.fromkeys((short(min(present)), short(max(present)))))
    return told if len(present) == len(values) else f"{told}; {len(values) - len(present)} without"
