"""`paceline exchange` and senders that share by it: processes of one machine that come, go and are killed."""

import json
import re
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

from conftest import Run
from processes import PATIENCE_S, start, wait_for_listener

CALL = """\
name = "two processes"
duration = "13s"

[links.bottleneck]
rate = "6Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "200ms" }

[flows.camera]
controller = { kind = "scream", profile = "reference-2022", target_bitrate_max = "20Mbps" }
source = { kind = "trace-encoder", generator = "frames", fps = 30 }
path = ["bottleneck"]
priority = 2

[flows.slides]
controller = { kind = "scream", profile = "reference-2022", target_bitrate_max = "20Mbps" }
source = { kind = "trace-encoder", generator = "frames", fps = 30 }
path = ["bottleneck"]

[coupling.call]
kind = "active"
flows = ["camera", "slides"]
"""


# A call that ends with its test.
LONG = ["--set", "duration=600s"]


@pytest.fixture
def coupled_file(tmp_path: Path) -> Path:
    path = tmp_path / "coupled.toml"
    path.write_text(CALL)
    return path


def exchange(path: Path, *more: str | Path) -> "subprocess.Popen[str]":
    """An exchange that listens, and says before whether it made the folder."""
    made = f"exchange: made the folder {path.parent}, which was not there, for this user alone\n"
    said = [*([] if path.parent.is_dir() else [made]), f"exchange: listening at {path}\n"]
    process = start("exchange", path, *more)
    assert process.stderr is not None
    assert [process.stderr.readline() for _ in said] == said
    return process


def two_ports() -> int:
    """A port that is free, as the one after it is."""
    for _ in range(100):
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
        ):
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
    raise AssertionError("no two free ports in a row")


def given_after_the_gap(outs: tuple[Path, Path]) -> tuple[float, float]:
    """The mean rates in Mbit/s that an exchange gave two flows in the same seconds, from two after the last gap on.

    The flows began at times of their own. The first row with a rate after a gap is of the same moment for both.
    """
    found = []
    for out in outs:
        rows = pd.read_parquet(out / "flows.parquet").set_index("time_s")["coupled_rate_mbps"]
        without = rows[rows.isna() & rows.notna().cummax()]
        assert not without.empty, "no gap"
        after = rows[rows.index > without[without.index < rows.last_valid_index()].index.max()]
        found.append(after.set_axis(after.index - after.index[0]))
    end = min(one.last_valid_index() for one in found)
    shared = [one[(one.index >= 2) & (one.index <= end)].dropna() for one in found]
    assert min(map(len, shared)) > 5, found
    first, second = (float(one.mean()) for one in shared)
    return first, second


@pytest.mark.real_time
def test_senders_share_through_a_killed_exchange_and_the_next_one(coupled_file: Path) -> None:
    out, path = coupled_file.parent, coupled_file.parent / "run" / "exchange.sock"
    front, back = two_ports(), two_ports()
    to_camera, to_slides = f"127.0.0.1:{front}", f"127.0.0.1:{front + 1}"

    def send(flow: str, to: str) -> "subprocess.Popen[str]":
        return start("send", coupled_file, *length, "--flow", flow, "--to", to, "--exchange", path, "--out", out / flow)

    begun = time.monotonic()
    first = exchange(path)
    # A program takes so long to start, and two of them start while the call goes on.
    length = ["--set", f"duration={13 + 4 * (time.monotonic() - begun):.0f}s"]
    with (
        start("receive", coupled_file, *LONG, "--listen", f"127.0.0.1:{back}") as receiver,
        start("link", coupled_file, *LONG, "--listen", to_camera, "--forward", f"127.0.0.1:{back}") as relay,
    ):
        for port in (front, front + 1, back, back + 1):
            wait_for_listener(port)
        with send("camera", to_camera) as camera, send("slides", to_slides) as slides:
            joins = [f"exchange: process N: flow 0 joins call (active), priority {priority}" for priority in (1, 2)]
            assert joined(first, 2) == joins
            time.sleep(1)
            first.kill()
            first.communicate(timeout=PATIENCE_S)
            assert path.exists(), "who is killed takes nothing away"
            with exchange(path, "--json") as second:
                assert joined(second, 2) == joins
                ends = [process.communicate(timeout=PATIENCE_S) for process in (camera, slides)]
                second.terminate()
                counted, said = second.communicate(timeout=PATIENCE_S)
        # A goodbye may be among what the link loses.
        for process in (receiver, relay):
            process.terminate()
        others = [process.communicate(timeout=PATIENCE_S) for process in (receiver, relay)]
    for process, (_, error) in zip((camera, slides, receiver, relay), ends + others, strict=True):
        assert process.returncode == 0, error
    for _, error in ends:
        assert "away 1 time," in error, error
    counts = json.loads(counted)
    assert (counts["joined"], counts["left"], counts["malformed"], counts["refused"]) == (2, 2, 0, 0), said
    assert second.returncode == 0
    assert not path.exists()
    camera_mbps, slides_mbps = given_after_the_gap((out / "camera", out / "slides"))
    assert 1.6 < camera_mbps / slides_mbps < 2.5, "as their priorities say"


