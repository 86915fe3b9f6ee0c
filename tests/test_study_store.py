"""A study's rows: killed at any moment, on disks that fail, with damaged records, and with two runs at once."""

import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import paceline
from conftest import Run
from deadly import always_deadly, deadly
from paceline import disk
from paceline.errors import OutputError, StudyError, WorkerDied
from paceline.studies import engine, experiment, results, runner, store
from paceline.studies.definition import load
from paceline.studies.engine import run_study
from paceline.studies.experiment import Row
from paceline.studies.progress import State
from paceline.studies.runner import Runner
from paceline.studies.store import Store
from processes import PATIENCE_S, as_in_a_terminal, until
from test_study_designs import TOTAL, contents, little, redefined

__all__ = ["little"]

JOURNAL = Path(".study") / "rows-000000.journal"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is brought to the disk by itself."""
    monkeypatch.setattr(store, "COMMIT_S", 0.0)


class _Killed(BaseException):
    """Stands for a kill -9: nothing of the study's own is done after it."""


def killed_after(count: int) -> Callable[[State], None]:
    def progress(state: State) -> None:
        if state.finished - state.taken_over >= count:
            raise _Killed

    return progress


def command(study: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "paceline", "study", str(study), "--out", str(out), *more]


# ---- Killed.


def test_resuming_repeats_and_loses_nothing(little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PART", 7)
    expected = run_study(little, out=tmp_path / "whole", workers=1).results_file.read_bytes()
    out = tmp_path / "out"
    over = 0
    for count in (3, 1, 9):
        with pytest.raises(_Killed):
            run_study(little, out=out, workers=1, progress=killed_after(count))
        over += count
        # As if the next record had been under way.
        for journal in sorted((out / ".study").glob("*.journal")):
            with journal.open("a") as file:
                file.write('\n01234567 [29,{"experi')
    result = run_study(little, out=out, workers=1)
    assert result.state == State("little", TOTAL, TOTAL, 0, over)
    assert result.results_file.read_bytes() == expected


def test_what_a_killed_process_had_not_finished_is_removed(little: Path, tmp_path: Path) -> None:
    """Only from a folder that is a study's: other folders may hold other people's files."""
    out = tmp_path / "out"
    theirs = out / "tables" / ".theirs.part"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"not ours")
    run_study(little, out=out, workers=1)
    assert theirs.exists()
    (out / "tables" / ".single-target.md.12345.part").write_bytes(b"half a ta")
    finished = run_study(little, out=out, workers=1)
    assert finished.state.finished == TOTAL
    assert not list(out.rglob("*.part"))


