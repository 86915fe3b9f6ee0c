"""The effect of a set of parameters under conditions: runs that are kept as they are finished."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from paceline import simulation
from paceline.errors import PacelineError, StudyError
from paceline.studies.bench import Bench
from paceline.studies.experiment import Row
from paceline.studies.factors import Point
from paceline.studies.progress import Progress, State
from paceline.studies.runner import Runner
from paceline.studies.search_definition import Search, Tuning
from paceline.studies.spec import Value
from paceline.studies.store import Table

Runs = dict[str, dict[str, float]]
"""The figures of a set's runs: by condition, then by the name of the metric."""


@dataclass(frozen=True)
class Measured:
    """A set of parameters and what it does."""

    point: Point
    runs: Runs
    error: str | None
    """Why there are no runs."""

    def objectives(self, tuning: Tuning, conditions: Sequence[str]) -> dict[str, float]:
        """The mean of each objective over these conditions."""
        return {
            name: objective.of([self.runs[condition][name] for condition in conditions])
            for name, objective in tuning.objectives.items()
        }


@dataclass(frozen=True)
class Task:
    """One run."""

    index: int
    search: str
    condition: str
    point: tuple[tuple[str, Value], ...]


def run(bench: Bench, task: Task) -> Row:
    """Runs a set under a condition; its row has the set as parameters."""
    row = Row(task.index, parameters={name: (value, None) for name, value in task.point})
    try:
        result = simulation.simulate(bench.scenario(task.search, task.condition, dict(task.point)).load())
        row.metrics = {name: metric.value(result) for name, metric in bench.study.metrics.items()}
    except PacelineError as error:
        row.error = f"{task.condition}: {error}"
        return row
    for name, value in row.metrics.items():
        if value is None or not math.isfinite(value):
            row.error = f"{task.condition}: the run has no {name}"
    return row


def died(task: Task) -> Row:
    """The row of a run whose worker process died while it ran."""
    error = f"{task.condition}: the worker process died of it, twice"
    return Row(task.index, error=error, died=True, parameters={name: (value, None) for name, value in task.point})


TaskRunner = Runner[Bench, Task, Row]


class Measurements:
    """The sets of a search and what they did under its conditions, kept in a table."""

    def __init__(
        self,
        what: str,
        bench: Bench,
        search: Search,
        conditions: Sequence[str],
        runner: TaskRunner,
        table: Table,
        *,
        batch: int | None = None,
    ) -> None:
        """Takes over what the table has; sets are proposed in the light of all `batch`es before theirs, if at all."""
        self._what, self._search, self._runner, self._table = what, search, runner, table
        self._conditions = tuple(conditions)
        self._rows = {index: row for rows in table.rows() for index, row in rows.items()}
        last = max((self._number(index) for index, row in self._rows.items() if not row.died), default=0)
        for index, row in list(self._rows.items()):
            # Tried again, unless later sets were proposed in the light of it.
            if row.died and (batch is None or self._number(index) // batch == last // batch):
                del self._rows[index]
        self._runner.idle = table.commit
        self._taken_over = len(self._rows) // len(self._conditions)
        self.kept: dict[int, Measured] = {}

    def _number(self, index: int) -> int:
        return index // len(self._conditions)

    def measure(self, points: Mapping[int, Point], total: int, progress: Progress | None) -> None:
        """Measures those of the sets that were not yet; `kept` has them all then.

        Raises:
            StudyError: What was taken over is of other sets.
        """
        for task in self._tasks(points):
            row = self._rows.get(task.index)
            if row is not None and {name: value for name, (value, _) in row.parameters.items()} != dict(task.point):
                raise StudyError(
                    f"{self._what}: found another set as number {self._number(task.index)} than this search takes: is "
                    "what was kept of another version of Optuna or SALib? It stays as it is: choose another folder "
                    "with --out, or delete it with --fresh"
                )
        for number, point in points.items():
            self._gather(number, point)
        missing = [task for task in self._tasks(points) if task.index not in self._rows]
        for task, row in self._runner.run(missing):
            self._rows[task.index] = row
            self._table.add(row)
            number = self._number(task.index)
            if self._gather(number, points[number]) and progress is not None:
                failed = sum(one.error is not None for one in self.kept.values())
                progress(State(self._what, total, len(self.kept), failed, self._taken_over))
        self._table.commit()

    def _tasks(self, points: Mapping[int, Point]) -> Iterator[Task]:
        for number, point in points.items():
            for place, condition in enumerate(self._conditions):
                index = number * len(self._conditions) + place
                yield Task(index, self._search.name, condition, tuple(point.items()))

    def _gather(self, number: int, point: Point) -> bool:
        """Puts a set's rows together once all are there."""
        first = number * len(self._conditions)
        rows = [self._rows.get(first + place) for place in range(len(self._conditions))]
        found = [row for row in rows if row is not None]
        if len(found) < len(rows):
            return False
        errors = [row.error for row in found if row.error is not None]
        runs = {
            condition: {name: value for name, value in row.metrics.items() if value is not None}
            for condition, row in zip(self._conditions, found, strict=True)
        }
        self.kept[number] = Measured(point, {} if errors else runs, errors[0] if errors else None)
        return True
