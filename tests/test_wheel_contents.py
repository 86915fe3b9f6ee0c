"""The content of a wheel: what maturin packs by pyproject.toml works without the repository around it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import paceline
from conftest import ROOT

tomllib: Any = pytest.importorskip("tomllib")

PATTERNS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["include"]
LIBRARY = Path("python/paceline/library")


def included() -> set[str]:
    """Files that the patterns name, by their paths in the repository."""
    return {str(name.relative_to(ROOT)) for pattern in PATTERNS for name in ROOT.glob(pattern)}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a wheel: maturin follows no link of the package, and packs the patterns' files."""
    folder = tmp_path_factory.mktemp("wheel")
    package = Path(paceline.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "studies", "scenarios", "guests", "notebooks")

    def links(at: str, names: list[str]) -> set[str]:
        return {name for name in names if (Path(at) / name).is_symlink()} | ignored("", ["__pycache__"])

    shutil.copytree(package, folder / "paceline", ignore=links)
    for name in included():
        target = folder / Path(name).relative_to("python")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    return folder


def step(unpacked: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The outcome of `paceline` from the unpacked wheel, with a home that cannot be written and no display."""
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    environment = kept | {"PYTHONPATH": str(unpacked), "HOME": "/proc", "LANG": "C.UTF-8", "COLUMNS": "80"}
    command = [sys.executable, "-m", "paceline", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_file_of_studies_and_scenarios_is_packed() -> None:
    wanted = {
        str(LIBRARY / path.relative_to(ROOT))
        for folder in ("studies", "scenarios")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in (".png", ".pyc")
    }
    assert len(wanted) > 80
    assert wanted - included() == set()


def test_every_pattern_names_a_file() -> None:
    assert not [pattern for pattern in PATTERNS if not list(ROOT.glob(pattern))]


@pytest.mark.long
def test_first_steps_need_nothing_but_the_wheel(unpacked: Path, tmp_path: Path) -> None:
    steps = [
        ("--version",),
        ("list", "studies"),
        ("run", "first-call", "--set", "duration=2s", "--out", "out", "--plot"),
        ("new", "call", "x.toml"),
        ("run", "x.toml", "--json"),
        ("new", "study"),
        ("study", "./my-study", "--dry-run"),
        ("new", "controller"),
        ("run", "my-controller/call.toml", "--controller", "aimd=my-controller/controller.py:Aimd"),
        ("new", "notebook"),
        ("study", "scream-5g", "--dry-run"),
    ]
    said = {}
    for arguments in steps:
        done = step(unpacked, tmp_path, *arguments)
        assert done.returncode == 0, f"{arguments}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        assert "atplotlib" not in done.stderr
        said[arguments] = done.stdout
    assert len(re.findall(r"^[\w-]+  +", said["list", "studies"], re.MULTILINE)) == len(
        list(ROOT.glob("studies/*/study.toml"))
    )


def test_the_version_of_a_wheel_is_that_of_its_sources(unpacked: Path, tmp_path: Path) -> None:
    assert step(unpacked, tmp_path, "--version").stdout.split()[1] == paceline.__version__


def test_no_wheel_is_said(tmp_path: Path) -> None:
    script = tmp_path / ".ci" / "check-wheel"
    script.parent.mkdir()
    shutil.copy(ROOT / ".ci" / "check-wheel", script)
    done = subprocess.run([script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "make wheel" in done.stderr
