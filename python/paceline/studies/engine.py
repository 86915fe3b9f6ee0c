"""Running a study: experiments in processes, one per core, then the comparison and the report."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.errors import DataNotFound, StudyError
from paceline.frames import find
from paceline.outputs import OutputFolder
from paceline.scenario import data_folders
from paceline.studies import experiment, tables
from paceline.studies.compare import Comparison, compare
from paceline.studies.definition import Study, load
from paceline.studies.experiment import Job, Row

if TYPE_CHECKING:
    import pandas as pd

Done = Callable[[str, bool], None]
"""Told of each experiment that is finished, and whether an earlier run had finished it."""


@dataclass(frozen=True)
class StudyResult:
    """What a study gave."""

    study: Study
    out: Path
    rows: list[Row]
    comparison: list[Comparison]
    missing: str | None
    """Which data was not there, so that generated traces were used and nothing was judged."""

    @property
    def results(self) -> pd.DataFrame:
        """One row per experiment: every parameter, every metric, the seed, the version."""
        frame: pd.DataFrame = tables.results_table(self.rows).to_pandas()
        return frame

    @property
    def report(self) -> Path:
        """The report, a page that needs nothing else."""
        return self.out / "report.html"

    @property
    def verdicts(self) -> dict[str, int]:
        """How many published figures got which verdict."""
        counts: dict[str, int] = {}
        for row in self.comparison:
            counts[row.verdict] = counts.get(row.verdict, 0) + 1
        return counts


def run_study(
    name: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    resume: bool = False,
    data: str | os.PathLike[str] | None = None,
    done: Done | None = None,
) -> StudyResult:
    """Runs every experiment of a study that is not finished yet, compares, and writes all outputs."""
    from paceline.studies.report import render

    study = load(name)
    folders = tuple(data_folders(data))
    missing = _missing(study, folders)
    if missing and done is None:
        warnings.warn(f"{missing}: generated traces are used and nothing is judged", stacklevel=3)
    with OutputFolder(out) as folder:
        jobs = [Job(study, one, folders, missing is None, folder.path) for one in study.experiments.values()]
        for job in jobs:
            job.scenario.load()
        _remove_parts(folder.path)
        try:
            rows = _rows(jobs, workers, resume, done or (lambda name, resumed: None))
        except BaseException:
            _remove_parts(folder.path)
            raise
        comparison = compare(study, rows, judged=missing is None)
        result = StudyResult(study, folder.path, list(rows.values()), comparison, missing)
        folder.stage("results.parquet", tables.results_parquet(result.rows))
        folder.stage("comparison.csv", tables.comparison_csv(comparison))
        folder.stage("verdict.md", tables.verdict_markdown(comparison))
        folder.stage("report.html", render(result))
    return result


def _missing(study: Study, folders: tuple[str, ...]) -> str | None:
    """What the study's data lacks, in words; None if all is there."""
    for name in study.data_files:
        try:
            find(name, [str(study.folder), *folders])
        except DataNotFound:
            where = f"not in {', '.join(folders)}" if folders else "PACELINE_DATA and --data name no folder"
            return f"the paper's data is not at hand ({name}: {where})"
    return None


def _rows(jobs: list[Job], workers: int | None, resume: bool, done: Done) -> dict[str, Row]:
    """The rows of all experiments, in the order of the definition."""
    rows: dict[str, Row] = {}
    todo = []
    for job in jobs:
        row = experiment.stored(job) if resume else None
        if row is None:
            job.row_file.unlink(missing_ok=True)
            todo.append(job)
        else:
            rows[job.experiment.name] = row
            done(job.experiment.name, True)
    count = min(workers or _cores(), max(len(todo), 1))
    for job, row in _in_turn(todo) if count == 1 else _in_processes(todo, count):
        rows[job.experiment.name] = row
        done(job.experiment.name, False)
    return {job.experiment.name: rows[job.experiment.name] for job in jobs}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_turn(jobs: list[Job]) -> Iterator[tuple[Job, Row]]:
    for job in jobs:
        yield job, experiment.run(job)


def _in_processes(jobs: list[Job], count: int) -> Iterator[tuple[Job, Row]]:
    others = set(active_children())
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_leave_interrupts_to_the_parent)
    try:
        running: dict[Future[Row], Job] = {pool.submit(experiment.run, job): job for job in jobs}
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise StudyError("a worker process was killed; finished experiments are kept, go on with --resume") from None
    except BaseException:
        for worker in set(active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process of a terminal; the parent ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _remove_parts(out: Path) -> None:
    """What a killed worker was writing: files under temporary names."""
    for folder in (out / ".rows", out / "experiments"):
        for part in folder.rglob(".*.part"):
            part.unlink(missing_ok=True)
