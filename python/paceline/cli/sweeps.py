"""`paceline study` for a sweep: says what it would take, or runs it and says how far it is."""

from __future__ import annotations

import json as json_
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paceline.cli.speak import printing, say
from paceline.cli.studies import comparison_document
from paceline.errors import UsageError
from paceline.studies.tables import claims_markdown, write_into_readme
from paceline.sweeps.definition import Sweep, load
from paceline.sweeps.engine import Plan, State, SweepResult, Told, plan, prepare, run_sweep

LINE_EVERY_S = 10.0
"""Where nobody watches a bar, a line says this often how far the sweep is."""


def run(
    name: str,
    out: Path | None,
    workers: int | None,
    *,
    dask: str | None,
    resume: bool,
    data: Path | None,
    json: bool,
    write_verdict: bool,
) -> None:
    """Runs the sweep and says where the results are."""
    sweep = load(name)
    out = out or Path("out") / sweep.name
    with _progress(sweep) as told:
        result = run_sweep(name, out=out, workers=workers, dask=dask, resume=resume, data=data, told=told)
    if result.missing:
        say(f"WARNING: {result.missing}.")
        say("WARNING: generated traces took its place: this is not the study that the paper made.")
        if write_verdict:
            raise UsageError(f"--write-verdict: {result.missing}, so there is no verdict; the README stays as it was")
    if write_verdict:
        others = {
            "claims": claims_markdown(result.comparison),
            **{f"table {name}": t for name, t in result.tables.items()},
        }
        say(f"verdict written to {write_into_readme(sweep.folder, result.verdict_markdown, others)}")
        _renew_pictures(result)
    with printing():
        if json:
            print(json_.dumps(_document(result), indent=2))
        else:
            _print(result)


def _renew_pictures(result: SweepResult) -> None:
    """Pictures of this sweep that stand in its folder, for its README, become those of this run."""
    for name in result.sweep.pictures:
        shown = result.sweep.folder / f"{name}.png"
        if shown.is_file():
            shown.write_bytes((result.out / "plots" / shown.name).read_bytes())
            say(f"picture written to {shown}")


def dry_run(name: str, workers: int | None, data: Path | None, *, json: bool) -> None:
    """Says how many experiments there are, how long they take and how large the results are."""
    bench, missing = prepare(load(name), data)
    reckoned = plan(bench, workers)
    if missing:
        say(f"WARNING: {missing}: generated traces would take its place.")
    with printing():
        if json:
            print(json_.dumps(_plan_document(reckoned), indent=2))
        else:
            _print_plan(reckoned)


def _print_plan(reckoned: Plan) -> None:
    for design in reckoned.sweep.designs.values():
        print(f"{design.name}: {len(design):,} points ({design.kind}), {len(design.seeds)} seed(s)")
    print(f"experiments: {reckoned.total:,}")
    print(
        f"time:        {_duration(reckoned.seconds)} on {reckoned.workers} worker(s), "
        f"{reckoned.seconds_each * 1000:.0f} ms each (measured on {reckoned.measured})"
    )
    print(f"results:     {reckoned.size / 1e6:.1f} MB, {reckoned.bytes_each:.0f} B each")
    if reckoned.failed:
        print(f"failed:      {reckoned.failed} of the {reckoned.measured} that were tried")
    print("nothing was written")


def _plan_document(reckoned: Plan) -> dict[str, object]:
    return {
        "study": reckoned.sweep.name,
        "designs": {design.name: len(design) for design in reckoned.sweep.designs.values()},
        "experiments": reckoned.total,
        "seconds": reckoned.seconds,
        "seconds_each": reckoned.seconds_each,
        "bytes": reckoned.size,
        "workers": reckoned.workers,
        "measured": reckoned.measured,
        "failed": reckoned.failed,
    }


def _document(result: SweepResult) -> dict[str, object]:
    return {
        "study": result.sweep.name,
        "out": str(result.out),
        "data": "real" if result.missing is None else "generated",
        "experiments": result.state.total,
        "failed": result.state.failed,
        "taken_over": result.state.taken_over,
        "results": str(result.results_file),
        "verdicts": result.verdicts,
        "comparison": comparison_document(result.comparison),
    }


def _print(result: SweepResult) -> None:
    state = result.state
    over = f", {state.taken_over:,} of them taken over" if state.taken_over else ""
    failed = f"; {state.failed:,} failed, see the column `error`" if state.failed else ""
    print(f"{result.sweep.title}: {state.finished:,} experiments{over}{failed}")
    if result.comparison:
        counts = "; ".join(f"{verdict}: {count}" for verdict, count in result.verdicts.items())
        print(f"{len(result.comparison)} published figures and claims; {counts}")
    if result.report.is_file():
        print(f"report:   {result.report}")
    print(f"results:  {result.results_file}")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.0f} min" if minutes < 120 else f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"


@contextmanager
def _progress(sweep: Sweep) -> Iterator[Told]:
    """A bar where somebody watches; now and then a line where nobody does."""
    if not sys.stderr.isatty():
        yield _lines(sweep)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed, {task.fields[rate]}/s,", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"study {sweep.name}", total=len(sweep), failed=0, rate="-")
        start = time.monotonic()

        def told(state: State) -> None:
            rate = (state.finished - state.taken_over) / max(time.monotonic() - start, 1e-3)
            bar.update(task, completed=state.finished, failed=state.failed, rate=f"{rate:.1f}")

        yield told


def _lines(sweep: Sweep) -> Told:
    start = last = time.monotonic()

    def told(state: State) -> None:
        nonlocal last
        now = time.monotonic()
        if state.finished < state.total and now - last < LINE_EVERY_S:
            return
        last = now
        rate = (state.finished - state.taken_over) / max(now - start, 1e-3)
        left = f", {_duration((state.total - state.finished) / rate)} left" if rate else ""
        say(f"{sweep.name}: {state.finished:,} of {state.total:,}, {state.failed:,} failed, {rate:.1f}/s{left}")

    return told
