"""Cells: a study's conditions, under each of which something is compared, such as controllers, and is good or bad.

A cell is a point of a design without the factor that is compared. Its name says the design and the other factors, so
that it stays the same when designs, levels or controllers are added. A digest of the name parts the cells into two
halves: one to search constants on, one to judge them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from paceline.errors import UsageError
from paceline.studies.factors import Factor, Point
from paceline.studies.spec import DefinitionError, Spec, expect_known

if TYPE_CHECKING:
    import pandas as pd

FAILED = "failed"
"""The fault of a run that ended with an error."""
ANY = "any of them"
"""The column of the cells in which any level is good."""


class Cells(Spec, frozen=True, kw_only=True):
    """The factor that is compared in each cell, and the rules by which its levels are bad there."""

    of: str
    """The factor whose levels are compared."""
    halves: tuple[str, str] = ("search", "held-out")
    """Names of the two halves of the cells."""
    bad: dict[str, str]
    """Faults by name: the condition in SQL of the rows that have it."""
    named: tuple[str, ...] = ()
    """Faults whose cells the report names, beside those of runs that failed."""
    earlier: str | None = None
    """The file of the study with the verdicts on its own levels, which `--write-verdict` renews: levels that do not run
    again count as it says."""

    def checked(self, factors: Mapping[str, Factor]) -> Cells:
        """The same, if the study has the factor."""
        expect_known("cells.of", self.of, factors)
        for fault in self.named:
            expect_known("cells.named", fault, self.bad)
        if FAILED in self.bad:
            raise DefinitionError(f"cells.bad.{FAILED}", "found the fault of a run that failed, expected another name")
        return self

    def cell(self, design: str, point: Point, factors: Mapping[str, Factor]) -> str:
        """The name of the cell that a point of a design lies in."""
        return " ".join([design, *(f"{k}={v}{factors[k].unit}" for k, v in point.items() if k != self.of)])

    def half(self, cell: str) -> str:
        """The half that a cell belongs to."""
        return self.halves[hashlib.sha256(cell.encode()).digest()[0] % 2]


def with_contenders(table: Mapping[str, Any], also: Sequence[str]) -> dict[str, Any]:
    """The table of a definition with further controllers to compare, written as `paceline compare` has them.

    Raises:
        UsageError: The study compares no controllers, or one of them is written wrongly.
    """
    from paceline.comparison.contenders import contenders

    of = table.get("cells", {}).get("of")
    factor = table.get("factors", {}).get(of, {})
    sets = factor.get("sets", {})
    known = [(path, settings) for settings in sets.values() for path in settings if path.endswith(".controller")]
    if not known:
        raise UsageError(f"--also {also[0]}: found a study that compares no controllers cell by cell, expected one")
    place = known[0][0]
    added = {}
    for one in contenders(also):
        if one.label in sets:
            raise UsageError(f"--also: found {one.label!r}, which the study has, expected another label: other=...")
        # Keys that the study sets for a controller of the same kind hold, too.
        kind = one.controller["kind"]
        alike: Mapping[str, Any] = next((own for path, own in known if _kind(own[path]) == kind), {})
        own = {f"{place.removesuffix('controller')}{key}": value for key, value in one.flow.items()}
        added[one.label] = {**alike, place: one.controller, **own}
    changed = {**factor, "sets": {**sets, **added}}
    return {**table, "factors": {**table["factors"], of: changed}}


def _kind(controller: object) -> object:
    return controller.get("kind") if isinstance(controller, Mapping) else controller


@dataclass(frozen=True)
class Judged:
    """The verdict on each level in each cell."""

    of: str
    levels: tuple[str, ...]
    """The levels that ran, in the factor's order."""
    frame: pd.DataFrame
    """A line for each cell and level: `cell`, `design`, `half`, the level in `of`, `good`, the share of the seeds that
    have each fault, and the mean of each metric."""
    faults: tuple[str, ...]
    earlier: pd.DataFrame | None = None
    """Whether other levels, a column each, were good when the study last ran as a whole, by cell."""

    @cached_property
    def good(self) -> pd.DataFrame:
        """Whether each level, a column of its own, is good in each cell, by `design`, `half` and `cell`."""
        index = ["design", "half", "cell"]
        found = self.frame.pivot(index=index, columns=self.of, values="good")[list(self.levels)]
        return found.fillna(False).astype(bool)

    @cached_property
    def any_good(self) -> pd.Series[bool]:
        """Whether any level is good in each cell, one that did not run again as it was."""
        own: pd.Series[bool] = self.good.any(axis=1)
        return own if self.earlier is None else own | self._at_cells(self.earlier.any(axis=1))

    @property
    def behind(self) -> list[str]:
        """The cells in which none is good that ran, but another level was."""
        return list(self.good.index[self.any_good & ~self.good.any(axis=1)].get_level_values("cell"))

    def _at_cells(self, found: pd.Series[bool]) -> Any:
        return found.reindex(self.good.index.get_level_values("cell"), fill_value=False).to_numpy()

    @property
    def verdicts(self) -> str:
        """The file of verdicts: a line for each cell, a column for each level."""
        return self.good.droplevel(["design", "half"]).astype(int).to_csv()
