"""Everything wrong ends with a clear message, the right exit status, and nothing written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import CALL, Run

WRONG_SCENARIOS = {
    "unknown key": ('delay = "10ms"', 'dealy = "10ms"', ["dealy", "delay"]),
    "wrong unit": ('delay = "10ms"', 'delay = "10Mbps"', ["delay", "10Mbps"]),
    "no unit": ('delay = "10ms"', "delay = 10", ["delay", "10"]),
    "negative rate": ('"8Mbps"', '"-8Mbps"', ["-8Mbps"]),
    "undeclared link": ('path = ["bottleneck"]', 'path = ["bottelneck"]', ["bottelneck", "bottleneck"]),
    "no flow": (CALL[CALL.index("[flows") :], "", ["flow"]),
    "no time": ('duration = "10s"', 'duration = "0s"', ["duration"]),
    "zero without unit": ('duration = "10s"', "duration = 0", ["duration"]),
    "unknown controller": ('kind = "scream"', 'kind = "scram"', ["scram", "scream"]),
    "unknown parameter": (
        'profile = "reference-2022"', 'qdelay_target_low = "60ms"', ["qdelay_target_low", "qdelay_target_lo"]
    ),
    "not TOML": ("[links.bottleneck]", "[links.bottleneck", ["line"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_SCENARIOS)
def test_a_wrong_scenario(cli: Run, tmp_path: Path, case: str) -> None:
    right, wrong, named = WRONG_SCENARIOS[case]
    assert right in CALL
    scenario = tmp_path / "wrong.toml"
    scenario.write_text(CALL.replace(right, wrong, 1))
    done = cli("run", scenario, "--out", tmp_path / "out", "--json")
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for text in ["wrong.toml", *named]:
        assert text in done.stderr
    assert not (tmp_path / "out").exists()


WRONG_TRACES = {
    "NaN": b"10,1\nnan,1\n",
    "negative": b"10,1\n-5,1\n",
    "empty": b"",
    "binary": bytes(range(256)),
    "a header only": b"mbps,seconds\n",
    "letters": b"ten,1\n",
}
WITH_TRACE = CALL.replace('{ steps = [["0s", "8Mbps"], ["5s", "4Mbps"]] }', '{ trace = "t.csv", format = "mbps-hold" }')


@pytest.mark.parametrize("case", WRONG_TRACES)
def test_a_malformed_trace(cli: Run, tmp_path: Path, case: str) -> None:
    (tmp_path / "t.csv").write_bytes(WRONG_TRACES[case])
    (tmp_path / "call.toml").write_text(WITH_TRACE)
    done = cli("run", tmp_path / "call.toml", "--out", tmp_path / "out")
    assert done.returncode == 2, done.stderr
    assert "t.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_trace_says_where_it_was_looked_for(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "call.toml").write_text(WITH_TRACE)
    (tmp_path / "data").mkdir()
    done = cli("run", tmp_path / "call.toml", "--data", tmp_path / "data")
    assert done.returncode == 2
    assert "t.csv" in done.stderr
    assert str(tmp_path / "data") in done.stderr


def test_line_ends_of_another_system_change_nothing(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "call.toml").write_text(WITH_TRACE)
    for name, trace in (("unix", b"6,2\n3,2\n"), ("dos", b"6,2\r\n3,2\r\n")):
        (tmp_path / "t.csv").write_bytes(trace)
        done = cli("run", tmp_path / "call.toml", "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "unix" / "flows.parquet").read_bytes() == (tmp_path / "dos" / "flows.parquet").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "links.botleneck.delay=20ms"], "botleneck"),
        (["--set", "links.bottleneck.delay"], "PATH=VALUE"),
        (["--seed", "one"], "--seed"),
        (["--seed", "-1"], "--seed"),
        (["--plot"], "--out"),
        (["--data", "no-such-folder"], "no-such-folder"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_wrong_arguments(cli: Run, call_file: Path, arguments: list[str], said: str) -> None:
    done = cli("run", call_file, *arguments)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


def test_a_missing_scenario(cli: Run) -> None:
    done = cli("run", "nowhere.toml")
    assert done.returncode == 2
    assert "nowhere.toml" in done.stderr


def test_a_file_where_the_folder_should_be(cli: Run, call_file: Path) -> None:
    (call_file.parent / "out").write_text("a file")
    done = cli("run", call_file, "--out", call_file.parent / "out")
    assert done.returncode == 1
    assert "out" in done.stderr
    assert (call_file.parent / "out").read_text() == "a file"


def test_a_folder_that_cannot_be_written(cli: Run, call_file: Path) -> None:
    """Under /proc nobody can make a folder, not even root."""
    done = cli("run", call_file, "--out", "/proc/paceline-out", "--set", "duration=1000000s")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def test_a_data_folder_that_is_not_there(cli: Run, call_file: Path) -> None:
    done = cli("run", call_file, data="/no/such/data")
    assert done.returncode == 2
    assert "PACELINE_DATA" in done.stderr


def test_ctrl_c_in_the_middle_writes_nothing(call_file: Path) -> None:
    out = call_file.parent / "out"
    command = [sys.executable, "-m", "paceline", "run", str(call_file), "--out", str(out), "--set", "duration=1000000s"]
    environment = {key: value for key, value in os.environ.items() if key != "PACELINE_DATA"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
    assert process.returncode == 1
    assert "interrupted: nothing was written" in said
    assert not out.exists()
