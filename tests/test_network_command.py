"""`paceline send`, `receive` and `link`: how they end, and what they say of arguments that are wrong."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import CALL, Run
from processes import PATIENCE_S, free_port, host_port, start, until, wait_for_listener

OUTPUTS = {"summary.json", "flows.parquet", "links.parquet", "scenario.toml"}

DCCP = """\
name = "a short connection"
duration = "1s"

[links.bottleneck]
rate = "5Mbps"
delay = "5ms"
queue = { kind = "droptail", limit = "50ms" }

[flows.bulk]
transport = "dccp"
controller = "ccid2"
source = { kind = "bulk" }
dccp = { service = "SC:call" }
path = ["bottleneck"]
"""

RETURN_PATH = 'flows.video.return_path=["bottleneck"]'


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    """A socket that answers nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.settimeout(PATIENCE_S)
        yield silent


@pytest.fixture
def dccp_file(tmp_path: Path) -> Path:
    """A short connection as a scenario file."""
    path = tmp_path / "dccp.toml"
    path.write_text(DCCP)
    return path


@pytest.mark.real_time
@pytest.mark.parametrize("command", ["receive", "link"])
def test_sigterm_ends_what_serves_with_its_outputs(command: str, call_file: Path, peer: socket.socket) -> None:
    out, port = call_file.parent / "out", free_port()
    forward = ["--forward", host_port(peer)] if command == "link" else []
    with start(command, call_file, "--listen", f"127.0.0.1:{port}", *forward, "--out", out) as process:
        wait_for_listener(port)
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert {path.name for path in out.iterdir()} == OUTPUTS


@pytest.mark.real_time
def test_sigterm_abandons_a_sender(call_file: Path, peer: socket.socket) -> None:
    out = call_file.parent / "out"
    with start("send", call_file, "--to", host_port(peer), "--out", out) as process:
        peer.recv(2000)
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, said
    assert "interrupted: nothing was written" in said
    assert not out.exists()


