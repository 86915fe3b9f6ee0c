"""Starts that `paceline new` writes: each runs as it is written, and none replaces a file."""

import json
import shlex
import stat
from pathlib import Path

import pytest

from conftest import ROOT, Run
from paceline.starts import KINDS


def next_command(said: str) -> list[str]:
    """The arguments of the command that the last line names."""
    last = said.splitlines()[-1]
    assert last.startswith("Try next: ")
    return shlex.split(last.removeprefix("Try next: "))


@pytest.mark.parametrize("path", [None, "calls of mine/my call.toml"])
def test_a_call_runs_as_it_is_written(cli: Run, tmp_path: Path, path: str | None) -> None:
    done = cli("new", "call", *([path] if path else []))
    assert done.returncode == 0, done.stderr
    command = next_command(done.stdout)
    assert command[:2] == ["paceline", "run"]
    ran = cli(*command[1:], "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["flows"]["video"]["throughput_mbps"] > 1
    text = (tmp_path / "cwd" / (path or "call.toml")).read_text()
    assert text.count("#") >= 6


@pytest.mark.usefixtures("unpainted")
@pytest.mark.parametrize("path", [None, 'sub/a "quoted" sweep', "first-sweep"])
def test_a_study_runs_as_it_is_written_and_has_the_name_of_its_folder(
    cli: Run, tmp_path: Path, path: str | None
) -> None:
    done = cli("new", "study", *([path] if path else []))
    assert done.returncode == 0, done.stderr
    command = next_command(done.stdout)
    dry = cli(*command[1:], "--dry-run")
    assert dry.returncode == 0, dry.stderr
    if path is None:
        ran = cli(*command[1:], "--json")
        assert ran.returncode == 0, ran.stderr
        document = json.loads(ran.stdout)
        assert (document["study"], document["verdicts"]) == ("my-study", {"holds": 3})


def test_a_controller_runs_as_it_is_written(cli: Run) -> None:
    done = cli("new", "controller")
    assert done.returncode == 0, done.stderr
    ran = cli(*next_command(done.stdout)[1:], "--json")
    assert ran.returncode == 0, ran.stderr
    flow = json.loads(ran.stdout)["flows"]["video"]
    assert flow["controller"] == "aimd"
    assert flow["throughput_mbps"] > 1


def test_the_call_of_a_controller_says_the_command_from_within_its_folder(cli: Run, tmp_path: Path) -> None:
    assert cli("new", "controller", "mine").returncode == 0
    folder = tmp_path / "cwd" / "mine"
    said = (folder / "call.toml").read_text().splitlines()[0].removeprefix("# Run it with: ")
    ran = cli.func(*shlex.split(said)[1:], folder=folder)  # type: ignore[attr-defined]
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_replaced(cli: Run, tmp_path: Path, kind: str) -> None:
    there = tmp_path / "cwd" / "there"
    there.write_text("mine")
    done = cli("new", kind, "there")
    assert done.returncode == 1
    assert "there: there is something already" in done.stderr
    assert there.read_text() == "mine"
    led = tmp_path / "cwd" / "link"
    led.symlink_to(tmp_path / "elsewhere")
    assert cli("new", kind, "link").returncode == 1
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_with_files_is_left_alone_and_an_empty_one_is_filled(cli: Run, tmp_path: Path) -> None:
    folder = tmp_path / "cwd" / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    assert cli("new", "study", "mine").returncode == 1
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    assert cli("new", "study", "mine").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("cal",), 2, "did you mean 'call'"),
        (("call", "a" * 5000), 1, "File name too long"),
        (("call", "file/call.toml"), 1, "file: there is something already"),
        (("call", ""), 2, "empty name"),
    ],
)
def test_what_cannot_be_written_is_said(
    cli: Run, tmp_path: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    (tmp_path / "cwd" / "file").write_text("")
    done = cli("new", *arguments)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_starts_may_be_changed(cli: Run, tmp_path: Path) -> None:
    assert cli("new", "call").returncode == 0
    assert (tmp_path / "cwd" / "call.toml").stat().st_mode & stat.S_IWUSR


def test_the_page_about_studies_begins_with_the_start() -> None:
    page = (ROOT / "docs" / "write-a-study.md").read_text()
    assert "paceline new study" in page[: page.index("## Factors")]