@pytest.mark.real_time
def test_killed_at_random_moments_it_always_goes_on(little: Path, tmp_path: Path) -> None:
    """Six kills of the whole group of processes, at moments drawn once and for all, from the start to the end."""
    expected = run_study(little, out=tmp_path / "whole", workers=1).results_file.read_bytes()
    out, moments = tmp_path / "out", random.Random(13)
    kept = 0
    for _ in range(6):
        with subprocess.Popen(
            command(little, out, "--workers", "2"),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            time.sleep(moments.uniform(0.5, 4.0))
            os.killpg(process.pid, signal.SIGKILL)
        rows = len((out / JOURNAL).read_bytes().split(b"\n\n")) if (out / JOURNAL).is_file() else 0
        assert rows >= kept, "a row that was written is gone"
        kept = rows
    result = run_study(little, out=out, workers=1)
    assert (result.state.finished, result.state.failed) == (TOTAL, 0)
    assert result.results_file.read_bytes() == expected
    assert not list(out.rglob("*.part"))


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds processes in /proc")
def test_workers_end_with_a_parent_that_is_killed(little: Path, tmp_path: Path) -> None:
    redefined(little, "count = 4", "count = 3000")
    out = tmp_path / "out"
    with subprocess.Popen(command(little, out, "--workers", "2"), stderr=subprocess.DEVNULL) as process:
        until("rows", lambda: (out / JOURNAL).is_file() and (out / JOURNAL).read_bytes().count(b"\n") > 20)
        threads = Path(f"/proc/{process.pid}/task").glob("*/children")
        children = [Path("/proc", pid) for children in threads for pid in children.read_text().split()]
        process.kill()
    assert len(children) >= 2
    until("an end of the workers", lambda: not any(child.exists() for child in children))


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_plainly_and_keeps_what_is_finished(little: Path, tmp_path: Path, how: signal.Signals) -> None:
    redefined(little, "count = 4", "count = 3000")
    out = tmp_path / "out"
    with subprocess.Popen(
        command(little, out), stderr=subprocess.PIPE, text=True, preexec_fn=as_in_a_terminal
    ) as process:
        until("rows", lambda: (out / JOURNAL).is_file() and (out / JOURNAL).read_bytes().count(b"\n") > 6)
        process.send_signal(how)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "interrupted: what is finished is kept: run the same command again to go on" in said
    assert not (out / "results.parquet").exists()
    seen: list[State] = []
    with pytest.raises(_Killed):
        run_study(little, out=out, workers=1, progress=lambda state: (seen.append(state), killed_after(1)(state))[0])
    assert seen[0].taken_over >= 3


# ---- Taken over, refused, deleted.


def test_what_is_finished_is_taken_over_whole(little: Path, tmp_path: Path, cli: Run) -> None:
    run_study(little, out=tmp_path / "out", workers=1)
    again = run_study(little, out=tmp_path / "out", workers=1)
    assert again.state == State("little", TOTAL, TOTAL, 0, TOTAL)
    done = cli("study", little, "--out", tmp_path / "out", "--resume", "--json")
    assert json.loads(done.stdout)["taken_over"] == TOTAL
    done = cli("study", little, "--out", tmp_path / "out", "--fresh", "--json")
    assert json.loads(done.stdout)["taken_over"] == 0
    done = cli("study", little, "--out", tmp_path / "out", "--fresh", "--resume")
    assert (done.returncode, "--resume and --fresh: found both" in done.stderr) == (2, True)


def test_results_of_another_definition_are_refused_and_stay(little: Path, tmp_path: Path, cli: Run) -> None:
    out = tmp_path / "out"
    run_study(little, out=out, workers=1)
    before = contents(out)
    redefined(little, "levels = [20, 60, 100]", "levels = [20, 60, 110]")
    done = cli("study", little, "--out", out)
    assert done.returncode == 2
    said = "another definition (factors.target.levels: found [20, 60, 100], expected [20, 60, 110]); they stay"
    assert said in done.stderr
    assert _but_the_lock(contents(out)) == _but_the_lock(before)
    assert run_study(little, out=out, workers=1, fresh=True).state.taken_over == 0


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first experiments of the journals that are joined; a journal has 7 rows, a row group one journal."""
    found: list[int] = []
    table = results.Schema.table

    def counted(self: results.Schema, rows: Sequence[Row], schema: Any) -> Any:
        found.append(rows[0].index)
        return table(self, rows, schema)

    monkeypatch.setattr(results.Schema, "table", counted)
    monkeypatch.setattr(results, "GROUP", 1)
    monkeypatch.setattr(store, "PART", 7)
    return found


def test_rows_that_were_joined_are_not_joined_again(little: Path, tmp_path: Path, joined: list[int]) -> None:
    out = tmp_path / "out"
    expected = run_study(little, out=out, workers=1).results_file.read_bytes()
    assert joined == [0, 7, 14, 21, 28]
    stamp = (out / "results.parquet").stat().st_mtime_ns
    again = run_study(little, out=out, workers=1)
    assert len(joined) == 5, "of a finished study none"
    assert again.results_file.stat().st_mtime_ns == stamp
    journal = out / ".study" / "rows-000002.journal"
    journal.write_bytes(journal.read_bytes().replace(b'"rate"', b'"rats"', 1))
    again = run_study(little, out=out, workers=1)
    assert joined[5:] == [14], "of one with a row that is run again those of its group"
    assert again.results_file.read_bytes() == expected
    again.results_file.write_bytes(b"another file")
    assert run_study(little, out=out, workers=1).results_file.read_bytes() == expected
    assert joined[6:] == [0, 7, 14, 21, 28], "all, if results.parquet is another file"
    (out / ".study" / "joined.json").write_text("{")
    assert run_study(little, out=out, workers=1).results_file.read_bytes() == expected
    little.rename(tmp_path / "moved")
    moved = run_study(tmp_path / "moved", out=out, workers=1)
    assert str(tmp_path / "moved") in moved.results["command"][0], "a row's command names the study's folder"


def test_columns_are_the_same_from_a_run_and_from_its_record(little: Path, tmp_path: Path) -> None:
    """A parameter without a limit is infinite in a run, and null in its record."""
    context, _ = engine.prepare(load(little))
    schemas = [results.Schema(context) for _ in range(2)]
    path = "flows.video.controller.target_bitrate_max"
    for schema in schemas:
        with Store(tmp_path / "out") as kept:
            table = kept.table("rows", {"name": "x"}, TOTAL, schema.learn)
            for index in () if table.finished else range(2):
                table.add(Row(index, parameters={path: (math.inf, None) if index else (1e6, "bit/s")}))
            table.close()
    assert schemas[0].arrow().equals(schemas[1].arrow(), check_metadata=True)


def test_columns_stand_in_the_order_of_experiments_whichever_is_finished_first(little: Path) -> None:
    context, _ = engine.prepare(load(little))
    rows = [Row(0, summary={"b": 1.0, "c": 2.0}), Row(1, summary={"b": 1.0, "a": 2.0, "c": 1.0})]
    found = []
    for order in (rows, rows[::-1]):
        schema = results.Schema(context)
        for row in order:
            schema.learn(row)
        found.append([name for name in schema.arrow().names if name.startswith("summary.")])
    assert found == [["summary.b", "summary.c", "summary.a"]] * 2


def test_a_design_that_is_added_last_leaves_what_is_finished(little: Path, tmp_path: Path, joined: list[int]) -> None:
    out = tmp_path / "out"
    run_study(little, out=out, workers=1)
    redefined(little, "[metrics.rate]", '[designs.more]\nkind = "sobol"\ncount = 2\n\n[metrics.rate]')
    result = run_study(little, out=out, workers=1)
    assert result.state == State("little", TOTAL + 4, TOTAL + 4, 0, TOTAL)
    assert joined[5:] == [28], "those of the journal that has grown"
    assert (
        result.results_file.read_bytes() == run_study(little, out=tmp_path / "new", workers=1).results_file.read_bytes()
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "[designs.mixed]",
            '[designs.more]\nkind = "sobol"\ncount = 2\n\n[designs.mixed]',
            "designs.more: found none, expected {'kind': 'sobol', 'count': 2}; add a design after all others to keep "
            "what is finished",
        ),
        ("count = 4", "count = 8", "designs.drawn.count: found 4, expected 8"),
        (
            '[designs.drawn]\nkind = "latin-hypercube"\ncount = 4\n',
            "",
            "designs.drawn: found {'kind': 'latin-hypercube', 'count': 4}, expected none",
        ),
    ],
)
def test_other_designs_are_refused(little: Path, tmp_path: Path, old: str, new: str, said: str) -> None:
    run_study(little, out=tmp_path / "out", workers=1)
    with pytest.raises(StudyError, match=re.escape(f"another definition ({said})")):
        run_study(redefined(little, old, new), out=tmp_path / "out", workers=1)


def test_designs_in_another_order_are_refused(little: Path, tmp_path: Path) -> None:
    run_study(little, out=tmp_path / "out", workers=1)
    drawn = '[designs.drawn]\nkind = "latin-hypercube"\ncount = 4\n\n'
    redefined(redefined(little, drawn, ""), "[designs.single]", f"{drawn}[designs.single]")
    with pytest.raises(StudyError, match=r"order of designs: found \['single', 'mixed', 'drawn'\], expected \['drawn'"):
        run_study(little, out=tmp_path / "out", workers=1)


def _but_the_lock(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if name != ".study/lock"}


@pytest.mark.parametrize("earlier", [".sweep/rows-000000.parquet", ".rows/one.json", ".tune/first.jsonl"])
def test_a_folder_of_an_earlier_version_is_refused_and_stays(
    little: Path, tmp_path: Path, cli: Run, earlier: str
) -> None:
    out = tmp_path / "out"
    (out / earlier).parent.mkdir(parents=True)
    (out / earlier).write_text("old")
    (out / "results.parquet").write_text("old")
    before = contents(out)
    done = cli("study", little, "--out", out, "--resume")
    assert done.returncode == 2
    assert "found results of an earlier version of Paceline" in done.stderr
    assert contents(out) == before
    assert cli("study", little, "--out", out, "--fresh").returncode == 0
    assert not (out / earlier).exists()


def test_results_that_nobody_answers_for_are_refused(little: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.parquet").write_text("mine")
    with pytest.raises(StudyError, match=r"found results\.parquet but no \.study/study\.json that says whose"):
        run_study(little, out=tmp_path / "out", workers=1)
    assert (tmp_path / "out" / "results.parquet").read_text() == "mine"


# ---- Damage.


@pytest.mark.parametrize("place", [0.0, 0.31, 0.5, 0.77, 1.0])
def test_a_damaged_byte_costs_its_record_alone(little: Path, tmp_path: Path, place: float) -> None:
    whole = run_study(little, out=tmp_path / "out", workers=1)
    expected = whole.results_file.read_bytes()
    journal = tmp_path / "out" / JOURNAL
    content = bytearray(journal.read_bytes())
    content[round(place * (len(content) - 1))] ^= 0x55
    journal.write_bytes(content)
    again = run_study(little, out=tmp_path / "out", workers=1)
    assert again.state.taken_over in (TOTAL - 1, TOTAL), "a byte between two records costs none"
    assert again.results_file.read_bytes() == expected


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda out: (out / "study.json").write_text("{"), "study.json: found a damaged file"),
        (lambda out: (out / "study.json").unlink(), "found rows but no study.json"),
        (lambda out: (out / "rows-000777.journal").write_text(""), "rows-000777.journal: found a file that is not of"),
    ],
)
def test_what_cannot_be_told_is_refused_and_stays(
    little: Path, tmp_path: Path, damage: Callable[[Path], object], said: str
) -> None:
    out = tmp_path / "out"
    with pytest.raises(_Killed):
        run_study(little, out=out, workers=1, progress=killed_after(3))
    damage(out / ".study")
    before = contents(out)
    with pytest.raises(StudyError, match=re.escape(said)):
        run_study(little, out=out, workers=1)
    assert contents(out) == before


def test_a_row_that_is_lost_after_it_was_written_is_missed(little: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    lost: list[int] = []

    def lose_one(state: State) -> None:
        if state.finished == TOTAL and not lost:
            lost.append(state.finished)
            content = (out / JOURNAL).read_bytes()
            (out / JOURNAL).write_bytes(content[: content.rindex(b"\n\n")])

    with pytest.raises(OutputError, match="1 rows that were written are not there when read back"):
        run_study(little, out=out, workers=1, progress=lose_one)
    assert not (out / "results.parquet").exists()
    assert run_study(little, out=out, workers=1).state.taken_over == TOTAL - 1


# ---- Writes that fail.


def test_a_write_that_fails_at_any_step_loses_nothing(
    little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every write, every fsync and every rename of a whole run fails once, each in a run of its own."""
    redefined(redefined(little, "seeds = [1, 2]", "seeds = [1]"), "count = 4", "count = 1")

    def measured(_: object, index: int, point: object = None) -> tuple[Row, dict[str, bytes]]:
        return Row(index, seed=1, metrics={"rate": 1.0 + index, "wait": 2.0}), {}

    # Nothing is simulated or drawn: what is written is what counts.
    monkeypatch.setattr(experiment, "run", measured)
    monkeypatch.setattr(experiment, "measured", measured)
    monkeypatch.setattr(engine, "_compared", lambda result, folder: result)
    monkeypatch.setattr(engine, "check", lambda context: None)
    expected = run_study(little, out=tmp_path / "whole", workers=1).results_file.read_bytes()
    steps = {name: getattr(disk, name) for name in ("append", "sync", "replace")}
    done = 0
    failing = -1

    def step(name: str) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            nonlocal done
            done += 1
            if done - 1 == failing:
                if name == "append":
                    os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
                raise OSError(28, "No space left on device")
            steps[name](*arguments)

        return call

    for name in steps:
        monkeypatch.setattr(disk, name, step(name))
    run_study(little, out=tmp_path / "counted", workers=1)
    total = done
    assert total > 2 * 12, "two for each experiment, and those of the folder"
    for place in range(total):
        out, done, failing = tmp_path / f"failing-{place}", 0, place
        with pytest.raises(OutputError, match="No space left on device"):
            run_study(little, out=out, workers=1)
        results = out / "results.parquet"
        assert not results.exists() or results.read_bytes() == expected, "whole or not there"
        kept, failing = len(_rows_in(out)), -1
        again = run_study(little, out=out, workers=1)
        assert again.state.taken_over <= kept, place
        assert again.results_file.read_bytes() == expected, place
        assert not list(out.rglob("*.part")), place


def _rows_in(out: Path) -> list[bytes]:
    journal = out / JOURNAL
    return [line for line in journal.read_bytes().split(b"\n") if line] if journal.is_file() else []


def test_a_row_counts_once_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "COMMIT_S", 1000.0)
    synced: list[int] = []
    monkeypatch.setattr(disk, "sync", lambda descriptor: synced.append(descriptor))
    with Store(tmp_path / "out") as kept:
        table = kept.table("rows", {"name": "x"}, 5)
        table.commit()
        before = len(synced)
        for index in range(3):
            table.add(Row(index))
        assert (table.finished, len(synced) - before) == (0, 1), "the folder alone, for the journal's name"
        table.commit()
        assert (table.finished, len(synced) - before) == (3, 2)
        table.close()


