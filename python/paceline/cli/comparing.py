"""`paceline compare`: runs controllers side by side, and tells people, or a program, what came out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from paceline.cli.latex import latex
from paceline.cli.mistaken import expecting
from paceline.cli.options import one_form
from paceline.cli.progress import study_progress
from paceline.cli.speak import note, printing, say, say_remade
from paceline.cli.sweep_options import CompareOptions
from paceline.cli.tables import table_of
from paceline.comparison import report
from paceline.comparison.grammar import seeds_of
from paceline.comparison.run import compare, ranking_document
from paceline.errors import UsageError, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from paceline.comparison.figures import Figure
    from paceline.comparison.result import ComparisonResult

LABEL = 30
"""Letters of a controller's label that stand on one line."""
PRINTED = 8
"""Conditions whose tables are printed; the report has all."""


def run(options: CompareOptions) -> bool:
    """Runs a comparison and says what came out; whether every run went well."""
    one_form(options.json, options.latex)
    over, controllers = options.over or [], options.controllers or []
    for word in controllers:
        if word.replace("-", "_") in {one.name for one in fields(options)}:
            raise UsageError(f"compare: found the word {word!r}, expected a controller; did you mean --{word}?")
    with (
        study_progress() as progress,
        expecting("scenario, recording or network", [one.partition(",")[0].partition("=")[2] or one for one in over]),
        expecting("controller", controllers),
    ):
        result = compare(
            controllers,
            over=over,
            seeds=seeds_of(options.seeds),
            flows=options.flow or [],
            duration=options.duration,
            warmup=options.warmup,
            weights=options.weights,
            join=options.join or [],
            earlier=options.with_,
            progress=progress,
            say=note,
            **options.work("compare"),
        )
    say_remade(result.remade)
    with printing():
        if options.json:
            print(json.dumps(_document(result), indent=2))
        elif options.latex:
            print(latex(_printed_tables(result)))
        else:
            _print(result)
    for one in result.failures:
        say(f"paceline: {one.controller} failed over {one.condition} ({one.count} runs): {one.error}")
    return not result.failures


def _document(result: ComparisonResult) -> dict[str, Any]:
    return {
        "out": str(result.out),
        "report": str(result.report),
        "runs": result.state.total,
        "failed": result.state.failed,
        "taken_over": result.state.taken_over,
        "baseline": result.baseline,
        "earlier": dict(result.earlier),
        "failures": [vars(one) for one in result.failures],
        "medians": json.loads(result.medians.to_json(orient="records")),
        "differences": json.loads(result.differences.to_json(orient="records")),
        "overall": json.loads(result.overall[1].to_json(orient="records")),
        "ranking": ranking_document(result),
    }


LATEX = 100
"""Letters of a table's width for LaTeX, about a page of a paper in small letters; figures beyond it are left out."""


def _printed_tables(result: ComparisonResult) -> list[Table]:
    """The tables of all conditions, and the ranking, whatever the width of the terminal is."""
    from rich.console import Console

    tables = _condition_tables(result, Console(width=LATEX), len(report.tabled(result)))
    return [*tables, _ranking_table(result)] if result.ranking.order else tables


def _print(result: ComparisonResult) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    for table in _condition_tables(result, console):
        console.print(table)
    if (more := len(report.tabled(result)) - PRINTED) > 0:
        console.print(f"{more} conditions more stand in the report")
    for remark in report.notes(result):
        console.print(remark, markup=False)
    if result.ranking.order:
        console.print(_ranking_table(result))
    for line in (*(flip.said for flip in result.ranking.flips), *result.ranking.notes):
        console.print(printable(line), markup=False)
    state = result.state
    over = f", {state.taken_over:,} of them taken over" if state.taken_over else ""
    failed = f"; {state.failed:,} failed" if state.failed else ""
    console.print(f"runs:     {state.total:,}{over}{failed}", soft_wrap=True)
    console.print(f"report:   {result.report}", markup=False, soft_wrap=True)


def _condition_tables(result: ComparisonResult, console: Console, count: int = PRINTED) -> list[Table]:
    """A table for each condition with as many figures as all have room for: first those that the ranking counts."""
    known = {one.name: one for one in report.shown(result)}
    counted = [name for name, weight in result.ranking.weights.items() if weight]
    chosen = list(dict.fromkeys((*counted, *known)))
    boundless = console.options.update(width=10_000)
    while True:
        figures = [one for name, one in known.items() if name in chosen]
        tables = [_condition_table(result, one, figures) for one in report.tabled(result)[:count]]
        if len(chosen) < 2 or all(console.measure(one, options=boundless).maximum <= console.width for one in tables):
            return tables
        chosen.pop()


def _condition_table(result: ComparisonResult, condition: str, figures: Sequence[Figure]) -> Table:
    """A row for each controller: medians, and below them how much more that is than the baseline has."""
    from rich.text import Text

    table = table_of(report.title(result, condition), ("", "runs"))
    for figure in figures:
        table.add_column(figure.heading.replace(", ", ",\n"), justify="right")
    table.columns[0].width = min(LABEL, max(map(len, result.controllers)))
    table.columns[0].overflow = "fold"
    colours = {"holds": "green", "does-not-hold": "red"}
    for line in report.lines(result, condition, figures):
        runs = f"{line.runs}" if not line.failed else f"{line.runs}\n{line.failed} failed"
        cells = [Text(cell.median or "-") for cell in line.cells]
        for text, cell in zip(cells, line.cells, strict=True):
            if cell.difference:
                text.append(f"\n{cell.difference}", colours.get(cell.verdict, "dim"))
            for below in filter(None, (cell.interval, cell.note)):
                text.append(f"\n{below}", "dim")
        table.add_row(Text(printable(line.controller)), runs, *cells)
    return table


def _ranking_table(result: ComparisonResult) -> Table:
    from rich.text import Text

    ranking = result.ranking
    said = ", ".join(f"{name}={weight:g}" for name, weight in ranking.weights.items())
    counted = [name for name, weight in ranking.weights.items() if weight]
    table = table_of(f"ranking by {said}", ("", "utility", *counted))
    for one in ranking.order:
        scores = (f"{ranking.scores[one][name]:.3f}" for name in counted)
        table.add_row(Text(printable(one)), f"{ranking.utilities[one]:.3f}", *scores)
    return table
