"""Everything wrong ends with a clear message, the right exit status, and nothing written."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import paceline
from conftest import CALL, Run
from paceline.errors import printable
from processes import PATIENCE_S, as_in_a_terminal, until

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
    "UTF-16": "10,1\n".encode("utf-16"),
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
        (["--set", 'links."a=b".delay'], "PATH=VALUE"),
        (["--seed", "one"], "--seed"),
        (["--seed", "-1"], "--seed"),
        (["--plot"], "--out"),
        (["--data", "no-such-folder"], "no-such-folder"),
        (["--data", ""], "--data"),
        (["--out", ""], "--out"),
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
    done = cli("run", call_file, "--out", "/proc/paceline-out", "--set", "duration=250000s")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["study", "scream-5g"], ["receive", "call.toml", "--listen", "127.0.0.1:0"]], ids=lambda a: a[0]
)
def test_an_empty_name_is_no_folder(cli: Run, tmp_path: Path, arguments: list[str]) -> None:
    done = cli(*arguments, "--out", "")
    assert done.returncode == 2, done.stderr
    assert "--out" in done.stderr
    assert "expected a folder" in done.stderr
    assert list((tmp_path / "cwd").iterdir()) == []


def test_a_folder_in_the_place_of_a_file_leaves_all_as_it_was(cli: Run, call_file: Path) -> None:
    out = call_file.parent / "out"
    (out / "scenario.toml").mkdir(parents=True)
    (out / "summary.json").write_text("old")
    done = cli("run", call_file, "--out", out)
    assert done.returncode == 1
    assert str(out / "scenario.toml") in done.stderr
    assert f"nothing in {out} was replaced" in done.stderr
    assert (out / "summary.json").read_text() == "old"
    assert sorted(path.name for path in out.iterdir()) == ["scenario.toml", "summary.json"]


def test_bytes_that_are_not_text(cli: Run, call_file: Path) -> None:
    call_file.write_bytes(b"\xff\xfe")
    for source, name in ((str(call_file), "call.toml"), ("-", "standard input")):
        done = cli("run", source, stdin=b"\xff\xfe")
        assert done.returncode == 2, done.stderr
        assert f"{name}: found bytes that are not UTF-8 at offset 0" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_scenario_in_utf_16(cli: Run, call_file: Path) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        call_file.write_bytes(CALL.encode(encoding))
        done = cli("run", call_file)
        assert done.returncode == 2, done.stderr
        assert "call.toml: found text in UTF-16, expected text in UTF-8" in done.stderr


def test_a_run_in_which_nothing_can_arrive_says_so(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0.000001,20\n")
    (tmp_path / "call.toml").write_text(WITH_TRACE)
    done = cli("run", tmp_path / "call.toml")
    assert done.returncode == 0, done.stderr
    assert "packets arrived in 10.0 s; link bottleneck takes 10 bits in that time" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not here: this test fills standard output")
@pytest.mark.parametrize("arguments", [["run", "{call}", "--json"], ["run", "{call}"], ["list", "traces"]])
def test_a_full_standard_output(call_file: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "paceline", *(text.format(call=call_file) for text in arguments)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr == "paceline: standard output: cannot be written: No space left on device\n"


def test_a_data_folder_that_is_not_there_matters_when_something_is_sought_in_it(cli: Run, call_file: Path) -> None:
    assert cli("run", call_file, data="/no/such/data").returncode == 0
    call_file.write_text(WITH_TRACE)
    done = cli("run", call_file, data="/no/such/data")
    assert done.returncode == 2
    assert "PACELINE_DATA" in done.stderr
    assert ", /no/such/data," in done.stderr


@pytest.mark.parametrize("module", ["paceline._core", "typer", "paceline.cli.options"])
def test_ctrl_c_during_the_start(module: str) -> None:
    """The entry point is imported before anything slow, and what it imports may be interrupted."""
    code = (
        "import sys\n"
        "class Interrupts:\n"
        "    def find_spec(name, path, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "from paceline.cli import main\n"
        "sys.meta_path.insert(0, Interrupts)\n"
        f"assert {module!r} not in sys.modules\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "paceline: interrupted: nothing was written\n"


def seconds_of(process: int) -> float:
    """Seconds that a process has computed; it starts in half of one."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc how far a process is")
