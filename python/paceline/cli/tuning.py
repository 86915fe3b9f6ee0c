"""`paceline tune` and `paceline sensitivity`: run, say how far it is, and tell what came out."""

from __future__ import annotations

import json as json_
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.cli.speak import printing, say
from paceline.cli.sweeps import LINE_EVERY_S
from paceline.tuning.engine import Judged, TuningResult, tune
from paceline.tuning.runs import Told
from paceline.tuning.sensitivity import SensitivityResult, sensitivity

if TYPE_CHECKING:
    from paceline.tuning.judge import Difference, Duel


def run(
    name: str,
    out: Path | None,
    workers: int | None,
    *,
    searches: list[str] | None,
    trials: int | None,
    resume: bool,
    data: Path | None,
    json: bool,
) -> None:
    """Searches, judges and says what was found."""
    out = out or Path("out") / Path(name).name
    with _progress() as told:
        result = tune(
            name,
            out=out,
            searches=tuple(searches or ()),
            trials=trials,
            workers=workers,
            resume=resume,
            data=data,
            told=told,
        )
    with printing():
        if json:
            print(json_.dumps(_document(result), indent=2))
        else:
            _print(result)


def rank(
    name: str,
    out: Path | None,
    workers: int | None,
    *,
    search: str | None,
    resume: bool,
    data: Path | None,
    json: bool,
) -> None:
    """Ranks the parameters and prints the ranking."""
    out = out or Path("out") / f"{Path(name).name}-sensitivity"
    with _progress() as told:
        result = sensitivity(name, out=out, search=search, workers=workers, resume=resume, data=data, told=told)
    with printing():
        if json:
            print(json_.dumps(_ranking_document(result), indent=2))
        else:
            _print_ranking(result)


def _print(result: TuningResult) -> None:
    for judged in result.judged.values():
        found = judged.found
        print(f"{found.search.title}: {len(found.trials):,} sets tried, {len(found.front)} on the front")
        for pick, trial in found.picks.items():
            if trial is None:
                print(f"  {pick}: no set keeps what was asked")
                continue
            beaten = [duel.other for duel in judged.duels if duel.one == pick and duel.beats]
            print(f"  {pick} (set {trial.number}) beats {', '.join(beaten) or 'none'} of {_others(judged)}")
            for duel in judged.duels:
                if duel.one == pick:
                    print(f"    beside {duel.other}: {_said(duel)}")
            confirmed = [duel for duel in judged.confirmation if duel.one == pick]
            for number, duel in enumerate(confirmed):
                if not number:
                    print(f"    on the {len(result.tuning.confirmation)} recordings of the confirmation:")
                print(f"    beside {duel.other}: {_said(duel)}")
    print(f"report:   {result.report}")
    print(f"trials:   {result.trials_file}")
    print(f"sets:     {result.out / 'sets.toml'}")


def _said(duel: Duel) -> str:
    return "; ".join(_told(difference) for difference in duel.differences)


def _others(judged: Judged) -> str:
    return ", ".join(judged.found.baselines)


def _told(difference: Difference) -> str:
    mean, low, high = difference.change
    unit = " %" if difference.geometric else ""
    return f"{difference.objective} {mean:+.1f}{unit} ({low:+.1f} to {high:+.1f})"


def _document(result: TuningResult) -> dict[str, object]:
    return {
        "study": result.tuning.name,
        "out": str(result.out),
        "searches": {
            name: {
                "trials": len(judged.found.trials),
                "front": judged.found.front,
                "picks": {
                    pick: None if trial is None else {"trial": trial.number, "beats_all": judged.beats_all(pick)}
                    for pick, trial in judged.found.picks.items()
                },
                "duels": [_duel_document(duel) for duel in judged.duels],
                "confirmation": [_duel_document(duel) for duel in judged.confirmation],
            }
            for name, judged in result.judged.items()
        },
    }


def _duel_document(duel: Duel) -> dict[str, object]:
    return {
        "set": duel.one,
        "beside": duel.other,
        "beats": duel.beats,
        "differences": {one.objective: list(one.change) for one in duel.differences},
    }


def _print_ranking(result: SensitivityResult) -> None:
    print(f"{result.tuning.title}: {result.search.title}")
    print("screening (Morris): mean effect over the objectives, in standard deviations")
    for effect in result.ranking:
        print(f"  {effect.factor:<24} {effect.mean:.3f}")
    print("total indices (Sobol), with 95 % intervals")
    for line in result.sobol:
        totals = "; ".join(f"{name} {one.value:.2f} ± {one.half:.2f}" for name, one in line.total.items())
        print(f"  {line.factor:<24} {totals}")
    print(f"report:   {result.report}")
    print(f"figures:  {result.out / 'sensitivity.csv'}")


def _ranking_document(result: SensitivityResult) -> dict[str, object]:
    return {
        "study": result.tuning.name,
        "search": result.search.name,
        "out": str(result.out),
        "failed": result.failed,
        "morris": {
            one.factor: {name: [effect.value, effect.half] for name, effect in one.effects.items()}
            for one in result.ranking
        },
        "sobol": {
            one.factor: {name: [total.value, total.half] for name, total in one.total.items()} for one in result.sobol
        },
    }


@contextmanager
def _progress() -> Iterator[Told]:
    """A bar for each part where somebody watches; now and then a line where nobody does."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed,", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def told(what: str, total: int, done: int, failed: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total, failed=0)
            bar.update(tasks[what], completed=done, failed=failed)

        yield told


def _lines() -> Told:
    last = time.monotonic()

    def told(what: str, total: int, done: int, failed: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done >= total or now - last >= LINE_EVERY_S:
            last = now
            say(f"{what}: {done:,} of {total:,} sets, {failed:,} failed")

    return told
