"""Connection vectors against ns-2's own Tmix: what it said, and the same where ns-2 is installed.

`ns benches/peers/tmix.tcl FILE SECONDS MBPS QUEUE` with ns-2.35. Its FullTcp has windows from 2, an acknowledgement per
packet, and goes back to the first window after an idle time. Its times end at the initiator, ours when the acceptor has
heard so: half a round trip later.
"""

import re
import shutil
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import paceline
from conftest import ROOT
from paceline.scenario import read

SCENARIO = """
duration = "{seconds}s"
sample = "1s"
[links.there]
rate = "{mbps}Mbps"
delay = "10ms"
queue = {{ packets = {packets} }}
[links.back]
rate = "{mbps}Mbps"
delay = "10ms"
queue = {{ packets = 100000 }}
[flows.web]
transport = "tcp"
controller = {{ kind = "newreno", profile = "ns2", restart_after_idle = true }}
tcp = {{ handshake = true }}
source = {{ kind = "tmix", rtt = "added", {source} }}
path = ["there"]
return_path = ["back"]
"""
DRAWN = 'generator = {{ kind = "web", seed = {seed}, load = "4.85Mbps" }}'
SMALL = "I 0 1 350\nA 0 1000 100\n"
TIMES = ("mean", "p50", "p95", "p99")


@dataclass(frozen=True)
class Single:
    """A connection with a round trip of 120 ms, of which 20 ms are the path's, over 100 Mbit/s."""

    exchanges: int
    units: str
    said: list[float]
    """Milliseconds from handing over each response to its arrival, as ns-2 said."""
    ours: float
    """By how many milliseconds ours take longer altogether, where the laws differ."""


SINGLES = {
    "three segments": Single(1, "I 0 0 350\nA 0 1000 4380\n", [180.291], 0),
    "four segments": Single(1, "I 0 0 350\nA 0 1000 5840\n", [180.411], 0),
    "limited by the window": Single(1, "I 0 0 350\nA 0 1000 2000000\n", [4148.873], 0),
    "a second response, and one after an idle time": Single(
        3,
        "I 0 0 350\nA 0 1000 4380\nI 0 1000 350\nA 0 1000 14600\nI 0 5000000 350\nA 0 1000 14600\n",
        [180.291, 180.772, 300.8],
        0,
    ),
    # ns-2's window grows with every acknowledgement, ours only where it was used: two round trips.
    "after ten small responses": Single(
        11, f"{SMALL.replace('1', '0', 1)}{SMALL * 9}I 0 1 350\nA 0 1000 14600\n", [60.0134] * 10 + [61.224], 240
    ),
}


@dataclass(frozen=True)
class Pages:
    """120 s of drawn pages, replayed within 150 s over a queue of 61 packets, or at 100 Mbit/s one that never fills."""

    seed: int
    mbps: int
    packets: int
    arrived: int
    """Responses that arrived."""
    bytes: int
    """Bytes that the bottleneck carried to initiators."""
    dropped: int
    times: list[float]
    """Milliseconds of a response, half a round trip in: mean, median, 95th and 99th percentile."""


PAGES = [
    Pages(1, 10, 61, 9984, 83_947_476, 451, [172.21, 117.68, 359.40, 779.42]),
    Pages(1, 100, 10_000, 9984, 83_939_348, 0, [138.93, 111.88, 322.93, 513.25]),
    Pages(2, 10, 61, 9132, 72_688_084, 344, [166.95, 117.05, 357.37, 713.85]),
    Pages(2, 100, 10_000, 9132, 72_671_586, 0, [139.64, 111.50, 326.96, 530.05]),
    Pages(3, 10, 61, 8841, 74_764_310, 322, [168.60, 117.46, 364.40, 726.24]),
    Pages(3, 100, 10_000, 8841, 74_754_125, 0, [141.13, 112.58, 329.41, 536.57]),
]


def vector(single: Single) -> str:
    return f"S 0 {single.exchanges} 0 1\nw 65535 65535\nr 100000\nl 0 0\n{single.units}"


def replayed(source: str, seconds: int, mbps: int, packets: int) -> dict[str, Any]:
    summary = paceline.run(SCENARIO.format(source=source, seconds=seconds, mbps=mbps, packets=packets)).summary
    return {**summary["flows"]["web"]["transfers"], **summary["links"]["there"]}


