"""`paceline demo`: a published study, repeated in half a minute; the last lines say the outcome and the next step."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.options import Data, Out
from paceline.cli.progress import study_progress
from paceline.cli.signals import terminable
from paceline.cli.speak import duration, plainly, printing, say, say_remade

if TYPE_CHECKING:
    from paceline.studies.outcomes import StudyResult

STUDY = "scream-5g"
METRICS = ("first_mean_rate_mbps", "second_mean_rate_mbps", "second_srtt_max_ms")
"""Figures of the study that the last lines name."""
KEPT = "what is finished is kept: run the same command again to go on"


def command(
    *,
    out: Out = Path("out/demo"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete the results of an earlier demo in DIR, and begin anew.")
    ] = False,
    data: Data = None,
) -> None:
    """See it work: a study of SCReAM over 5G, judged and drawn.

    It takes half a minute, and says where to look and what to try next.
    """
    with plainly(KEPT), terminable():
        from paceline.cli.studies import print_charts
        from paceline.studies.engine import run_study

        say(f"Calls of SCReAM over an emulated 5G link, on all cores; the results go to {out}")
        begun = time.monotonic()
        with study_progress() as progress:
            result = run_study(STUDY, out=out, fresh=fresh, data=data, progress=progress)
        took = time.monotonic() - begun
        say_remade(result.remade)
        with printing():
            print_charts(result)
            for line in (*_worked(result, took), *_found(result), *_judged(result), *_next(result)):
                print(line)
        if result.error is not None:
            raise typer.Exit(1)


def _worked(result: StudyResult, took: float) -> list[str]:
    state = result.state
    if result.error is not None:
        return [f"It did not work: {state.failed} of {state.total} calls failed; the first: {result.error}"]
    over = f" ({state.taken_over} were there already)" if state.taken_over else ""
    return [f"It worked: {state.finished} calls of 100 s{over} in {duration(took)}."]


def _found(result: StudyResult) -> list[str]:
    """The outcome in two sentences: the throttled call, without marks and with them."""
    rows = result.results.set_index("experiment")
    if not {"throttle", "throttle-l4s"} <= set(rows[rows["error"].isna()].index):
        return []
    first, rate, wait = (f"metric.{name}" for name in METRICS)
    plain, marked = rows.loc["throttle"], rows.loc["throttle-l4s"]
    return [
        "",
        "Found: when the link fell from 20 to 10 Mbit/s, the call's mean rate fell from",
        f"{plain[first]:.1f} to {plain[rate]:.1f} Mbit/s, and its round trip rose to {plain[wait]:.0f} ms. With L4S",
        f"marks it rose to {marked[wait]:.0f} ms, at {marked[rate]:.1f} Mbit/s.",
    ]


def _judged(result: StudyResult) -> list[str]:
    """How many of the paper's figures and claims hold, and on which traces."""
    from paceline.studies.judge import DOES_NOT_HOLD, HOLDS, IN_DIRECTION, ON_GENERATED

    counts = Counter(line.verdict.removesuffix(ON_GENERATED) for line in result.comparison)
    judged = sum(counts[verdict] for verdict in (HOLDS, IN_DIRECTION, DOES_NOT_HOLD))
    near = f"{counts[IN_DIRECTION]} hold in direction, " if counts[IN_DIRECTION] else ""
    on = "" if result.missing is None else ON_GENERATED
    lines = [
        "",
        f"Verdict{on}: of {judged} figures and claims of the paper {counts[HOLDS]} hold,",
        f"{near}{counts[DOES_NOT_HOLD]} do not; the report says why.",
    ]
    rest = len(result.comparison) - judged
    if result.missing is None:
        return [*lines, f"{rest} more are not judged."]
    return [*lines, f"{rest} more need the paper's recordings, not at hand here, or cannot be judged."]


def _next(result: StudyResult) -> list[str]:
    return ["", f"Look at:  {result.report}", "Try next: paceline run first-call"]
