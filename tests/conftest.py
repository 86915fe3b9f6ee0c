"""What the tests share: a short call that needs no data, the command line, and the real traces where they are."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import paceline

ROOT = Path(__file__).resolve().parents[1]

CALL = """\
name = "a short call"
duration = "10s"
sample = "50ms"

[links.bottleneck]
rate = { steps = [["0s", "8Mbps"], ["5s", "4Mbps"]] }
delay = "10ms"
queue = { kind = "droptail", limit = "300ms" }

[flows.video]
transport = "rtp"
controller = { kind = "scream", profile = "reference-2022" }
source = { kind = "trace-encoder", generator = "frames", fps = 50 }
path = ["bottleneck"]
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


def redefined(folder: Path, old: str, new: str) -> Path:
    """The study in a folder with a part of its definition changed."""
    text = (folder / "study.toml").read_text()
    assert old in text
    (folder / "study.toml").write_text(text.replace(old, new))
    return folder


def said_before_any_run(cli: Run, folder: Path, old: str, new: str) -> str:
    """What people are told of the study in a folder with a slip in its definition, before anything has run."""
    done = cli("study", redefined(folder, old, new), "--out", "out")
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert not (folder.parent / "cwd" / "out" / "results.parquet").exists()
    return done.stderr


@pytest.fixture
def call_file(tmp_path: Path) -> Path:
    """The short call as a scenario file."""
    path = tmp_path / "call.toml"
    path.write_text(CALL)
    return path


@pytest.fixture(scope="session")
def call() -> paceline.Result:
    """The outcome of the short call."""
    return paceline.run(CALL)


@pytest.fixture
def cli(tmp_path: Path) -> Run:
    """Runs `paceline` in an empty folder, without PACELINE_DATA unless it is given."""
    folder = tmp_path / "cwd"
    folder.mkdir()

    def run(
        *arguments: str | Path, data: str | None = None, stdin: str | bytes = ""
    ) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if key != "PACELINE_DATA"}
        if data is not None:
            environment["PACELINE_DATA"] = data
        command = [sys.executable, "-m", "paceline", *map(str, arguments)]
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real traces."""
    named = os.environ.get("PACELINE_DATA")
    if not named:
        pytest.skip("PACELINE_DATA is not set: this test needs the real traces")
    return Path(named)
