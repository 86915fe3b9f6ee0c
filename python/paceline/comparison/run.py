"""Running a comparison: its cases run like those of any study, and what comes out is told side by side."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline import guests
from paceline.comparison import definition, figures, grammar, joined, statistics
from paceline.comparison.conditions import Condition, ConditionLike, conditions
from paceline.comparison.contenders import Contender, ContenderLike, contenders
from paceline.comparison.definition import Case
from paceline.comparison.joined import Part
from paceline.comparison.ranking import rank
from paceline.comparison.result import ComparisonResult, Failure
from paceline.errors import PacelineError, UsageError
from paceline.outputs import OutputFolder
from paceline.scenario import data_folders
from paceline.studies.engine import Ran, run_rows
from paceline.studies.experiment import Context, Parameter
from paceline.studies.progress import Progress, State
from paceline.studies.store import Store

if TYPE_CHECKING:
    import pandas as pd

SEEDS = 5
"""How many seeds there are unless somebody says."""


def compare(
    controllers: Sequence[ContenderLike],
    *,
    over: Sequence[ConditionLike] | ConditionLike = (),
    seeds: int | Sequence[int] = SEEDS,
    out: str | os.PathLike[str],
    flows: Sequence[str] = (),
    duration: str | None = None,
    warmup: str | None = None,
    weights: str | Mapping[str, float] | None = None,
    join: Sequence[str | os.PathLike[str]] = (),
    earlier: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    fresh: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> ComparisonResult:
    """Compares controllers; `paceline.compare` says more. `say` is told how recordings are read."""
    folders = data_folders(data)
    wanted = figures.weights_of(weights)
    parts = [joined.read(Path(one)) for one in _listed("join", join)]
    of_controllers = contenders(controllers, folders)
    if earlier is None:
        joined.expect_two([*(one.label for one in of_controllers), *(label for one in parts for label in one.labels)])
    folder = OutputFolder(out)
    before: list[Part] = []
    joined.expect_other_folder(folder.path, [one.out for one in parts], "--join")
    joined.expect_other_folder(folder.path, [Path(earlier)] if earlier is not None else [], "--with")
    ran = Ran(State("compare", 0, 0, 0, 0), None, ())
    if of_controllers:
        chosen = _listed("flows", flows)
        listed = _listed("over", over)
        of_conditions = conditions(listed, flows=chosen, duration=duration, warmup=warmup, data=folders, say=say)
        cases = definition.cases(of_controllers, of_conditions)
        joined.expect_alike(parts, of_controllers, of_conditions)
        chosen_seeds = _seeds(seeds)
        if earlier is not None:
            before = [joined.read_earlier(Path(earlier), of_controllers, of_conditions, chosen_seeds)]
        study = definition.study(cases, chosen_seeds, folder.path)
        context = _context(Context(study, tuple(folders), True))
        with Store(folder.path, fresh=fresh) as store:
            ran = run_rows(context, store, study.identity, workers=workers, dask=dask, progress=progress)
            definition.write_scenarios(study)
            with folder:
                part = _part(cases, of_controllers, of_conditions, folder.path)
                folder.stage(joined.FILE, part.document)
        parts = [part, *parts, *before]
    elif earlier is not None:
        raise UsageError(f"--with {earlier}: found no controller, expected the controllers that changed since")
    elif over:
        raise UsageError("over: found conditions and no controller, expected controllers to run under them")
    else:
        joined.expect_alike(parts, [], [])
    result = _result(folder.path, ran, parts, wanted)
    with folder:
        _report(result, folder)
    return result


def _listed(name: str, given: Any) -> list[Any]:
    """An argument as a list; one thing alone is a list of one."""
    if isinstance(given, (str, os.PathLike, Mapping)):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise UsageError(f"{name}: found {given!r}, expected a list of texts, or one text")
    return list(given)


def _seeds(given: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(given, int) and not isinstance(given, bool):
        if not 1 <= given <= grammar.LARGEST_COUNT:
            raise UsageError(f"seeds: found {given}, expected a count from 1 to {grammar.LARGEST_COUNT:,}")
        return tuple(range(1, given + 1))
    if isinstance(given, (bool, str, bytes)) or not isinstance(given, Iterable):
        raise UsageError(f"seeds: found {given!r}, expected how many, such as 10, or which, such as [11, 12, 13]")
    return grammar.checked_seeds(list(given))


def _context(context: Context) -> Context:
    """The context with the parameters of the first case that can be read: a case that cannot fails when it is run."""
    usual: Mapping[str, Parameter] = {}
    for first in context.study.firsts():
        try:
            usual = context.scenario(context.study.experiment(first)).load().core.parameters
            break
        except PacelineError:
            continue
    return replace(context, usual=usual)


def _part(
    cases: Sequence[Case], of_controllers: Sequence[Contender], of_conditions: Sequence[Condition], out: Path
) -> Part:
    """The runs made here, as another comparison may join it."""
    document = {
        "version": guests.version(),
        "controllers": [one.document for one in of_controllers],
        "conditions": [one.document for one in of_conditions],
        "cases": {case.name: [case.condition.name, case.contender.label] for case in cases},
        "flows": {
            one.name: {"flows": list(one.measured), "links": list(one.links), "warmup_s": one.start_up[1]}
            for one in of_conditions
        },
    }
    return Part(out, json.dumps(document, indent=1, default=str) + "\n")


def _result(out: Path, here: Ran, parts: Sequence[Part], weights: Mapping[str, float]) -> ComparisonResult:
    runs = joined.runs(parts)
    labels = list(dict.fromkeys(label for part in parts for label in part.labels))
    medians = statistics.medians(runs)
    earlier = {own: label for part in parts for own, label in part.renamed.items()}
    differences = statistics.differences(runs, labels[0], earlier)
    quantiles = statistics.quantiles(runs)
    kept = {key: path for part in reversed(parts) for key, path in part.series().items()}
    measured = {name: one for part in parts for name, one in part.said["flows"].items()}
    state, ran = here.state, here.state.finished - here.state.taken_over
    return ComparisonResult(
        out=out,
        state=State(state.what, len(runs), len(runs), int(runs["error"].notna().sum()), len(runs) - ran),
        controllers=labels,
        conditions=list(dict.fromkeys(runs["condition"])),
        runs=runs[["condition", "controller", "seed", "error", *(one.column for one in figures.FIGURES.values())]],
        medians=medians,
        differences=differences,
        overall=statistics.over_conditions(medians, differences),
        earlier=earlier,
        quantiles=quantiles,
        ranking=rank(medians, weights),
        failures=_failures(runs),
        series=kept,
        measured={name: (one["flows"], one["links"]) for name, one in measured.items()},
        kinds={one["label"]: str(one["controller"]["kind"]) for part in parts for one in part.said["controllers"]},
        warmups={name: one["warmup_s"] for name, one in measured.items()},
        remade=here.remade,
    )


def _failures(runs: pd.DataFrame) -> list[Failure]:
    failed = runs[runs["error"].notna()]
    return [
        Failure(str(controller), str(condition), len(own), str(own["error"].iloc[0]))
        for (condition, controller), own in failed.groupby(["condition", "controller"], sort=False)
    ]


def _report(result: ComparisonResult, folder: OutputFolder) -> None:
    from paceline.comparison import report
    from paceline.plots.comparison import all_series, drawn
    from paceline.plots.style import stage_pictures
    from paceline.plots.styles import SCREEN, current, drawn_as, formats

    pictures = stage_pictures(folder, lambda: drawn(result))
    # A screen has them in the report, as curves to zoom.
    only = ("png",) if current() is SCREEN and formats() == SCREEN.formats else ()
    with drawn_as(formats=only):
        stage_pictures(folder, lambda: all_series(result), reported=False)
    for name in ("medians", "differences"):
        table: pd.DataFrame = getattr(result, name)
        folder.stage(f"{name}.csv", table.to_csv(index=False, lineterminator="\n", float_format="%.6g"))
    folder.stage("overall.csv", result.overall[1].to_csv(index=False, lineterminator="\n", float_format="%.6g"))
    folder.stage("ranking.json", json.dumps(ranking_document(result), indent=1) + "\n")
    folder.stage("report.html", report.render(result, pictures))


def ranking_document(result: ComparisonResult) -> dict[str, Any]:
    """The ranking as plain data."""
    ranking = result.ranking
    return {
        "weights": ranking.weights,
        "utilities": ranking.utilities,
        "scores": ranking.scores,
        "flips": [
            {
                "figure": flip.figure,
                "weight": flip.weight,
                "at": flip.at,
                "first": flip.first,
                "other": flip.other,
                "leads": flip.leads,
            }
            for flip in ranking.flips
        ],
        "notes": ranking.notes,
    }
