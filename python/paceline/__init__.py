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
    from collections.abc import Callable, Mapping, Sequence

    from paceline._core import (
        Controller,
        Coupling,
        MediaArrival,
        MediaDatagram,
        MediaEvent,
        MediaReceiver,
        MediaSender,
        ReceiverHalf,
    )
    from paceline.comparison.conditions import ConditionLike
    from paceline.comparison.contenders import ContenderLike
    from paceline.comparison.result import ComparisonResult
    from paceline.errors import (
        ControllerError,
        DataNotFound,
        ExperimentError,
        OutputError,
        PacelineError,
        ScenarioError,
        StudyError,
        UsageError,
    )
    from paceline.guests import Controllers, Program
    from paceline.probing import probe
    from paceline.result import Result
    from paceline.scorecards.run import Scorecard
    from paceline.simulation import registry, run
    from paceline.studies.outcomes import StudyResult
    from paceline.studies.progress import State
    from paceline.version import __version__

__all__ = [
    "ComparisonResult",
    "Controller",
    "ControllerError",
    "Coupling",
    "DataNotFound",
    "ExperimentError",
    "MediaArrival",
    "MediaDatagram",
    "MediaEvent",
    "MediaReceiver",
    "MediaSender",
    "OutputError",
    "PacelineError",
    "Program",
    "ReceiverHalf",
    "Result",
    "ScenarioError",
    "Scorecard",
    "StudyError",
    "UsageError",
    "__version__",
    "compare",
    "probe",
    "registry",
    "run",
    "scorecard",
    "study",
]

