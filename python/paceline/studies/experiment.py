"""One experiment: a run of a scenario that becomes a row. It writes no file, so that any process can run it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from paceline.errors import PacelineError, StudyError, of_controller
from paceline.scenario import ScenarioText, data_folders
from paceline.studies import real_time
from paceline.studies.designs import Experiment
from paceline.studies.factors import Point
from paceline.studies.patience import given_up_after

if TYPE_CHECKING:
    from paceline.studies.definition import Study

Parameter = tuple[bool | int | float | str | None, str | None]
"""A value of a scenario as it was run, and its unit."""


class Row(msgspec.Struct, array_like=True):
    """The outcome of a run. The study's definition of the experiment is not repeated in it."""

    index: int
    """The number of the experiment in its study, from 0."""
    seed: int | None = None
    error: str | None = None
    died: bool = False
    """Whether its worker process died while it ran: it is tried again when the study is resumed."""
    metrics: dict[str, float | None] = {}
    parameters: dict[str, Parameter] = {}
    """Parameters that differ from the study's first experiment."""
    summary: dict[str, Any] = {}
    """Further figures of an experiment that the definition names."""
    files: dict[str, str] = {}
    """SHA-256 of each file that the run left, by its name."""


@dataclass(frozen=True)
class Context:
    """A study, and the folders of its data: what every worker needs."""

    study: Study
    data: tuple[str, ...]
    real: bool
    """Whether the study's data is there; otherwise generated traces take its place."""
    usual: Mapping[str, Parameter] = field(default_factory=dict)
    """The parameters of the first experiment."""
    traces: str = "generated"
    """A digest of the files of the study's data: other data gives other rows."""

    def overrides(self, experiment: Experiment) -> list[tuple[str, str]]:
        """The experiment's changes of its scenario."""
        own = self.study.overrides(experiment.design, experiment.number - 1, experiment.point)
        return own if self.real else [*own, *experiment.design.substitutes]

    def scenario(self, experiment: Experiment) -> ScenarioText:
        """The scenario of the experiment."""
        folders = [folder for folder in self.data if Path(folder).is_dir()] or data_folders()
        file = experiment.design.scenario
        overrides = self.overrides(experiment)
        return ScenarioText(
            self.study.scenarios[file], str(self.study.folder / file), folders, overrides, experiment.seed
        )

    def command(self, experiment: Experiment) -> str:
        """The command that runs this experiment alone, from any folder."""
        command, *options = experiment.design.world.command
        words = ["paceline", command, _absolute(self.study.folder / experiment.design.scenario), *options]
        for path, value in self.overrides(experiment):
            words += ["--set", f"{path}={value}"]
        if experiment.seed is not None:
            words += ["--seed", str(experiment.seed)]
        if self.data:
            words += ["--data", _absolute(Path(self.data[0]))]
        return shlex.join(words)


@cache
def _absolute(path: Path) -> str:
    return str(path.resolve())


Files = dict[str, bytes]
"""Files that a run leaves besides its row, by the names of files."""


Task = tuple[int, Point]
"""The number of an experiment and its point. Workers are told the point: what draws it takes a second to load."""


def work(context: Context, task: Task) -> tuple[Row, Files]:
    """Runs the experiment of a task."""
    return run(context, *task)


def run(context: Context, index: int, point: Point | None = None) -> tuple[Row, Files]:
    """Runs an experiment, drawing its point unless given; one that fails has its error in the row, and no metrics."""
    try:
        return measured(context, index, point)
    except Exception as error:
        return failed(context, index, error), {}


def failed(context: Context, index: int, error: Exception) -> Row:
    """The row of an experiment that ended with this error.

    An exception of a controller of one's own ends the study, unless it compares cell by cell: such a controller is bad
    there, and may be good in others.
    """
    if isinstance(error, PacelineError):
        return Row(index, error=str(error))
    if context.study.cells is not None and of_controller(error):
        return Row(index, error=f"{type(error).__name__}: {error}")
    raise error


def measured(context: Context, index: int, point: Point | None = None) -> tuple[Row, Files]:
    """Runs an experiment, whose point is drawn if it is not given.

    Raises:
        DefinitionError: A metric asks for what the run does not have.
        PacelineError: The run failed.
    """
    experiment = context.study.experiment(index, point)
    loaded = context.scenario(experiment).load()
    world = experiment.design.spec.world
    with given_up_after(context.study.patience_s):
        result = real_time.run(world, loaded)
    row = Row(index, seed=int(result.summary["seed"]))
    if experiment.plots is not None and result.flows_arrow.num_rows == 0:
        raise StudyError(
            f"{context.study.folder / experiment.design.scenario}: sample: found one longer than the "
            f"{result.summary['duration_s']:g} s of {experiment.name!r}, expected a shorter one: there is nothing to "
            "measure or draw"
        )
    file = experiment.design.scenario
    row.metrics = {
        name: metric.value_in(file, result) if metric.world in (None, world) else None
        for name, metric in context.study.metrics.items()
    }
    if context.study.parameters:
        row.parameters = differing(loaded.parameters, context.usual)
    if experiment.plots is None:
        return row, {}
    if experiment.is_named:
        row.summary = dict(_leaves(result.summary))
    from paceline.plots.styles import SCREEN, drawn_as

    # The report shows them, whatever the style of its own pictures' files is.
    with drawn_as(SCREEN.name):
        return row, result.files(plots=experiment.plots)


def died(task: Task) -> tuple[Row, Files]:
    """The row of an experiment whose worker process died while it ran."""
    return Row(task[0], error="the worker process died of it, twice", died=True), {}


def differing(own: Mapping[str, Parameter], usual: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The parameters that are not as usual; None for one that is not there."""
    found = {path: value for path, value in own.items() if usual.get(path) != value}
    return found | dict.fromkeys((path for path in usual if path not in own), (None, None))


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """The single figures of a summary with their dotted paths."""
    found: list[tuple[str, Any]] = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            found += _leaves(value, f"{prefix}{key}.")
        elif not isinstance(value, list) and key not in ("wall_s", "seed"):
            found.append((prefix + key, value))
    return found
