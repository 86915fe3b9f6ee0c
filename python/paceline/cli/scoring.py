"""`paceline scorecard`: grades controllers, and tells people, or a program, what came out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from paceline.checks import report
from paceline.cli.checking import expect_writable
from paceline.cli.mistaken import expecting
from paceline.cli.progress import study_progress
from paceline.cli.speak import printing, say_remade
from paceline.cli.sweep_options import ScorecardOptions
from paceline.cli.tables import table_of
from paceline.errors import UsageError, printable
from paceline.outputs import replace_file
from paceline.scorecards import gate
from paceline.scorecards.cases import documents
from paceline.scorecards.grades import HOLDS
from paceline.scorecards.run import scorecard

if TYPE_CHECKING:
    from paceline.checks.judge import Judged
    from paceline.scorecards.run import Scorecard

REASONS = 40
"""Cases that do not hold whose reasons are printed; the report has all."""


def run(options: ScorecardOptions) -> bool:
    """Runs a scorecard and says what came out; whether what it is held against holds."""
    controllers = options.controllers or []
    gated = options.require is not None or options.against is not None
    for name, target in (("junit", options.junit), ("markdown", options.markdown)):
        if target is not None and not gated:
            raise UsageError(
                f"--{name}: found neither --require nor --against, expected what the outcome is held against"
            )
    for target in (options.text, options.junit, options.markdown):
        expect_writable(target)
    if options.require is not None:
        gate.read_required(options.require, documents())
    # Read now: a mistake is said before any run, and a folder may be the one that is written.
    against = None if options.against is None else (options.against, gate.read_verdicts(options.against))
    with study_progress() as progress, expecting("controller", controllers):
        result = scorecard(
            controllers,
            folders=options.cases or (),
            only=options.only or (),
            progress=progress,
            **options.work("scorecard"),
        )
    say_remade(result.remade)
    held = gate.judged(result.card, result.state.total, options.require, against) if gated else None
    if options.text is not None:
        replace_file(options.text, result.text)
    for target, form in ((options.junit, report.junit), (options.markdown, report.markdown)):
        if target is not None and held is not None:
            replace_file(target, form(held))
    with printing():
        if options.json:
            print(json.dumps(_document(result, held), indent=2))
        else:
            _print(result)
            if held is not None:
                _print_gate(held)
    return held is None or held.holds


def _document(result: Scorecard, held: Judged | None) -> dict[str, object]:
    card = result.card
    return {
        "out": str(result.out),
        "report": str(result.report),
        "runs": result.state.total,
        "failed": result.state.failed,
        "taken_over": result.state.taken_over,
        "grades": {
            label: {
                "all": vars(card.grade(label)) | {"grade": card.grade(label).letter},
                **{
                    name: vars(own) | {"grade": own.letter}
                    for document in card.deck.documents
                    for name, question in document.by_name.items()
                    if (own := card.grade(label, document, question)).count
                },
            }
            for label in card.controllers
        },
        "cases": [
            {"case": one.case.name, "controller": one.controller, "verdict": one.word, "reasons": one.reasons}
            for one in card.outcomes
        ],
        "holds": None if held is None else held.holds,
        "gate": [] if held is None else [vars(one) for one in held.verdicts],
    }


def _print_gate(held: Judged) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    amiss = [one for one in held.verdicts if not one.holds]
    for one in amiss:
        said = f"{one.scenario}, {one.figure}: found {one.found}, expected {one.expected}"
        for line in (said, *(f"    {detail}" for detail in one.details)):
            console.print(printable(line), markup=False, soft_wrap=True)
    console.print(f"{len(held.verdicts) - len(amiss)} of {len(held.verdicts)} requirements hold")


def _print(result: Scorecard) -> None:
    from rich.console import Console
    from rich.text import Text

    card = result.card
    console = Console(highlight=False)
    for document in card.deck.documents:
        if not any(card.grade(label, document).count for label in card.controllers):
            continue
        table = table_of(f"{document.name}: {document.title}", ("", "", *card.controllers))
        for question in document.questions:
            said = [card.grade(label, document, question).said for label in card.controllers]
            if any(said):
                table.add_row(question.section, question.title, *said)
        table.add_row("all", "", *(Text(card.grade(label, document).said, "bold") for label in card.controllers))
        console.print(table)
    amiss = [one for one in card.outcomes if one.word != HOLDS]
    for one in amiss[:REASONS]:
        console.print(printable(f"{one.controller}, {one.case.name}: {one.word}"), markup=False, soft_wrap=True)
        for reason in one.reasons:
            console.print(printable(f"    {reason}"), markup=False, soft_wrap=True)
    if len(amiss) > REASONS:
        console.print(f"{len(amiss) - REASONS} cases more do not hold; the report has them")
    state = result.state
    over = f", {state.taken_over:,} of them taken over" if state.taken_over else ""
    console.print(f"runs:     {state.total:,}{over}; {state.failed:,} failed", soft_wrap=True)
    console.print(f"report:   {result.report}", markup=False, soft_wrap=True)
