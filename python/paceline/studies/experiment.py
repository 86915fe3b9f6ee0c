"""One experiment: run, measured and stored at once, so that a study killed at any moment keeps what was finished."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline import _core, simulation
from paceline.errors import StudyError
from paceline.frames import find
from paceline.outputs import replace_file
from paceline.scenario import ScenarioText
from paceline.studies.definition import Experiment, Study
from paceline.toml import loads

Row = dict[str, Any]
"""One line of results.parquet."""


@dataclass(frozen=True)
class Job:
    """An experiment with everything that it needs, so that it can run in another process."""

    study: Study
    experiment: Experiment
    data: tuple[str, ...]
    real: bool
    """Whether the study's data is there; otherwise generated traces take its place."""
    out: Path

    @property
    def scenario(self) -> ScenarioText:
        """The study's scenario with the experiment's overrides."""
        overrides = list(self.experiment.overrides)
        if not self.real:
            overrides += self.experiment.substitutes
        file = self.study.scenario_file
        return ScenarioText(file.read_text(encoding="utf-8"), str(file), list(self.data), overrides, None)

    @property
    def key(self) -> str:
        """Changes when the row could come out otherwise."""
        digest = hashlib.sha256(self.study.fingerprint.encode())
        digest.update(_core.__version__.encode())
        digest.update(self.scenario.load().core.resolved_toml.encode())
        for name in self.study.data_files if self.real else ():
            digest.update(find(name, self.scenario.folders).read_bytes())
        return digest.hexdigest()

    @property
    def row_file(self) -> Path:
        """Where the finished row is kept."""
        return self.out / ".rows" / f"{self.experiment.name}.json"

    @property
    def folder(self) -> Path:
        """Where the run's own outputs are."""
        return self.out / "experiments" / self.experiment.name


def run(job: Job) -> Row:
    """Runs the experiment and writes its outputs; the row is written last, by rename: it says that all is there."""
    result = simulation.simulate(job.scenario.load())
    if result.flows_arrow.num_rows == 0:
        raise StudyError(
            f"{job.study.scenario_file}: sample: found one longer than the {result.summary['duration_s']:g} s of "
            f"experiment {job.experiment.name!r}, expected a shorter one: there is nothing to measure or draw"
        )
    shutil.rmtree(job.folder, ignore_errors=True)
    result.save(job.folder, plots=(*["overview"] * job.experiment.overview, *job.experiment.figures))
    row: Row = {
        "experiment": job.experiment.name,
        "title": job.experiment.title,
        "seed": result.summary["seed"],
        "version": _core.__version__,
        "data": "real" if job.real else "generated",
    }
    row.update({f"metric.{name}": metric.of(result) for name, metric in job.study.metrics.items()})
    summary = {key: value for key, value in result.summary.items() if key not in ("wall_s", "seed")}
    row.update({f"summary.{path}": value for path, value in flatten(summary)})
    row.update({f"parameter.{path}": value for path, value in flatten(loads(result.scenario))})
    replace_file(job.row_file, json.dumps({"key": job.key, "row": row}))
    return row


def stored(job: Job) -> Row | None:
    """The row of an earlier run, if it is of this very experiment."""
    try:
        kept = json.loads(job.row_file.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    row: Row = kept["row"]
    return row if kept["key"] == job.key else None


def flatten(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a tree with their dotted paths; lists, and tables inside them, as JSON."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield prefix + key, json.dumps(value)
        else:
            yield prefix + key, value
