"""A person who waits: how far a long command is, how long it takes, and silence when asked for."""

import pytest

from conftest import Run
from paceline.cli import speak


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines come at once, not every 10 s."""
    monkeypatch.setattr(speak, "LINE_EVERY_S", 0.0)
    monkeypatch.setattr("paceline.cli.progress.LINE_EVERY_S", 0.0)


@pytest.mark.usefixtures("impatient")
def test_a_long_run_says_how_long_it_takes(cli: Run, call_file: str) -> None:
    loud = cli("run", call_file, "--set", "duration=2000s", "--set", "sample=1s")
    assert loud.returncode == 0
    assert loud.stderr.startswith("simulating: ")
    assert " s left\n" in loud.stderr
    quiet = cli("run", call_file, "--quiet", "--out", "out")
    assert (quiet.stderr, quiet.returncode) == ("", 0)


@pytest.mark.usefixtures("impatient")
def test_a_comparison_says_how_long_it_takes(cli: Run, call_file: str) -> None:
    words = ("urcp", "um", "--over", call_file, "--seeds", "2", "--duration", "1s", "--workers", "1", "--fresh")
    loud = cli("compare", *words)
    assert loud.returncode == 0
    assert "compare: 4 of 4" in loud.stderr
    assert cli("compare", *words, "-q").stderr == ""


def test_warnings_and_errors_are_said_all_the_same(cli: Run, call_file: str) -> None:
    done = cli("run", call_file, "-q", "--set", "duration=x")
    assert (done.returncode, "duration" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "command", ["run", "live", "send", "receive", "link", "browser", "probe", "compare", "study", "tune", "sensitivity"]
)
def test_each_long_command_can_be_quiet(cli: Run, command: str) -> None:
    assert "-q, --quiet" in cli(command, "--help").stdout.replace("--quiet, -q", "-q, --quiet")


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (100, "100 s"), (600, "10 min"), (36_000, "10.0 h"), (864_000, "10.0 days")]
)
def test_times_in_words(seconds: float, said: str) -> None:
    assert speak.duration(seconds) == said
