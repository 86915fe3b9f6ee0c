"""The report as plain text, in the order of RFC 9743, as an author would paste it into a draft."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from paceline.scorecards.cases import Case
from paceline.scorecards.grades import Card, Outcome
from paceline.studies.progress import State
from paceline.version import __version__

WIDTH = 69
"""Letters of a line in an Internet-Draft, less its margin of three."""


def text(card: Card, state: State) -> str:
    """The whole text: documents in their order, each question with its grades, its cases and what they found."""
    return "\n".join(line.rstrip() for line in _lines(card, state)) + "\n"


def _lines(card: Card, state: State) -> Iterator[str]:
    labels = list(card.controllers)
    yield from _wrapped(f"Evaluation of {', '.join(labels)}", 0)
    yield ""
    runs = f"{state.total:,} runs in the simulator of Paceline {__version__.partition('+')[0]}"
    yield from _wrapped(
        f"{runs}. Every rule was written before any run. It holds where the 95 % interval of the mean over the seeds "
        "lies inside its band, and fails where it lies outside or where a seed has no figure; else it is open. A grade "
        "counts the cases that hold: A all, B 80 %, C 60 %, D 40 %, E fewer.",
        0,
    )
    told: set[str] = set()
    for document in card.deck.documents:
        yield from ("", "", *_wrapped(f"{document.name}. {document.title}", 0))
        for label in labels:
            yield from _wrapped(f"{label}: {card.grade(label, document).said or 'not asked'}", 2)
        for question in document.questions:
            yield from ("", *_wrapped(f"{question.section}. {question.title}", 0))
            cases = [one for one in card.cases(document, question) if any(card.at(one, label) for label in labels)]
            for label in labels if cases else ():
                yield from _wrapped(f"{label}: {card.grade(label, document, question).said or 'not asked'}", 2)
            for case in cases:
                yield from _case(card, case, told)
            if question.not_asked:
                yield from _wrapped(f"Not asked: {question.not_asked}", 2)
            elif not cases:
                yield from _wrapped("Not asked: no case that ran answers it.", 2)


def _case(card: Card, case: Case, told: set[str]) -> Iterator[str]:
    """A case with its figures; where it was told above, its verdicts alone."""
    outcomes = [one for label in card.controllers if (one := card.at(case, label)) is not None]
    said = ", ".join(f"{one.controller} {one.word}" for one in outcomes)
    if case.name in told:
        yield from _wrapped(f"* {case.name}: {said} (above)", 2)
        return
    told.add(case.name)
    yield from _wrapped(f"* {case.name}: {said}", 2)
    yield from _wrapped(f"{case.title}. {case.file.source}. {case.file.seeds} seeds.", 4)
    for outcome in outcomes:
        yield from _figures(outcome)


def _figures(outcome: Outcome) -> Iterator[str]:
    for one in outcome.verdicts:
        yield from _wrapped(f"- {outcome.controller}: {one.said}: {one.word}", 4)
    if outcome.failed:
        yield from _wrapped(
            f"- {outcome.controller}: {outcome.failed} of {outcome.runs} runs failed: {outcome.error}", 4
        )


def _wrapped(said: str, indent: int) -> list[str]:
    begin = " " * indent
    rest = begin + ("  " if said.startswith(("* ", "- ")) else "")
    return textwrap.wrap(said, WIDTH, initial_indent=begin, subsequent_indent=rest, break_long_words=False)