# ---- Two at once.


@pytest.mark.long
def test_the_second_of_two_runs_is_told_who_holds_the_folder(little: Path, tmp_path: Path, cli: Run) -> None:
    redefined(little, "count = 4", "count = 3000")
    out = tmp_path / "out"
    with subprocess.Popen(
        command(little, out, "--workers", "1"), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as process:
        until("rows", lambda: (out / JOURNAL).is_file() and len(_rows_in(out)) > 3)
        for more in ([], ["--fresh"]):
            done = cli("study", little, "--out", out, *more)
            assert done.returncode == 1
            assert f"{out}: in use by process {process.pid} on " in done.stderr
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == 1
    redefined(little, "count = 3000", "count = 4")
    expected = run_study(little, out=tmp_path / "alone", workers=1).results_file.read_bytes()
    both = [subprocess.Popen(command(little, tmp_path / "both"), stderr=subprocess.DEVNULL) for _ in range(2)]
    ends = sorted(process.wait(timeout=PATIENCE_S) for process in both)
    assert ends in ([0, 0], [0, 1]), "one is told, or comes later"
    assert (tmp_path / "both" / "results.parquet").read_bytes() == expected


# ---- Experiments that fail, and workers that die.


def test_one_that_fails_is_recorded_stops_nothing_and_is_said(little: Path, tmp_path: Path, cli: Run) -> None:
    # Each value is right by itself; the lowest target above the highest is not.
    high = '[factors.high]\npath = "flows.video.controller.qdelay_target_hi"\nunit = "ms"\nlevels = [50, 400]\n'
    folder = redefined(little, "[factors.mss]", f"{high}range = [300, 400]\n\n[factors.mss]")
    redefined(folder, "default = 100", "default = 20")
    redefined(folder, 'factors = ["target", "mss"]', 'factors = ["target", "high"]')
    done = cli("study", folder, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert re.search(r"paceline: 4 of \d+ experiments failed; the first: mixed/3: .*qdelay_target", done.stderr)
    rows = pd.read_parquet(tmp_path / "out" / "results.parquet")
    failed = rows[rows["error"].notna()]
    assert len(failed) == 4
    assert set(zip(failed["factor.target"], failed["factor.high"], strict=True)) == {(60, 50), (100, 50)}
    assert failed["metric.rate"].isna().all()
    assert failed["error"].str.contains("qdelay_target").all()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "throughput_mbps",
            "througput_mbps",
            "found 'througput_mbps', expected one of .* mean 'throughput_mbps'",
        ),
        ("flows.video.throughput", "flows.vidio.throughput", "found 'vidio', expected one of video; did you mean"),
        (
            'kind = "summary"\npath = "flows.video.throughput_mbps"',
            'kind = "series"\ncolumn = "srtt"\nstatistic = "mean"',
            "study.toml:3[0-9]: metrics.rate: found column 'srtt', expected one of .* did you mean 'srtt_ms'",
        ),
    ],
)
def test_a_metric_that_there_is_not_is_said_before_anything_runs(
    little: Path, tmp_path: Path, cli: Run, old: str, new: str, said: str
) -> None:
    done = cli("study", redefined(little, old, new), "--out", tmp_path / "out")
    assert done.returncode == 2
    assert re.search(said, done.stderr), done.stderr
    assert not (tmp_path / "out").exists()


