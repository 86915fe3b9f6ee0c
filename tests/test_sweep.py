"""Sweeps: designs, results that depend on nothing but the definition, resuming, and what goes wrong."""

import json
import os
import pickle
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import paceline
from conftest import CALL, Run
from paceline import workers
from paceline.errors import OutputError, StudyError, WorkerDied
from paceline.sweeps import designs, experiment, store
from paceline.sweeps.definition import Sweep, load
from paceline.sweeps.engine import State, prepare, run_sweep
from paceline.sweeps.factors import Factor

STUDY = """\
name = "little"
title = "A little sweep"
scenario = "call.toml"
seeds = [1, 2]

[factors.target]
path = "flows.video.controller.qdelay_target_lo"
unit = "ms"
levels = [20, 60, 100]
range = [10, 200]
scale = "log"
default = 100

[factors.mss]
path = "flows.video.controller.mss"
unit = "B"
levels = [900, 1200]
range = [900, 1400]
integer = true

[designs.single]
kind = "one-at-a-time"

[designs.mixed]
kind = "factorial"
factors = ["target", "mss"]
set = { "links.bottleneck.delay" = "20ms" }

[designs.drawn]
kind = "latin-hypercube"
count = 4

[metrics.rate]
kind = "summary"
path = "flows.video.throughput_mbps"

[metrics.wait]
kind = "summary"
path = "flows.video.queue_delay_ms.mean"
"""
TOTAL = 2 * (5 + 6 + 4)


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """The folder of a sweep of 30 runs of a second."""
    folder = tmp_path / "little"
    folder.mkdir()
    (folder / "call.toml").write_text(CALL.replace('"10s"', '"1s"'))
    (folder / "study.toml").write_text(STUDY)
    return folder


def redefined(folder: Path, old: str, new: str) -> Path:
    """The sweep with a part of its definition changed."""
    text = (folder / "study.toml").read_text()
    assert old in text
    (folder / "study.toml").write_text(text.replace(old, new))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- Designs.


def points(sweep: Sweep, name: str) -> list[dict[str, object]]:
    design = sweep.designs[name]
    return [design.point(number) for number in range(len(design))]


def test_one_at_a_time_takes_each_level_of_each_factor(little: Path) -> None:
    sweep = load(little)
    assert points(sweep, "single") == [{"target": 20}, {"target": 60}, {"target": 100}, {"mss": 900}, {"mss": 1200}]
    assert [sweep.designs["single"].varied(number) for number in (0, 2, 3)] == ["target", "target", "mss"]


def test_the_last_factor_of_a_factorial_changes_fastest(little: Path) -> None:
    first = [tuple(point.values()) for point in points(load(little), "mixed")]
    assert first == [(20, 900), (20, 1200), (60, 900), (60, 1200), (100, 900), (100, 1200)]


def test_a_latin_hypercube_has_one_point_in_each_slice(little: Path) -> None:
    drawn = points(load(redefined(little, "count = 4", "count = 50")), "drawn")
    slices = sorted(int(50 * np.log(point["target"] / 10) / np.log(20) - 1e-4) for point in drawn)
    assert slices == list(range(50))
    assert all(isinstance(point["mss"], int) and 900 <= point["mss"] <= 1400 for point in drawn)


def test_a_grid_and_a_sobol_sequence_cover_the_ranges(little: Path) -> None:
    grid = redefined(little, 'kind = "latin-hypercube"', 'kind = "grid"')
    values = sorted({point["mss"] for point in points(load(grid), "drawn")})
    assert (len(points(load(grid), "drawn")), values) == (16, [900, 1067, 1233, 1400])
    sobol = redefined(little, 'kind = "grid"\ncount = 4', 'kind = "sobol"\ncount = 3\nscramble = false')
    drawn = points(load(sobol), "drawn")
    assert [point["mss"] for point in drawn] == [900, 1150, 1025]


