"""Cells: a study's conditions, under each of which something is compared, such as controllers, and is good or bad.

A cell is a point of a design without the factor that is compared. Its name says the design and the other factors, so
that it stays the same when designs, levels or controllers are added. A digest of the name parts the cells into two
halves: one to search constants on, one to judge them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from paceline.errors import UsageError, one_of
from paceline.studies import markdown
from paceline.studies.factors import Factor, Point
from paceline.studies.spec import DefinitionError, Spec, expect_known

if TYPE_CHECKING:
    import pandas as pd

    from paceline.studies.definition import Study
    from paceline.studies.rows import Rows

FAILED = "failed"
"""The fault of a run that ended with an error."""


class Cells(Spec, frozen=True, kw_only=True):
    """What is compared in each cell, and when it is bad there."""

    of: str
    """The factor whose levels are compared."""
    halves: tuple[str, str] = ("search", "held-out")
    """Names of the two halves of the cells."""
    bad: dict[str, str]
    """Faults by name: the condition in SQL of the rows that have it."""
    named: tuple[str, ...] = ()
    """Faults whose cells the report names, beside those of runs that failed."""

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
        # What the study says of a controller of the same kind holds, too.
        kind = one.controller["kind"]
        alike: Mapping[str, Any] = next((own for path, own in known if _kind(own[path]) == kind), {})
        own = {f"{place.removesuffix('controller')}{key}": value for key, value in one.flow.items()}
        added[one.label] = {**alike, place: one.controller, **own}
    changed = {**factor, "sets": {**sets, **added}}
    return {**table, "factors": {**table["factors"], of: changed}}


def _kind(controller: object) -> object:
    return controller.get("kind") if isinstance(controller, Mapping) else controller


def part(study: Study, only: Mapping[str, Sequence[str]]) -> Study:
    """The study with those of its experiments alone that are wanted.

    Raises:
        UsageError: There is no such factor, level, design or half, or no experiment is left.
    """
    known: dict[str, Sequence[str]] = {
        name: [str(value) for value in factor.values] for name, factor in study.factors.items()
    }
    known["design"] = list(study.designs)
    if study.cells is not None:
        known["half"] = study.cells.halves
    for name, values in only.items():
        if name not in known:
            raise UsageError(f"--only {name}: found {name!r}, {one_of(name, known)}")
        for value in values:
            if value not in known[name] and known[name]:
                raise UsageError(f"--only {name}={value}: found {value!r}, {one_of(value, known[name])}")

    def wanted(design: str, point: Point) -> bool:
        found: dict[str, object] = {"design": design, **point}
        if "half" in only and study.cells is not None:
            found["half"] = study.cells.half(study.cells.cell(design, point, study.factors))
        return all(str(found.get(name)) in values for name, values in only.items())

    designs = {}
    for name, design in study.designs.items():
        numbers = tuple(number for number in range(len(design)) if wanted(name, design.point(number)))
        if numbers:
            designs[name] = replace(design, numbers=numbers)
    if not designs:
        said = " ".join(f"{name}={','.join(values)}" for name, values in only.items())
        raise UsageError(f"--only {said}: found no experiment that is so, expected some")
    pictures = {name: one for name, one in study.pictures.items() if getattr(one, "design", None) in (None, *designs)}
    identity = study.identity | {"only": {name: sorted(values) for name, values in only.items()}}
    return replace(study, designs=designs, pictures=pictures, identity=identity)


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

    @cached_property
    def good(self) -> pd.DataFrame:
        """Whether each level, a column of its own, is good in each cell, by `design`, `half` and `cell`."""
        index = ["design", "half", "cell"]
        found = self.frame.pivot(index=index, columns=self.of, values="good")[list(self.levels)]
        return found.fillna(False).astype(bool)


def judged(study: Study, rows: Rows) -> Judged:
    """The verdict on each level in each cell: good if more than half of its seeds have no fault."""
    import pandas as pd

    cells = study.cells
    assert cells is not None
    keys = ["design", "number", "seed"]
    frame = rows.frame("cell IS NOT NULL")
    faults = pd.DataFrame({FAILED: frame["error"].notna()})
    index = pd.MultiIndex.from_frame(frame[keys])
    for name, condition in cells.bad.items():
        found = rows.frame(condition)[keys]
        faults[name] = index.isin(pd.MultiIndex.from_frame(found)) & ~faults[FAILED]
    place = ["cell", "design", "half", cells.of]
    figures = pd.concat([frame[[*place, *study.metrics]], faults.astype(float)], axis=1)
    figures["good"] = (~faults.any(axis=1)).astype(float)
    means = figures.groupby(place, sort=False)[["good", *faults, *study.metrics]].mean().reset_index()
    means["good"] = means["good"] > 0.5
    others = [name for name in study.factors if name != cells.of]
    means = means.merge(frame.drop_duplicates("cell")[["cell", *others]], on="cell")
    present = set(means[cells.of])
    levels = tuple(str(level) for level in study.factors[cells.of].values if level in present)
    return Judged(cells.of, levels, means, (FAILED, *cells.bad))


BEST = "any of them"
"""The column of the cells in which any level is good."""
SHOWN = 3
"""Levels that the table of the best in each design names."""


def tables(study: Study, found: Judged) -> dict[str, markdown.Cells]:
    """What a reader wants to know: shares of good cells, who is best where, and where none is good."""
    good, levels = found.good, list(found.levels)
    place = good.index.get_level_values
    designs = [name for name in study.designs if name in set(place("design"))]
    parts = [(study.designs[name].title, place("design") == name) for name in designs]
    halves = () if study.cells is None else study.cells.halves
    parts += [(f"all, {half}", place("half") == half) for half in halves if half in set(place("half"))]
    parts.append(("all", place("design") != ""))
    means = [(name, len(good[own]), good[own].mean(), good[own].any(axis=1).mean()) for name, own in parts]
    shares = [[name, str(count), *map(_percent, own), _percent(any_)] for name, count, own, any_ in means]
    best = [
        [name, *(f"{level} {_percent(share)}" for level, share in own.nlargest(SHOWN).items())]
        for name, _, own, _ in means
    ]
    by_level = found.frame.groupby(found.of)[list(found.faults)].mean().loc[levels]
    faults = [[fault, *map(_percent, by_level[fault])] for fault in found.faults]
    told = (FAILED, *(() if study.cells is None else study.cells.named))
    broken = [
        [fault, *map(str, line)]
        for fault in told
        for line in found.frame.loc[found.frame[fault] > 0, [found.of, "cell"]].itertuples(index=False)
    ]
    nobody = [[cell] for cell in good.index[~good.any(axis=1)].get_level_values("cell")]
    shown = {
        "good-cells": markdown.Cells(["good cells, %", "cells", *levels, BEST], shares),
        "faults": markdown.Cells(["cells with the fault, %", *levels], faults),
        "broken": markdown.Cells(["fault of a seed or more", found.of, "cell"], broken),
        "nobody": markdown.Cells(["cells in which none is good"], nobody),
    }
    if len(levels) > 1:
        shown["best"] = markdown.Cells(["cells", *("first", "second", "third")[: len(levels)]], best)
        shown["cover"] = markdown.Cells(
            ["added to those above", "cells in which one is good, %", "it alone"], _cover(good)
        )
    return shown


def _cover(good: pd.DataFrame) -> list[list[str]]:
    """Levels in the order in which each adds the most good cells to those before it."""
    covered, left, lines = good.iloc[:, 0] & False, list(good), []
    while left:
        level = max(left, key=lambda one: (good[one] & ~covered).sum())
        covered, left = covered | good[level], [one for one in left if one != level]
        alone = int((good[level] & (good.sum(axis=1) == 1)).sum())
        lines.append([level, _percent(covered.mean()), str(alone)])
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"
