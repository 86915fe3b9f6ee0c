"""Running a check: its scenarios with every seed, and each figure held against its band."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from paceline.checks import earlier as earlier_runs
from paceline.checks.definition import Case, Check, load, of_run
from paceline.checks.earlier import Earlier, Summaries
from paceline.checks.judge import Failed, Judged, Verdict, judged
from paceline.errors import PacelineError, UsageError, of_controller
from paceline.outputs import OutputFolder
from paceline.simulation import Progress, simulate
from paceline.studies.spec import told_with_line

_WRONG_INPUT = 2


def check(
    file: Path | None,
    *,
    against: Path | None = None,
    within: str | None = None,
    record: Path | None = None,
    data: Path | None = None,
    progress: Progress | None = None,
) -> Judged:
    """Runs the check of a file, or repeats the run that stands in the folder `against`.

    Args:
        file: The check's file; None to repeat a run.
        against: A folder with earlier figures; in place of the one that the file names.
        within: How far a repeated run may be from the earlier one, such as `5%`.
        record: A folder that receives the figures, for a later check. Bands around earlier figures are not judged.
        data: Where trace and frame files are; without it the folder that `PACELINE_DATA` names.
        progress: Called now and then with the part of the runs that is done.

    Raises:
        StudyError: The file or the earlier figures are wrong, or a band is about a figure that there is not.
        DataNotFound: The file, a scenario or earlier figures are not there.
        UsageError: Arguments contradict each other.
        OutputError: `record` cannot be written.
    """
    if file is not None and (of_file := load(file, data)).scorecard is not None:
        from paceline.scorecards import bands

        if within is not None:
            raise UsageError("--within: found it beside FILE, expected `within` of its bands")
        with told_with_line(file, of_file.text):
            return bands.check(of_file, against=against, record=record, data=data, progress=progress)
    folder = None if record is None else OutputFolder(record)
    if file is None:
        if against is None:
            raise UsageError("check: found neither FILE nor --against DIR, expected one of them")
        if folder is not None:
            raise UsageError("--record: found it without FILE, expected the file of a check")
        earlier_runs.expect_run(against)
        wanted = of_run(against, within, data)
        before: Earlier | None = earlier_runs.of_run(against, wanted.cases[0])
        where = against / "scenario.toml"
    else:
        if within is not None:
            raise UsageError("--within: found it beside FILE, expected `within` of its bands")
        wanted = of_file
        before = _recorded(file, wanted, against, is_recording=folder is not None)
        where = file
    with told_with_line(where, wanted.text):
        summaries, failed, verdicts = _run(wanted, before, progress)
    if folder is not None and not failed:
        earlier_runs.record(folder, wanted, summaries)
    return Judged(
        wanted.name,
        tuple(verdicts),
        tuple(failed),
        len(summaries) + len(failed),
        _told(before),
        {(case.name, seed): _command(case, seed, data) for case in wanted.cases for seed in case.seeds},
    )


def _recorded(file: Path, wanted: Check, against: Path | None, *, is_recording: bool) -> Earlier | None:
    folder = against or wanted.against
    if is_recording or (not wanted.needs_earlier and against is None):
        return None
    if folder is None:
        raise UsageError(
            f"{file}: found `within` and no earlier figures, expected --against DIR, `against` in the file, or --record"
        )
    if not wanted.needs_earlier:
        raise UsageError(f"--against {folder}: found no band with `within` in {file}, expected one to compare")
    return earlier_runs.read(folder, wanted)


def _told(before: Earlier | None) -> str:
    if before is None:
        return ""
    return f"{before.folder} ({before.version})" if before.version else str(before.folder)


def _run(
    wanted: Check, before: Earlier | None, progress: Progress | None
) -> tuple[Summaries, list[Failed], list[Verdict]]:
    """The summaries of all runs, those that came to no end, and the verdicts.

    Bands are judged scenario by scenario: a figure that there is not is said after the first.
    """
    summaries: Summaries = {}
    failed: list[Failed] = []
    verdicts: list[Verdict] = []
    total = sum(len(case.seeds) for case in wanted.cases)
    for case in wanted.cases:
        for seed in case.seeds:
            outcome = _one(case, seed)
            if isinstance(outcome, Failed):
                failed.append(outcome)
            else:
                summaries[case.name, seed] = outcome
            if progress is not None:
                progress((len(summaries) + len(failed)) / total)
        runs = {seed: summaries[case.name, seed] for seed in case.seeds if (case.name, seed) in summaries}
        for band in case.bands:
            is_told = before is not None or band.min is not None or band.max is not None
            found = judged(case, band if before else band.without_distance(), runs, before)
            verdicts += found if is_told else []
    return summaries, failed, verdicts


def _one(case: Case, seed: int) -> dict[str, object] | Failed:
    try:
        result = simulate(replace(case.scenario, seed=seed).load())
        return {**result.summary, "metrics": {name: one.value(result) for name, one in case.metrics.items()}}
    except PacelineError as error:
        if error.exit_status == _WRONG_INPUT:
            raise
        return Failed(case.name, seed, str(error))
    except Exception as error:
        if (note := of_controller(error)) is None:
            raise
        return Failed(case.name, seed, f"{type(error).__name__}: {error}; {note}")


def _command(case: Case, seed: int, data: Path | None) -> str:
    """The command that runs one seed of a scenario alone."""
    words = ["paceline", "run", str(case.scenario.file)]
    for path, value in case.scenario.overrides:
        words += ["--set", f"{path}={value}"]
    words += ["--seed", str(seed)]
    return shlex.join([*words, "--data", str(data)] if data is not None else words)
