"""Running a study: what is not finished runs on all cores or on a cluster, is kept at once, compared and reported."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from paceline.errors import DataNotFound, ScenarioError, StudyError, UsageError
from paceline.frames import find
from paceline.outputs import OutputFolder
from paceline.plots.style import stage_pictures
from paceline.scenario import data_folders
from paceline.studies import experiment, nearest, results, verdicts
from paceline.studies.definition import Study, load
from paceline.studies.experiment import Context, Files, Row
from paceline.studies.judge import Comparison, comparison_csv, judged
from paceline.studies.outcomes import StudyResult
from paceline.studies.progress import Progress, State
from paceline.studies.rows import Rows
from paceline.studies.runner import Runner, cores
from paceline.studies.spec import DefinitionError, about, line_of
from paceline.studies.store import FOLDER, Store, Table
from paceline.studies.tables import by_factor
from paceline.studies.tune import tune

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plan:
    """The time and space that a study would take, from a few of its experiments."""

    study: Study
    total: int
    measured: int
    """Experiments that were run to learn the rest."""
    seconds_each: float
    """Seconds of one experiment on one core."""
    bytes_once: float
    """Bytes of results.parquet that any number of rows needs: names of columns, and values that all rows share."""
    bytes_each: float
    """Bytes of results.parquet that each row adds."""
    workers: int
    failed: int

    @property
    def seconds(self) -> float:
        """The whole study on so many workers."""
        return self.total * self.seconds_each / self.workers

    @property
    def size(self) -> float:
        """The whole results.parquet in bytes."""
        return self.bytes_once + self.total * self.bytes_each


GENERATED = "figures that depend on the recordings are not judged"
"""The difference that missing recordings make to a study."""
LARGEST_TOLD = 1_000_000
"""Of more experiments than this there are only the tables that the definition asks for: all rows must fit in memory."""
MEASURED_FOR = 3.0
"""Seconds after which a plan runs no further experiment."""
LEAST_ROW = 80.0
"""Bytes of a row in results.parquet at size, measured; eight rows compress better than a million."""


def run_study(
    name: str | os.PathLike[str] | Study,
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    dask: str | None = None,
    fresh: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Runs what is not finished of a study, compares, and writes all outputs; `paceline.study` says more."""
    study = load(name)
    here = Path(out)
    result = StudyResult(study, here, State(study.name, 0, 0, 0, 0))
    if len(study):
        result = _run_experiments(study, here, workers, dask, fresh, data, progress)
        here /= "searches"
    if study.tuning is not None:
        tuned = tune(study, out=here, workers=workers, dask=dask, fresh=fresh, data=data, progress=progress)
        result = replace(result, searches=tuned)
    return result