def test_an_experiment_whose_worker_died_is_tried_again(
    little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run_study(little, out=tmp_path / "whole", workers=1).results_file.read_bytes()
    own = experiment.run
    monkeypatch.setattr(
        experiment,
        "run",
        lambda context, index, point: experiment.died((index, point)) if index == 7 else own(context, index, point),
    )
    first = run_study(little, out=tmp_path / "out", workers=1)
    assert (first.state.failed, first.error) == (1, "single/4: the worker process died of it, twice")
    monkeypatch.setattr(experiment, "run", own)
    again = run_study(little, out=tmp_path / "out", workers=1)
    assert again.state == State("little", TOTAL, TOTAL, 0, TOTAL - 1)
    assert again.results_file.read_bytes() == expected


def test_there_is_a_worker_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "cores", lambda: 3)
    for most, processes in ((None, 3), (2, 2)):
        with Runner(deadly, None, lambda item: -item, most=most) as three:
            assert three._pool is not None
            assert three._pool._workers == processes


def test_an_item_that_kills_its_worker_stops_nothing() -> None:
    with Runner(deadly, None, lambda item: -item, workers=2) as runner:
        done = dict(runner.run(range(35, 47)))
    assert done == {item: -40 if item == 40 else item * item for item in range(35, 47)}


def test_when_every_worker_dies_the_work_ends() -> None:
    with (
        pytest.raises(WorkerDied, match="one after the other"),
        Runner(always_deadly, None, lambda item: -item, workers=2) as runner,
    ):
        list(runner.run(range(12)))


def test_rows_of_a_part_that_becomes_whole_are_not_handed_out_again(tmp_path: Path) -> None:
    """The end of the part is finished first, as it may be with several workers."""
    with Store(tmp_path / "out") as kept:
        table = kept.table("rows", {"name": "x"}, TOTAL)
        for index in range(10, TOTAL):
            table.add(Row(index))
        handed = []
        for index in table.missing():
            handed.append(index)
            table.add(Row(index))
        assert handed == list(range(10))
        assert table.finished == TOTAL
        assert not table._done, "what is whole takes no memory for each row"
        table.close()


def test_paceline_study_from_python_takes_over(little: Path, tmp_path: Path) -> None:
    first = paceline.study(little, out=tmp_path / "out", workers=1)
    again = paceline.study(little, out=tmp_path / "out", workers=1)
    assert (first.state.taken_over, again.state.taken_over) == (0, TOTAL)
