"""One experiment of a sweep, run and measured wherever there is room: it writes nothing and needs nobody."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from paceline import _core, simulation
from paceline.errors import PacelineError
from paceline.scenario import ScenarioText, data_folders
from paceline.studies.experiment import flatten
from paceline.sweeps.definition import Experiment, Sweep
from paceline.toml import loads

Row: TypeAlias = "dict[str, Any]"
"""One line of results.parquet."""


@dataclass(frozen=True)
class Bench:
    """A sweep with where its data is: what every worker needs."""

    sweep: Sweep
    data: tuple[str, ...]
    real: bool
    """Whether the sweep's data is there; otherwise generated traces take its place."""

    def scenario(self, experiment: Experiment) -> ScenarioText:
        """The scenario of the experiment."""
        overrides = self._overrides(experiment)
        folders = [folder for folder in self.data if Path(folder).is_dir()] or data_folders()
        file = experiment.design.scenario
        return ScenarioText(
            self.sweep.scenarios[file], str(self.sweep.folder / file), folders, overrides, experiment.seed
        )

    def command(self, experiment: Experiment) -> str:
        """What runs this experiment alone."""
        sets = [f"--set {shlex.quote(f'{path}={value}')}" for path, value in self._overrides(experiment)]
        file = f"studies/{self.sweep.folder.name}/{experiment.design.scenario}"
        return " ".join([f"paceline run {file}", *sets, f"--seed {experiment.seed}"])

    def _overrides(self, experiment: Experiment) -> list[tuple[str, str]]:
        own = self.sweep.overrides(experiment)
        return own if self.real else [*own, *self.sweep.substitutes]


def run(bench: Bench, index: int) -> Row:
    """Runs an experiment; one that fails has its error in the row, and no metrics."""
    experiment = bench.sweep.experiment(index)
    row = described(bench, experiment)
    try:
        result = simulation.simulate(bench.scenario(experiment).load())
        row.update({f"metric.{name}": metric.of(result) for name, metric in bench.sweep.metrics.items()})
        row.update({f"parameter.{path}": _text(value) for path, value in flatten(loads(result.scenario))})
    except PacelineError as error:
        row["error"] = str(error)
    return row


def described(bench: Bench, experiment: Experiment, error: str | None = None) -> Row:
    """The row of an experiment before it has run, or that could not."""
    row: Row = {
        "experiment": experiment.name,
        "design": experiment.design.name,
        "number": experiment.number,
        "seed": experiment.seed,
        "varied": experiment.design.varied(experiment.number - 1),
        "version": _core.__version__,
        "data": "real" if bench.real else "generated",
        "error": error,
        "command": bench.command(experiment),
    }
    for name, factor in bench.sweep.factors.items():
        row[f"factor.{name}"] = experiment.point.get(name, factor.default)
    return row


def died(bench: Bench, index: int) -> Row:
    """The row of an experiment whose worker died of it."""
    return described(bench, bench.sweep.experiment(index), "the worker process died of it, twice")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def values(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The columns of a row that begin with `prefix` and a dot, without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in row.items() if name.startswith(start)}
