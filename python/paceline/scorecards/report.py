"""The report of a scorecard: one HTML page with grades, questions, cases with pictures, and what was not asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline.plots.styles import SCREEN
from paceline.scorecards import pictures
from paceline.scorecards.cases import Case, CaseFile
from paceline.scorecards.grades import FAILS, GRADES, HOLDS, OPEN, Card, Grade, Outcome, Verdict
from paceline.studies.markdown import Cells
from paceline.studies.progress import State
from paceline.studies.report import page

CLASSES = {HOLDS: "holds", OPEN: "holds-in-direction", FAILS: "does-not-hold"}
"""Classes of the page's style by verdict."""


@dataclass(frozen=True)
class Line:
    """A figure of a case, of all controllers."""

    figure: str
    expected: str
    source: str
    cells: list[Verdict | None]


@dataclass(frozen=True)
class Block:
    """A case with its figures and its picture."""

    case: Case
    words: list[Outcome | None]
    lines: list[Line]
    picture: str

    @property
    def anchor(self) -> str:
        """The place of the case in the page."""
        return anchor(self.case)


@dataclass(frozen=True)
class Chapter:
    """A file of cases."""

    file: CaseFile
    blocks: list[Block]


def anchor(case: Case) -> str:
    """The place of a case in the page, without what an address cannot have."""
    return "case-" + "".join(letter if letter.isalnum() else "-" for letter in case.name)


def render(card: Card, state: State, out: Path) -> str:
    """The page."""
    labels = list(card.controllers)
    looked = pictures.looks_of(card.entries)
    colours = {label: SCREEN.colour(look.colour) for label, look in looked.items()}
    found: dict[str, list[pictures.Lines]] = {}
    for entry in card.entries:
        if (own := pictures.lines(entry, out)) is not None:
            found.setdefault(entry.case.name, []).append(own)
    chapters: dict[str, Chapter] = {}
    for case in card.deck.cases:
        if any(card.at(case, label) for label in labels):
            drawn = pictures.draw(found.get(case.name, ()), looked, colours)
            chapters.setdefault(case.file.name, Chapter(case.file, [])).blocks.append(_block(card, case, labels, drawn))
    return page(
        "scorecard.html",
        card=card,
        state=state,
        labels=labels,
        colours=colours,
        chapters=list(chapters.values()),
        classes=CLASSES,
        scale=", ".join(f"{letter} from {100 * least:.0f} %" for letter, least in GRADES[1:-1]),
        grade_class=grade_class,
        anchor=anchor,
    )


def grades(card: Card) -> Cells:
    """The grades of all controllers by document."""
    documents = card.deck.documents
    heading = ["controller", "all cases", *(document.name for document in documents)]
    lines = [
        [label, card.grade(label).said, *(card.grade(label, document).said for document in documents)]
        for label in card.controllers
    ]
    return Cells(heading, lines)


def grade_class(grade: Grade) -> str:
    """The style of a grade."""
    return f"grade grade-{grade.letter.lower() or 'none'}"


def _block(card: Card, case: Case, labels: Sequence[str], picture: str) -> Block:
    outcomes = [card.at(case, label) for label in labels]
    of_each: list[Mapping[str, Verdict]] = [
        {} if one is None else {verdict.figure: verdict for verdict in one.verdicts} for one in outcomes
    ]
    lines = [
        Line(case.figures[name].heading, rule.expected, rule.source, [own.get(name) for own in of_each])
        for name, rule in case.rules.items()
    ]
    return Block(case, outcomes, lines, picture)
