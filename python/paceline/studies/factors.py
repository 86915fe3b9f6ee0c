"""Factors: the parameters that a study varies, each with its levels or its range."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Literal

from paceline.errors import one_of
from paceline.overrides import as_pairs
from paceline.studies.spec import DefinitionError, Named, Settings, Value
from paceline.toml import toml_value

Point = dict[str, Value]
"""The value of each factor that an experiment sets; the others keep their defaults."""


class Factor(Named, frozen=True, kw_only=True):
    """One parameter of the scenario, or several that always have the same value."""

    path: str | None = None
    paths: tuple[str, ...] = ()
    """Where the value stands in the scenario."""
    unit: str = ""
    """Stands behind a number in the scenario: `ms`, `Mbps`; empty for a count or a ratio."""
    levels: tuple[Value, ...] = ()
    """The values that designs of levels take."""
    range: tuple[float, float] | None = None
    """The lowest and the highest value that designs over ranges take."""
    scale: Literal["linear", "log"] = "linear"
    """Whether such designs spread evenly over the values or over their logarithms."""
    integer: bool = False
    """Whether such designs take whole numbers only."""
    default: Value | None = None
    """Its value where a design does not vary it; none: the scenario's."""
    sets: dict[str, Settings] | None = None
    """Of a factor whose levels are names: what each changes in the scenario."""

    def __post_init__(self) -> None:
        for level in (*self.levels, self.default):
            if isinstance(level, float) and not math.isfinite(level):
                raise ValueError(f".levels: found {level}, expected a finite number")
        if self.sets is not None:
            return self._check_sets()
        if (self.path is None) == (not self.paths):
            raise ValueError(f"found {'both' if self.paths else 'neither'}, expected `path` or `paths`")
        if not self.levels and self.range is None:
            raise ValueError("found neither `levels` nor `range`, expected one")
        if self.range is not None:
            low, high = self.range
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ValueError(f".range: found {_plain(low, high)}, expected two numbers, the lower first")
            if self.log and low <= 0:
                raise ValueError(
                    f".range: found {_plain(low, high)}, expected numbers above zero: the scale is logarithmic"
                )

    def _check_sets(self) -> None:
        beside = {"path": self.path, "paths": self.paths, "unit": self.unit, "range": self.range}
        for key, found in beside.items():
            if found:
                raise ValueError(f".{key}: found beside `sets`, which has only `levels` and `default`")
        if not self.sets:
            raise ValueError(".sets: found none, expected a table of values of the scenario for each level")
        for level in (*self.levels, *(() if self.default is None else (self.default,))):
            if level not in self.sets:
                raise ValueError(f"found level {level!r}, {one_of(level, self.sets)}")

    @property
    def log(self) -> bool:
        """Whether designs over ranges spread evenly over the logarithm."""
        return self.scale == "log"

    @property
    def places(self) -> tuple[str, ...]:
        """Where the value stands in the scenario."""
        return self.paths or (() if self.path is None else (self.path,))

    @property
    def values(self) -> tuple[Value, ...]:
        """The levels; of a factor of sets all of these unless it chooses."""
        return self.levels or tuple(self.sets or ())

    @property
    def label(self) -> str:
        """Its name, and its unit if it has one."""
        return f"{self.name}, {self.unit}" if self.unit else self.name

    def override(self, value: Value) -> list[tuple[str, str]]:
        """The value as overrides of the scenario."""
        if self.sets is not None:
            return as_pairs(self.sets[str(value)])
        return [(path, self.text(value)) for path in self.places]

    def check(self, where: str, value: object) -> None:
        """Refuses a level that this factor does not know, of a factor of names."""
        if self.sets is not None and value not in self.sets:
            raise DefinitionError(where, f"found {self.name} {value!r}, {one_of(value, self.sets)}")

    def text(self, value: Value) -> str:
        """The value as TOML, with its unit."""
        if self.unit and not isinstance(value, (str, bool)):
            # Quantities of a scenario have no exponent.
            return toml_value(f"{Decimal(repr(value)):f}{self.unit}")
        return toml_value(value)

    def at(self, part: float) -> Value:
        """The value that lies at this part of the range, from 0 to 1."""
        if self.range is None:
            raise DefinitionError(f"factors.{self.name}.range", "found none, expected one: values are drawn from it")
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


def _plain(*numbers: float) -> str:
    """Numbers as somebody would write them."""
    return f"[{', '.join(f'{number:g}' for number in numbers)}]"
