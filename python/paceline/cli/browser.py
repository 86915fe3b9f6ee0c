"""`paceline browser`: a call with Chromium, or a person's browser, over a scenario's links."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from shlex import quote

from paceline import _core
from paceline.browser.call import BrowserCall, call
from paceline.browser.chromium import Congestion
from paceline.browser.seen import COLUMNS
from paceline.cli.socket_options import SocketOptions
from paceline.cli.speak import printing, progress_bar, say
from paceline.errors import UsageError
from paceline.outputs import OutputFolder


def hold(
    options: SocketOptions, role: str, congestion: Congestion, rate: str, program: Path | None, wait: bool
) -> None:
    """Holds the call, shows what came of it, and writes it."""
    folder = None if options.out is None else OutputFolder(options.out)
    scenario = options.read().load()
    with progress_bar("calling") as progress:
        held = call(
            scenario,
            role,
            congestion=congestion,
            rate_bps=_rate(rate),
            flow=options.flow,
            program=None if program is None else str(program),
            wait=_invite if wait else None,
            progress=progress,
        )
    if folder is not None:
        with folder:
            for name, content in held.files(plots=options.draws).items():
                folder.stage(name, content)
    for warning in held.warnings:
        say(f"warning: {warning}")
    with printing():
        _print(held, options)
    if folder is not None:
        say(f"written to {folder.path}")


def _invite(url: str, options: list[str]) -> None:
    say(f"open {url}\nin a Chromium or Chrome that was started with {' '.join(map(quote, options))}")


def _rate(text: str) -> float:
    found = _core.quantity(text)
    if found is None or found[1] != "bit/s" or found[0] <= 0:
        raise UsageError(f"--rate: found {text!r}, expected a bitrate above 0, such as 5Mbps")
    return found[0]


def _print(held: BrowserCall, options: SocketOptions) -> None:
    if options.json:
        documents = {"endpoint": held.endpoint.summary, "link": held.link.summary, "browser": held.summary}
        print(dumps(documents, indent=2))
        return
    if options.latex:
        from paceline.cli.latex import latex
        from paceline.cli.tables import summary_tables

        print(latex([*summary_tables(held.endpoint), *summary_tables(held.link)]))
        return
    from paceline.cli.tables import print_summary

    end = "our sender" if held.role == "send" else "our receiver"
    for whose, result in ((end, held.endpoint), ("the links", held.link)):
        print(f"Figures of {whose}")
        print_summary(result)
    print("Figures of the browser")
    units = {column.name: column.unit for column in COLUMNS}
    for name, value in held.summary.items():
        if value is not None:
            print(f"  {name:22} {value:10.3f} {units[name]}")
