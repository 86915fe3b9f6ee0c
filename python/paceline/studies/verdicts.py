"""Verdicts cell by cell: each level of what is compared is good or bad, and tables say where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paceline.errors import StudyError
from paceline.studies.cells import ANY, FAILED, Judged
from paceline.studies.definition import Study
from paceline.studies.markdown import Cells
from paceline.studies.rows import Rows

if TYPE_CHECKING:
    import pandas as pd


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
    return Judged(cells.of, levels, means, (FAILED, *cells.bad), _earlier(study, levels))


def _earlier(study: Study, ran: Sequence[str]) -> pd.DataFrame | None:
    """The earlier verdicts on levels that did not run now; None without any."""
    import pandas as pd

    if study.cells is None or study.cells.earlier is None or not (study.folder / study.cells.earlier).is_file():
        return None
    path = study.folder / study.cells.earlier
    try:
        found = pd.read_csv(path, index_col="cell")
        others = found[[name for name in study.factors[study.cells.of].values if name in found and name not in ran]]
        return others.astype(bool) if len(others.columns) else None
    except ValueError as error:
        raise StudyError(f"{path}: {error}; expected a column `cell`, and one of 0 and 1 for each level") from None


SHOWN = 3
"""Levels that the table of the best in each design names."""


def tables(study: Study, found: Judged) -> dict[str, Cells]:
    """Shares of good cells, the best in each design, their faults, and the cells in which none is good."""
    good, levels = found.good, list(found.levels)
    place = good.index.get_level_values
    designs = [name for name in study.designs if name in set(place("design"))]
    parts = [(study.designs[name].title, place("design") == name) for name in designs]
    halves = () if study.cells is None else study.cells.halves
    parts += [(f"all, {half}", place("half") == half) for half in halves if half in set(place("half"))]
    parts.append(("all", place("design") != ""))
    means = [(name, len(good[own]), good[own].mean(), found.any_good[own].mean()) for name, own in parts]
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
    nobody = [[cell] for cell in good.index[~found.any_good].get_level_values("cell")]
    shown = {
        "good-cells": Cells(["good cells, %", "cells", *levels, ANY], shares),
        "faults": Cells(["cells with the fault, %", *levels], faults),
        "broken": Cells(["fault of a seed or more", found.of, "cell"], broken),
        "nobody": Cells(["cells in which none is good"], nobody),
    }
    if found.earlier is not None:
        shown["behind"] = Cells(["cells in which only others are good"], [[cell] for cell in found.behind])
    if len(levels) > 1:
        shown["best"] = Cells(["cells", *("first", "second", "third")[: len(levels)]], best)
        shown["cover"] = Cells(["added to those above", "cells in which one is good, %", "it alone"], _cover(good))
    return shown


def _cover(good: pd.DataFrame) -> list[list[str]]:
    """Levels in the order in which each adds the most good cells to those before it."""
    left, lines = [str(level) for level in good], []
    covered = good.iloc[:, 0] & False
    while left:
        level = max(left, key=lambda one: (good[one] & ~covered).sum())
        covered, left = covered | good[level], [one for one in left if one != level]
        alone = int((good[level] & (good.sum(axis=1) == 1)).sum())
        lines.append([level, _percent(covered.mean()), str(alone)])
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"
