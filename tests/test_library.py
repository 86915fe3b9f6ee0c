"""Studies and scenarios that come along: found by their names in any folder, those of the working folder first."""

import json
import os
import re
from pathlib import Path

import pytest

import paceline
from conftest import CALL, ROOT, Run
from paceline import library


def test_a_scenario_is_run_by_its_name(cli: Run) -> None:
    done = cli("run", "first-call", "--json", "--set", "duration=2s")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["name"] == "a call over a link that loses half its rate"
    assert paceline.run("first-call", overrides={"duration": "2s"}).summary["duration_s"] == 2


def test_the_working_folder_comes_first(cli: Run, tmp_path: Path) -> None:
    own = tmp_path / "cwd" / "scenarios"
    own.mkdir()
    (own / "first-call.toml").write_text(CALL)
    done = cli("run", "first-call", "--json", "--set", "duration=2s")
    assert json.loads(done.stdout)["name"] == "a short call"
    assert re.search(r"^first-call +a short call$", cli("list", "scenarios").stdout, re.M)
    (tmp_path / "cwd" / "first-call").write_text(CALL.replace("a short call", "a file"))
    assert json.loads(cli("run", "first-call", "--json", "--set", "duration=2s").stdout)["name"] == "a file"


def test_all_are_listed_in_an_empty_folder(cli: Run) -> None:
    for kind, folder in (("studies", "studies/*/study.toml"), ("scenarios", "scenarios/*.toml")):
        listed = {entry["kind"]: entry["help"] for entry in json.loads(cli("list", kind, "--json").stdout)[kind]}
        assert len(listed) == len(list(ROOT.glob(folder)))
        assert all(listed.values())


def test_a_file_that_cannot_be_read_does_not_hide_the_others(cli: Run, tmp_path: Path) -> None:
    own = tmp_path / "cwd" / "scenarios"
    own.mkdir()
    (own / "broken.toml").write_bytes(b"name = \xff")
    os.mkfifo(own / "pipe.toml")
    done = cli("list", "scenarios")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^broken +cannot be read", done.stdout, re.M)
    assert re.search(r"^first-call +a call over", done.stdout, re.M)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("first-cal", "did you mean 'first-call'"),
        ("scenarios/first-call.toml", "did you mean 'first-call'"),
        ("../scenarios/first-call", "no such scenario file"),
        ("a" * 5000, "a" * 100),
        ("\x1b[31mred", "\\x1b[31mred: no such scenario file"),
    ],
)
def test_a_name_that_is_not_there(cli: Run, name: str, said: str) -> None:
    done = cli("run", name)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_study_that_is_not_there_names_the_nearest(cli: Run) -> None:
    done = cli("study", "scream-5")
    assert done.returncode == 2
    assert "did you mean 'scream-5g'" in done.stderr


def test_controllers_are_compared_over_a_scenario_by_its_name(cli: Run) -> None:
    done = cli("compare", "scream", "gcc", "--over", "first-call", "--seeds", "1", "--duration", "2s", "--json")
    assert done.returncode == 0, done.stderr
    assert {one["condition"] for one in json.loads(done.stdout)["medians"]} == {"first-call"}


def test_the_links_lead_to_the_one_copy() -> None:
    for name in ("studies", "scenarios"):
        assert (library.HOME / name).resolve() == ROOT / name