# Imported when first asked for: the command line has to be able to say something from its very beginning.
_HOMES = {
    "ComparisonResult": "paceline.comparison.result",
    "Controller": "paceline._core",
    "Coupling": "paceline._core",
    "MediaArrival": "paceline._core",
    "MediaDatagram": "paceline._core",
    "MediaEvent": "paceline._core",
    "MediaReceiver": "paceline._core",
    "MediaSender": "paceline._core",
    "Program": "paceline.guests",
    "ReceiverHalf": "paceline._core",
    "Result": "paceline.result",
    "Scorecard": "paceline.scorecards.run",
    "__version__": "paceline.version",
    "probe": "paceline.probing",
    "registry": "paceline.simulation",
    "run": "paceline.simulation",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        calls = "run, compare, study, scorecard, probe and registry are its calls, `help(paceline)` explains them"
        raise AttributeError(f"module 'paceline' has no attribute {name!r}: {calls}", name=name)
    value: object = getattr(import_module(_HOMES.get(name, "paceline.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def study(
    name: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    workers: int | None = None,
    dask: str | None = None,
    fresh: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: Callable[[State], None] | None = None,
    controllers: Controllers | None = None,
    only: Mapping[str, Sequence[str]] | None = None,
    also: Sequence[str] = (),
) -> StudyResult:
    """Runs a study: what is not finished of its experiments, designs and searches, and what is computed of them.

    Args:
        name: The name of a folder under `studies`, or the path of a study's folder.
        out: The folder that receives `results.parquet`, one row per experiment, and what is computed of it. Experiments
            that an earlier run of the same definition finished there are taken over.
        workers: How many experiments run at a time on this machine; without it one per core.
        dask: The address (`host:port`) of the scheduler of a Dask cluster that runs them instead.
        fresh: Whether what an earlier run left in `out` is deleted.
        data: Where trace and frame files are; without it the folder that `PACELINE_DATA` names.
        progress: Called now and then with how far the study is.
        controllers: Controllers of one's own by name, as `paceline.run` takes them.
        only: Runs a part: of factors the levels by their names, of `design` designs, of `half` a half of the cells.
        also: Controllers that a study of cells compares as well, as `compare` takes texts.

    Raises:
        StudyError: The definition is wrong, or `out` holds results of another one.
        OutputError: `out` cannot be written, or another process does; what is finished is kept.
    """
    from paceline.errors import expect_function
    from paceline.guests import using
    from paceline.studies.definition import load
    from paceline.studies.engine import run_study
    from paceline.studies.parts import part

    expect_function("progress", progress, "how far the study is")

    with using(controllers):
        wanted = part(load(name, also=also), only or {})
        return run_study(wanted, out=out, workers=workers, dask=dask, fresh=fresh, data=data, progress=progress)


def compare(
    controllers: Sequence[ContenderLike],
    *,
    out: str | os.PathLike[str],
    over: Sequence[ConditionLike] | ConditionLike = (),
    seeds: int | Sequence[int] = 5,
    flows: Sequence[str] = (),
    duration: str | None = None,
    warmup: str | None = None,
    weights: str | Mapping[str, float] | None = None,
    join: Sequence[str | os.PathLike[str]] = (),
    earlier: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    fresh: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: Callable[[State], None] | None = None,
    own: Controllers | None = None,
) -> ComparisonResult:
    """Compares controllers over scenarios, traces and named networks, on the same seeds.

    Args:
        controllers: At least two, the first of which the others are compared with: texts such as `"scream:rfc8298"`
            and `"mine=scream,qdelay_target_lo=60ms"`, or tables such as `{"kind": "scream", "profile": "rfc8298",
            "qdelay_target_lo": "60ms", "label": "mine", "flow": {"ecn": "l4s"}}`, where `flow` has further keys of
            the flow.
        out: The folder that receives `report.html`, `results.parquet` with a row per run, `medians.csv` and
            `differences.csv`. Experiments that an earlier run of the same comparison finished there are taken over.
        over: Scenarios (files, or dictionaries), recordings of rates, and names of networks; `docs/compare.md` says
            what may stand behind a comma.
        seeds: How many, from 1 on, or which: the same for every controller.
        flows: The flows whose controller is replaced, of scenarios with several.
        duration: How long each run is, in place of the scenarios' own.
        warmup: How much of each run's beginning only the figures of start-up count, in place of the scenarios' own;
            without it 10 s, at most a sixth of the run, where a scenario says none.
        weights: What the ranking counts, by the figures' names; without it `{"throughput": 1, "delay": 1}`.
        join: Folders of other comparisons whose runs are put beside.
        earlier: The folder of the same comparison by another build or version: each controller is compared with
            itself there.
        workers: How many runs go at a time on this machine; without it one per core.
        dask: The address (`host:port`) of the scheduler of a Dask cluster that runs them instead.
        fresh: Whether what an earlier run left in `out` is deleted.
        data: Where trace and frame files are; without it the folder that `PACELINE_DATA` names.
        progress: Called now and then with how far the comparison is.
        own: Controllers of one's own by name, as `paceline.run` takes them under `controllers`.

    Raises:
        UsageError: Fewer than two controllers, or an argument is wrong.
        ScenarioError: A controller, a profile, a parameter or a scenario is wrong.
        DataNotFound: A scenario or a trace is not there.
        StudyError: `out` holds results of another comparison, or `join` has no seed in common with the rest.
        OutputError: `out` cannot be written, or another process does; what is finished is kept.
    """
    from paceline.comparison.run import compare as run_comparison
    from paceline.errors import expect_function
    from paceline.guests import using

    expect_function("progress", progress, "how far the comparison is")

    with using(own):
        return run_comparison(
            controllers,
            out=out,
            over=over,
            seeds=seeds,
            flows=flows,
            duration=duration,
            warmup=warmup,
            weights=weights,
            join=join,
            earlier=earlier,
            workers=workers,
            dask=dask,
            fresh=fresh,
            data=data,
            progress=progress,
        )


def scorecard(
    controllers: Sequence[ContenderLike],
    *,
    out: str | os.PathLike[str],
    cases: Sequence[str | os.PathLike[str]] = (),
    only: Sequence[str] = (),
    workers: int | None = None,
    dask: str | None = None,
    fresh: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: Callable[[State], None] | None = None,
    own: Controllers | None = None,
) -> Scorecard:
    """Grades controllers by the field's own tests.

    `result["scream:robust"]["RFC 9743 5.1.2"]` is a controller's grade in a section, with `letter`, `holds` and
    `count`; `result["scream:robust"]["8867-5.2"]` its outcome in a case, with `word`, `reasons` and `verdicts`.
    `docs/scorecard.md` describes the cases and their judgement.

    Args:
        controllers: One or more, as `compare` takes them.
        out: The folder that receives `report.html`, `verdicts.csv`, `grades.md` and `results.parquet`. Runs that an
            earlier scorecard of the same cases finished there are taken over.
        cases: Folders of further cases.
        only: The cases to run, by their names, their files, or either with `*`; without it all.
        workers: How many runs go at a time on this machine; without it one per core.
        dask: The address (`host:port`) of the scheduler of a Dask cluster that runs them instead.
        fresh: Whether what an earlier scorecard left in `out` is deleted.
        data: Where trace and frame files are; without it the folder that `PACELINE_DATA` names.
        progress: Called now and then with how far the scorecard is.
        own: Controllers of one's own by name, as `paceline.run` takes them under `controllers`.

    Raises:
        UsageError: There is no controller, an argument is wrong, or `only` names no case.
        ScenarioError: A controller, a profile or a parameter is wrong.
        ControllerError: A controller answers otherwise in a second run of the same.
        DataNotFound: A folder of cases or a trace is not there.
        StudyError: A case is wrong, or `out` holds other results.
        OutputError: `out` cannot be written, or another process does; what is finished is kept.
    """
    from pathlib import Path

    from paceline.errors import expect_function
    from paceline.guests import using
    from paceline.scorecards.run import scorecard as run_scorecard

    expect_function("progress", progress, "how far the scorecard is")

    with using(own):
        return run_scorecard(
            controllers,
            out=out,
            folders=[Path(folder) for folder in cases],
            only=only,
            workers=workers,
            dask=dask,
            fresh=fresh,
            data=data,
            progress=progress,
        )
