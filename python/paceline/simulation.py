"""Running one scenario in the simulator."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from paceline import _core
from paceline.errors import OutputError, UsageError, expect_count, expect_function, of_controller
from paceline.guests import Controllers, using
from paceline.outputs import OutputFolder
from paceline.overrides import Overrides
from paceline.result import Result
from paceline.scenario import LoadedScenario, ScenarioLike, ScenarioText, read

Progress = Callable[[float], None]
"""Told now and then which part of the run is done, from 0 to 1."""


def expect_progress(found: object) -> None:
    """Refuses a `progress` of one run that cannot be called."""
    expect_function("progress", found, "the part that is done, from 0 to 1")


def run(
    scenario: ScenarioLike,
    *,
    overrides: Overrides | None = None,
    seed: int | None = None,
    data: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    plots: bool = False,
    style: str | None = None,
    formats: str | Sequence[str] = (),
    progress: Progress | None = None,
    threads: int | None = None,
    pcap: str | os.PathLike[str] | None = None,
    pcap_at: str = "sender",
    qlog: str | os.PathLike[str] | None = None,
    controllers: Controllers | None = None,
) -> Result:
    """Runs a scenario in the simulator.

    Args:
        scenario: A path to a scenario file, a scenario as TOML text, or as a dictionary.
        overrides: Values that replace the scenario's, by dotted path, such as `{"links.bottleneck.delay": "20ms"}`, or
            nested, as `{"links": {"bottleneck": {"delay": "20ms"}}}`. A table merges with the scenario's own; one that
            says its `kind` replaces it.
        seed: Replaces the scenario's seed.
        data: Where relative trace and frame files are looked for after the scenario's own folder; without it the
            folder that `PACELINE_DATA` names.
        out: A folder for the summary, the time series and the scenario as resolved. Without it nothing is written.
        plots: Whether `out` receives plots too.
        style: The look of the plots, a name of `paceline.plots.STYLES`; without it they are made for a screen.
        formats: The kinds of their files: `pdf`, `png`, `svg`, or several; without them the style's own.
        progress: Called now and then with the part of the run that is done.
        threads: How many threads a world of many flows runs on; without it one per core. The outcome is the same to
            the bit.
        pcap: A file for the packets of all flows as they would be on the wire, in pcapng, with the run's clock.
        pcap_at: Where they are captured: at the flows' `sender`, at their `receiver`, or at `both`.
        qlog: A file for packets, metrics and inner states in the format qlog.
        controllers: Controllers of one's own by name: classes of Python, or commands of programs, as
            `docs/bring-your-own.md` describes them.

    Raises:
        ScenarioError: The scenario is wrong.
        ControllerError: A controller of one's own answered wrongly. Its own exceptions arrive as they are.
        UsageError: `threads` is below 1; `pcap_at` is no place, or with `qlog` one without the senders; there is no
            such style or format.
        DataNotFound: A file or folder that was named is not there.
        OutputError: `out`, `pcap` or `qlog` cannot be written; said before the run starts.
    """
    expect_count("threads", threads)
    expect_progress(progress)
    if not isinstance(plots, bool):
        raise UsageError(
            f"plots: found {str(plots)[:40]}, expected True or False; `Result.save` takes the names of some"
        )
    if not isinstance(pcap_at, str):
        raise UsageError(f"pcap_at: found {str(pcap_at)[:40]}, expected one of sender, receiver, both")
    text = read(scenario, overrides=overrides, seed=seed, data=data)
    captured, logged = (None if path is None else Path(path) for path in (pcap, qlog))
    runner = partial(simulate, threads=threads, pcap=captured, pcap_at=pcap_at, qlog=logged)
    with using(controllers):
        if not plots:
            return run_read(text, runner, out=out, plots=False, progress=progress)
        from paceline.plots.styles import drawn_as

        with drawn_as(style, formats):
            return run_read(text, runner, out=out, plots=True, progress=progress)


def run_read(
    scenario: ScenarioText,
    runner: Callable[[LoadedScenario, Progress | None], Result],
    *,
    out: str | os.PathLike[str] | None,
    plots: bool,
    progress: Progress | None,
) -> Result:
    """Runs a scenario that was read, with what can be said before the run said before it."""
    if out is None:
        if plots:
            raise UsageError("plots: found no output folder to write them to, expected one (--out DIR)")
        return runner(scenario.load(), progress)
    loaded = scenario.load()
    with OutputFolder(out) as folder:
        result = runner(loaded, progress)
        result.stage(folder, plots=plots)
    return result


def simulate(
    scenario: LoadedScenario,
    progress: Progress | None = None,
    *,
    threads: int | None = 1,
    pcap: Path | None = None,
    pcap_at: str = "sender",
    qlog: Path | None = None,
) -> Result:
    """Runs a scenario that was loaded, on so many threads or on all cores."""
    if qlog is not None:
        from paceline.qlog import logged

        captured = partial(simulate, scenario, progress, threads=threads, pcap_at=pcap_at)
        return logged(qlog, captured, pcap, pcap_at)
    run_core = partial(_run_core, scenario, pcap=pcap, pcap_at=pcap_at)
    if scenario.core.codecs:
        from paceline.video.run import simulate_video

        output, videos = simulate_video(scenario, run_core, progress)
        return Result(output, scenario, videos)
    output, _ = run_core(progress=progress, threads=threads)
    return Result(output, scenario)


def _run_core(
    scenario: LoadedScenario, *, pcap: Path | None, pcap_at: str, **how: Any
) -> tuple[_core.RunOutput, list[dict[str, bytes]]]:
    try:
        return _core.run(scenario.core, capture=pcap, capture_at=pcap_at, **how)
    except OSError as error:
        if of_controller(error):
            raise
        raise OutputError(str(error)) from None


def registry() -> dict[str, Any]:
    """Everything there is to choose from, by family, with every parameter, its default, unit and source."""
    known: dict[str, Any] = json.loads(_core.registry_json())
    return known