def test_a_sobol_sequence_is_the_same_drawn_in_blocks(little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sobol = redefined(little, 'kind = "latin-hypercube"\ncount = 4', 'kind = "sobol"\ncount = 21\nseed = 5')
    whole = points(load(sobol), "drawn")
    monkeypatch.setattr(designs, "BLOCK", 4)
    designs._sobol.cache_clear()
    assert points(load(sobol), "drawn") == whole
    designs._sobol.cache_clear()


def test_what_a_worker_gets_does_not_grow_with_the_design(little: Path) -> None:
    sweep = load(redefined(little, "count = 4", "count = 20000"))
    assert sweep.experiment(len(sweep) - 1).name == sweep.name_of(len(sweep) - 1) == "drawn/20000"
    small = load(redefined(little, "count = 20000", "count = 20"))
    assert len(pickle.dumps(sweep.for_workers())) < len(pickle.dumps(small.for_workers())) + 100


def test_listed_points_are_taken_as_they_are(little: Path) -> None:
    listed = 'kind = "list"\npoints = [{}, { mss = 1000 }, { target = 15, mss = 1100 }]'
    sweep = load(redefined(little, 'kind = "latin-hypercube"\ncount = 4', listed))
    assert points(sweep, "drawn") == [{}, {"mss": 1000}, {"target": 15, "mss": 1100}]


# ---- Results.


def test_a_row_has_every_factor_metric_and_parameter_and_can_be_run_alone(little: Path, tmp_path: Path) -> None:
    result = run_sweep(little, out=tmp_path / "out", workers=1)
    rows = result.results
    assert (len(rows), result.state) == (TOTAL, State(TOTAL, TOTAL, 0, 0))
    assert rows["error"].isna().all()
    assert (rows["version"] == paceline.__version__).all()
    row = rows[rows["experiment"] == "mixed/4"].iloc[1]
    assert (row["seed"], row["factor.target"], row["factor.mss"]) == (2, 60, 1200)
    assert row["parameter.links.bottleneck.delay"] == "20ms"
    words = shlex.split(row["command"])
    sets = dict(words[place + 1].split("=", 1) for place, word in enumerate(words) if word == "--set")
    alone = paceline.run(little / "call.toml", overrides=list(sets.items()), seed=int(words[words.index("--seed") + 1]))
    assert alone.summary["flows"]["video"]["throughput_mbps"] == row["metric.rate"]
    assert alone.summary["flows"]["video"]["queue_delay_ms"]["mean"] == row["metric.wait"]


def test_results_do_not_depend_on_the_number_of_workers(little: Path, tmp_path: Path) -> None:
    one, two = (run_sweep(little, out=tmp_path / str(count), workers=count).results_file for count in (1, 2))
    assert one.read_bytes() == two.read_bytes()


def test_results_do_not_depend_on_where_parts_end(
    little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_sweep(little, out=tmp_path / "whole", workers=1).results
    monkeypatch.setattr(store, "PART", 7)
    monkeypatch.setattr(store, "GROUP", 2)
    parted = run_sweep(little, out=tmp_path / "parted", workers=1)
    assert pq.ParquetFile(parted.results_file).metadata.num_row_groups == 3
    pd.testing.assert_frame_equal(parted.results, whole)
    assert len(list((tmp_path / "parted" / ".sweep").glob("rows-*.parquet"))) == 5


def test_one_that_fails_is_recorded_and_stops_nothing(little: Path, tmp_path: Path) -> None:
    # Each value is right by itself; the lowest target above the highest is not.
    high = '[factors.high]\npath = "flows.video.controller.qdelay_target_hi"\nunit = "ms"\nlevels = [50, 400]\n'
    folder = redefined(little, "[factors.mss]", f"{high}range = [300, 400]\n\n[factors.mss]")
    redefined(folder, "default = 100", "default = 20")
    redefined(folder, 'factors = ["target", "mss"]', 'factors = ["target", "high"]')
    result = run_sweep(folder, out=tmp_path / "out", workers=1)
    failed = result.results[result.results["error"].notna()]
    assert (result.state.failed, len(failed)) == (4, 4)
    assert set(zip(failed["factor.target"], failed["factor.high"], strict=True)) == {(60, 50), (100, 50)}
    assert failed["metric.rate"].isna().all()
    assert failed["error"].str.contains("qdelay_target").all()


# ---- Killed and resumed.


class _Killed(BaseException):
    """Stands for a kill -9: nothing of the sweep's own is done after it."""


def killed_after(count: int) -> Callable[[State], None]:
    def told(state: State) -> None:
        if state.finished - state.taken_over >= count:
            raise _Killed

    return told


def test_resuming_repeats_and_loses_nothing(little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PART", 7)
    expected = run_sweep(little, out=tmp_path / "whole", workers=1).results_file.read_bytes()
    out = tmp_path / "out"
    over = 0
    for count in (3, 1, 9):
        with pytest.raises(_Killed):
            run_sweep(little, out=out, workers=1, resume=True, told=killed_after(count))
        over += count
        # As if the next line had been under way.
        journals = sorted((out / ".sweep").glob("*.jsonl"))
        for journal in journals:
            with journal.open("a") as file:
                file.write('[29,{"experi')
    result = run_sweep(little, out=out, workers=1, resume=True)
    assert result.state == State(TOTAL, TOTAL, 0, over)
    assert result.results_file.read_bytes() == expected


def test_rows_of_a_part_that_becomes_whole_are_not_handed_out_again(little: Path, tmp_path: Path) -> None:
    """The end of the part is finished first, as it may be with several workers."""
    bench, _ = prepare(load(little))
    kept = store.Store(bench.sweep, tmp_path, data="generated")
    (tmp_path / ".sweep").mkdir()
    kept.begin()
    for index in range(10, TOTAL):
        kept.add(index, experiment.described(bench, bench.sweep.experiment(index)))
    handed = []
    for index in kept.missing():
        handed.append(index)
        kept.add(index, experiment.described(bench, bench.sweep.experiment(index)))
    assert handed == list(range(10))
    assert kept.finished == TOTAL
    assert not kept._done, "what is whole takes no memory for each row"


def test_killed_for_real_it_resumes(little: Path, tmp_path: Path, cli: Run) -> None:
    redefined(little, "count = 4", "count = 300")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "paceline", "study", str(little), "--out", str(out), "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        journal = out / ".sweep" / "rows-000000.jsonl"
        until(lambda: journal.is_file() and journal.read_bytes().count(b"\n") > 20)
        os.killpg(process.pid, signal.SIGKILL)
    kept = journal.read_bytes().count(b"\n")
    again = cli("study", str(little), "--out", out, "--workers", "2", "--resume", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["taken_over"] == kept
    fresh = run_sweep(little, out=tmp_path / "fresh", workers=1)
    assert (out / "results.parquet").read_bytes() == fresh.results_file.read_bytes()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds processes in /proc")
def test_workers_end_with_a_parent_that_is_killed(little: Path, tmp_path: Path) -> None:
    redefined(little, "count = 4", "count = 3000")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "paceline", "study", str(little), "--out", str(out), "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        journal = out / ".sweep" / "rows-000000.jsonl"
        until(lambda: journal.is_file() and journal.read_bytes().count(b"\n") > 5)
        threads = Path(f"/proc/{process.pid}/task").glob("*/children")
        children = [Path("/proc", pid) for children in threads for pid in children.read_text().split()]
        process.kill()
    assert len(children) >= 2
    until(lambda: not any(child.exists() for child in children))


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited for a minute"
        time.sleep(0.01)


def test_what_is_finished_is_taken_over_whole(little: Path, tmp_path: Path) -> None:
    run_sweep(little, out=tmp_path / "out", workers=1)
    again = run_sweep(little, out=tmp_path / "out", workers=1, resume=True)
    assert again.state == State(TOTAL, TOTAL, 0, TOTAL)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda out: (out / "sweep.json").write_text("{"), "sweep.json: found a damaged file"),
        (lambda out: (out / "sweep.json").unlink(), "found rows but no sweep.json"),
        (lambda out: (out / "rows-000000.jsonl").write_text("[1,\n[2,{}]\n"), "rows-000000.jsonl: line 1"),
        (
            lambda out: (out / "rows-000000.jsonl").write_text('[0,{"experiment":"x"}]\n'),
            "line 1: found no row of this",
        ),
        (lambda out: (out / "rows-000000.parquet").write_bytes(b"PAR1"), "rows-000000.parquet: found a damaged file"),
        (lambda out: (out / "rows-000777.jsonl").write_text(""), "rows-000777.jsonl: found a file that is not of this"),
    ],
)
def test_damaged_results_are_refused_and_stay(
    little: Path, tmp_path: Path, damage: Callable[[Path], object], said: str
) -> None:
    out = tmp_path / "out"
    with pytest.raises(_Killed):
        run_sweep(little, out=out, workers=1, told=killed_after(3))
    damage(out / ".sweep")
    before = contents(out)
    with pytest.raises(StudyError, match=re.escape(said)):
        run_sweep(little, out=out, workers=1, resume=True)
    assert contents(out) == before


def test_results_of_another_definition_are_refused_and_stay(little: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_sweep(little, out=out, workers=1)
    before = contents(out)
    redefined(little, "levels = [20, 60, 100]", "levels = [20, 60, 110]")
    with pytest.raises(StudyError, match="found results of another definition"):
        run_sweep(little, out=out, workers=1, resume=True)
    assert contents(out) == before


# ---- Workers that die, disks that are full, people who interrupt.


def _deadly(_: None, item: int) -> int:
    if item == 5:
        os._exit(9)
    return item * item


def test_an_item_that_kills_its_worker_stops_nothing() -> None:
    done = dict(workers.in_processes(_deadly, None, range(12), 2, died=lambda item: -item))
    assert done == {item: -5 if item == 5 else item * item for item in range(12)}


def _always_deadly(_: None, item: int) -> int:
    os._exit(9)


def test_when_every_worker_dies_the_work_ends() -> None:
    with pytest.raises(WorkerDied, match="one after the other"):
        list(workers.in_processes(_always_deadly, None, range(12), 2, died=lambda item: -item))


def test_on_a_full_disk_the_rows_before_are_kept(little: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        with pytest.raises(OutputError, match="the rows before are kept"):
            run_sweep(little, out=out, workers=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (out / "results.parquet").exists()
    journal = (out / ".sweep" / "rows-000000.jsonl").read_bytes()
    assert journal.endswith(b"\n")
    result = run_sweep(little, out=out, workers=1, resume=True)
    assert result.state == State(TOTAL, TOTAL, 0, journal.count(b"\n"))


def test_ctrl_c_keeps_what_is_finished(little: Path, tmp_path: Path) -> None:
    redefined(little, "count = 4", "count = 3000")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "paceline", "study", str(little), "--out", str(out)]

    def as_in_a_terminal() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=as_in_a_terminal) as process:
        journal = out / ".sweep" / "rows-000000.jsonl"
        until(lambda: journal.is_file() and journal.stat().st_size > 0)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "interrupted: finished experiments are kept; go on with --resume" in said
    assert not (out / "results.parquet").exists()


# ---- The set-up that comes nearest.

NEAREST = """
[nearest.rate]
"single rate" = 4.0

[nearest.both]
"mixed rate" = 4.0
"mixed wait" = 20.0
"""


def test_the_nearest_points_are_found_and_listed(little: Path, tmp_path: Path) -> None:
    definition = little / "study.toml"
    definition.write_text(definition.read_text() + NEAREST)
    result = run_sweep(little, out=tmp_path / "out", workers=1)
    rows = result.results[result.results["design"] == "mixed"].groupby("number")[["metric.rate", "metric.wait"]].mean()
    apart = (np.log(rows / [4.0, 20.0])).abs().mean(axis=1)
    both = [near for near in result.nearest if near.reading.name == "both"]
    assert (both[0].number, both[0].distance) == (apart.idxmin(), pytest.approx(apart.min()))
    assert both[0].point == result.sweep.designs["mixed"].point(both[0].number - 1)
    distances = [near.distance for near in result.nearest]
    assert distances == sorted(distances)
    assert "| both | " in (tmp_path / "out" / "verdict.md").read_text()
    assert "The nearest set-ups" in result.report.read_text()


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        ('"single speed" = 4.0', "nearest.own: found 'single speed', expected one of single, mixed, drawn"),
        ('"single rate" = 0', "nearest.own.single rate: found 0, expected a number above zero"),
        ('"single rate" = 4.0\n"mixed rate" = 4.0', "nearest.own: found designs of different points"),
        ("", "nearest.own: found {}, expected a table of published figures"),
    ],
)
def test_a_wrong_reading_is_said(little: Path, reading: str, said: str) -> None:
    definition = little / "study.toml"
    definition.write_text(f"{definition.read_text()}\n[nearest.own]\n{reading}\n")
    with pytest.raises(StudyError, match=re.escape(said)):
        load(little)


