"""Running a sweep: what is not finished runs on all cores or on a cluster, and every finished row is kept at once."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from paceline import workers
from paceline.errors import DataNotFound, OutputError, ScenarioError, StudyError
from paceline.frames import find
from paceline.outputs import OutputFolder
from paceline.plots.style import stage_pictures
from paceline.scenario import data_folders
from paceline.studies import tables
from paceline.studies.compare import Comparison
from paceline.sweeps import experiment
from paceline.sweeps.compare import compare
from paceline.sweeps.definition import Sweep, load
from paceline.sweeps.experiment import Bench, Row
from paceline.sweeps.nearest import Near, markdown, nearest
from paceline.sweeps.store import Store, parquet, table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class State:
    """How far a sweep is."""

    total: int
    finished: int
    failed: int
    taken_over: int
    """Of those finished, how many an earlier run had."""


Told = Callable[[State], None]
"""Told after every experiment how far the sweep is."""


@dataclass(frozen=True)
class SweepResult:
    """What a sweep gave."""

    sweep: Sweep
    out: Path
    state: State
    missing: str | None
    """Which data was not there, so that generated traces were used and nothing is judged."""
    comparison: list[Comparison]
    """The published figures beside ours."""
    tables: dict[str, str] = field(default_factory=dict)
    """The tables that the definition asks for, in Markdown."""
    nearest: list[Near] = field(default_factory=list)
    """The points that come nearest to published figures, in a sweep that looks for them."""

    @property
    def results_file(self) -> Path:
        """One row per experiment: every factor, every metric, every parameter, the seed, the version, the error."""
        return self.out / "results.parquet"

    @property
    def report(self) -> Path:
        """The report, a page that needs nothing else; only of sweeps with published figures or pictures."""
        return self.out / "report.html"

    @property
    def verdicts(self) -> dict[str, int]:
        """How many published figures got which verdict."""
        return dict(Counter(row.verdict for row in self.comparison))

    @property
    def verdict_markdown(self) -> str:
        """The verdict as a README has it: published figures beside ours, and the nearest set-ups."""
        parts = [tables.verdict_markdown(self.comparison)] if self.comparison else []
        if self.sweep.nearest:
            parts.append(markdown(self.nearest))
        return "\n".join(parts)

    @cached_property
    def results(self) -> pd.DataFrame:
        """The rows as a data frame."""
        import pandas as pd

        return pd.read_parquet(self.results_file)


@dataclass(frozen=True)
class Plan:
    """What a sweep would take, from a few of its experiments."""

    sweep: Sweep
    total: int
    measured: int
    """Experiments that were run to learn the rest."""
    seconds_each: float
    """On one core."""
    bytes_once: float
    """Of results.parquet, whatever its rows: each column's name and what all rows say alike."""
    bytes_each: float
    """Of a row besides."""
    workers: int
    failed: int

    @property
    def seconds(self) -> float:
        """The whole sweep on so many workers."""
        return self.total * self.seconds_each / self.workers

    @property
    def size(self) -> float:
        """The whole results.parquet in bytes."""
        return self.bytes_once + self.total * self.bytes_each


def run_sweep(
    name: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    dask: str | None = None,
    resume: bool = False,
    data: str | os.PathLike[str] | None = None,
    told: Told | None = None,
) -> SweepResult:
    """Runs every experiment of a sweep that is not finished yet, and writes `results.parquet`.

    Args:
        name: A study of `paceline list studies`, or its folder.
        out: Where the results go.
        workers: Experiments that run at a time on this machine; one per core unless given.
        dask: The scheduler's address of a Dask cluster that runs them instead.
        resume: Takes over what an earlier run in `out` finished.
        data: Where traces are looked for.
        told: Told after every experiment how far the sweep is.

    Raises:
        StudyError: The definition is wrong, or what `resume` found is of another sweep or damaged.
        OutputError: `out` cannot be written; what is finished is kept.
    """
    bench, missing = prepare(load(name), data)
    sweep = bench.sweep
    check(bench)
    with OutputFolder(out) as folder:
        store = Store(sweep, folder.path, data=_digest(bench))
        with closing(store):
            store.resume() if resume else store.begin()
            taken_over = store.finished

            def state() -> State:
                return State(len(sweep), store.finished, store.failed, taken_over)

            if told is not None:
                told(state())
            for index, row in _rows(bench, store.missing(), workers, dask, len(sweep) - store.finished):
                store.add(index, row)
                if told is not None:
                    told(state())
            _write_results(store, folder.path)
        result = SweepResult(sweep, folder.path, state(), missing, [])
        if sweep.published or sweep.pictures or sweep.nearest or sweep.tables:
            import pandas as pd

            from paceline.sweeps.report import render

            # At size, the texts of the parameters would fill the memory.
            own = pd.read_parquet(result.results_file, columns=[*COMPARED, *figures_of(sweep)])
            rows = pd.concat([own, *(one.frame() for one in sweep.recorded.values())], ignore_index=True)
            result = replace(
                result,
                comparison=compare(sweep, rows, judged=missing is None),
                tables={name: table.markdown(rows) for name, table in sweep.tables.items()},
                nearest=nearest(sweep.nearest, sweep.designs, rows),
            )
            folder.stage("comparison.csv", tables.comparison_csv(result.comparison))
            folder.stage("verdict.md", result.verdict_markdown)
            for name, text in result.tables.items():
                folder.stage(f"tables/{name}.md", text)
            drawn = ((name, picture.draw(sweep, rows)) for name, picture in sweep.pictures.items())
            svgs = stage_pictures(folder, drawn)
            folder.stage("report.html", render(result, svgs))
    return result


