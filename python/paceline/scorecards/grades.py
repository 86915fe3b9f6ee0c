"""Verdicts and grades: each rule is held against the mean over the seeds with its interval, and sections are graded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from paceline.errors import one_of
from paceline.scorecards.cases import Case, Deck, Rule
from paceline.scorecards.definition import Entry, kind_of
from paceline.scorecards.questions import Document, Question
from paceline.studies.estimates import half_interval, short

if TYPE_CHECKING:
    import pandas as pd

Word = Literal["holds", "open", "fails"]
HOLDS: Word = "holds"
OPEN: Word = "open"
"""The interval of the mean reaches across the band's end."""
FAILS: Word = "fails"
GRADES = (("A", 1.0), ("B", 0.8), ("C", 0.6), ("D", 0.4), ("E", 0.0))
"""Grades with the least part of the cases that hold."""


@dataclass(frozen=True)
class Verdict:
    """A figure of a controller in a case, held against its band."""

    figure: str
    title: str
    unit: str
    rule: Rule
    word: Word
    mean: float | None
    half: float | None
    """Half the width of the 95 % interval of the mean; None of a single seed."""
    count: int
    """Seeds that have the figure."""
    missing: int = 0
    """Seeds that have none."""

    @property
    def found(self) -> str:
        """The figure in words."""
        if self.mean is None:
            return "no figure"
        interval = "" if not self.half else f" ± {short(self.half)}"
        return f"{short(self.mean)}{interval}" + (f"; {self.missing} seeds without" if self.missing else "")

    @property
    def said(self) -> str:
        """The verdict as a reason."""
        return f"{self.title}: {self.found}{f' {self.unit}' if self.unit else ''}, expected {self.rule.expected}"


@dataclass(frozen=True)
class Outcome:
    """A controller in a case."""

    case: Case
    controller: str
    verdicts: tuple[Verdict, ...]
    runs: int
    failed: int
    error: str | None
    """The first error of its runs."""

    @cached_property
    def word(self) -> Word:
        """The verdict on the case: it holds if every figure does."""
        if self.failed or any(one.word == FAILS for one in self.verdicts):
            return FAILS
        return OPEN if any(one.word == OPEN for one in self.verdicts) else HOLDS

    @property
    def reasons(self) -> list[str]:
        """The reasons why it does not hold."""
        failed = [f"{self.failed} of {self.runs} runs failed: {self.error}"] if self.failed else []
        return failed + [one.said for one in self.verdicts if one.word != HOLDS]


def outcome(entry: Entry, rows: pd.DataFrame) -> Outcome:
    """The outcome of a controller's runs in a case."""
    failed = rows[rows["error"].notna()]
    ended = rows[rows["error"].isna()]
    verdicts = [
        _verdict(entry.case, name, rule, [float(value) for value in ended[f"metric.{name}"]])
        for name, rule in entry.case.rules_of(entry.kind).items()
    ]
    error = None if failed.empty else str(failed["error"].iloc[0])
    return Outcome(entry.case, entry.contender.label, tuple(verdicts), len(rows), len(failed), error)


def _verdict(case: Case, name: str, rule: Rule, values: Sequence[float]) -> Verdict:
    figure = case.figures[name]
    present = [value for value in values if not math.isnan(value)]
    missing = len(values) - len(present)
    mean = sum(present) / len(present) if present else None
    half = half_interval(present)
    word = FAILS if mean is None or missing else _word(rule, mean, half or 0.0)
    return Verdict(name, figure.title, figure.unit, rule, word, mean, half, len(present), missing)


def _word(rule: Rule, mean: float, half: float) -> Word:
    """Whether the whole interval lies inside the band, or outside of it."""
    low, high = -math.inf if rule.min is None else rule.min, math.inf if rule.max is None else rule.max
    if low <= mean - half and mean + half <= high:
        return HOLDS
    return FAILS if mean + half < low or mean - half > high else OPEN


@dataclass(frozen=True)
class Grade:
    """The cases of a question or a document that hold for a controller."""

    holds: int
    open: int
    fails: int

    @property
    def count(self) -> int:
        """How many cases there are for the controller."""
        return self.holds + self.open + self.fails

    @property
    def letter(self) -> str:
        """The grade; empty where no case was asked."""
        if not self.count:
            return ""
        return next(letter for letter, least in GRADES if self.holds >= least * self.count - 1e-9)

    @property
    def said(self) -> str:
        """Letter and counts."""
        return f"{self.letter} {self.holds}/{self.count}" if self.count else ""


def grade(outcomes: Iterable[Outcome]) -> Grade:
    """The grade of some outcomes."""
    words = [one.word for one in outcomes]
    return Grade(words.count(HOLDS), words.count(OPEN), words.count(FAILS))


@dataclass(frozen=True)
class Card:
    """The outcomes of all controllers, and what follows for each document."""

    deck: Deck
    entries: tuple[Entry, ...]
    outcomes: tuple[Outcome, ...]

    @cached_property
    def controllers(self) -> dict[str, str]:
        """Kinds of the controllers by their labels."""
        return {one.contender.label: kind_of(one.contender) for one in self.entries}

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, str], Outcome]:
        return {(one.case.name, one.controller): one for one in self.outcomes}

    def at(self, case: Case, controller: str) -> Outcome | None:
        """The outcome of a controller in a case; None if that is not for its kind."""
        return self._by_place.get((case.name, controller))

    def cases(self, document: Document, question: Question | None = None) -> list[Case]:
        """The cases that answer a question, or any of a document."""
        return self.deck.sections[document.name if question is None else document.called(question)]

    def grade(self, controller: str, document: Document | None = None, question: Question | None = None) -> Grade:
        """The grade of a controller at a question, in a document, or in all cases."""
        cases = self.deck.cases if document is None else self.cases(document, question)
        return grade(found for case in cases if (found := self.at(case, controller)) is not None)

    def of(self, controller: str) -> Graded:
        """Grades and outcomes of one controller.

        Raises:
            KeyError: It is not in the card.
        """
        if controller not in self.controllers:
            raise KeyError(f"found controller {controller!r}, {one_of(controller, list(self.controllers))}")
        return Graded(self, controller)

    def unasked(self, document: Document) -> list[Question]:
        """The questions of a document that no case answers for any of the controllers."""
        return [
            one
            for one in document.questions
            if not any(self.at(case, label) for case in self.cases(document, one) for label in self.controllers)
        ]


@dataclass(frozen=True)
class Graded(Mapping[str, Grade | Outcome]):
    """One controller in a card: grades by section (`"RFC 9743"`, `"RFC 9743 5.1.2"`, `"all"`), outcomes by case."""

    card: Card
    controller: str

    def __getitem__(self, name: str) -> Grade | Outcome:
        found = self.grades.get(name) or self.cases.get(name)
        if found is None:
            raise KeyError(f"found {name!r}, {one_of(name, list(self))}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter((*self.grades, *self.cases))

    def __len__(self) -> int:
        return len(self.grades) + len(self.cases)

    @cached_property
    def grades(self) -> dict[str, Grade]:
        """Grades by the names of documents and sections."""
        return {
            name: grade(self.cases[case.name] for case in cases if case.name in self.cases)
            for name, cases in self.card.deck.sections.items()
        }

    @cached_property
    def cases(self) -> dict[str, Outcome]:
        """Outcomes by the names of cases."""
        return {one.case.name: one for one in self.card.outcomes if one.controller == self.controller}