@pytest.mark.real_time
def test_a_silence_is_said_and_waited_for_as_the_options_say(call_file: Path) -> None:
    port = free_port()
    waits = ["--silence", "6", "--duration", "90", "--set", 'flows.video.pause=[["1s", "2s"]]']
    with (
        start("receive", call_file, "--listen", f"127.0.0.1:{port}", *waits, "--json") as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        wait_for_listener(port)
        for sequence in range(20):
            header = bytes([0x80, 98, 0, sequence, 0, 0, 0, 0, 0, 0, 0, 7])
            sender.sendto(header + bytes(100), ("127.0.0.1", port))
        found, said = receiver.communicate(timeout=PATIENCE_S)
    assert receiver.returncode == 0, said
    lines = said.splitlines()
    assert lines[0].startswith("warning: nothing arrived since 0.0 s"), said
    assert any(line.startswith("warning: the run ended at ") and " of 90.0 s: " in line for line in lines), said
    assert json.loads(found)["duration_s"] >= 7.0, "the pause of a second is none of the silence"


@pytest.mark.real_time
def test_one_unanswered_flow_of_two_is_told_and_the_other_goes_on(tmp_path: Path, cli: Run) -> None:
    call = tmp_path / "calls.toml"
    call.write_text(CALL + CALL[CALL.index("[flows.video]") :].replace("video", "slides"))
    port = free_port()
    short = ["--set", "duration=2s"]
    with start("receive", call, "--flow", "slides", "--listen", f"127.0.0.1:{port}", *short) as receiver:
        wait_for_listener(port)
        done = cli("send", call, "--to", f"127.0.0.1:{port}", *short, "--json")
        receiver.communicate(timeout=PATIENCE_S)
    assert done.returncode == 1
    assert f"flow video: nothing answered at 127.0.0.1:{port + 1} within" in done.stderr
    summary = json.loads(done.stdout)
    assert summary["sockets"]["unanswered_flows"] == 1
    assert summary["flows"]["slides"]["packets_received"] > 50


@pytest.mark.real_time
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
        pytest.param(
            ["send", "--to", "nobody.invalid:5004"],
            1,
            "cannot find the host nobody.invalid",
            marks=pytest.mark.real_time,
        ),
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


def packet_types(capture: Path) -> list[int]:
    """The types of the packets of a capture: raw IPv4 without options, all of it DCCP."""
    content = capture.read_bytes()
    at, types = 0, []
    while at < len(content):
        kind, length = (int.from_bytes(content[at + word : at + word + 4], "big") for word in (0, 4))
        if kind == 6:
            packet = content[at + 28 : at + length]
            assert (packet[0], packet[9]) == (0x45, 33)
            types.append(packet[28] >> 1 & 15)
        at += length
    return types


@pytest.mark.real_time
def test_dccp_from_end_to_end_through_a_link(dccp_file: Path) -> None:
    out = dccp_file.parent
    front, back = free_port(), free_port()
    receive = ["receive", dccp_file, "--listen", f"127.0.0.1:{back}", "--out", out / "receiver"]
    link = ["link", dccp_file, "--listen", f"127.0.0.1:{front}", "--forward", f"127.0.0.1:{back}", "--json"]
    send = ["send", dccp_file, "--to", f"127.0.0.1:{front}", "--out", out / "sender", "--pcap", out / "call.pcap"]
    with start(*receive) as receiver, start(*link) as relay:
        wait_for_listener(front)
        wait_for_listener(back)
        with start(*send) as sender:
            ends = [process.communicate(timeout=PATIENCE_S) for process in (sender, relay, receiver)]
    for process, (_, said) in zip((sender, relay, receiver), ends, strict=True):
        assert process.returncode == 0, said
        assert "warning" not in said
    for end in ("sender", "receiver"):
        assert {path.name for path in (out / end).iterdir()} == OUTPUTS
        flow = json.loads((out / end / "summary.json").read_text())["flows"]["bulk"]
        assert 1.0 < flow["throughput_mbps"] < 5.3, flow
    assert json.loads(ends[1][0])["links"]["bottleneck"]["offered"] > 50
    types = packet_types(out / "call.pcap")
    assert types[:2] == [0, 1], "Request and Response"
    assert types.count(6) >= 1, "Close"
    assert types[-1] == 7, "Reset"


@pytest.mark.real_time
@pytest.mark.parametrize("stopped", ["send", "receive"])
def test_whoever_is_stopped_closes_the_connection_and_both_write_what_they_have(stopped: str, dccp_file: Path) -> None:
    out, port = dccp_file.parent, free_port()
    forever = ["--set", "duration=1000s"]
    with start("receive", dccp_file, "--listen", f"127.0.0.1:{port}", "--out", out / "receive", *forever) as receiver:
        wait_for_listener(port)
        capture = out / "call.pcap"
        to = ["--to", f"127.0.0.1:{port}"]
        with start("send", dccp_file, *to, "--out", out / "send", "--pcap", capture, *forever) as sender:
            growing = out / "call.pcap.part"
            until("packets", lambda: growing.exists() and growing.stat().st_size > 100_000)
            (sender if stopped == "send" else receiver).terminate()
            ends = [process.communicate(timeout=PATIENCE_S) for process in (sender, receiver)]
    assert (sender.returncode, receiver.returncode) == (0, 0), ends
    for end in ("send", "receive"):
        assert {path.name for path in (out / end).iterdir()} == OUTPUTS
        assert json.loads((out / end / "summary.json").read_text())["packets"] > 10
    types = packet_types(capture)
    closing = [kind for kind in types if kind in (5, 6, 7)]
    asked = [] if stopped == "send" else [5]
    assert sorted(set(closing)) == [*asked, 6, 7], "a receiver asks to close"
    assert types.index(6) < types.index(7)


@pytest.mark.parametrize(
    ("changed", "arguments", "status", "said"),
    [
        (False, ["receive", "--transport", "rtp", "--listen", "127.0.0.1:0"], 2, "ccid2"),
        (False, ["send", "--to", "127.0.0.1:9", "--flow", "nobody", "--transport", "dccp"], 2, "one of bulk"),
        (False, ["send", "--to", "127.0.0.1:9", "--pcap", "no-such-folder/x.pcap"], 1, "no-such-folder/x.pcap"),
        (False, ["send", "--to", "127.0.0.1:9", "--pcap", ""], 2, "expected a file"),
        pytest.param(
            False,
            ["send", "--to", "127.0.0.1:9", "--set", "duration=200ms"],
            1,
            "nothing answered at 127.0.0.1:9",
            marks=pytest.mark.real_time,
        ),
        (True, ["send", "--to", "127.0.0.1:9", "--transport", "dccp"], 2, "with the controller scream"),
    ],
)
def test_what_dccp_and_captures_are_not_for(
    cli: Run, dccp_file: Path, call_file: Path, changed: bool, arguments: list[str], status: int, said: str
) -> None:
    done = cli(arguments[0], call_file if changed else dccp_file, *arguments[1:])
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.real_time
def test_a_service_that_nobody_offers(cli: Run, dccp_file: Path) -> None:
    port = free_port()
    with start("receive", dccp_file, "--listen", f"127.0.0.1:{port}") as receiver:
        wait_for_listener(port)
        done = cli("send", dccp_file, "--to", f"127.0.0.1:{port}", "--set", "flows.bulk.dccp.service=SC:film")
        receiver.terminate()
        receiver.communicate(timeout=PATIENCE_S)
    assert done.returncode == 1
    assert "does not offer the service SC:film (Bad Service Code)" in done.stderr


def test_a_receiver_listens_on_loopback_unless_asked(cli: Run) -> None:
    assert "127.0.0.1:5004" in cli("receive", "--help").stdout


@pytest.mark.parametrize("command", [["send", "--to", "127.0.0.1:9"], ["receive", "--listen", "127.0.0.1:0"]])
def test_what_the_reference_cannot_be_the_other_end_of(cli: Run, dccp_file: Path, command: list[str]) -> None:
    done = cli(command[0], dccp_file, *command[1:], "--peer", "ericsson")
    assert done.returncode == 2
    assert "peer ericsson: flow bulk has transport dccp" in done.stderr
    done = cli(command[0], dccp_file, *command[1:], "--peer", "nokia")
    assert done.returncode == 2
    assert "ericsson" in done.stderr
