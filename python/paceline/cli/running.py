"""`paceline run`: a scenario is run, in the simulator or over sockets, and its figures are shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.flat import flat
from paceline.cli.options import CapturePlace, OutputOptions, Qlog, RunOptions, file_path, one_form
from paceline.cli.speak import note, plainly, printing, progress_bar, say
from paceline.result import Result
from paceline.scenario import ScenarioText
from paceline.simulation import run_read, simulate
from paceline.toml import loads

if TYPE_CHECKING:
    from paceline.network import Runner

FAILURES = ("failed_programs", "failed_captures", "unanswered_flows")
"""Figures of sockets that make the exit status 1."""


@flat
def run(
    options: RunOptions,
    draw: Annotated[
        bool,
        typer.Option("--draw", help="Draw the topology instead of running: here as text, with --out to DIR/plots."),
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Threads that a world of many flows runs on [default: one per core]."),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option(
            parser=file_path,
            metavar="FILE",
            help="Write the packets of all flows there as they would be on the wire: tshark and Wireshark read it.",
        ),
    ] = None,
    pcap_at: Annotated[
        CapturePlace, typer.Option("--pcap-at", help="Where they are captured: at the flows' ends, or at both.")
    ] = CapturePlace.sender,
    qlog: Qlog = None,
) -> None:
    """Run one scenario in the simulator."""
    with plainly():
        if draw:
            return _draw(options.read(), options.out)
        run_by("simulating", options, partial(simulate, threads=threads, pcap=pcap, pcap_at=pcap_at.value, qlog=qlog))


def run_by(doing: str, options: RunOptions, runner: Runner) -> None:
    """Runs a scenario, in the simulator or over sockets, and shows what came out."""
    one_form(options.json, options.latex)
    text, out = options.read(), options.out
    with progress_bar(doing) as progress:
        result = run_read(text, runner, out=out, plots=options.draws, progress=progress)
    written = "" if out is None else f", written to {out}"
    with plainly(f"the run was complete{written}"):
        show(result, options)
    if any(_failures(result)):
        raise typer.Exit(1)


def _failures(result: Result) -> Iterator[int]:
    """How much of what was asked of each end failed, where a run goes on without it."""
    for sockets in result.summary.get("ends", {"": result.summary["sockets"]}).values():
        yield from ((sockets or {}).get(name, 0) for name in FAILURES)


def show(result: Result, options: OutputOptions) -> None:
    """Says what was odd, prints the figures, and says where they were written to."""
    for warning in result.warnings:
        say(f"warning: {warning}")
    with printing():
        _print(result, options)
    if options.out is not None:
        note(f"written to {options.out}")


def _draw(text: ScenarioText, out: Path | None) -> None:
    """The topology as text, and in `out` as pictures."""
    from paceline.outputs import OutputFolder
    from paceline.plots import topology
    from paceline.plots.style import stage_pictures

    folder = None if out is None else OutputFolder(out)
    drawn = topology.table(loads(text.load().core.resolved_toml))
    with printing():
        print(topology.text(drawn))
    if folder is not None:
        with folder:
            stage_pictures(folder, lambda: [("topology", topology.figure(drawn))], reported=False)
        note(f"written to {folder.path / 'plots'}")


def _print(result: Result, options: OutputOptions) -> None:
    if options.json:
        print(result.summary_json.rstrip("\n"))
    elif options.latex:
        from paceline.cli.latex import latex
        from paceline.cli.tables import summary_tables

        print(latex(summary_tables(result)))
    else:
        from paceline.cli.tables import print_summary

        print_summary(result)