LEAST_ROW = 80.0
"""Bytes of a row in results.parquet at size, measured; eight rows compress better than a million."""
COMPARED = ("design", "number", "varied", "error")
"""Columns that published figures and pictures need, beside factors and metrics."""


def figures_of(sweep: Sweep) -> list[str]:
    """The columns of the factors and the metrics."""
    return [*(f"factor.{name}" for name in sweep.factors), *(f"metric.{name}" for name in sweep.metrics)]


def prepare(sweep: Sweep, data: str | os.PathLike[str] | None = None) -> tuple[Bench, str | None]:
    """The sweep with its data, and in words what is not at hand of it."""
    folders = tuple(data_folders(data))
    missing = None
    for name in sweep.data_files:
        try:
            find(name, [str(sweep.folder), *folders])
        except DataNotFound:
            where = f"not in {', '.join(folders)}" if folders else "PACELINE_DATA and --data name no folder"
            missing = f"the study's data is not at hand ({name}: {where})"
            break
    return Bench(sweep, folders, missing is None), missing


def check(bench: Bench) -> None:
    """Reads the scenario with each value of each factor, so that a slip in the definition is said before any run.

    What goes wrong in combination only is found when it is run, and recorded.
    """
    for probe, tried in bench.sweep.probes():
        try:
            bench.scenario(probe).load()
        except ScenarioError as error:
            raise StudyError(f"{bench.sweep.folder / 'study.toml'}: {tried}: {error}") from None


def plan(bench: Bench, workers_: int | None = None, sample: int = 8) -> Plan:
    """Runs a few experiments, evenly spread, and reckons what the sweep would take."""
    check(bench)
    total = len(bench.sweep)
    places = sorted({round(place * (total - 1) / max(1, sample - 1)) for place in range(min(sample, total))})
    start = time.perf_counter()
    rows = [experiment.run(bench, index) for index in places]
    seconds = (time.perf_counter() - start) / len(places)
    # Many rows share what a file says once; a file of repeated rows tells what one more costs.
    once, thrice = (len(parquet(table(bench.sweep, enumerate(rows * times), times * len(rows)))) for times in (1, 3))
    each = max((thrice - once) / (2 * len(rows)), LEAST_ROW)
    count = min(workers_ or workers.cores(), total)
    return Plan(
        bench.sweep, total, len(places), seconds, once, each, count, sum(row["error"] is not None for row in rows)
    )


def _rows(
    bench: Bench, missing: Iterator[int], count: int | None, dask: str | None, todo: int
) -> Iterator[tuple[int, Row]]:
    died = partial(experiment.died, bench)
    bench = replace(bench, sweep=bench.sweep.for_workers())
    if dask is not None:
        return workers.on_dask(experiment.run, bench, missing, dask, died)
    count = min(count or workers.cores(), max(todo, 1))
    if count == 1:
        return workers.in_turn(experiment.run, bench, missing)
    return workers.in_processes(experiment.run, bench, missing, count, died)


def _digest(bench: Bench) -> str:
    """Changes when the data could come out otherwise."""
    if not bench.real:
        return "generated"
    digest = hashlib.sha256()
    for name in bench.sweep.data_files:
        digest.update(find(name, [str(bench.sweep.folder), *bench.data]).read_bytes())
    return digest.hexdigest()


def _write_results(store: Store, folder: Path) -> None:
    target = folder / "results.parquet"
    temporary = folder / ".results.parquet.part"
    try:
        store.write_results(temporary)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(f"{target}: cannot be written: {error}; the rows are kept, go on with --resume") from None
