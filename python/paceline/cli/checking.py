"""`paceline check`: holds figures against bands, and tells people, a program, or the service that shows a change."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from paceline.checks import report
from paceline.checks.run import check
from paceline.cli.mistaken import expecting
from paceline.cli.speak import printing, progress_bar, say
from paceline.cli.sweep_options import CheckOptions
from paceline.cli.tables import table_of
from paceline.errors import OutputError, printable

if TYPE_CHECKING:
    from pathlib import Path

    from paceline.checks.judge import Judged


def run(options: CheckOptions) -> bool:
    """Runs a check and says what came out; whether every band holds."""
    for target in (options.junit, options.markdown):
        expect_writable(target)
    named = [] if options.file is None else [str(options.file)]
    with expecting("check of figures", named), progress_bar("checking") as progress:
        result = check(
            options.file,
            against=options.against,
            within=options.within,
            record=options.record,
            data=options.data,
            progress=progress,
        )
    own = "".join(f" --controller {shlex.quote(one)}" for one in options.controller or ())
    result = replace(result, commands={run: f"{command}{own}" for run, command in result.commands.items()})
    for target, text in ((options.junit, report.junit), (options.markdown, report.markdown)):
        if target is not None:
            _write(target, text(result))
    with printing():
        if options.json:
            print(json.dumps(_document(result), indent=2))
        else:
            _print(result)
    if options.record is not None:
        say("nothing was recorded: runs failed" if result.failed else f"recorded in {options.record}")
    return result.holds


def expect_writable(target: Path | None) -> None:
    """Refuses, before any run, a report that cannot be written."""
    if target is None:
        return
    if target.is_dir():
        raise OutputError(f"{target}: found a folder, expected a file")
    if not target.parent.is_dir():
        raise OutputError(f"{target}: cannot be written: {target.parent} is not there")


def _write(target: Path, text: str) -> None:
    from paceline.outputs import replace_file

    replace_file(target, text)


def _document(result: Judged) -> dict[str, object]:
    return {
        "check": result.name,
        "holds": result.holds,
        "runs": result.runs,
        "against": result.against or None,
        "verdicts": [vars(one) for one in result.verdicts],
        "failed": [vars(one) for one in result.failed],
    }


def _print(result: Judged) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for scenario in result.scenarios:
        own = [one for one in result.verdicts if one.scenario == scenario]
        table = table_of(scenario, ("figure", "expected", "found", ""))
        table.columns[0].overflow = "fold"
        for one in own:
            sign = Text("✓", "green") if one.holds else Text("✗", "red")
            table.add_row(Text(printable(one.figure)), one.expected, one.found, sign)
        if own:
            console.print(table)
        for run in result.failed:
            if run.scenario == scenario:
                console.print(printable(f"{scenario}, seed {run.seed}: {run.error}"), markup=False, soft_wrap=True)
    for one in (one for one in result.verdicts if not one.holds):
        again = [] if one.seed is None else [result.commands[one.scenario, one.seed]]
        for line in (f"{one.scenario}, {one.figure}:", *one.details, *again):
            console.print(printable(line), markup=False, soft_wrap=True)
    console.print(printable(report.told(result)), markup=False, soft_wrap=True)
