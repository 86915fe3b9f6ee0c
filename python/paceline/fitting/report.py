"""A fit for people and for scenarios: parameters as TOML, distances as comments above them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from paceline.fitting.blockage import BlockageFit
from paceline.fitting.distances import Distance, Distances
from paceline.toml import toml_key, toml_value

NUMBERS_PER_LINE = 11


@dataclass(frozen=True)
class Comparison:
    """Distances between recordings and generator, and as a yardstick those of recordings among themselves."""

    fitted: Distances
    """Recordings that were fitted, and the generator."""
    held_out: Distances | None
    """Recordings that were left out, and the generator."""
    yardstick: list[Distances]
    """Each recording and each other one; of one recording alone its two halves."""
    yardstick_is: str
    """Which recordings these are."""
    rows: list[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", list(self.fitted))

    def document(self) -> dict[str, object]:
        """All distances as a dictionary for JSON."""

        def of(distances: Distances) -> dict[str, object]:
            return {row: {"ks": one.ks, "wasserstein": one.wasserstein} for row, one in distances.items()}

        return {
            "fitted": of(self.fitted),
            "held_out": None if self.held_out is None else of(self.held_out),
            "yardstick": {"what": self.yardstick_is, "pairs": [of(pair) for pair in self.yardstick]},
        }

    def table(self) -> list[list[str]]:
        """Heading and rows as texts: KS / Wasserstein; of the yardstick the median and the range of each."""
        heading = ["", "generator, fitted", "generator, left out", self.yardstick_is]
        body = [
            [
                row,
                _pair(self.fitted[row]),
                "" if self.held_out is None else _pair(self.held_out[row]),
                _pairs([pair[row] for pair in self.yardstick]),
            ]
            for row in self.rows
        ]
        if self.held_out is None:
            return [[line[0], line[1], line[3]] for line in [heading, *body]]
        return [heading, *body]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _pair(distance: Distance) -> str:
    if distance.ks is None:
        return _number(distance.wasserstein)
    return f"{_number(distance.ks)} / {_number(distance.wasserstein)}"


def _pairs(distances: Sequence[Distance]) -> str:
    figures: list[Callable[[Distance], float | None]] = [lambda one: one.ks, lambda one: one.wasserstein]
    found = [[value for one in distances if (value := figure(one)) is not None] for figure in figures]
    shown = [_range(values) for values in found if values]
    return " / ".join(shown) or "-"


def _range(values: Sequence[float]) -> str:
    middle = f"{statistics.median(values):.3f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.3f} to {max(values):.3f})"


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines of equal columns."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def as_toml(key: str, value: Mapping[str, object]) -> str:
    """`key = { ... }`, long lists over several lines."""
    pairs = ", ".join(f"{name} = {_value(item, 4)}" for name, item in value.items())
    return f"{key} = {{ {pairs} }}"


def _value(value: object, indent: int) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(str(name))} = {_value(item, indent + 4)}" for name, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if (isinstance(value, list) and len(value) > NUMBERS_PER_LINE) or _is_tables(value):
        assert isinstance(value, list)
        margin = " " * indent
        items = [_value(item, indent) for item in value]
        per_line = 1 if _is_tables(value) else NUMBERS_PER_LINE
        lines = [", ".join(items[at : at + per_line]) for at in range(0, math.ceil(len(items)), per_line)]
        return "[\n" + "".join(f"{margin}{line},\n" for line in lines) + " " * (indent - 4) + "]"
    return toml_value(value)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)


def states_table(fit: BlockageFit) -> list[list[str]]:
    """The states in a few figures."""
    bounds = [0.0, *fit.bounds, math.inf]
    heading = ["state", "Mbit/s", "of the time", "stays", "mean dwell", "dwell shape", "correlation"]
    rows = [
        [
            state.name,
            f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} and more",
            f"{state.share:.1%}",
            str(state.stays),
            f"{state.dwell_s:g} s",
            f"{state.dwell_shape:g}",
            f"{state.correlation_s(fit.interval_s):g} s",
        ]
        for state, low, high in zip(fit.states, bounds, bounds[1:], strict=False)
    ]
    return [heading, *rows]
