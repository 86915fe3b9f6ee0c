"""Parts of many tests: a short call that needs no data, the command line, and the real traces where they are."""

import io
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import guest_parts
import paceline
from paceline import _core, guests, plots
from paceline.cli import main
from paceline.plots import style
from paceline.studies import runner
from processes import end_all

# How long a machine takes says nothing of what is tested.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

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
    """The messages about the study in a folder with a slip in its definition, before anything has run."""
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


def called(
    *arguments: str | Path, folder: Path | None = None, data: str | None = None, stdin: str | bytes = ""
) -> subprocess.CompletedProcess[str]:
    """The outcome of `paceline` with these arguments, in this process: a new one begins after half a second."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    command = ["paceline", *map(str, arguments)]
    with pytest.MonkeyPatch.context() as patch:
        if folder is not None:
            patch.chdir(folder)
        patch.delenv("PACELINE_DATA", raising=False)
        if data is not None:
            patch.setenv("PACELINE_DATA", data)
        patch.setattr(sys, "argv", command)
        given = stdin.encode() if isinstance(stdin, str) else stdin
        for name, stream in {
            "stdin": io.TextIOWrapper(io.BytesIO(given), "utf-8"),
            "stdout": out,
            "stderr": err,
        }.items():
            patch.setattr(sys, name, stream)
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception:
            traceback.print_exc()
            status = 1
    said = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(command, status, *said)


@pytest.fixture
def cli(tmp_path: Path) -> Run:
    """Calls `paceline` in an empty folder, without PACELINE_DATA unless it is given."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    return partial(called, folder=folder)


@pytest.fixture(scope="session", autouse=True)
def video_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache of encoded pictures for all processes of this run: a scenario is encoded once, whoever runs it."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "video-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PACELINE_CACHE", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """A process that a test started ends with it, whatever became of it."""
    yield
    end_all()


@pytest.fixture
def no_guest_left() -> Iterator[None]:
    """No controller from outside stays registered after its block, and no process of one is left."""
    yield
    assert (guests._active, _core.registered_guests()) == ({}, [])
    assert guest_parts.programs() == []


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """The folder of a small study of a call under a controller from outside."""
    folder = tmp_path / "little"
    folder.mkdir()
    return guest_parts.mine_toml(folder)


@pytest.fixture(autouse=True)
def one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that names no number of workers runs in this process: others take a second each until they have begun."""
    monkeypatch.setattr(runner, "cores", lambda: 1)


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are composed and not painted, for tests that look at none of them: painting takes most of the time."""
    for module in (plots, style):
        monkeypatch.setattr(module, "image", lambda figure, kind: b"<svg></svg>" if kind == "svg" else b"")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real traces."""
    named = os.environ.get("PACELINE_DATA")
    if not named:
        pytest.skip("PACELINE_DATA is not set: this test needs the real traces")
    return Path(named)
