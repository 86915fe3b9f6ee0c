"""Mistakes of people who are new here: each message says what was found, and what most likely was meant."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import paceline
from conftest import CALL, ROOT, Run
from paceline.plots import draw


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def here(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a person with a scenario."""
    folder = tmp_path / "cwd"
    (folder / "call.toml").write_text(CALL)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["run", "call.toml", "extra"],
            "found 'extra' behind all that paceline run takes, expected SCENARIO and options",
        ),
        (["run", "call.toml", "plot"], "did you mean --plot?"),
        (["run", "call.toml", "links.bottleneck.delay=5ms"], "did you mean --set links.bottleneck.delay=5ms?"),
        (
            ["run", "call.toml", "--set", "links.bottleneck.delay", "5ms"],
            "did you mean --set links.bottleneck.delay=5ms?",
        ),
        (["run", "call.toml", "out/"], "did you mean --out out/?"),
        (["run", "call.toml", "wimax"], "wimax is a named network: `paceline probe wimax` measures it"),
        (["run", "call.toml", "a b=c"], "found 'a b=c' behind all"),
        (["run", "call.toml", "x" * 3000], "x...' behind all"),
        (["link", "call.toml", "127.0.0.1:5"], "did you mean --listen 127.0.0.1:5?"),
        (["run", "call.toml", "--gcc"], "gcc is a controller"),
        (["run", "call.toml", "--rtt", "5ms"], "set by --set links.NAME.delay=VALUE"),
        (["receive", "call.toml", "--port", "5"], "did you mean --listen?"),
        (["probe", "wimax", "--duration", "5s"], "did you mean --hold?"),
        (["compar", "a"], "did you mean 'compare'?"),
        (["serve"], "`paceline -h` lists all commands"),
        (["compare", "urcp", "um", "over", "call.toml"], "did you mean --over?"),
        (["trace", "https://example.org/a.csv"], "found an address, expected a file of this machine"),
        (["demo", "extra"], "found 'extra' behind all that paceline demo takes, expected options alone"),
        (["version"], "did you mean `paceline --version`?"),
        (["-v"], "did you mean --version?"),
        (["run", "call.toml", "-v"], "progress is shown already, and --quiet leaves it out"),
        (["simulate", "call.toml"], "did you mean `paceline run SCENARIO`?"),
        (["call.toml"], "call.toml is a scenario: `paceline run call.toml` runs it"),
        (["nonsense"], "`paceline -h` lists all commands"),
        (["--set", "a=b"], "options stand behind a command, such as `paceline run ... --set`"),
        (["run", "call.toml", "--output", "o"], "did you mean --out?"),
        (["study", "first-sweep", "--over", "x"], "it is an option of `paceline compare`"),
        (["run", "call.toml", "--set", "rate=5Mbps"], "did you mean links.bottleneck.rate = 5Mbps?"),
        (["run", "call.toml", "--set", "bottleneck.delay=5ms"], "did you mean links.bottleneck.delay = 5ms?"),
        (["run", "call.toml", "--set", "links.rate=5Mbps"], "did you mean links.bottleneck.rate = 5Mbps?"),
        (["run", "call.toml", "--set", "video.ecn=l4s"], "did you mean flows.video.ecn = l4s?"),
        (["run", "call.toml", "--set", "controller=gcc"], "did you mean flows.video.controller = gcc?"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
@pytest.mark.usefixtures("here")
def test_words_in_the_wrong_place(cli: Run, words: list[str], said: str) -> None:
    done = cli(*words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", "").split()), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "Missing argument 'SCENARIO'. Expected: A scenario file (TOML)"),
        (["run", "call.toml", "--seed", "1.5"], "found '1.5', expected a whole number"),
        (["run", "call.toml", "--threads=0"], "found '0', expected 1 or more"),
        (["run", "call.toml", "--style", "nature", "--out", "o"], "found 'nature', expected one of 'screen', 'paper'"),
        (["receive", "call.toml", "--duration", "5s"], "found '5s', expected a number (seconds)"),
        (["run", "call.toml", "--time", "5s"], "this key of the scenario is set by --set duration=VALUE"),
        (["help", "--list"], "did you mean `paceline list`?"),
        (["study", "first-sweep", "--seeds", "3"], "it is an option of `paceline compare`"),
        (["run", "~/call.toml"], "a shell puts your home in the place of ~ only without quotes"),
        (["run", "https://example.org/call.toml"], "found an address, expected a file of this machine"),
        (["run", "empty.toml"], "empty.toml: found nothing in it, expected a scenario"),
        (["run", "-"], "standard input: found nothing in it, expected a scenario"),
        (["run", "call.yaml"], "found a YAML document: scenarios are TOML"),
        (["run", "call.toml", "--data", "call.toml"], "found a file, expected the folder of recordings"),
        (["check", "call.toml"], "found a scenario: `paceline run call.toml` runs it"),
        (["run", "check.toml"], "found a check of figures: `paceline check check.toml` runs it"),
        (["compare", "scream,gcc", "--over", "call.toml"], "expected NAME=VALUE, or a space before it: scream gcc"),
        (
            ["compare", "urcp", "um", "--over", "call.toml", "--flow", "audio"],
            "flows: found 'audio', expected flows of",
        ),
        (["send", "call.toml", "--to", "127.0.0.1:99999"], "ports go up to 65535"),
        (["study", "."], "found a folder without study.toml"),
        (["trace", "."], "no file: found a folder"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_values_and_files_of_another_kind(cli: Run, here: Path, words: list[str], said: str) -> None:
    (here / "empty.toml").write_text("\n")
    (here / "call.yaml").write_text("duration: 10s\n")
    (here / "check.toml").write_text((ROOT / "examples" / "checks" / "call.toml").read_text())
    done = cli(*words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", "").split()), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("[flows.video]", "[flows]", "did you mean [flows.NAME]? Each flow has a name of its own"),
        ("[links.bottleneck]", "[links]", "did you mean [links.NAME]? Each link has a name of its own"),
        ('delay = "10ms"', "delay = \u201c10ms\u201d", 'typographic quotes, expected plain ones: "'),
        ('path = ["bottleneck"]', 'path = ["second"]', "the scenario's links are bottleneck"),
    ],
)
def test_slips_in_a_scenario(cli: Run, here: Path, right: str, wrong: str, said: str) -> None:
    assert right in CALL
    (here / "call.toml").write_text(CALL.replace(right, wrong))
    done = cli("run", "call.toml")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    with pytest.raises(paceline.ScenarioError, match=re.escape(said)):
        paceline.run("call.toml")


def test_calls_of_python_with_the_wrong_things(here: Path) -> None:
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: paceline.run("call.toml", overrides={"rate": "5Mbps"}), "did you mean links.bottleneck.rate"),
        (lambda: paceline.study(None, out="o"), "study: found None, expected a name"),  # type: ignore[arg-type]
        (lambda: paceline.run("call.toml", plots=["overview"], out="o"), "plots: found"),  # type: ignore[arg-type]
        (lambda: paceline.run("call.toml", seed=True), "seed: found True, expected a whole number"),
        (lambda: paceline.probe("wimax", plan=5), "plan: found 5, expected"),  # type: ignore[arg-type]
        (lambda: paceline.probe("nope"), "the named networks are adsl"),
        (lambda: paceline.Program(""), "Program: found '', expected the words of a command"),
        (lambda: draw("overview", "out"), "found 'out', expected the result of a run"),  # type: ignore[arg-type]
        (lambda: paceline.simulate("call.toml"), "run, compare, study, scorecard, probe and registry are its calls"),  # type: ignore[attr-defined]
    ]
    for call, said in wrong:
        with pytest.raises((paceline.PacelineError, AttributeError), match=re.escape(said)):
            call()
    assert [one.name for one in here.iterdir()] == ["call.toml"]


def test_pictures_need_no_import_of_their_own() -> None:
    code = "import paceline.plots; print(paceline.plots.pictures.delays.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "delays\n"


@pytest.mark.parametrize("progress", [True, "yes", 1])
def test_progress_is_a_function(here: Path, progress: Any) -> None:
    for call in (
        lambda: paceline.run("call.toml", progress=progress),
        lambda: paceline.compare(["urcp", "um"], over="call.toml", out="out", progress=progress),
        lambda: paceline.study("first-sweep", out="out", progress=progress),
        lambda: paceline.probe("wimax", progress=progress),
    ):
        with pytest.raises(paceline.UsageError, match=r"progress: found .*, expected a function .* such as `print`"):
            call()
    assert not (here / "out").exists()