# ---- From Python.


def test_a_sweep_runs_from_python(little: Path, tmp_path: Path) -> None:
    seen: list[State] = []
    result = paceline.sweep(little, out=tmp_path / "out", workers=1, told=seen.append)
    assert (len(result.results), seen[-1].finished) == (TOTAL, TOTAL)
    again = paceline.sweep(little, out=tmp_path / "out", workers=1, resume=True)
    assert again.state.taken_over == TOTAL


def test_a_sweep_is_no_study_of_named_experiments(little: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"found a sweep, which paceline\.sweep runs"):
        paceline.study(little, out=tmp_path / "out")


# ---- On the command line.


def test_studies_of_both_kinds_and_the_kinds_of_designs_are_listed(cli: Run) -> None:
    studies = [entry["kind"] for entry in json.loads(cli("list", "studies", "--json").stdout)["studies"]]
    assert {"scream-5g", "scream-tuning"} <= set(studies)
    kinds = [entry["kind"] for entry in json.loads(cli("list", "designs", "--json").stdout)["designs"]]
    assert kinds == list(designs.KINDS)


def test_a_dry_run_says_what_it_would_take_and_writes_nothing(little: Path, cli: Run) -> None:
    done = cli("study", little, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "mixed: 6 points (factorial), 2 seed(s)" in done.stdout
    assert f"experiments: {TOTAL}" in done.stdout
    assert re.search(r"time: +\d+ s on \d+ worker", done.stdout)
    assert not list((little.parent / "cwd").iterdir())
    document = json.loads(cli("study", little, "--dry-run", "--json").stdout)
    assert (document["experiments"], document["designs"]["drawn"]) == (TOTAL, 4)


def test_a_sweep_runs_from_the_command_line(little: Path, cli: Run, tmp_path: Path) -> None:
    done = cli("study", little, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "A little sweep: 30 experiments" in done.stdout
    assert f"little: {TOTAL} of {TOTAL}, 0 failed" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("controller.mss", "controller.msss", "msss"),
        ("levels = [900, 1200]", "levels = [900, 12000000]", "designs.single: mss = 12000000B: "),
        ("range = [900, 1400]", "range = [9, 1400]", "designs.drawn: mss = 9B: "),
        ("range = [900, 1400]", "range = [1400, 900]", "factors.mss.range: found [1400, 900], expected two numbers"),
        ("range = [10, 200]", "range = [0, 200]", "expected numbers above zero: the scale is logarithmic"),
        ("levels = [20, 60, 100]", "levels = 20", "factors.target.levels: found 20, expected a list"),
        ('unit = "ms"', 'units = "ms"', "factors.target: found key 'units', expected one of path"),
        (
            'kind = "factorial"',
            'kind = "factory"',
            "designs.mixed.kind: found 'factory', expected one of one-at-a-time",
        ),
        ('factors = ["target", "mss"]', 'factors = ["delay"]', "found factor 'delay', expected one of target, mss"),
        ('factors = ["target", "mss"]', "factors = []", "designs.mixed.factors: found [], expected a list"),
        ("count = 4", "count = 0", "designs.drawn.count: found 0, expected a whole number from 1"),
        ("count = 4", "count = 4\nlevels = { mss = [] }\n", "designs.drawn.levels: found with kind"),
        (
            "[designs.drawn]",
            "[designs.drawn]\nfactors = ['gap']\n[factors.gap]\npath = 'duration'\nlevels = [1]",
            "range",
        ),
        ("seeds = [1, 2]", "seeds = [1, 1]", "seeds: found [1, 1], expected each once"),
        ("seeds = [1, 2]", "seeds = []", "seeds: found [], expected a list"),
        ('scenario = "call.toml"', 'scenario = "none.toml"', "scenario: found 'none.toml', which is no file"),
        ('title = "A little sweep"', "", "found no key 'title', expected one"),
    ],
)
def test_a_wrong_definition_is_said_and_nothing_is_written(
    little: Path, cli: Run, old: str, new: str, said: str
) -> None:
    done = cli("study", redefined(little, old, new), "--out", "out")
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((little.parent / "cwd").iterdir())


