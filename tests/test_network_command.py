"""`paceline send`, `receive` and `link`: how they end, and what they say of arguments that are wrong."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Run

OUTPUTS = {"summary.json", "flows.parquet", "links.parquet", "scenario.toml"}

RETURN_PATH = 'flows.video.return_path=["bottleneck"]'


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    """A socket that answers nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.settimeout(20)
        yield silent


def host_port(peer: socket.socket) -> str:
    host, port = peer.getsockname()
    return f"{host}:{port}"


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """As a shell without job control starts what `&` follows: without Ctrl-C."""
    environment = {key: value for key, value in os.environ.items() if key != "PACELINE_DATA"}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "paceline", *map(str, arguments)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)


def wait_for_listener(port: int) -> None:
    for _ in range(400):
        if f":{port:04X} " in Path("/proc/net/udp").read_text():
            return
        time.sleep(0.05)
    raise AssertionError(f"nobody listens on port {port}")


@pytest.mark.parametrize("command", ["receive", "link"])
def test_sigterm_ends_what_serves_with_its_outputs(command: str, call_file: Path, peer: socket.socket) -> None:
    out, port = call_file.parent / "out", free_port()
    forward = ["--forward", host_port(peer)] if command == "link" else []
    with start(command, call_file, "--listen", f"127.0.0.1:{port}", *forward, "--out", out) as process:
        wait_for_listener(port)
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert process.returncode == 0, said
    assert {path.name for path in out.iterdir()} == OUTPUTS


def test_sigterm_abandons_a_sender(call_file: Path, peer: socket.socket) -> None:
    out = call_file.parent / "out"
    with start("send", call_file, "--to", host_port(peer), "--out", out) as process:
        peer.recv(2000)
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert process.returncode == 1, said
    assert "interrupted: nothing was written" in said
    assert not out.exists()


def test_a_short_run_that_nobody_answers_is_an_error(cli: Run, call_file: Path, peer: socket.socket) -> None:
    out = call_file.parent / "out"
    done = cli("send", call_file, "--to", host_port(peer), "--set", "duration=300ms", "--out", out)
    assert done.returncode == 1
    assert f"nothing answered at {host_port(peer)} within 0." in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["send", "--to", "127.0.0.1:0"], 2, "found 127.0.0.1:0"),
        (["send", "--to", "127.0.0.1"], 2, "expected HOST:PORT"),
        (["send", "--to", "nobody.invalid:5004"], 1, "cannot find the host nobody.invalid"),
        (["link", "--listen", "127.0.0.1:0", "--forward", "localhost:0"], 2, "found 127.0.0.1:0"),
        (
            ["link", "--listen", "127.0.0.1:0", "--forward", "127.0.0.1:9", "--set", RETURN_PATH],
            2,
            "return_path",
        ),
    ],
)
def test_wrong_addresses_and_paths(cli: Run, call_file: Path, arguments: list[str], status: int, said: str) -> None:
    done = cli(arguments[0], call_file, *arguments[1:])
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert done.stdout == ""
