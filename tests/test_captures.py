"""Captures of simulated runs, read by tshark: RTP, TCP and DCCP without an error, and the numbers of the figures."""

import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import paceline
from conftest import CALL, ROOT
from conftest import Run as Cli

TSHARK = os.environ.get("TSHARK") or shutil.which("tshark")


def needs_tshark(test: Callable[..., None]) -> Callable[..., None]:
    """A test that has tshark read a capture."""
    skipped = pytest.mark.skipif(TSHARK is None, reason="tshark is not here: it reads what was captured")
    return pytest.mark.peer(skipped(test))


MIXED = """\
name = "a call beside bulk"
duration = "8s"

[links.l]
rate = "4Mbps"
delay = "20ms"
queue = { packets = 20 }
mark = { kind = "ramp", low = "10ms", high = "40ms" }

[flows.call]
controller = "scream"
ecn = "l4s"
source = { kind = "trace-encoder", generator = "frames" }
path = ["l"]

[flows.file]
transport = "tcp"
controller = "newreno"
source = { kind = "bulk" }
path = ["l"]

[flows.ccid2]
transport = "dccp"
controller = "ccid2"
source = { kind = "bulk" }
path = ["l"]

[flows.ccid3]
transport = "dccp"
controller = "ccid3"
source = { kind = "bulk" }
path = ["l"]

[flows.noise]
transport = "udp"
controller = "none"
source = { kind = "cbr", rate = "100kbps" }
path = ["l"]
"""


def tshark(path: Path, *arguments: str) -> list[str]:
    checks = ["ip.check_checksum", "udp.check_checksum", "tcp.check_checksum", "dccp.check_checksum"]
    options = [word for check in checks for word in ("-o", f"{check}:TRUE")]
    command = [str(TSHARK), "-r", str(path), "-d", "udp.port==5004,rtp", *options, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def fields(path: Path, shown: str, *names: str) -> list[list[str]]:
    """The fields of packets that a filter shows."""
    wanted = [word for name in names for word in ("-e", name)]
    return [line.split("\t") for line in tshark(path, "-Y", shown, "-T", "fields", *wanted)]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, paceline.Result]:
    path = tmp_path_factory.mktemp("captures") / "mixed.pcapng"
    return path, paceline.run(MIXED, pcap=path)


@needs_tshark
def test_tshark_finds_nothing_wrong(mixed: tuple[Path, paceline.Result]) -> None:
    path, _ = mixed
    protocols = Counter(line.split(":")[-1] for (line,) in fields(path, "frame", "frame.protocols"))
    assert {"rtp", "tcp", "dccp", "data"} <= set(protocols)
    bad = "_ws.malformed || _ws.expert.group == malformed || ip.checksum.status == 0 || udp.checksum.status == 0"
    bad += " || tcp.checksum.status == 0 || dccp.checksum.status == 0 || _ws.short"
    assert fields(path, bad, "frame.number") == []
    good = (
        "ip.checksum.status == 1 && (udp.checksum.status == 1 || tcp.checksum.status == 1 || dccp.checksum.status == 1)"
    )
    assert fields(path, f"!({good})", "frame.number") == []


@needs_tshark
def test_rtp_has_the_numbers_of_the_run(mixed: tuple[Path, paceline.Result]) -> None:
    path, result = mixed
    packets = fields(path, "rtp", "rtp.seq", "rtp.timestamp", "frame.time_epoch", "rtp.marker", "ip.dsfield.ecn")
    numbers = [int(packet[0]) for packet in packets]
    assert len(numbers) == result.summary["flows"]["call"]["packets_sent"]
    assert all((after - before) % 65536 == 1 for before, after in pairwise(numbers))
    # A frame's capture, which is not after its packets leave.
    late = [float(packet[2]) - int(packet[1]) / 90_000 for packet in packets]
    assert min(late) > -1e-4
    assert max(late) < 1
    # As many frames as marks, of one timestamp each; all ECT(1).
    marks = sum(packet[3] in ("1", "True") for packet in packets)
    assert abs(marks - len({packet[1] for packet in packets})) <= 1
    assert {packet[4] for packet in packets} == {"1"}


@needs_tshark
def test_tcp_is_analysed_as_what_happened(mixed: tuple[Path, paceline.Result]) -> None:
    path, result = mixed
    segments = fields(path, "tcp.srcport == 49152 && tcp.len > 0", "tcp.seq_raw", "tcp.len")
    again = len(segments) - len({segment[0] for segment in segments})
    assert again > 3, "the queue of 20 packets drops"
    flags = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || tcp.analysis.spurious_retransmission"
    flags += " || tcp.analysis.out_of_order"
    found = len(fields(path, flags, "frame.number"))
    assert found == again, "each segment that was sent before, and no other"
    odd = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || tcp.analysis.zero_window"
    odd += " || tcp.analysis.window_full || tcp.analysis.reused_ports"
    assert fields(path, odd, "frame.number") == []
    syns = fields(path, "tcp.flags.syn == 1", "tcp.flags.ack", "tcp.options.mss_val", "tcp.options.wscale.shift")
    assert [syn[1:] for syn in syns] == [["1460", "14"], ["1460", "14"]]
    sent = sum(40 + int(segment[1]) for segment in segments)
    throughput = result.summary["flows"]["file"]["throughput_mbps"]
    assert abs(sent * 8e-6 / 8 / throughput - 1) < 0.1