def _run_experiments(
    study: Study,
    out: Path,
    workers: int | None,
    dask: str | None,
    fresh: bool,
    data: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> StudyResult:
    context, missing = prepare(study, data)
    if missing and progress is None:
        warnings.warn(f"{missing}: generated traces are used; {GENERATED}", stacklevel=4)
    folder = OutputFolder(out)
    known = not fresh and (folder.path / FOLDER).exists()
    first = {} if known else _first_rows(context)
    with Store(folder.path, fresh=fresh) as store, folder:
        identity = {**study.identity, "traces": context.traces}
        ran = run_rows(context, store, identity, first=first, workers=workers, dask=dask, progress=progress)
        result = StudyResult(study, folder.path, ran.state, missing, error=ran.error, remade=ran.remade)
        return _compared(result, folder)


def prepare(study: Study, data: str | os.PathLike[str] | None = None) -> tuple[Context, str | None]:
    """The study with its data, ready to run, and a sentence about data that is missing, if any is.

    Raises:
        StudyError: A scenario is wrong.
    """
    folders = tuple(data_folders(data))
    digest, missing = hashlib.sha256(), None
    for name in study.data_files:
        try:
            digest.update(find(name, [str(study.folder), *folders]).read_bytes())
        except DataNotFound:
            where = f"not in {', '.join(folders)}" if folders else "PACELINE_DATA and --data name no folder"
            missing = f"the study's data is not at hand ({name}: {where})"
            break
    traces = "generated" if missing else digest.hexdigest()[:16]
    context = Context(study, folders, missing is None, traces=traces)
    check(context)
    if len(study):
        context = replace(context, usual=context.scenario(study.experiment(0)).load().core.parameters)
    return context, missing


def check(context: Context) -> None:
    """Reads the scenario with each value of each factor, so that a slip in the definition is said before any run.

    An error in combination only is found when it is run, and recorded.

    Raises:
        StudyError: A scenario is wrong.
    """
    for probe, tried in context.study.probes():
        try:
            context.scenario(probe).load()
        except ScenarioError as error:
            raise StudyError(f"{context.study.folder / 'study.toml'}: {tried}: {error}") from None


def _first_rows(context: Context) -> dict[int, tuple[Row, Files]]:
    """The first experiment of each scenario: a metric that there is not is said before anything is written."""
    study = context.study
    firsts: dict[str, int] = {}
    for index, design in zip(study.firsts(), study.designs.values(), strict=True):
        firsts.setdefault(design.scenario, index)
    found = {}
    for index in firsts.values():
        try:
            found[index] = experiment.measured(context, index)
        except DefinitionError as error:
            line = line_of(study.text, error.where)
            raise StudyError(f"{study.folder / 'study.toml'}{f':{line}' if line else ''}: {error}") from None
        except Exception as error:
            found[index] = (experiment.failed(context, index, error), {})
    return found


@dataclass(frozen=True)
class Ran:
    """The rows of a study, all of them."""

    state: State
    error: str | None
    """The first experiment that failed, and why."""
    remade: tuple[str, ...]
    """Files that an earlier run had finished and that were not as it wrote them: they were made again."""


def run_rows(
    context: Context,
    store: Store,
    identity: Mapping[str, Any],
    *,
    first: Mapping[int, tuple[Row, Files]] = MappingProxyType({}),
    workers: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Ran:
    """Runs what is not finished of a study's experiments and joins all rows in results.parquet.

    `first` are rows that are there already.
    """
    study, schema = context.study, results.Schema(context)
    faults: list[str] = []

    def is_whole(row: Row) -> bool:
        fault = store.fault(study.experiment(row.index).name, row.files) if row.files else None
        faults.extend([fault] if fault else [])
        return fault is None

    with closing(store.table("rows", identity, len(study), schema.learn, is_whole)) as table:
        before, fault = results.joined_before(store.out)
        lost = before.rows - table.taken_over - len(faults) if before is not None else 0
        if lost > 0:
            faults.append(f"{FOLDER}: {lost:,} finished experiments are not in the journals any more")
        if fault is not None:
            faults.append(fault)
        _run(context, store, table, first, workers, dask, progress)
    results.write(table, schema, context, store.out, None if fault else before)
    return Ran(_state(study, table), _first_error(study, table), tuple(faults))


def _run(
    context: Context,
    store: Store,
    table: Table,
    first: Mapping[int, tuple[Row, Files]],
    workers: int | None,
    dask: str | None,
    progress: Progress | None,
) -> None:
    study = context.study

    def keep(row: Row, files: Files) -> None:
        if files:
            store.keep_files(study.experiment(row.index).name, files)
            row.files = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        before = table.finished
        table.add(row)
        if progress is not None and table.finished > before:
            progress(_state(study, table))

    if progress is not None:
        progress(_state(study, table))
    for row, files in first.values():
        keep(row, files)
    table.commit()
    lean = replace(context, study=study.for_workers())
    todo = len(study) - table.finished
    tasks = ((index, study.experiment(index).point) for index in table.missing())
    if study.is_real_time:
        if dask is not None:
            raise UsageError("--dask: this study runs in real time on this machine, one experiment after the other")
        workers = 1
    with Runner(experiment.work, lean, experiment.died, workers=workers, dask=dask, most=todo) as runner:
        runner.idle = table.commit
        for _, (row, files) in runner.run(tasks) if todo else ():
            keep(row, files)
    table.commit()
    if progress is not None:
        progress(_state(study, table))


def _state(study: Study, table: Table) -> State:
    return State(study.name, len(study), table.finished, table.failed, table.taken_over)


def _first_error(study: Study, table: Table) -> str | None:
    if table.first_error is None:
        return None
    index, error = table.first_error
    return f"{study.experiment(index).name}: {error}"


def _compared(result: StudyResult, folder: OutputFolder) -> StudyResult:
    """The figures, tables and pictures of the rows, with the files that show them."""
    from paceline.studies.report import render

    study, rows = result.study, Rows(result.study)
    tables = study.tables
    if not tables and study.cells is None and len(study) <= LARGEST_TOLD:
        tables = by_factor(study.drawn, study.metrics)
    if tables or study.cells is not None or study.published or study.pictures or study.nearest:
        rows.fill(result.results_file)
    shown = {}
    if study.cells is not None:
        rows.judged = verdicts.judged(study, rows)
        frame = rows.judged.frame.dropna(axis=1, how="all")
        folder.stage("cells.csv", frame.to_csv(index=False, float_format="%.4g"))
        folder.stage("verdicts.csv", rows.judged.verdicts)
        shown = verdicts.tables(study, rows.judged)
    for name, one in tables.items():
        with about(f"tables.{name}"):
            shown[name] = one.cells(rows, study.factors)
    result = replace(
        result,
        comparison=compare(study, rows, has_data=result.missing is None),
        tables=shown,
        nearest=nearest.nearest(study.nearest, study.designs, rows),
    )
    if study.published or study.nearest:
        folder.stage("comparison.csv", comparison_csv(result.comparison))
        folder.stage("verdict.md", result.verdict_markdown)
    for name, table in result.tables.items():
        folder.stage(f"tables/{name}.md", str(table))
    folder.stage("report.html", render(result, stage_pictures(folder, lambda: _drawn(study, rows))))
    return result


def _drawn(study: Study, rows: Rows) -> Iterator[tuple[str, Figure]]:
    for name, picture in study.pictures.items():
        with about(f"pictures.{name}"):
            figure = picture.draw(study, rows)
        yield name, figure


def compare(study: Study, rows: Rows, *, has_data: bool) -> list[Comparison]:
    """Every published figure with ours and the verdict by its rule."""
    lines = []
    for published in study.published:
        ours, beside = None, {}
        if published.metric is not None:
            with about(f"{study.folder / 'published.csv'}: {published.id}"):
                ours = rows.figure(published.experiment, published.metric)
                if published.experiment in study.named:
                    others = getattr(study.named[published.experiment].spec, "beside", {})
                    beside = {title: rows.figure(other, published.metric) for title, other in others.items()}
        is_free = published.id in study.judged_without_data
        verdict = judged(study.rules[published.rule], published, ours, has_data, is_free)
        lines.append(Comparison(published, ours, verdict, beside))
    return lines


def plan(context: Context, workers: int | None = None, sample: int = 8) -> Plan:
    """Runs a few experiments, evenly spread, of long ones fewer, and computes what the whole study would take."""
    total = len(context.study)
    places = sorted({round(place * (total - 1) / max(1, sample - 1)) for place in range(min(sample, total))})
    start = time.perf_counter()
    rows: list[Row] = []
    for index in (*places[::3], *places[1::3], *places[2::3]):
        rows.append(experiment.run(context, index)[0])
        if time.perf_counter() - start > MEASURED_FOR:
            break
    seconds = (time.perf_counter() - start) / len(rows)
    # Many rows share what a file says once; a file of repeated rows tells what one more costs.
    once, thrice = (results.size_of(rows * times, context) for times in (1, 3))
    each = max((thrice - once) / (2 * len(rows)), LEAST_ROW)
    failed = sum(row.error is not None for row in rows)
    return Plan(context.study, total, len(rows), seconds, once, each, min(workers or cores(), total), failed)