@pytest.mark.real_time
def test_a_killed_sender_has_left_and_a_stopped_one_leaves_after_a_while(coupled_file: Path) -> None:
    path, ports = coupled_file.parent / "exchange.sock", [two_ports(), two_ports()]
    lines: list[str] = []
    with exchange(path, "--expiry", "3") as service:
        assert service.stderr is not None
        flows = dict(zip(("camera", "slides"), ports, strict=True))
        receivers = [
            start("receive", coupled_file, *LONG, "--flow", flow, "--listen", f"127.0.0.1:{port}")
            for flow, port in flows.items()
        ]
        for port in ports:
            wait_for_listener(port)
        camera, slides = (
            start("send", coupled_file, *LONG, "--flow", flow, "--to", f"127.0.0.1:{port}", "--exchange", path)
            for flow, port in flows.items()
        )
        lines += [service.stderr.readline() for _ in range(2)]
        camera.kill()
        lines += [service.stderr.readline() for _ in range(2)]
        assert "vanished, 1 of its flows leave" in lines[2], lines
        slides.send_signal(signal.SIGSTOP)
        lines += [service.stderr.readline()]
        assert "silent for 3 s" in lines[4], lines
        slides.send_signal(signal.SIGCONT)
        lines += [service.stderr.readline() for _ in range(2)]
        assert "joins call" in lines[6], lines
        for process in (camera, slides, *receivers):
            process.kill()
            process.communicate(timeout=PATIENCE_S)
        service.terminate()
        said, _ = service.communicate(timeout=PATIENCE_S)
    assert "vanished 2, expired 1, " in said, said


@pytest.mark.real_time
def test_an_exchange_is_refused_where_it_cannot_be(cli: Run, tmp_path: Path) -> None:
    path, letter = tmp_path / "exchange.sock", tmp_path / "letter"
    letter.write_text("a letter")
    with exchange(path) as first:
        second = cli("exchange", path)
        assert (second.returncode, second.stdout) == (1, "")
        assert f"exchange {path}: found another exchange that listens there" in second.stderr
        first.terminate()
        said, _ = first.communicate(timeout=PATIENCE_S)
    assert first.returncode == 0
    assert "joined 0, left 0, vanished 0, expired 0, malformed 0, refused 0" in said, said
    refused = cli("exchange", letter)
    assert (refused.returncode, letter.read_text()) == (1, "a letter")
    assert "found a file that is no socket of an exchange" in refused.stderr
    for arguments in (["exchange", ""], ["exchange"], ["exchange", path, "--expiry", "nan"]):
        assert cli(*arguments).returncode == 2, arguments


@pytest.mark.real_time
def test_a_folder_that_an_exchange_made_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "exchange.sock"
    with exchange(path) as service:
        assert path.parent.stat().st_mode & 0o777 == 0o700
        service.terminate()
        service.communicate(timeout=PATIENCE_S)
    assert not path.parent.exists()


def joined(service: "subprocess.Popen[str]", count: int) -> list[str]:
    """The exchange's lines of flows that join, without the numbers of their processes."""
    assert service.stderr is not None
    lines = [service.stderr.readline() for _ in range(count)]
    return sorted(re.sub(r"process \d+", "process N", line).strip() for line in lines)


