"""`paceline tune`: searches, the judgement of what they found on conditions that none saw, and the files of both."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.errors import StudyError, UsageError
from paceline.outputs import OutputFolder
from paceline.plots.style import stage_pictures
from paceline.series import parquet_bytes
from paceline.tuning.definition import MARGIN, Point, Search, Tuning, load
from paceline.tuning.judge import Duel, duel
from paceline.tuning.runs import Journal, Measured, Runner, Told
from paceline.tuning.search import Found, explore

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True)
class Judged:
    """What a search found, and how it does where it was not trained."""

    found: Found
    sets: dict[str, Measured]
    """Baselines and picks on the held-out conditions and those of the confirmation."""
    duels: list[Duel]
    """Each pick beside each baseline on the held-out conditions."""
    confirmation: list[Duel]
    """The same on the conditions of the confirmation."""

    def beats_all(self, pick: str) -> bool:
        """Whether the pick beats every baseline."""
        own = [one for one in self.duels if one.one == pick]
        return bool(own) and all(one.beats for one in own)


@dataclass(frozen=True)
class TuningResult:
    """What a tuning study gave."""

    tuning: Tuning
    out: Path
    judged: dict[str, Judged]
    """Of each search."""

    @property
    def report(self) -> Path:
        """The report, a page that needs nothing else."""
        return self.out / "report.html"

    @property
    def trials_file(self) -> Path:
        """One row per trial: every factor, every objective, whether it is on the front, the error."""
        return self.out / "trials.parquet"


def tune(
    name: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    searches: tuple[str, ...] = (),
    trials: int | None = None,
    workers: int | None = None,
    resume: bool = False,
    data: str | os.PathLike[str] | None = None,
    told: Told | None = None,
) -> TuningResult:
    """Runs the searches of a tuning study, and judges what they found.

    Args:
        name: A study that can be tuned, or its folder.
        out: Where the results go.
        searches: Which of its searches; all unless given.
        trials: How many trials of each, in place of the definition's: a quick look, or a longer search.
        workers: Runs at a time; one per core unless given.
        resume: Takes over what an earlier search in `out` measured.
        data: Where traces are looked for.
        told: Told after every set how far the search is.

    Raises:
        StudyError: The definition is wrong, a baseline cannot run, or what `resume` found is of another study or is
            damaged.
        DataNotFound: A recording is not there.
        OutputError: `out` cannot be written; what is finished is kept.
    """
    tuning = load(name, data)
    chosen = _chosen(tuning, searches)
    judged: dict[str, Judged] = {}
    with OutputFolder(out) as folder, Runner(tuning, workers) as runner:
        for search in chosen:
            total = trials or search.trials
            if total < len(search.baselines):
                raise UsageError(
                    f"--trials {total}: expected at least {len(search.baselines)}: the baselines come first"
                )

            path = folder.path / ".tune" / f"{search.name}.jsonl"
            with closing(Journal(path, tuning.identity(search), resume=resume)) as journal:
                found = explore(tuning, search, runner, journal, total, told)
            judged[search.name] = _judge(tuning, found, runner)
        result = TuningResult(tuning, folder.path, judged)
        _stage(folder, result)
    return result


def _chosen(tuning: Tuning, names: tuple[str, ...]) -> list[Search]:
    chosen = [tuning.search(name).name for name in names]
    return [search for name, search in tuning.searches.items() if not names or name in chosen]


def _judge(tuning: Tuning, found: Found, runner: Runner) -> Judged:
    points: dict[str, Point] = {name: trial.measured.point for name, trial in found.named.items()}
    names = list(points)
    sets: dict[str, Measured] = {}
    numbered = dict(enumerate(points.values()))
    for number, measured in runner.measure(found.search, numbered, (*tuning.held_out, *tuning.confirmation)):
        if measured.error:
            raise StudyError(
                f"searches.{found.search.name}: {names[number]} on the held-out conditions: {measured.error}"
            )
        sets[names[number]] = measured
    duels, confirmation = (
        [
            duel(tuning, (pick, other), (sets[pick].runs, sets[other].runs), conditions)
            for pick in found.picks
            if pick in points and conditions
            for other in found.baselines
        ]
        for conditions in (tuning.held_out, tuning.confirmation)
    )
    return Judged(found, {name: sets[name] for name in names}, duels, confirmation)


def _stage(folder: OutputFolder, result: TuningResult) -> None:
    from paceline.tuning import pictures
    from paceline.tuning.report import render

    folder.stage("trials.parquet", parquet_bytes(_table(trials_frame(result))))
    folder.stage("held_out.parquet", parquet_bytes(_table(held_out_frame(result))))
    folder.stage("sets.toml", sets_toml(result))
    svgs = stage_pictures(folder, pictures.draw(result).items())
    folder.stage("report.html", render(result, svgs))


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
                for metric in result.tuning.metrics:
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
    lines = [f"# Found by `paceline tune {result.tuning.name}`: values of the scenario by their paths."]
    for judged in result.judged.values():
        for name, trial in judged.found.picks.items():
            if trial is None:
                continue
            lines += ["", f"[{name}]"]
            for factor in judged.found.search.factors:
                lines += [f'"{path}" = {text}' for path, text in factor.override(trial.measured.point[factor.name])]
    return "\n".join(lines) + "\n"


def _table(frame: pd.DataFrame) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)