@needs_tshark
def test_dccp_is_a_connection(mixed: tuple[Path, paceline.Result]) -> None:
    path, result = mixed
    for flow, name in ((2, "ccid2"), (3, "ccid3")):
        shown = f"dccp && ip.addr == 10.0.0.{flow}"
        kinds = [int(kind) for (kind,) in fields(path, shown, "dccp.type")]
        assert kinds[:3] == [0, 1, 3] or kinds[:3] == [0, 1, 4], "Request, Response, Ack or DataAck"
        own = fields(path, f"dccp && ip.src == 10.0.0.{flow}", "dccp.seq_raw")
        numbers = [int(number) for (number,) in own]
        assert all(after - before == 1 for before, after in pairwise(numbers))
        data = sum(kind in (2, 4) for kind in kinds)
        assert data >= result.summary["flows"][name]["packets_sent"]


@needs_tshark
def test_both_ends_are_two_interfaces_and_flows_have_names(tmp_path: Path) -> None:
    path = tmp_path / "both.pcapng"
    result = paceline.run(MIXED, pcap=path, pcap_at="both")
    names = Counter(name for (name,) in fields(path, "frame", "frame.interface_name"))
    assert set(names) == {"sender", "receiver"}
    flow = result.summary["flows"]["call"]
    there = "rtp && frame.interface_name == receiver && ip.dsfield.ecn == 3"
    received = len(fields(path, "rtp && frame.interface_name == receiver", "frame.number"))
    assert received == flow["packets_received"]
    assert len(fields(path, there, "frame.number")) == round(flow["ce_ratio"] * received) > 0
    shown = {src for (src,) in fields(path, "rtp", "ip.src_host")}
    assert shown == {"10.0.0.1"}
    assert "call.sender" in tshark(path, "-N", "n", "-c", "1", "-Y", "ip")[0] + str(
        tshark(path, "-N", "n", "-Y", "rtp")[:1]
    )


@needs_tshark
def test_reports_say_what_arrived(mixed: tuple[Path, paceline.Result]) -> None:
    """The marks that the dissector of docs/tools counts are those of the run."""
    path, result = mixed
    script = ["-X", f"lua_script:{ROOT / 'docs' / 'tools' / 'feedback.lua'}"]
    lines = tshark(path, *script, "-Y", "ccfb", "-T", "fields", "-e", "ccfb.ce", "-e", "ccfb.packet", "-e", "ccfb.ecn")
    marks: dict[str, str] = {}
    for line in lines:
        _, packets, ecn = line.split("\t")
        numbers, codepoints = packets.split(","), ecn.split(",")
        if len(numbers) == len(codepoints):
            marks.update(zip(numbers, codepoints, strict=True))
    ratio = sum(ecn == "3" for ecn in marks.values()) / len(marks)
    assert abs(ratio - result.summary["flows"]["call"]["ce_ratio"]) < 0.05


def test_a_capture_changes_no_figure(tmp_path: Path) -> None:
    plain = paceline.run(CALL, overrides={"duration": "2s"})
    captured = paceline.run(CALL, overrides={"duration": "2s"}, pcap=tmp_path / "call.pcapng")
    assert captured.flows.equals(plain.flows)
    first = (tmp_path / "call.pcapng").read_bytes()
    paceline.run(CALL, overrides={"duration": "2s"}, pcap=tmp_path / "again.pcapng", threads=1)
    assert (tmp_path / "again.pcapng").read_bytes() == first
    assert {path.name for path in tmp_path.iterdir()} == {"call.pcapng", "again.pcapng"}


def limited() -> None:
    """A file may have 20 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


@pytest.mark.parametrize(
    ("command", "where"),
    [("run", "--pcap"), ("run", "--qlog"), pytest.param("live", "--qlog", marks=pytest.mark.real_time)],
)
def test_a_disk_that_is_full_is_said_and_nothing_half_is_left(
    command: str, where: str, call_file: Path, tmp_path: Path
) -> None:
    arguments = [command, call_file, "--set", "duration=1s", "--set", "warmup=0s", where, tmp_path / "packets"]
    ran = subprocess.run(
        [sys.executable, "-m", "paceline", *map(str, arguments)], capture_output=True, text=True, preexec_fn=limited
    )
    assert ran.returncode == 1
    assert "packets" in ran.stderr
    assert "File too large" in ran.stderr or "a full disk?" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"call.toml", "cwd", "packets"}


@pytest.mark.parametrize("where", ["--pcap", "--qlog"])
def test_what_is_no_file_is_not_replaced_by_one(where: str, cli: Cli, call_file: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = cli("run", call_file, where, tmp_path / "pipe")
    assert done.returncode == 1
    assert "pipe: cannot be written: found something else" in done.stderr
    assert (tmp_path / "pipe").is_fifo()


def test_what_cannot_be_captured_is_said(cli: Cli, call_file: Path, tmp_path: Path) -> None:
    done = cli("run", call_file, "--pcap", "no-such-folder/x.pcapng")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no-such-folder/x.pcapng" in done.stderr
    with pytest.raises(paceline.UsageError, match='pcap_at: found "middle", expected one of sender, receiver, both'):
        paceline.run(CALL, pcap=tmp_path / "x.pcapng", pcap_at="middle")
    assert cli("run", call_file, "--pcap", str(tmp_path)).returncode != 0
    done = cli("run", call_file, "--set", "duration=1s", "--pcap", tmp_path / "ok.pcapng", "--pcap-at", "both")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ok.pcapng").stat().st_size > 10_000
