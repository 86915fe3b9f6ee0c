"""What a set of parameters does under conditions: runs spread over the cores, and kept as they are finished."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from paceline import _core, simulation, workers
from paceline.errors import OutputError, PacelineError, StudyError
from paceline.sweeps.factors import Value
from paceline.tuning.definition import Point, Search, Tuning

Told = Callable[[str, int, int, int], None]
"""Told what is under way, of how many sets, how many are measured, and how many of these failed."""
Runs = dict[str, dict[str, float]]
"""Of each condition each metric."""


@dataclass(frozen=True)
class Measured:
    """A set of parameters and what it does."""

    point: Point
    runs: Runs
    error: str | None
    """Why there are no runs."""

    def objectives(self, tuning: Tuning, conditions: Sequence[str]) -> dict[str, float]:
        """The objectives, taken together over these conditions."""
        return {
            name: objective.of([self.runs[condition][name] for condition in conditions])
            for name, objective in tuning.objectives.items()
        }


@dataclass(frozen=True)
class Task:
    """One run."""

    number: int
    search: str
    condition: str
    point: tuple[tuple[str, Value], ...]


def run(tuning: Tuning, task: Task) -> dict[str, float] | str:
    """The metrics of a run; in words why there are none."""
    try:
        text = tuning.scenario(tuning.searches[task.search], task.condition, dict(task.point))
        result = simulation.simulate(text.load())
        values = {name: metric.of(result) for name, metric in tuning.metrics.items()}
    except PacelineError as error:
        return f"{task.condition}: {error}"
    for name, value in values.items():
        if value is None:
            return f"{task.condition}: the run has no {name}"
    return {name: value for name, value in values.items() if value is not None and math.isfinite(value)}


class Runner:
    """Runs sets of parameters on all cores; the processes stay until the `with` block ends."""

    def __init__(self, tuning: Tuning, count: int | None) -> None:
        count = count or workers.cores()
        self._tuning = tuning
        self._processes = workers.Processes(run, tuning, count, _died) if count > 1 else None

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._processes is not None:
            self._processes.__exit__(kind, error, trace)

    def measure(
        self, search: Search, points: Mapping[int, Point], conditions: Sequence[str]
    ) -> Iterator[tuple[int, Measured]]:
        """Every set under every condition, by its number, in the order in which they are finished."""
        tasks = [
            Task(number, search.name, condition, tuple(point.items()))
            for number, point in points.items()
            for condition in conditions
        ]
        found: dict[int, dict[str, dict[str, float] | str]] = {number: {} for number in points}
        for task, outcome in self._outcomes(tasks):
            of_point = found[task.number]
            of_point[task.condition] = outcome
            if len(of_point) == len(conditions):
                yield task.number, _measured(points[task.number], of_point, conditions)

    def _outcomes(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, dict[str, float] | str]]:
        if self._processes is None:
            return workers.in_turn(run, self._tuning, tasks)
        return self._processes.run(tasks)


def _died(task: Task) -> str:
    return f"{task.condition}: the worker process died of it, twice"


def _measured(point: Point, found: Mapping[str, dict[str, float] | str], conditions: Sequence[str]) -> Measured:
    runs: Runs = {}
    for condition in conditions:
        outcome = found[condition]
        if isinstance(outcome, str):
            return Measured(point, {}, outcome)
        runs[condition] = outcome
    return Measured(point, runs, None)


class Journal:
    """Sets that were measured, a line each at once, so that a kill loses none; the first line says whose they are."""

    def __init__(self, path: Path, identity: Mapping[str, Any], *, resume: bool) -> None:
        """Takes over what is there with `resume`; begins anew without.

        Raises:
            StudyError: What is there is of another study, or damaged. It stays as it is.
        """
        self._path = path
        self.kept: dict[int, Measured] = {}
        identity = {**identity, "version": _core.__version__}
        whole = self._read(identity) if resume and path.is_file() else b""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("r+b" if whole else "wb")
            # What a kill left of the last line goes.
            self._file.truncate(len(whole))
            self._file.seek(len(whole))
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
        self._failed = sum(measured.error is not None for measured in self.kept.values())
        if not whole:
            self._append(identity)

    def _read(self, identity: Mapping[str, Any]) -> bytes:
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.splitlines()
        for number, line in enumerate(lines, 1):
            try:
                found = json.loads(line)
                if number > 1:
                    entry = Measured(found["point"], found["runs"], found["error"])
                    self.kept[int(found["number"])] = entry
            except (ValueError, TypeError, KeyError):
                raise StudyError(
                    f"{self._path}: line {number}: found no set that was measured; the file stays as it is, begin anew "
                    "without --resume"
                ) from None
            if number == 1 and found != identity:
                raise StudyError(
                    f"{self._path}: found a search of {_told(found)}, expected {_told(identity)}; it stays as it is: "
                    "begin anew without --resume, or in another folder with --out"
                )
        return whole

    def measure(
        self,
        runner: Runner,
        search: Search,
        points: Mapping[int, Point],
        conditions: Sequence[str],
        told: Callable[[int, int], None] | None,
    ) -> None:
        """Measures those of the sets that were not yet; `kept` has them all then.

        `told` is told after each how many are kept, and how many of them failed.
        """
        for number, point in points.items():
            if number in self.kept and self.kept[number].point != point:
                raise StudyError(
                    f"{self._path}: found another set as number {number} than this search takes, expected the same: is "
                    "it of another version of Optuna or SALib? It stays as it is: begin anew without --resume"
                )
        missing = {number: point for number, point in points.items() if number not in self.kept}
        for number, measured in runner.measure(search, missing, conditions):
            self.kept[number] = measured
            self._failed += measured.error is not None
            self._append({"number": number, "point": measured.point, "runs": measured.runs, "error": measured.error})
            if told is not None:
                told(len(self.kept), self._failed)

    def _append(self, line: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise OutputError(
                f"{self._path}: cannot be written: {error.strerror}; what is finished is kept, go on with --resume"
            ) from None

    def close(self) -> None:
        """Ends writing."""
        self._file.close()


def _told(identity: object) -> str:
    if not isinstance(identity, dict):
        return "something else"
    return " ".join(f"{key} {str(value)[:12]}" for key, value in identity.items())
