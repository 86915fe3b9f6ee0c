"""A scorecard held against the least grades that somebody requires, or against an earlier one: no case may fall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import filter as matching
from pathlib import Path
from typing import Any

import pandas as pd

from paceline import disk
from paceline.checks.judge import Judged, Verdict
from paceline.errors import DataNotFound, StudyError, UsageError, one_of
from paceline.scorecards.grades import GRADES, HOLDS, OPEN, Card, Word
from paceline.scorecards.questions import Document, sections
from paceline.studies.spec import DefinitionError, Spec, expect_known, read, told_with_line
from paceline.toml import decoded, loads

VERDICTS = "verdicts.csv"
"""The file of a scorecard with the verdict on each figure."""
LETTERS = tuple(letter for letter, _ in GRADES)
_PLACES: dict[Word | str, int] = {HOLDS: 0, OPEN: 1}
"""Verdicts in their order; all others come after."""
KEYS = ["case", "controller", "figure"]


class Required(Spec, frozen=True, kw_only=True):
    """The least that is required of every controller."""

    grades: dict[str, str] = {}
    """The least grade by document, by document and section, or of `all` cases."""
    holds: tuple[str, ...] = ()
    """Cases that must hold: names, files, or either with `*`."""


def verdicts(card: Card) -> pd.DataFrame:
    """A row for each figure of each controller in each case."""
    rows: list[dict[str, Any]] = []
    for outcome in card.outcomes:
        whole = {"case": outcome.case.name, "controller": outcome.controller, "case_verdict": outcome.word}
        for one in outcome.verdicts:
            found = {"verdict": one.word, "mean": one.mean, "half": one.half, "seeds": one.count}
            band = {"missing": one.missing, "min": one.rule.min, "max": one.rule.max, "unit": one.unit}
            rows.append({**whole, "figure": one.figure, **found, **band, "error": outcome.error})
    return pd.DataFrame(rows)


def read_required(path: Path, documents: Sequence[Document]) -> Required:
    """The file with the least grades.

    Raises:
        StudyError: It is wrong: the message names file, line, key, what was found and what was expected.
    """
    if not disk.is_file(path):
        raise DataNotFound(f"--require {path}: no such file")
    text = decoded(path.read_bytes(), str(path))
    with told_with_line(path, text):
        found = read("", loads(text), Required)
        if not found.grades and not found.holds:
            raise DefinitionError("", "found neither `grades` nor `holds`, expected one")
        for name, letter in found.grades.items():
            expect_known(f"grades.{name}", name, sections(documents))
            expect_known(f"grades.{name}", letter, LETTERS)
        return found


def judged(card: Card, runs: int, require: Path | None, against: tuple[Path, pd.DataFrame] | None) -> Judged:
    """The outcome of both gates; `against` is the folder of an earlier scorecard, and its rows.

    Raises:
        StudyError: A file is wrong, or a rule is another one than in the earlier scorecard.
    """
    found = [*(_required(card, require) if require is not None else ())]
    found += kept(card, *against, verdicts(card)) if against is not None else ()
    told = "" if against is None else str(against[0])
    return Judged("scorecard", tuple(found), (), runs, told)


def _required(card: Card, path: Path) -> Iterator[Verdict]:
    wanted = read_required(path, card.deck.documents)
    for label in card.controllers:
        for name, letter in wanted.grades.items():
            own = card.of(label).grades[name]
            holds = bool(own.letter) and LETTERS.index(own.letter) <= LETTERS.index(letter)
            yield Verdict(label, name, f"{letter} or better", own.said or "not asked", holds)
        outcomes = card.of(label).cases
        files = {name: one.case.file.name for name, one in outcomes.items()}
        for pattern in wanted.holds:
            cases = [name for name in outcomes if matching([name, files[name]], pattern)]
            if not cases:
                raise StudyError(f"{path}: holds: found {pattern!r}, {one_of(pattern, list(outcomes))}")
            for name in cases:
                own_case = outcomes[name]
                yield Verdict(label, name, HOLDS, own_case.word, own_case.word == HOLDS, tuple(own_case.reasons))


def read_verdicts(folder: Path) -> pd.DataFrame:
    """The rows that `verdicts` gave an earlier scorecard.

    Raises:
        DataNotFound: There is no scorecard.
        StudyError: They are damaged.
    """
    path = folder / VERDICTS
    if not disk.is_file(path):
        raise DataNotFound(f"--against {folder}: found no {VERDICTS} there, expected the folder of a scorecard")
    try:
        table = pd.read_csv(path)
    except ValueError as error:
        raise StudyError(f"{path}: {error}; expected what a scorecard wrote") from None
    if missing := {*KEYS, "case_verdict", "mean", "min", "max"} - {*table.columns}:
        raise StudyError(f"{path}: found no column {min(missing)}; expected what a scorecard wrote")
    return table


def kept(card: Card, folder: Path, earlier: pd.DataFrame, present: pd.DataFrame) -> Iterator[Verdict]:
    """Whether each case is as good as it was; cases that one of the two does not have are left out.

    Args:
        card: The scorecard.
        folder: The folder of the earlier one.
        earlier: Its rows, as `read_verdicts` gives them.
        present: The rows of `card`, as `verdicts` gives them.
    """
    path = folder / VERDICTS
    words = dict(zip(zip(earlier["case"], earlier["controller"], strict=True), earlier["case_verdict"], strict=True))
    before = earlier.set_index(KEYS)[["min", "max"]]
    now = present.set_index(KEYS)
    both = now.index.intersection(before.index)
    if not len(both):
        labels = list(dict.fromkeys(before.index.get_level_values("controller")))
        raise UsageError(f"--against {folder}: found no case in common, expected one of {', '.join(map(str, labels))}")
    for key in both:
        mine, theirs = now.loc[key], before.loc[key]
        for end in ("min", "max"):
            one, other = float(mine[end]), float(theirs[end])
            if one != other and not (one != one and other != other):
                raise StudyError(
                    f"{path}: case {key[0]!r}, {key[2]}: found {end} {other:g} then and {one:g} now, expected one rule"
                )
    reasons = {(one.case.name, one.controller): tuple(one.reasons) for one in card.outcomes}
    pairs = dict.fromkeys((str(case), str(label)) for case, label, _ in both)
    own = {(one.case.name, one.controller): one.word for one in card.outcomes}
    for case, label in pairs:
        word, then = own[case, label], words[case, label]
        holds = _PLACES.get(word, 2) <= _PLACES.get(then, 2)
        yield Verdict(label, case, f"{then}, as before, or better", word, holds, reasons[case, label])
