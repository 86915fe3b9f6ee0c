"""A scorecard under a check: bands of sections, of cases, and of figures in cases."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import filter as matching
from pathlib import Path

import pandas as pd

from paceline.checks.definition import Band, Check
from paceline.checks.judge import Judged, Verdict, verdict
from paceline.errors import UsageError, one_of
from paceline.scorecards import gate
from paceline.scorecards.cases import Case, Deck, load
from paceline.scorecards.grades import HOLDS, Graded
from paceline.scorecards.run import scorecard
from paceline.simulation import Progress
from paceline.studies.spec import DefinitionError

REASONS = 10
"""Cases of a section that do not hold that are named."""

Figures = Mapping[str, float]
"""By their names in bands: the part of a section's cases that hold, 1 of a case that holds, and means of figures."""


def check(
    wanted: Check, *, against: Path | None, record: Path | None, data: Path | None, progress: Progress | None
) -> Judged:
    """Grades the controllers of a check, and holds them against its bands, or against an earlier scorecard.

    Raises:
        StudyError: A band is about a section, a case or a figure that there is not.
        DataNotFound: `against` has no scorecard.
    """
    said = wanted.scorecard
    assert said is not None
    deck = load([wanted.folder / folder for folder in said.cases], said.only)
    named = {band.figure: list(_named(deck, band)) for band in wanted.bands}
    earlier = None if record is not None else against or wanted.against
    if earlier is None and record is None and any(band.within for band in wanted.bands):
        raise UsageError("found `within` and no earlier scorecard, expected --against DIR, `against`, or --record DIR")
    before = None if earlier is None else gate.read_verdicts(earlier)
    with tempfile.TemporaryDirectory() as passing:
        result = scorecard(
            said.controllers,
            out=record or passing,
            folders=[wanted.folder / folder for folder in said.cases],
            only=said.only,
            fresh=record is not None,
            data=data,
            progress=None if progress is None else lambda state: progress(state.finished / max(state.total, 1)),
        )
    present = result.verdicts
    found: list[Verdict] = []
    for label in result.controllers:
        graded = result[label]
        mine = figures(graded, present)
        theirs = None if before is None else figures(graded, before)
        for band in wanted.bands:
            found += _judged(band, named[band.figure], graded, mine, theirs)
    if earlier is not None and before is not None:
        found += gate.kept(result.card, earlier, before, present)
    found += [one for label in result.controllers for one in _ended(result[label])]
    return Judged(wanted.name, tuple(found), (), result.state.total, "" if earlier is None else str(earlier))


def _named(deck: Deck, band: Band) -> Iterator[str]:
    """The figures that a band names: a section, cases, or a figure of cases.

    Raises:
        DefinitionError: There is none.
    """
    where = f"bands.{band.figure}"
    if band.figure in deck.sections:
        if not deck.sections[band.figure]:
            raise DefinitionError(where, "found no case of it among those of `only`, expected one or more")
        yield band.figure
        return
    cases = _matching(deck.cases, band.figure)
    if cases:
        yield from (case.name for case in cases)
        return
    pattern, _, figure = band.figure.rpartition(".")
    cases = _matching(deck.cases, pattern)
    if not cases:
        raise DefinitionError(
            where,
            f"found {band.figure!r}, {one_of(band.figure, [*deck.sections, *(case.name for case in deck.cases)])}",
        )
    for case in cases:
        if figure not in case.rules:
            raise DefinitionError(
                where, f"found no figure {figure!r} in case {case.name!r}, {one_of(figure, case.rules)}"
            )
        yield f"{case.name}.{figure}"


def _matching(cases: Sequence[Case], pattern: str) -> list[Case]:
    return [case for case in cases if matching([case.name, case.file.name], pattern)]


def _judged(
    band: Band, names: Sequence[str], graded: Graded, mine: Figures, theirs: Figures | None
) -> Iterator[Verdict]:
    own = band if theirs is not None else band.without_distance()
    if own.min is None and own.max is None and own.within is None:
        return
    for name in names:
        values = {None: mine.get(name)}
        yield verdict(
            graded.controller,
            name,
            own,
            values,
            {} if theirs is None else {None: theirs.get(name)},
            _reasons(graded, name),
        )


def figures(graded: Graded, table: pd.DataFrame) -> Figures:
    """The figures of a controller by their names, from the rows of this scorecard or of an earlier one."""
    own = table[table["controller"] == graded.controller]
    words = {str(case): str(word) for case, word in zip(own["case"], own["case_verdict"], strict=True)}
    found = {case: float(word == HOLDS) for case, word in words.items()}
    for section in graded.grades:
        if asked := [found[case.name] for case in graded.card.deck.sections[section] if case.name in found]:
            found[section] = sum(asked) / len(asked)
    means = zip(own["case"], own["figure"], own["mean"], strict=True)
    return found | {f"{case}.{figure}": float(mean) for case, figure, mean in means if pd.notna(mean)}


def _reasons(graded: Graded, name: str) -> list[str]:
    """The reasons of the cases that do not hold, of those that a figure is about."""
    case = graded.cases.get(name) or graded.cases.get(name.rpartition(".")[0])
    if case is not None:
        return case.reasons
    asked = [graded.cases[one.name] for one in graded.card.deck.sections[name] if one.name in graded.cases]
    amiss = [f"{one.case.name}: {one.word}" for one in asked if one.word != HOLDS]
    more = len(amiss) - REASONS
    return [*amiss[:REASONS], *([f"and {more} cases more"] if more > 0 else [])]


def _ended(graded: Graded) -> Iterator[Verdict]:
    """Verdicts on cases whose runs came to no end."""
    for case in graded.cases.values():
        if case.failed:
            found = f"{case.failed} of {case.runs} runs failed"
            yield Verdict(graded.controller, case.case.name, "runs that end", found, False, (case.error or "",))
