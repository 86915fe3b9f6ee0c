"""`paceline tune`: searches, the judgement of what they found on conditions that none saw, and the files of both."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import closing
from typing import TYPE_CHECKING

from paceline.errors import ExperimentError, StudyError, UsageError, printable
from paceline.outputs import OutputFolder
from paceline.plots.style import stage_pictures
from paceline.scenario import data_folders
from paceline.series import parquet_bytes
from paceline.studies.bench import Bench
from paceline.studies.definition import Study, load
from paceline.studies.duels import duel
from paceline.studies.outcomes import Judged, TuningResult
from paceline.studies.progress import Progress
from paceline.studies.runner import Runner
from paceline.studies.search import Found, explore
from paceline.studies.search_definition import MARGIN, Search, Tuning
from paceline.studies.store import Store, Table
from paceline.studies.trials import Measurements, TaskRunner, died, run
from paceline.toml import toml_key, toml_value

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def tune(
    name: str | os.PathLike[str] | Study,
    *,
    out: str | os.PathLike[str],
    searches: tuple[str, ...] = (),
    trials: int | None = None,
    workers: int | None = None,
    dask: str | None = None,
    fresh: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> TuningResult:
    """Runs the searches of a study, and judges what they found.

    Args:
        name: A study with searches, its folder, or the study as it was read.
        out: Where the results go; what an earlier search measured there is taken over.
        searches: Which of its searches; all unless given.
        trials: How many trials of each, in place of the definition's: a quick look, or a longer search.
        workers: Runs at a time; one per core unless given.
        dask: The address (`host:port`) of the scheduler of a Dask cluster that runs them instead.
        fresh: Whether what an earlier run left in `out` is deleted.
        data: Where traces are looked for.
        progress: Called after every set with the state of the search.

    Raises:
        StudyError: The definition is wrong, or `out` holds results of another one.
        ExperimentError: A baseline, or a chosen set, cannot run.
        DataNotFound: A recording is not there.
        OutputError: `out` cannot be written, or another process does; what is finished is kept.
    """
    bench = bench_of(load(name), data)
    chosen = _chosen(bench.tuning, searches)
    for search in chosen:
        if (trials or search.trials) < len(search.baselines):
            raise UsageError(f"--trials {trials}: expected at least {len(search.baselines)}: the baselines come first")
    judged: dict[str, Judged] = {}
    folder = OutputFolder(out)
    with Store(folder.path, fresh=fresh) as store, folder:
        with Runner(run, bench, died, workers=workers, dask=dask) as runner:
            for search in chosen:
                training = bench.tuning.training
                with closing(store.table(f"search {search.name}", bench.identity(search, training))) as table:
                    measurements = Measurements(
                        search.name, bench, search, training, runner, table, batch=search.population
                    )
                    found = explore(bench, search, measurements, trials or search.trials, progress)
                with closing(_held_out(bench, search, store)) as table:
                    judged[search.name] = _judge(bench, found, runner, table, progress)
        result = TuningResult(bench.study, bench.tuning, folder.path, judged)
        _stage(folder, result)
    return result


def bench_of(study: Study, data: str | os.PathLike[str] | None) -> Bench:
    """The searches of a study, checked."""
    if study.tuning is None:
        raise StudyError(
            f"{study.folder / 'study.toml'}: found no searches, expected a study with some, such as scream-tune; "
            "`paceline study` runs this one"
        )
    bench = Bench(study, study.tuning, tuple(data_folders(data)))
    bench.check()
    return bench


def _chosen(tuning: Tuning, names: tuple[str, ...]) -> list[Search]:
    chosen = [tuning.search(name).name for name in names]
    return [search for name, search in tuning.searches.items() if not names or name in chosen]


def _held_out(bench: Bench, search: Search, store: Store) -> Table:
    """The runs of a search's finds on the held-out conditions; other conditions have another table."""
    identity = bench.identity(search, bench.tuning.untrained)
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:8]
    return store.table(f"held out {search.name} {digest}", identity)


def _judge(bench: Bench, found: Found, runner: TaskRunner, table: Table, progress: Progress | None) -> Judged:
    tuning, search = bench.tuning, found.search
    points = {trial.number: trial.measured.point for trial in found.named.values()}
    measurements = Measurements(f"{search.name}, held out", bench, search, tuning.untrained, runner, table)
    measurements.measure(points, len(points), progress)
    sets = {name: measurements.kept[trial.number] for name, trial in found.named.items()}
    for name, measured in sets.items():
        if measured.error:
            raise ExperimentError(f"searches.{search.name}: {name} on the held-out conditions: {measured.error}")
    duels, confirmation = (
        [
            duel(tuning, (pick, other), (sets[pick].runs, sets[other].runs), role)
            for pick in found.picks
            if pick in sets and role
            for other in found.baselines
        ]
        for role in (tuning.held_out, tuning.confirmation)
    )
    return Judged(found, sets, duels, confirmation)


def _stage(folder: OutputFolder, result: TuningResult) -> None:
    from paceline.plots.search import draw
    from paceline.studies.report import render_tuning

    folder.stage("trials.parquet", parquet_bytes(_table(trials_frame(result))))
    folder.stage("held_out.parquet", parquet_bytes(_table(held_out_frame(result))))
    folder.stage("sets.toml", sets_toml(result))
    svgs = stage_pictures(folder, lambda: draw(result.tuning, result.judged).items())
    folder.stage("report.html", render_tuning(result, svgs))


def trials_frame(result: TuningResult) -> pd.DataFrame:
    """One row per trial of each search."""
    import pandas as pd

    rows = []
    for name, judged in result.judged.items():
        found = judged.found
        front, numbers = set(found.front), {trial.number: name for name, trial in found.baselines.items()}
        for trial in found.trials:
            row: dict[str, object] = {
                "search": name,
                "trial": trial.number,
                "baseline": numbers.get(trial.number),
                "front": trial.number in front,
                "error": trial.measured.error,
            }
            row.update({f"factor.{key}": float(value) for key, value in trial.measured.point.items()})
            row.update({f"objective.{key}": trial.objectives.get(key) for key in (*result.tuning.objectives, MARGIN)})
            for condition in result.tuning.training:
                for metric in result.study.metrics:
                    row[f"run.{condition}.{metric}"] = trial.measured.runs.get(condition, {}).get(metric)
            rows.append(row)
    return pd.DataFrame(rows)


def held_out_frame(result: TuningResult) -> pd.DataFrame:
    """One row per set and held-out condition."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "search": name,
                "set": one,
                "condition": condition,
                **{f"metric.{key}": value for key, value in run.items()},
            }
            for name, judged in result.judged.items()
            for one, measured in judged.sets.items()
            for condition, run in measured.runs.items()
        ]
    )


def sets_toml(result: TuningResult) -> str:
    """The sets that were picked, as values of a scenario."""
    lines = [f"# Found by `paceline tune {printable(result.study.name)}`: values of the scenario by their paths."]
    for judged in result.judged.values():
        for name, trial in judged.found.picks.items():
            if trial is None:
                continue
            lines += ["", f"[{toml_key(name)}]"]
            for factor in judged.found.factors:
                own = factor.override(trial.measured.point[factor.name])
                lines += [f"{toml_value(path)} = {text}" for path, text in own]
    return "\n".join(lines) + "\n"


def _table(frame: pd.DataFrame) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)
