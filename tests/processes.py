"""`paceline send`, `receive` and `link` as processes of their own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PATIENCE_S = 300.0
"""Seconds after which something hangs: what a test waits for takes one or two, and many on a machine that is busy."""


def until(what: str, done: Callable[[], bool]) -> None:
    """Waits for something that happens sooner or later."""
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, f"{PATIENCE_S:.0f} s without {what}"
        time.sleep(0.02)


_started: list[subprocess.Popen[str]] = []


def end_all() -> None:
    """Ends what a test that failed has left running."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()


def host_port(peer: socket.socket) -> str:
    host, port = peer.getsockname()
    return f"{host}:{port}"


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def may_make_networks() -> bool:
    """Whether this machine lets us run programs in networks of their own."""
    probe = ["unshare", "--net", "--fork", "--pid", "--mount-proc", "true"]
    try:
        return (
            os.access("/dev/net/tun", os.R_OK | os.W_OK) and subprocess.run(probe, capture_output=True).returncode == 0
        )
    except FileNotFoundError:
        return False


def as_in_a_terminal() -> None:
    """Before a program starts: Ctrl-C ends it.

    A shell in the background starts programs that ignore Ctrl-C, and these start others that do.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """As a shell without job control starts what `&` follows: without Ctrl-C."""
    environment = {key: value for key, value in os.environ.items() if key != "PACELINE_DATA"}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "paceline", *map(str, arguments)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        _started.append(process)
        return process
    finally:
        signal.signal(signal.SIGINT, before)


@cache
def rust_example(name: str) -> str:
    """The program of an example of the crates: all are compiled, with the features that `cargo test` gives them."""
    done = subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--workspace", "--examples"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "examples" / name)


def wait_for_listener(port: int) -> None:
    """Waits until a process listens; one that ended with an error never will, and what it said is the test's."""

    def listens() -> bool:
        for process in _started:
            assert (process.poll() or 0) <= 0, process.communicate()[1]
        return f":{port:04X} " in Path("/proc/net/udp").read_text()

    until(f"a listener on port {port}", listens)
