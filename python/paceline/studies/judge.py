"""Verdicts: a published figure, ours, and the rule that was written down before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paceline.errors import StudyError

HOLDS = "holds"
IN_DIRECTION = "holds in direction"
DOES_NOT_HOLD = "does not hold"
NOT_JUDGED = "not judged"
NO_DATA = "not judged: no data"
NO_FIGURE = "not judged: no figure of ours"
VERDICTS = (HOLDS, IN_DIRECTION, DOES_NOT_HOLD, NOT_JUDGED, NO_DATA, NO_FIGURE)


@dataclass(frozen=True)
class Rule:
    """How far ours may be from what was published."""

    name: str
    help: str
    judged: bool
    absolute: bool
    bands: tuple[tuple[float, float], tuple[float, float]] | None
    """Where ours must lie to hold, and to hold in direction; where no number was published."""
    tolerances: tuple[float, float] | None
    """How far ours may be from the published number to hold, and to hold in direction."""
    sign: bool = False
    """Whether ours holds in direction whenever it has the published number's sign."""

    @classmethod
    def read(cls, name: str, spec: dict[str, Any]) -> Rule:
        """The rule as the study's definition says it."""
        bands = tolerances = None
        judged = spec.get("judged", True)
        if "between" in spec:
            bands = (tuple(spec["between"]), tuple(spec["direction_between"]))
        elif judged:
            sign = spec.get("direction") == "sign"
            tolerances = (float(spec["holds"]), float(spec["holds"] if sign else spec["direction"]))
            if tolerances[0] > tolerances[1]:
                raise StudyError(f"rules.{name}: found holds above direction, expected at most that")
            return cls(name, spec["help"], judged, spec.get("absolute", False), None, tolerances, sign)
        return cls(name, spec["help"], judged, spec.get("absolute", False), bands, tolerances)

    def verdict(self, published: float | None, ours: float | None) -> str:
        """Whether ours holds."""
        if not self.judged:
            return NOT_JUDGED
        if ours is None:
            return NO_FIGURE
        if self.bands is not None:
            held = [low <= ours <= high for low, high in self.bands]
        elif published is None or self.tolerances is None:
            raise StudyError(f"rules.{self.name}: found no published number, expected one")
        else:
            unit = 1.0 if self.absolute else abs(published)
            held = [abs(ours - published) <= tolerance * unit for tolerance in self.tolerances]
            if self.sign:
                held[1] = ours * published > 0
        return HOLDS if held[0] else IN_DIRECTION if held[1] else DOES_NOT_HOLD
