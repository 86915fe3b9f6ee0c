"""Factors: the parameters that a sweep varies, each with its levels or its range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from paceline.errors import StudyError
from paceline.scenario import as_pairs, toml_value
from paceline.studies.checks import expect_keys, expect_table

Value: TypeAlias = "float | int | bool | str"
"""A factor's value: a number in the factor's unit, a flag, or a text such as a file's name."""

KEYS = ("path", "paths", "unit", "levels", "default", "range", "scale", "integer", "sets")


@dataclass(frozen=True)
class Factor:
    """One parameter of the scenario, or several that always have the same value."""

    name: str
    paths: tuple[str, ...]
    """Where the value stands in the scenario."""
    unit: str
    """Stands behind a number in the scenario: `ms`, `Mbps`; empty for a count or a ratio."""
    levels: tuple[Value, ...]
    """The values that designs of levels take."""
    range: tuple[float, float] | None
    """The lowest and the highest value that designs over ranges take."""
    log: bool
    """Whether such designs spread evenly over the logarithm."""
    integer: bool
    """Whether such designs take whole numbers only."""
    default: Value | None
    """Its value where a design does not vary it; none: the scenario's."""
    sets: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Of a factor whose levels are names: what each changes in the scenario."""

    @classmethod
    def read(cls, name: str, spec: object) -> Factor:
        """The factor as a study's definition says it."""
        where = f"factors.{name}"
        spec = expect_table(where, spec, "`path` and `levels` or `range`")
        expect_keys(where, spec, KEYS)
        if "sets" in spec:
            return _of_sets(name, where, spec)
        if ("path" in spec) == ("paths" in spec):
            raise StudyError(f"{where}: found {'both' if 'path' in spec else 'neither'}, expected `path` or `paths`")
        paths = tuple(spec.get("paths", ())) or (spec.get("path"),)
        if not all(isinstance(path, str) and path for path in paths):
            raise StudyError(f"{where}.path: found {list(paths)}, expected dotted paths of the scenario")
        if spec.get("scale", "linear") not in ("linear", "log"):
            raise StudyError(f"{where}.scale: found {spec['scale']!r}, expected linear or log")
        factor = cls(
            name=name,
            paths=tuple(str(path) for path in paths),
            unit=str(spec.get("unit", "")),
            levels=_levels(where, spec.get("levels", [])),
            range=_range(where, spec),
            log=spec.get("scale", "linear") == "log",
            integer=bool(spec.get("integer", False)),
            default=_value(f"{where}.default", spec["default"]) if "default" in spec else None,
        )
        if not factor.levels and factor.range is None:
            raise StudyError(f"{where}: found neither `levels` nor `range`, expected one")
        return factor

    def override(self, value: Value) -> list[tuple[str, str]]:
        """The value as overrides of the scenario."""
        if self.sets:
            return list(self.sets[str(value)])
        return [(path, self.text(value)) for path in self.paths]

    def check(self, where: str, value: object) -> None:
        """Refuses a level that this factor does not know, of a factor of names."""
        if self.sets and not (isinstance(value, str) and value in self.sets):
            raise StudyError(f"{where}: found {self.name} {value!r}, expected one of {', '.join(self.sets)}")

    def text(self, value: Value) -> str:
        """The value as TOML, with its unit."""
        if self.unit and not isinstance(value, (str, bool)):
            # Quantities of a scenario have no exponent.
            return toml_value(f"{Decimal(repr(value)):f}{self.unit}")
        return toml_value(value)

    def at(self, part: float) -> Value:
        """The value that lies at this part of the range, from 0 to 1."""
        if self.range is None:
            raise StudyError(f"factors.{self.name}.range: found none, expected one: the design draws from ranges")
        low, high = self.range
        return self.near(low * (high / low) ** part if self.log else low + (high - low) * part)

    def near(self, value: float) -> Value:
        """The value of the range that is nearest, as designs take it."""
        low, high = self.range or (value, value)
        if self.integer:
            return min(max(round(value), math.ceil(low)), math.floor(high))
        # Six digits, none behind the sixth decimal: what is written is what was run, and milliseconds are whole in
        # nanoseconds.
        return min(max(round(float(f"{value:.6g}"), 6), low), high)

    def part(self, value: float) -> float:
        """Where in its range a value lies, from 0 to 1."""
        low, high = self.range or (0.0, 1.0)
        part = math.log(value / low) / math.log(high / low) if self.log else (value - low) / (high - low)
        return min(max(part, 0.0), 1.0)


def _of_sets(name: str, where: str, spec: Mapping[str, Any]) -> Factor:
    """A factor whose levels are names, each of which stands for several values of the scenario."""
    for key in spec:
        if key not in ("sets", "levels", "default"):
            raise StudyError(f"{where}.{key}: found beside `sets`, which has only `levels` and `default`")
    sets = spec["sets"]
    if not isinstance(sets, Mapping) or not sets or not all(isinstance(one, Mapping) for one in sets.values()):
        raise StudyError(f"{where}.sets: found {sets!r}, expected a table of values of the scenario for each level")
    levels = _levels(where, spec.get("levels", list(sets)))
    default = spec.get("default")
    for level in (*levels, *(() if default is None else (default,))):
        if not isinstance(level, str) or level not in sets:
            raise StudyError(f"{where}: found level {level!r}, expected one of {', '.join(sets)}")
    values = {level: tuple(as_pairs(changed)) for level, changed in sets.items()}
    return Factor(name, (), "", levels, None, False, False, default, values)


def _levels(where: str, found: object) -> tuple[Value, ...]:
    if not isinstance(found, (list, tuple)):
        raise StudyError(f"{where}.levels: found {found!r}, expected a list of values")
    return tuple(_value(f"{where}.levels", value) for value in found)


def _value(where: str, found: Any) -> Value:
    if isinstance(found, float) and not math.isfinite(found):
        raise StudyError(f"{where}: found {found}, expected a finite number")
    if isinstance(found, (bool, int, float, str)):
        return found
    raise StudyError(f"{where}: found {found!r}, expected a number, a flag or a text")


def _range(where: str, spec: Mapping[str, Any]) -> tuple[float, float] | None:
    found = spec.get("range")
    if found is None:
        return None
    numbers = isinstance(found, (list, tuple)) and all(
        isinstance(one, (int, float)) and not isinstance(one, bool) and math.isfinite(one) for one in found
    )
    if not numbers or len(found) != 2 or not found[0] < found[1]:
        raise StudyError(f"{where}.range: found {found!r}, expected two numbers, the lower first")
    if spec.get("scale") == "log" and found[0] <= 0:
        raise StudyError(f"{where}.range: found {found!r}, expected numbers above zero: the scale is logarithmic")
    return float(found[0]), float(found[1])