def test_options_of_other_studies_are_refused(little: Path, cli: Run) -> None:
    done = cli("study", little, "--chart")
    assert (done.returncode, "--chart: found with a sweep" in done.stderr) == (2, True)
    done = cli("study", "scream-5g", "--dry-run")
    assert (done.returncode, "--dry-run: found with a study of named experiments" in done.stderr) == (2, True)


# ---- Pictures.

PICTURES = """
[pictures.levels]
kind = "levels"
design = "single"
metric = "rate"

[pictures.numbers]
kind = "numbers"
design = "mixed"
metric = "wait"
log = true

[pictures.against]
kind = "against"
design = "mixed"
metric = "rate"
against = "wait"

[pictures.panels]
kind = "panels"
design = "single"
metrics = ["rate", "wait"]
log = true
"""


def test_pictures_show_the_metrics_over_what_was_varied(little: Path, tmp_path: Path) -> None:
    (little / "study.toml").write_text(STUDY + PICTURES)
    result = run_sweep(little, out=tmp_path / "out")
    single = result.results[result.results["design"] == "single"]
    targets = single[single["varied"] == "target"].groupby("factor.target")
    figures = {name: picture.draw(result.sweep, result.results) for name, picture in result.sweep.pictures.items()}

    levels = {line.get_label(): line.get_ydata() for line in figures["levels"].axes[0].lines}
    assert list(levels["target"]) == pytest.approx(list(targets["metric.rate"].mean()))
    assert len(figures["numbers"].axes[0].lines[0].get_ydata()) == 6
    assert figures["numbers"].axes[0].get_yscale() == "log"
    # Only the factor with a default has something to compare with.
    [panel] = [axes for axes in figures["panels"].axes if axes.get_visible()]
    drawn = {line.get_label(): line for line in panel.lines}
    rates = targets["metric.rate"].mean()
    assert list(drawn["rate"].get_ydata()) == pytest.approx(list(rates / rates[100]))
    assert panel.get_title(loc="left") == "target, ms"
    for name in result.sweep.pictures:
        assert (tmp_path / "out" / "plots" / f"{name}.svg").read_text().startswith("<?xml")
    assert result.report.read_text().count("<svg") == 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "levels"', 'kind = "level"', "pictures.levels.kind: found 'level', expected one of levels, numbers"),
        ('metric = "wait"', 'metric = "waits"', "pictures.numbers.metric: found 'waits', expected one of rate, wait"),
        ('metrics = ["rate", "wait"]', 'metric = "rate"', "pictures.panels.metrics: found None"),
        ('against = "wait"\n', "", "pictures.against.against: found None, expected a metric"),
    ],
)
def test_a_wrong_picture_is_said_before_any_run(little: Path, old: str, new: str, message: str) -> None:
    assert old in PICTURES
    (little / "study.toml").write_text(STUDY + PICTURES.replace(old, new))
    with pytest.raises(StudyError, match=message):
        load(little)


def test_a_value_is_written_without_exponent_and_whole_in_nanoseconds() -> None:
    factor = Factor.read("wait", {"path": "a.b", "unit": "ms", "range": [0, 10]})
    assert factor.override(0.000025) == [("a.b", '"0.000025ms"')]
    assert [factor.near(value) for value in (1.23456789, 0.0000004, 12.0)] == [1.23457, 0.0, 10]
    whole = Factor.read("size", {"path": "a.b", "range": [1.5, 9.2], "integer": True})
    assert [whole.near(value) for value in (0.0, 4.4, 20.0)] == [2, 4, 9]