def test_ctrl_c_in_the_middle_writes_nothing(call_file: Path) -> None:
    out = call_file.parent / "out"
    command = [sys.executable, "-m", "paceline", "run", str(call_file), "--out", str(out), "--set", "duration=250000s"]
    environment = {key: value for key, value in os.environ.items() if key != "PACELINE_DATA"}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=as_in_a_terminal
    ) as process:
        until("a run that has begun", lambda: seconds_of(process.pid) > 2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "interrupted: nothing was written" in said
    assert not out.exists()


ABSURD = [10**400, -(10**400), 2**64, 0, -1, 1.5, "4", b"4", [4], True]


@pytest.mark.parametrize("count", ABSURD, ids=lambda count: f"{type(count).__name__} {str(count)[:10]}")
def test_absurd_counts_from_python_are_said(call_file: Path, tmp_path: Path, count: Any) -> None:
    for call in (
        lambda: paceline.run(call_file, threads=count),
        lambda: paceline.compare(["urcp", "um"], over=call_file, seeds=1, out=tmp_path / "out", workers=count),
    ):
        with pytest.raises(paceline.UsageError, match=r"(threads|workers): found .{1,40}, expected 1 or more"):
            call()


@pytest.mark.parametrize("weight", [10**400, -1, float("nan"), "x", None])
def test_absurd_weights_are_said(call_file: Path, tmp_path: Path, weight: Any) -> None:
    with pytest.raises(paceline.UsageError, match="weights: found delay="):
        paceline.compare(["urcp", "um"], over=call_file, out=tmp_path / "out", weights={"delay": weight})


@pytest.mark.parametrize("place", [None, 3, b"sender", ["sender"]])
def test_a_place_of_capture_is_a_word(call_file: Path, tmp_path: Path, place: Any) -> None:
    with pytest.raises(paceline.UsageError, match=r"pcap_at: found .*, expected one of sender"):
        paceline.run(call_file, pcap=tmp_path / "x.pcapng", pcap_at=place)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "call.json"], ["a JSON document", "scenarios are TOML"]),
        (["run", "call.toml", "--duration", "5s"], ["--set duration=VALUE"]),
        (["run", "call.toml", "--rate", "5Mbps"], ["--set links.NAME.rate=VALUE"]),
        (["run", "call.toml", "--ecn", "l4s"], ["--set flows.NAME.ecn=VALUE"]),
        (["run", "call.toml", "--draww"], ["No such option: --draww", "--draw"]),
        (["run", "call.toml", "--controller", "gcc"], ["a controller", "--set flows.NAME.controller=gcc"]),
        (["run", "call.toml", "--set", "@sets.toml:x"], ["sets.toml: No such file or directory", "@FILE:NAME"]),
        (["run", "callx.toml"], ["no such scenario file; near it: call.toml"]),
        (["merge", "nope", "neither"], ["nope: no such folder"]),
        (["probe", "wimaxx"], ["near it: wimax"]),
        (["compare", "urcp", "um", "--over", "call.toml", "--weights", "delay"], ["'delay' without a number"]),
        (["compare", "call.toml"], ["a scenario", "--over call.toml", "expected a controller"]),
        (["list", "controller"], ["did you mean 'controllers'?"]),
        (["study", "call.toml"], ["a scenario", "expected a study"]),
    ],
)
def test_mistakes_of_newcomers_are_told_the_way(
    cli: Run, call_file: Path, tmp_path: Path, words: list[str], said: list[str]
) -> None:
    (tmp_path / "cwd" / "call.toml").write_text(call_file.read_text())
    (tmp_path / "cwd" / "call.json").write_text('{"duration": "5s"}')
    done = cli(*words)
    assert done.returncode == 2
    assert [part for part in said if part not in done.stderr] == [], done.stderr
    assert "Traceback" not in done.stderr


def test_none_is_no_value_of_a_scenario(call_file: Path) -> None:
    with pytest.raises(paceline.UsageError, match="found None as a value, expected one that TOML has"):
        paceline.run(call_file, overrides={"duration": None})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\x1b[2J\x7f", "a\\x1b[2J\\x7f"),
        ("a\u202eb\u200bc\u2066\ufeff", "a\\u202eb\\u200bc\\u2066\\ufeff"),
        ("\u00ad\u2028\U000e0041", "\\xad\\u2028\\U000e0041"),
        ("é\t漢\n🙂", "é\t漢\n🙂"),
    ],
)
def test_letters_that_steer_a_terminal_or_hide_are_escaped(text: str, said: str) -> None:
    assert printable(text) == said
