"""One vocabulary for controllers: each has its colour, dashes and mark in every picture, on a screen as on paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from paceline.plots.styles import (
    BLACK,
    BLUE,
    CYCLE,
    DASHES,
    GREEN,
    INDIGO,
    OLIVE,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    WINE,
)

MARKS = "osD^vPX*"


@dataclass(frozen=True)
class Look:
    """Colour, dashes and mark of one line or point."""

    colour: str
    dashes: str
    mark: str

    @property
    def line(self) -> dict[str, Any]:
        """The arguments of a line."""
        return {"color": self.colour, "linestyle": self.dashes}


FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "scream": (BLUE, ("scream", "scream-v2")),
    "gcc": (VERMILION, ("gcc",)),
    "cubic": (GREEN, ("cubic", "bic", "htcp", "highspeed")),
    "bbr": (PURPLE, ("bbr", "bbr3")),
    "transports": (ORANGE, ("tfrc", "ccid3", "ccid2", "sctp")),
    "reno": (SKY, ("newreno", "reno", "sack", "tahoe")),
    "constant": (BLACK, ("fixed", "none")),
    "routers": (WINE, ("prague", "dctcp", "xcp", "rcp")),
    "delay": (OLIVE, ("ledbat", "vegas", "tempo", "copa")),
    "rate": (INDIGO, ("rap", "urcp", "um", "nada")),
}
"""Colours by family. Its members differ in their dashes, of which there are four, and so do neighbours here, which
grey print needs. Controllers of no family get a colour that is free in the picture."""


def _looks() -> dict[str, Look]:
    """The look of each of the project's controllers."""
    found = {}
    for first, (colour, members) in enumerate(FAMILIES.values()):
        for place, kind in enumerate(members, first):
            found[kind] = Look(colour, DASHES[place % len(DASHES)], MARKS[place % len(MARKS)])
    return found


LOOKS = _looks()
"""The look of each controller by the name of its kind."""


def look(kind: str) -> Look:
    """The look of a controller; of one that Paceline does not have, the first."""
    return LOOKS.get(kind, Look(CYCLE[0], DASHES[0], MARKS[0]))


def looks(kinds: Mapping[str, str] | Iterable[str]) -> dict[str, Look]:
    """The looks of the lines of one picture, no two alike as far as the colours and dashes suffice.

    Args:
        kinds: The label of each line with the kind of its controller, or the labels alone where these are the kinds.
            The first line of a kind has the kind's own look. A second one, or a line of another kind, has the first
            look whose colour is free.
    """
    named = dict(kinds) if isinstance(kinds, Mapping) else {one: one for one in kinds}
    found: dict[str, Look] = {}
    for label, kind in named.items():
        if kind in LOOKS and LOOKS[kind] not in found.values():
            found[label] = LOOKS[kind]
    others = [label for label in named if label not in found]
    for place, label in enumerate(others):
        taken = [one.colour for one in found.values()]
        free = [colour for colour in CYCLE if colour not in taken]
        mark = MARKS[(len(named) - len(others) + place) % len(MARKS)]
        used = {(one.colour, one.dashes) for one in found.values()}
        rest = ((colour, dashes) for dashes, colour in product(DASHES, CYCLE) if (colour, dashes) not in used)
        plain = next((one for one in DASHES if one not in {dashes for _, dashes in used}), DASHES[0])
        colour, dashes = (free[0], plain) if free else next(rest, (CYCLE[place % len(CYCLE)], DASHES[0]))
        found[label] = Look(colour, dashes, mark)
    return {label: found[label] for label in named}
