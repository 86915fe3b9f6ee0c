"""What the documentation shows runs: Python blocks, `paceline` commands, scenarios, and the notebook's cells."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import paceline
from conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for found, code in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that looks like the repository's."""
    for name in ("scenarios", "studies"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PACELINE_DATA", raising=False)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_python_blocks_run(page: Path, folder: Path) -> None:
    names: dict[str, object] = {}
    for number, code in enumerate(blocks(page, "python"), 1):
        exec(compile(code, f"{page.name}, block {number}", "exec"), names)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")], ids=lambda page: page.stem)
def test_commands_run(page: Path, folder: Path) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("paceline ")]
    for line in lines:
        command, _, stdin = line.partition("<")
        arguments = shlex.split(command, comments=True)[1:]
        text = Path(stdin.strip()).read_text() if stdin else ""
        done = subprocess.run(
            [sys.executable, "-m", "paceline", *arguments], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{page.name}: {line}\n{done.stderr}"


def test_the_scenario_of_the_readme_is_the_one_that_comes_along() -> None:
    shown = blocks(ROOT / "README.md", "toml")[0]
    file = (ROOT / "scenarios" / "first-call.toml").read_text()
    assert shown in file


def test_the_notebook_runs(folder: Path) -> None:
    notebook = json.loads((ROOT / "docs" / "notebooks" / "first-run.ipynb").read_text())
    names: dict[str, object] = {}
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, *ROOT.glob("studies/*/README.md")]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_picture_of_the_readme_is_a_picture() -> None:
    assert (ROOT / "docs" / "images" / "overview.png").read_bytes().startswith(b"\x89PNG")


def test_every_public_name_has_a_text() -> None:
    for name in paceline.__all__:
        if not name.startswith("__"):
            assert getattr(paceline, name).__doc__, name
