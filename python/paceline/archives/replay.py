"""Running an archive's runs again, and comparing every figure and every sample with those that it holds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline import disk
from paceline.archives.manifest import ArchivedRun, Manifest
from paceline.archives.read import Archive
from paceline.comparison import figures
from paceline.errors import DataNotFound, PacelineError, UsageError
from paceline.frames import find
from paceline.outputs import OutputFolder
from paceline.scenario import ScenarioText, data_folders
from paceline.series import parquet_file
from paceline.simulation import simulate
from paceline.studies.metrics import Metric, MetricSpec
from paceline.studies.progress import Progress, State
from paceline.studies.spec import read_all
from paceline.toml import decoded, loads
from paceline.video.figures import seconds

if TYPE_CHECKING:
    from paceline.result import Result


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay."""

    same: int
    """Runs that gave the same bits."""
    skipped: int
    """Runs in real time, and runs without a scenario: they cannot be repeated."""
    differences: list[str]
    """Run and figure or file of each difference."""


def replay(
    archive: Archive,
    out: Path | None = None,
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Runs all simulated runs of an archive again; with `out`, each leaves its files in a folder there.

    Raises:
        UsageError: The archive was changed, or a recording is another one.
    """
    archive.check()
    manifest, folders = archive.manifest, data_folders(data)
    _expect_recordings(manifest, folders)
    folder = None if out is None else OutputFolder(out)
    differences: list[str] = []
    same = skipped = 0
    for number, run in enumerate(manifest.runs, 1):
        if run.scenario is None or not run.simulated:
            skipped += 1
        else:
            found = list(_differing(archive, run, number, folders, folder))
            same += not found
            differences += [f"{run.name}: {one}" for one in found]
        if progress is not None:
            progress(State("replay", len(manifest.runs), number, number - same - skipped, 0))
    return Replay(same, skipped, differences)


def _expect_recordings(manifest: Manifest, folders: list[str]) -> None:
    """Refuses other recordings than those of the results; a run whose recording is not at hand says so itself."""
    for name, digest in manifest.recordings.items():
        try:
            path = find(name, [".", *folders])
        except DataNotFound:
            continue
        if disk.digest(path.resolve()) != digest:
            raise UsageError(f"{path}: found another recording than that of the results (SHA-256 {digest})")


def _differing(
    archive: Archive, run: ArchivedRun, number: int, folders: list[str], folder: OutputFolder | None
) -> Iterator[str]:
    import pyarrow as pa

    assert run.scenario is not None
    text = decoded(archive.read(run.scenario), f"{archive.path}: {run.scenario}")
    try:
        result = simulate(ScenarioText(text, None, folders).load())
    except PacelineError as error:
        if run.error is None:
            yield f"failed: {error}"
        return
    if run.error is not None:
        yield f"did not fail, as it had: {run.error}"
        return
    files = result.files()
    if folder is not None:
        with folder:
            for name, content in files.items():
                folder.stage(f"{number}/{name}", content)
    for name, member in run.files.items():
        theirs = archive.read(member)
        try:
            is_same = _is_same(name, files.get(name, b""), theirs)
        except (ValueError, OSError, pa.ArrowException) as error:
            found = f"{run.name}: {member}: found a damaged file, expected it as it was written"
            raise UsageError(f"{archive.path}: {found}: {error}") from None
        if not is_same:
            yield f"{name} differs"
    yield from _metrics_differing(archive.manifest, run, result, loads(text))


def _is_same(name: str, ours: bytes, theirs: bytes) -> bool:
    """Whether two files say the same; how long a run took is no part of its outcome, nor is how a table is packed.

    Raises:
        ValueError: Theirs is damaged; so do OSError and Arrow's own errors.
    """
    if ours == theirs:
        return True
    if name == "summary.json":
        return bool(_timeless(ours) == _timeless(theirs))
    if not ours:
        return False
    with parquet_file(ours, name) as one, parquet_file(theirs, name) as other:
        # A small file may unpack to as much as it likes: it is read where it has our rows and columns.
        alike = one.metadata.num_rows == other.metadata.num_rows and one.schema_arrow.equals(other.schema_arrow)
        return alike and bool(one.read().equals(other.read()))


def _timeless(content: bytes) -> Any:
    if not content:
        return None
    try:
        summary = json.loads(content)
    except RecursionError:
        raise ValueError("lists in lists that are too deep to read") from None
    return {key: value for key, value in summary.items() if key != "wall_s"} if isinstance(summary, dict) else summary


def _metrics_differing(
    manifest: Manifest, run: ArchivedRun, result: Result, scenario: Mapping[str, Any]
) -> Iterator[str]:
    metrics = _metrics(manifest, run, scenario)
    for name, theirs in run.metrics.items():
        if name not in metrics:
            yield f"{name}: found no definition of it"
            continue
        metric = metrics[name]
        ours = metric.value_in(run.file, result) if metric.world in (None, "simulator") else None
        if ours != theirs:
            yield f"{name} was {theirs!r} and is {ours!r}"


def _metrics(manifest: Manifest, run: ArchivedRun, scenario: Mapping[str, Any]) -> Mapping[str, Metric]:
    """The metrics of a study's or a comparison's run, by their names."""
    try:
        if manifest.kind == "compare":
            condition, _ = manifest.measures["cases"][run.file.removesuffix(".toml")]
            about = manifest.measures["flows"][condition]
            begin = min(seconds(scenario["flows"][flow]["start"]) for flow in about["flows"])
            flows, links, span = tuple(about["flows"]), tuple(about["links"]), (begin, float(about["warmup_s"]))
            return figures.metrics({run.file: flows}, {run.file: links}, {run.file: span})
        return dict(read_all("metrics", manifest.measures.get("metrics", {}), MetricSpec))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"manifest.json: the metrics of {run.name!r} cannot be read: {error}") from None
