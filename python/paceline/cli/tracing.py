"""`paceline trace`: a recording of rates as figures, as lines of the terminal, and as a picture."""

from __future__ import annotations

import json
from typing import Any

from paceline.cli.chart import sparkline
from paceline.cli.mistaken import expecting
from paceline.cli.recording_options import TraceOptions
from paceline.cli.speak import duration, note, printing, say
from paceline.cli.tables import number_text, table_of
from paceline.errors import printable
from paceline.outputs import OutputFolder
from paceline.trace_figures import Trace, read

WIDTH = 60
"""Bars of the chart."""


def describe(options: TraceOptions) -> None:
    """Reads a recording, prints its figures, and writes them with the recording and a picture."""
    options.expect_folder(options.out)
    folder = None if options.out is None else OutputFolder(options.out)
    with expecting("recording of rates", [options.file]):
        trace = read(options.file, options.beside(), options.data)
    if trace.segments.said:
        note(f"{trace.file}: {trace.segments.said}")
    for warning in trace.segments.warnings:
        say(f"warning: {warning}")
    document = json.dumps(trace.document(), indent=2, ensure_ascii=False)
    with printing():
        if options.json:
            print(document)
        else:
            _print(trace)
    if folder is not None:
        with folder:
            folder.stage("trace.json", document + "\n")
            folder.stage("trace.csv", trace.csv())
            if options.draws:
                from paceline.plots.style import stage_pictures
                from paceline.plots.trace import figure

                stage_pictures(folder, lambda: [("trace", figure(trace))], reported=False)
        note(f"written to {folder.path}")


def _print(trace: Trace) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    rows = len(trace.segments.durations_s)
    console.print(
        f"{printable(trace.file)}: {duration(trace.length_s)}, {rows:,} rates one after the other", markup=False
    )
    quantiles = trace.quantiles_mbps
    table = table_of("", ("", "mean", *quantiles))
    table.add_row("Mbit/s", *(number_text(value) for value in (trace.mean_mbps, *quantiles.values())))
    console.print(table)
    for line in (_outages(trace), _correlation(trace), "", *_chart(trace)):
        console.print(line, markup=False)


def _outages(trace: Trace) -> str:
    found = trace.outages
    if not found.count:
        return "outages (rate 0): none"
    return f"outages (rate 0): {found.count:,}, the longest {_time(found.longest_s)}, {found.share:.1%} of the time"


def _correlation(trace: Trace) -> str:
    lag = trace.correlation_s
    return "autocorrelation: " + ("never below 1/e" if lag is None else f"below 1/e after {_time(lag)}")


def _chart(trace: Trace) -> list[str]:
    means: Any = trace.means(WIDTH)
    top = max(means)
    scale = f"  the highest of these means: {number_text(top)} Mbit/s"
    return [f"  {sparkline(list(means), top)}", f"  0 s{_time(trace.length_s):>{WIDTH - 3}}", scale]


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 100 else duration(seconds)
