"""`paceline link --tun`: programs that know nothing of it, each in a network of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Run
from processes import PATIENCE_S, may_make_networks, start, until

PATH = """\
name = "a path"
duration = "20s"

[links.up]
rate = "5Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "200ms" }
mark = { kind = "step", at = "10ms" }

[links.down]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "200ms" }

[flows.bulk]
transport = "tcp"
controller = "cubic"
source = { kind = "bulk" }
path = ["up"]
return_path = ["down"]
"""

ECHO = """\
import os, socket
echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
echo.bind((os.environ["PACELINE_ADDRESS"], 7))
data = b""
while not data.startswith(b"3"):
    data, peer = echo.recvfrom(2000)
    echo.sendto(data, peer)
"""

ASK = """\
import os, socket, sys, time
ask = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ask.settimeout(0.5)
took = []
while len(took) < 3:
    begun, number = time.monotonic(), b"%d" % (len(took) + 1)
    ask.sendto(number * 100, (os.environ["PACELINE_PEER"], 7))
    try:
        # An answer that comes late is one to a question before it.
        while not ask.recv(2000).startswith(number):
            pass
        took.append(time.monotonic() - begun)
    except (TimeoutError, ConnectionRefusedError):
        pass
print(min(took), file=open(sys.argv[1], "w"))
"""


def needs_networks(test: Callable[..., None]) -> Callable[..., None]:
    """A test that runs programs in networks of their own."""
    reason = "needs root, /dev/net/tun and unshare of util-linux"
    skipped = pytest.mark.skipif(not may_make_networks(), reason=reason)
    return pytest.mark.real_time(pytest.mark.peer(skipped(test)))


@pytest.fixture
def path_file(tmp_path: Path) -> Path:
    """A scenario of two links, one for each direction."""
    path = tmp_path / "path.toml"
    path.write_text(PATH)
    return path


def script(folder: Path, name: str, text: str, *arguments: str | Path) -> str:
    """A command that runs a Python program."""
    path = folder / name
    path.write_text(text)
    return " ".join([sys.executable, str(path), *map(str, arguments)])


def running(mark: str) -> list[str]:
    """Command lines of processes of this machine that carry a mark."""
    found = subprocess.run(["pgrep", "-fa", mark], capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if "pgrep" not in line]


@needs_networks
def test_two_programs_talk_over_both_links(cli: Run, path_file: Path, tmp_path: Path) -> None:
    right = script(tmp_path, "echo.py", ECHO)
    left = script(tmp_path, "ask.py", ASK, tmp_path / "took")
    done = cli("link", path_file, "--tun", "--set", "duration=200s", "--left", left, "--right", right, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    # Twice through a relay and two programs that wake up as late as it does.
    late_s = 4 * summary["sockets"]["late_max_ms"] / 1e3
    assert 0.030 <= float((tmp_path / "took").read_text()) < 0.2 + late_s
    assert summary["links"]["down"]["offered"] >= 3
    assert summary["flows"]["bulk"]["packets_received"] >= 3
    assert summary["sockets"]["late_p95_ms"] is not None
    assert summary["duration_s"] < 150, "the run ends when both programs have"


@needs_networks
def test_ecn_is_kept_and_marked_with_a_right_checksum(cli: Run, path_file: Path, tmp_path: Path) -> None:
    sink = """\
import socket, sys
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
sink.bind(("", 9))
sink.settimeout(100)
seen = []
while len(seen) < 60:
    _, control, _, _ = sink.recvmsg(2000, 64)
    seen.append(control[0][2][0] & 3)
print(*seen, file=open(sys.argv[1], "w"))
"""
    pour = """\
import os, socket, sys, time
time.sleep(1)
pour = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
pour.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 1)
begun = time.monotonic()
for _ in range(60):
    pour.sendto(bytes(1000), (os.environ["PACELINE_PEER"], 9))
print(time.monotonic() - begun, file=open(sys.argv[1], "w"))
time.sleep(0.5)
"""
    right = script(tmp_path, "sink.py", sink, tmp_path / "seen")
    left = script(tmp_path, "pour.py", pour, tmp_path / "poured")
    done = cli("link", path_file, "--tun", "--set", "duration=200s", "--left", left, "--right", right)
    assert done.returncode == 0, done.stderr
    seen = [int(word) for word in (tmp_path / "seen").read_text().split()]
    # 60 packets of 1.6 ms each: those that wait for less than 10 ms keep ECT(1), the others come marked. If the sender
    # was kept from its core, the queue had that time to empty.
    emptied = float((tmp_path / "poured").read_text()) / 1.6e-3
    assert seen[0] == 1, seen
    assert set(seen) <= {1, 3}, seen
    assert 40 - emptied <= seen.count(3) <= 58, seen


@needs_networks
@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ("sleep 0.3; exit 3", "sleep 600", "the left program failed with status 3"),
        (
            "sleep 600",
            "no-such-program-here",
            'the right program is not there or one of its own: found "no-such-program',
        ),
    ],
)
def test_a_program_that_fails_ends_the_run_and_is_named(
    cli: Run, path_file: Path, left: str, right: str, said: str
) -> None:
    begun = time.monotonic()
    done = cli("link", path_file, "--tun", "--set", "duration=600s", "--left", left, "--right", right)
    assert done.returncode == 1
    assert said in done.stderr
    assert time.monotonic() - begun < PATIENCE_S


@needs_networks
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(path_file: Path, tmp_path: Path, how: signal.Signals) -> None:
    mark = f"9{os.getpid()}.{int(how)}"
    stubborn = f"trap '' TERM; touch {tmp_path}/there; sleep {mark}; sleep {mark}"
    with start("link", path_file, "--tun", "--left", f"sleep {mark}", "--right", stubborn) as process:
        until("the right program", (tmp_path / "there").exists)
        until("the left program", lambda: len(running(f"^sleep {mark}")) > 1)
        process.send_signal(how)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (0 if how == signal.SIGTERM else -how), said
    until("an end of all programs", lambda: not running(f"^sleep {mark}"))


@needs_networks
def test_a_program_that_kills_all_it_sees_leaves_nothing(cli: Run, path_file: Path) -> None:
    mark = f"8{os.getpid()}"
    left = f"sleep 0.3; kill -KILL -1; sleep {mark}"
    done = cli("link", path_file, "--tun", "--set", 'duration="1s"', "--left", left, "--right", "sleep 60")
    assert done.returncode == 0, done.stderr
    assert not running(f"^sleep {mark}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tun", "--left", "true"], "--right: found nothing, but --tun needs it"),
        (["--tun", "--left", "a", "--right", "b", "--listen", "localhost:5000"], "--listen: means nothing with --tun"),
        (["--left", "true", "--listen", "a:1", "--forward", "b:1"], "--left: means nothing without --tun"),
        (["--opaque"], "--listen: found nothing, but a relay needs it"),
        (["--listen", "127.0.0.1:0", "--opaque", "--forward", "127.0.0.1:0"], "expected the port"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(
    cli: Run, path_file: Path, arguments: list[str], said: str
) -> None:
    done = cli("link", path_file, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