@pytest.mark.real_time
def test_flows_of_the_same_five_tuple_share_and_others_do_not(coupled_file: Path, tmp_path: Path) -> None:
    path, port = tmp_path / "exchange.sock", two_ports()
    ways = (("camera", f"127.0.0.1:{port}"), ("slides", f"127.0.0.1:{port + 1}"))
    receivers = [start("receive", coupled_file, *LONG, "--flow", flow, "--listen", to) for flow, to in ways]
    with exchange(path) as service:
        for place in (0, 1):
            wait_for_listener(port + place)
        by = ["--exchange", path, "--group-by", "5-tuple"]
        senders = [start("send", coupled_file, *LONG, "--flow", flow, "--to", to, *by) for flow, to in ways]
        said = "exchange: process N: flow 0 joins UDP 127.0.0.1:{} to 127.0.0.1:{}, class 0 (active), priority {}"
        found = joined(service, 2)
        ports = re.findall(r"127\.0\.0\.1:(\d+) to 127\.0\.0\.1:(\d+),", " ".join(found))
        sources = {int(to): int(source) for source, to in ports}
        camera = sources[port]
        assert found == sorted(said.format(sources[to], to, weight) for to, weight in ((port, 2), (port + 1, 1)))
        # A program that multiplexes a stream of its own over the camera's sockets.
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
            other.settimeout(PATIENCE_S)
            other.connect(str(path))
            other.send(join_message(camera, port))
            assert joined(service, 1) == [said.format(camera, port, 1)]
            while (reply := other.recv(513))[3] != STATE:
                pass
        assert int.from_bytes(reply[16:20], "big") == 2, "the camera and the other stream, and not the slides"
        for process in (*senders, *receivers):
            process.kill()
            process.communicate(timeout=PATIENCE_S)
        service.terminate()
        service.communicate(timeout=PATIENCE_S)


STATE = 130
"""Type of the message that says what an exchange holds of a flow."""


def join_message(source: int, destination: int) -> bytes:
    """A flow of 1 Mbit/s that wants to share with what leaves from one port of 127.0.0.1 to another."""
    local = bytes(10) + b"\xff\xff\x7f\x00\x00\x01"
    update = struct.pack(">IIBBxxQQQQd", 0, 1, 1, 0, 1_000_000, 0, 2**64 - 1, 0, 1.0)
    group = b"\x03\x11\x00" + local + source.to_bytes(2, "big") + local + destination.to_bytes(2, "big")
    return b"FS\x01\x01" + update + group + b"\x06active" + b"\x00"


@pytest.mark.real_time
def test_a_flow_in_no_coupling_shares_with_a_group_that_is_named(call_file: Path, tmp_path: Path) -> None:
    path, port = tmp_path / "exchange.sock", two_ports()
    with exchange(path) as service:
        named = ["--exchange", path, "--group", "talk", "--group-kind", "conservative"]
        ways = [f"127.0.0.1:{port + place}" for place in (0, 1)]
        receivers = [start("receive", call_file, *LONG, "--listen", to) for to in ways]
        for place in (0, 1):
            wait_for_listener(port + place)
        senders = [start("send", call_file, *LONG, "--to", to, *named) for to in ways]
        assert joined(service, 2) == ["exchange: process N: flow 0 joins talk (conservative), priority 1"] * 2
        for process in (*senders, *receivers):
            process.kill()
            process.communicate(timeout=PATIENCE_S)
        service.terminate()
        service.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--group", "talk", "--group-by", "5-tuple"], "group: found talk beside groups by 5-tuple, expected no name"),
        (["--group-kind", "etcp"], "kind of group: found etcp, expected none: flow camera is in [coupling.call]"),
        (["--group", "x" * 65], "name of a group: found 65, expected 1 to 64"),
    ],
)
def test_a_group_that_cannot_be_is_refused(
    cli: Run, coupled_file: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    sharing = ["--flow", "camera", "--to", "127.0.0.1:9", "--exchange", tmp_path / "exchange.sock"]
    refused = cli("send", coupled_file, *sharing, *arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr


def test_a_flow_without_a_coupling_does_not_share(
    cli: Run, call_file: Path, coupled_file: Path, tmp_path: Path
) -> None:
    options = ["--to", "127.0.0.1:9", "--exchange", tmp_path / "exchange.sock"]
    alone = cli("send", call_file, *options)
    assert alone.returncode == 2, alone.stderr
    assert "is in no [coupling.NAME] by which it would share over an exchange" in alone.stderr
    no_kind = cli("send", call_file, *options, "--group", "talk", "--group-kind", "fse")
    assert (no_kind.returncode, no_kind.stdout) == (2, "")
    assert "kind of group: found fse, expected one of" in no_kind.stderr
    nowhere = cli("send", call_file, "--to", "127.0.0.1:9", "--group", "talk")
    assert nowhere.returncode == 2
    assert "group: found talk without an exchange, expected both" in nowhere.stderr
    other = cli("send", coupled_file, *options, "--group-by", "colour")
    assert other.returncode == 2
    assert "colour" in other.stderr
