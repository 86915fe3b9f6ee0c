"""Congestion control for real-time media: run a scenario, look at what came out, repeat a paper's study.

```python
import paceline

result = paceline.run("call.toml", overrides={"links.bottleneck.rate": "10Mbps"})
print(result.summary["flows"]["video"]["throughput_mbps"])
result.flows.plot(x="time_s", y="target_bitrate_mbps")
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from paceline._core import __version__
    from paceline.errors import (
        DataNotFound,
        OutputError,
        PacelineError,
        ScenarioError,
        StudyError,
        UsageError,
    )
    from paceline.result import Result
    from paceline.simulation import registry, run
    from paceline.studies.engine import StudyResult
    from paceline.sweeps.engine import State, SweepResult

__all__ = [
    "DataNotFound",
    "OutputError",
    "PacelineError",
    "Result",
    "ScenarioError",
    "StudyError",
    "UsageError",
    "__version__",
    "registry",
    "run",
    "study",
    "sweep",
]

# Imported when first asked for: the command line has to be able to say something from its very beginning.
_HOMES = {
    **dict.fromkeys(
        ("DataNotFound", "OutputError", "PacelineError", "ScenarioError", "StudyError", "UsageError"), "paceline.errors"
    ),
    "Result": "paceline.result",
    "__version__": "paceline._core",
    "registry": "paceline.simulation",
    "run": "paceline.simulation",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'paceline' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def study(
    name: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    resume: bool = False,
    data: str | os.PathLike[str] | None = None,
) -> StudyResult:
    """Runs a study: every experiment of its definition, and its comparison with what was published.

    Args:
        name: The name of a folder under `studies`, or the path of a study's folder.
        out: The folder that receives `results.parquet`, `comparison.csv` and `report.html`.
        workers: How many experiments run at a time; without it one per core.
        resume: Whether experiments that an earlier run in `out` finished are taken over.
        data: Where trace and frame files are; without it the folder that `PACELINE_DATA` names.

    Raises:
        StudyError: The definition is wrong, or an experiment failed.
    """
    from paceline.studies.definition import find
    from paceline.studies.engine import run_study
    from paceline.sweeps.definition import is_sweep

    if is_sweep(find(name)):
        from paceline.errors import StudyError

        raise StudyError(f"study {str(name)!r}: found a sweep, which paceline.sweep runs")
    return run_study(name, out=out, workers=workers, resume=resume, data=data)


def sweep(
    name: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    dask: str | None = None,
    resume: bool = False,
    data: str | os.PathLike[str] | None = None,
    told: Callable[[State], None] | None = None,
) -> SweepResult:
    """Runs a study whose experiments are drawn by designs: every one that is not finished yet.

    Worker processes begin by importing the program that calls this: keep the call under `if __name__ == "__main__":`,
    or take one worker.

    Args:
        name: The name of a folder under `studies`, or the path of a study's folder.
        out: The folder that receives `results.parquet`, one row per experiment, and what is computed of it.
        workers: How many experiments run at a time on this machine; without it one per core.
        dask: The address (`host:port`) of the scheduler of a Dask cluster that runs them instead.
        resume: Whether experiments that an earlier run in `out` finished are taken over.
        data: Where trace and frame files are; without it the folder that `PACELINE_DATA` names.
        told: Called after every experiment with how far the sweep is.

    Raises:
        StudyError: The definition is wrong, or what `resume` found is of another sweep or damaged.
        OutputError: `out` cannot be written; what is finished is kept.
    """
    from paceline.sweeps.engine import run_sweep

    return run_sweep(name, out=out, workers=workers, dask=dask, resume=resume, data=data, told=told)
