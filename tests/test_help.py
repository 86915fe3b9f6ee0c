"""A person who asks the program: what there is, what a word means, what a command does."""

import json
import os
import subprocess
import sys

import pytest

from conftest import Run
from paceline.cli.meanings import _FAMILIES, _TABLES
from paceline.figures import every_figure
from paceline.simulation import registry


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_summaries_of_all_commands_are_whole(cli: Run) -> None:
    said = cli("--help").stdout
    assert "..." not in said.split("Commands:")[1]
    assert max(map(len, said.splitlines())) <= 80
    assert cli("-h").stdout == cli("help").stdout == said


def test_each_command_answers_to_h(cli: Run) -> None:
    names = [line.split()[0] for line in cli("-h").stdout.split("Commands:")[1].splitlines() if line.strip()]
    assert {"run", "help", "list", "study"} <= set(names)
    for name in names:
        done = cli(name, "-h")
        assert (done.returncode, done.stdout.startswith(f"Usage: paceline {name}")) == (0, True)


@pytest.mark.parametrize(
    ("typed", "word", "offered"), [("paceline li", "1", "list"), ("paceline list q", "2", "queues")]
)
def test_a_shell_completes(typed: str, word: str, offered: str) -> None:
    asked = {"_PACELINE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": word}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['paceline']; from paceline.cli import main; main()"],
        env={**os.environ, **asked, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert offered in done.stdout.split(), done.stderr


def test_lists_are_short_first(cli: Run) -> None:
    kinds = cli("list")
    assert kinds.returncode == 0
    assert f"controllers  {len(registry()['controllers'])}\n" in kinds.stdout
    names = cli("list", "controllers").stdout
    assert all(f"\n{one['kind']} " in f"\n{names}" for one in registry()["controllers"])
    assert len(names.splitlines()) < 3 * len(registry()["controllers"])
    assert max(map(len, names.splitlines())) <= 80


def test_one_of_a_kind_is_shown_in_full(cli: Run) -> None:
    gcc, every = cli("list", "controllers", "gcc").stdout, cli("list", "controllers", "--full").stdout
    assert gcc.startswith("gcc: ")
    assert gcc in every
    entry = next(one for one in registry()["controllers"] if one["kind"] == "gcc")
    assert all(f"\n  {one['name']} " in gcc for one in entry["parameters"])
    assert json.loads(cli("list", "controllers", "gcc", "--json").stdout) == {"controllers": [entry]}


def test_json_holds_everything(cli: Run) -> None:
    for kind in registry():
        assert json.loads(cli("list", kind, "--json").stdout) == {kind: registry()[kind]}
    assert json.loads(cli("list", "--json").stdout)["controllers"] == len(registry()["controllers"])


def test_a_name_that_is_not_there_is_told_the_nearest(cli: Run) -> None:
    done = cli("list", "queues", "fqcodel")
    assert done.returncode == 2
    assert "near it: fq-codel" in done.stderr


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("qdelay_target_lo", ["parameter of the controller scream", "Default: 60ms", "RFC 8298", "[flows.NAME]"]),
        ("links.access.delay", ["key of a link", "a time such as 20ms", "[links.NAME]"]),
        ("queue.target", ["parameter of the queue codel", "queue = { ... } of [links.NAME]"]),
        ("throughput_mbps", ["figure", "Mbit/s", "flows.NAME", "links.NAME"]),
        ("duration", ["key of a scenario", "the scenario's top"]),
        ("Send Queue", ["term", "send_queue_bytes"]),
        ("goodput", ["term (throughput, goodput)"]),
        ("wimax", ["network", 'network = "wimax" in [links.NAME]']),
        ("mahimahi", ['rate = { trace = "FILE", format = "mahimahi" }']),
        ("rfc8312", ["profile of the controller cubic"]),
        ("compare", ["Usage: paceline compare", "--over"]),
    ],
)
def test_words_are_explained(cli: Run, word: str, said: list[str]) -> None:
    done = cli("help", *word.split())
    assert done.returncode == 0, done.stderr
    assert [part for part in said if part not in " ".join(done.stdout.split())] == []
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_path_leaves_out_keys_of_other_tables(cli: Run) -> None:
    assert "playout" in cli("help", "delay").stdout
    assert "playout" not in cli("help", "links.a.delay").stdout
    assert cli("help", "flows.a.nothing.delay").returncode == 2


@pytest.mark.parametrize(("word", "near"), [("bottelneck", "bottleneck"), ("qdelay_target", "qdelay_target_lo")])
def test_an_unknown_word_gets_the_nearest_three(cli: Run, word: str, near: str) -> None:
    done = cli("help", word)
    assert done.returncode == 2
    assert near in done.stderr
    assert done.stderr.partition("near it: ")[2].count(",") <= 2


@pytest.mark.parametrize("word", ["", " ", ".", "a" * 5000, "\x1b[31m", "é", "..", "flows..", "-"])
def test_no_word_breaks_it(cli: Run, word: str) -> None:
    done = cli("help", word)
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_all_that_is_registered_can_be_explained(cli: Run) -> None:
    """A new family needs a place in a scenario, or its parameters could not be explained."""
    assert {*_FAMILIES, "tables", "transports"} == set(registry())
    assert {one["kind"] for one in registry()["tables"]} == set(_TABLES)
    names = {one["name"] for found in registry().values() for entry in found for one in entry["parameters"]}
    names |= {entry["kind"] for family, found in registry().items() for entry in found if family in _FAMILIES}
    names |= {one.name for one in every_figure()}
    assert [name for name in sorted(names)[::7] if cli("help", name).returncode] == []