def ns2(file: Path, *numbers: int) -> tuple[list[tuple[str, float]], dict[str, int]]:
    """The output of ns-2: connection and milliseconds of each response, and the bytes that the bottleneck carried."""
    ns = shutil.which("ns")
    if ns is None:
        pytest.skip("ns-2 is not here: this test runs its Tmix")
    command = [ns, ROOT / "benches" / "peers" / "tmix.tcl", file, *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    sent: dict[str, float] = {}
    times = []
    for line in done.stderr.splitlines():
        found = re.match(r"([\d.]+) App \( \S+ / \d+ / (\d+) / (\d)\.\d+ \)> (sent (\d+) B ADU|recv ADU)", line)
        if found is None:
            continue
        at, connection, node, what = float(found[1]), found[2], found[3], found[4]
        if what.startswith("sent") and node != "0":
            sent[connection] = at
        elif what == "recv ADU" and node == "0" and connection in sent:
            times.append((connection, 1e3 * (at - sent.pop(connection))))
    words = done.stdout.split()
    return times, dict(zip(words[::2], map(int, words[1::2]), strict=True))


@pytest.mark.parametrize("name", SINGLES)
def test_a_response_takes_as_long_as_in_ns2(name: str, tmp_path: Path) -> None:
    single = SINGLES[name]
    (tmp_path / "one.cvec").write_text(vector(single))
    found = replayed(f'file = "{tmp_path / "one.cvec"}"', 15, 100, 10_000)
    assert found["completed"] == single.exchanges == len(single.said)
    expected = sum(single.said) + 60 * len(single.said) + single.ours
    assert found["completed"] * found["completion_time_ms"]["mean"] == pytest.approx(expected, abs=1)


def drawn(seed: int, folder: Path) -> Path:
    """The file with the pages of a seed."""
    source = DRAWN.format(seed=seed)
    text = SCENARIO.format(source=source, seconds=120, mbps=10, packets=61)
    vectors = read(text).load().core.connection_vectors("web")
    assert vectors is not None
    (folder / "pages.cvec").write_text(vectors[0])
    return folder / "pages.cvec"


@pytest.mark.parametrize("pages", PAGES, ids=lambda pages: f"{pages.seed}-{pages.mbps}")
def test_pages_load_the_link_and_take_as_long_as_in_ns2(pages: Pages, tmp_path: Path) -> None:
    """The bounds were set when both had run, 2026-11-22. Which packets are dropped differs, and so do tails."""
    found = replayed(f'file = "{drawn(pages.seed, tmp_path)}"', 150, pages.mbps, pages.packets)
    assert found["completed"] == pages.arrived
    assert found["utilisation"] * pages.mbps * 1e6 * 150 / 8 == pytest.approx(pages.bytes, rel=0.01)
    assert found["dropped"] == pytest.approx(pages.dropped, rel=0.25)
    for name, said, bound in zip(TIMES, pages.times, (0.08, 0.01, 0.06, 0.12), strict=True):
        assert found["completion_time_ms"][name] == pytest.approx(said, rel=bound), name


@pytest.mark.peer
@pytest.mark.parametrize("pages", PAGES, ids=lambda pages: f"{pages.seed}-{pages.mbps}")
def test_ns2_still_says_so_of_pages(pages: Pages, tmp_path: Path) -> None:
    file = drawn(pages.seed, tmp_path)
    said, carried = ns2(file, 150, pages.mbps, pages.packets + 1)
    lines = [line.split() for line in file.read_text().splitlines() if line[0] in "Sr"]
    half = {first[4]: 10 + int(second[1]) / 2e3 for first, second in zip(lines[::2], lines[1::2], strict=True)}
    times = sorted(time + half[connection] for connection, time in said)
    quantiles = [times[int(part * len(times))] for part in (0.5, 0.95, 0.99)]
    assert (len(times), carried["bytes"], carried["dropped"]) == (pages.arrived, pages.bytes, pages.dropped)
    assert [statistics.mean(times), *quantiles] == pytest.approx(pages.times, abs=0.1)


@pytest.mark.peer
@pytest.mark.parametrize("name", SINGLES)
def test_ns2_still_says_so_of_a_response(name: str, tmp_path: Path) -> None:
    (tmp_path / "one.cvec").write_text(vector(SINGLES[name]))
    said, _ = ns2(tmp_path / "one.cvec", 15, 100, 10_001)
    assert [time for _, time in said] == pytest.approx(SINGLES[name].said, abs=0.002)
