"""A call of three streams with RTCP: ends are killed, the path damages packets, and what is left goes on."""

import json
import random
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas
import pytest

from conftest import ROOT
from processes import PATIENCE_S, free_port, start, until, wait_for_listener

pytestmark = pytest.mark.real_time

CALL = ROOT / "scenarios" / "camera-screen-speech.toml"
PLAN = {
    "duration": "8s",
    "flows.call.streams.screen.start": "1s",
    "flows.call.streams.screen.stop": "7s",
    "flows.call.rtp.rtcp": "true",
    # Loopback has no bottleneck, and what a busy machine can carry is not asked here.
    "flows.call.bitrate.max": "1Mbps",
}
SETS = [word for key, value in PLAN.items() for word in ("--set", f"{key}={value}")]


def receive(port: int, out: Path, *more: str) -> subprocess.Popen[str]:
    process = start("receive", CALL, *SETS, *more, "--listen", f"127.0.0.1:{port}", "--out", out)
    wait_for_listener(port)
    return process


def send(port: int, out: Path, *more: str) -> subprocess.Popen[str]:
    return start("send", CALL, *SETS, *more, "--to", f"127.0.0.1:{port}", "--out", out)


def send_a_while(port: int, folder: Path, *more: str) -> subprocess.Popen[str]:
    """A sender of which a few seconds of the call are under way or have arrived."""
    process = send(port, folder / "sender", *more, "--pcap", str(folder / "sent.pcap"))
    growing = folder / "sent.pcap.part"
    until("packets", lambda: growing.exists() and growing.stat().st_size > 150_000)
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def ended(process: subprocess.Popen[str]) -> str:
    """The output of a process that ended well."""
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert "panicked" not in said
    return said


def summary(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return found


def throughput(out: Path, stream: str, begin: float) -> float:
    """Mbit/s of a stream in the second from `begin` on."""
    rows = pandas.read_parquet(out / "flows.parquet")
    found = rows[(rows["stream"] == stream) & (rows["time_s"] > begin) & (rows["time_s"] <= begin + 1)]
    assert len(found) == 20, f"rows of {stream} from {begin} s on"
    return float(found["throughput_mbps"].mean())


def test_a_receiver_that_is_killed_and_started_again_takes_the_call_up(tmp_path: Path) -> None:
    port = free_port()
    begun = time.monotonic()
    receiver = receive(port, tmp_path / "first")
    # The next one takes as long to begin, or longer, and sees seconds of the call after that.
    duration = 8 + 8 * (time.monotonic() - begun)
    sender = send_a_while(port, tmp_path, "--set", f"duration={duration:.0f}s")
    kill(receiver)
    again = receive(port, tmp_path / "again")
    ended(sender)
    ended(again)
    assert not (tmp_path / "first").exists()
    assert 0.02 < throughput(tmp_path / "again", "speech", 1) < 0.08
    for out in ("again", "sender"):
        sockets = summary(tmp_path / out)["sockets"]
        assert sockets["rtcp_reports"] > 0, out
        assert sockets["unknown_reports"] == 0, out
    assert summary(tmp_path / "again")["flows"]["call"]["loss_ratio"] == 0.0


def test_a_sender_that_is_killed_gives_way_to_the_next_one(tmp_path: Path) -> None:
    port, long = free_port(), ("--set", "duration=300s")
    # Until the second sender says that it ends.
    receiver = receive(port, tmp_path / "receiver", *long)
    begun = time.monotonic()
    first = send_a_while(port, tmp_path, *long)
    took = time.monotonic() - begun
    # It may take longer to start than a receiver waits: it is about to begin when the first one is killed.
    second = send(port, tmp_path / "again", "--set", f"duration={8 + took:.0f}s")
    time.sleep(took / 2)
    kill(first)
    ended(second)
    assert "fell silent; from" in ended(receiver)
    # The figures are of the second sender, from its own beginning on.
    assert summary(tmp_path / "receiver")["flows"]["call"]["loss_ratio"] == 0.0
    for stream in ("camera", "speech"):
        assert 0.02 < throughput(tmp_path / "receiver", stream, 1) < 1.1, stream
    assert summary(tmp_path / "again")["sockets"]["rtcp_reports"] > 0


class Damage:
    """Passes datagrams on, and doubles, cuts or corrupts each tenth of either way."""

    def __init__(self, to: int) -> None:
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        self.port: int = self.front.getsockname()[1]
        self.back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.back.connect(("127.0.0.1", to))
        self.sender: Any = None
        self.over = threading.Event()
        self.done = 0

    def ways(self, which: str) -> Iterator[list[bytes]]:
        """The datagrams to send for each datagram that comes."""
        draws, count = random.Random(which), 0
        end = self.front if which == "there" else self.back
        end.settimeout(0.05)
        while not self.over.is_set():
            try:
                datagram, peer = end.recvfrom(2000)
            except OSError:
                continue
            if which == "there":
                self.sender = peer
            count += 1
            if count % 10:
                yield [datagram]
                continue
            self.done += 1
            corrupt = bytearray(datagram)
            corrupt[draws.randrange(min(len(corrupt), 40))] ^= 1 << draws.randrange(8)
            cut = datagram[: draws.randrange(len(datagram))]
            yield draws.choice([[datagram, datagram], [cut], [bytes(corrupt)]])

    def there(self) -> None:
        for datagram in (datagram for datagrams in self.ways("there") for datagram in datagrams):
            # Whether anybody still listens is nothing to a path.
            with suppress(ConnectionRefusedError):
                self.back.send(datagram)

    def here(self) -> None:
        for datagram in (datagram for datagrams in self.ways("here") for datagram in datagrams):
            self.front.sendto(datagram, self.sender)


@contextmanager
def damage(to: int) -> Iterator[Damage]:
    """A path that damages packets, while it is needed."""
    path = Damage(to)
    threads = [threading.Thread(target=way) for way in (path.there, path.here)]
    for thread in threads:
        thread.start()
    try:
        yield path
    finally:
        path.over.set()
        for thread in threads:
            thread.join()
        path.front.close()
        path.back.close()


@pytest.mark.parametrize("reports", ["rfc8888", "twcc"])
def test_a_path_that_damages_each_tenth_packet_ends_nothing(reports: str, tmp_path: Path) -> None:
    port, more = free_port(), ("--set", f"flows.call.feedback.format={reports}")
    receiver = receive(port, tmp_path / "receiver", *more)
    with damage(port) as path:
        ended(send(path.port, tmp_path / "sender", *more))
        ended(receiver)
    assert path.done > 60
    received, sent = (summary(tmp_path / out) for out in ("receiver", "sender"))
    for sockets in (received["sockets"], sent["sockets"]):
        assert sockets["malformed"] > 0
        assert sockets["rtcp_reports"] > 5
        assert sockets["circuit_breakers"] == 0
    flow = received["flows"]["call"]
    assert flow["loss_ratio"] < 0.1, flow
    # A call of 30, 15 and 50 frames a second: of each tenth packet that is damaged, a third is only doubled.
    assert flow["frames"]["displayed"] > 0.8 * sent["flows"]["call"]["frames"]["captured"], flow
    for stream in ("camera", "screen", "speech"):
        assert throughput(tmp_path / "receiver", stream, 5) > 0.02, stream
