"""A person with a recording: what a file is taken for, what its header says, and what `paceline trace` tells of it."""

import gzip
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conftest import Run
from paceline import trace_files
from paceline.comparison import conditions
from paceline.errors import DataNotFound, UsageError
from paceline.plots.trace import table
from paceline.trace_figures import read
from paceline.trace_files import rate_unit, reading

SPEED_TEST = """\
Date,Time,Server,Ping (ms),Download (Mbps),Upload (Mbps)
2024-05-01,23:30:00,"Ashburn, VA",12,93.2,11.1
2024-05-02,00:00:00,"Ashburn, VA",13,80.1,10.2
2024-05-02,00:30:00,"Ashburn, VA",12,,9.9
2024-05-02,01:00:00,"Ashburn, VA",15,12.5,8.0
"""


@pytest.fixture
def file(tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording in the folder where commands run."""
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "cwd" / "walk.csv"


@pytest.mark.parametrize(
    ("name", "mbps"),
    [
        ("Mbps", 1),
        ("Download (Mbps)", 1),
        ("MBPS", 1),
        ("bandwidth_kbps", 0.001),
        ("Mbit/s", 1),
        ("throughput [Mbits/sec]", 1),
        ("rate in bit/s", 1e-6),
        ("dl_bps", 1e-6),
        ("Gbps", 1000),
        ("MB/s", 8),
        ("kB/s", 0.008),
        ("MBps", 8),
        ("bytes/s", 8e-6),
        ("rate_mbit_s", 1),
        ("down kbit_per_s", 0.001),
        ("gps", None),
        ("Ping (ms)", None),
        ("speed_kmh", None),
        ("t", None),
        ("", None),
    ],
)
def test_units_of_headings(name: str, mbps: float | None) -> None:
    assert rate_unit(name) == (None if mbps is None else pytest.approx(mbps))


@pytest.mark.parametrize(
    ("text", "given", "keys"),
    [
        ("time,kbps\n0,8\n1,3\n", {}, {"scale": 0.001, "format": "time-mbps"}),
        ("time,mbps\n0,8\n1,3\n", {}, {"format": "time-mbps"}),
        ("time mbps\n0 8\n1 3\n", {}, {"format": "time-mbps"}),
        ("kbps;time\n8;0\n3;1\n", {}, {"scale": 0.001, "format": "time-mbps", "column": 0, "time_column": 1}),
        ("rate (MB/s)\n8\n3\n", {"interval": "1s"}, {"scale": 8, "format": "mbps", "interval": "1s", "column": 0}),
        ("mbps,hold_s\n8,1\n3,2\n", {}, {"format": "mbps-hold", "column": 0, "time_column": 1}),
        ("time,rate\n0,8\n1,3\n", {"scale": 0.5}, {"scale": 0.5, "format": "time-mbps"}),
        ("time,rate\n0,8\n1,3\n", {"format": "time-mbps"}, {"format": "time-mbps"}),
        ("0,8\n1,3\n2,5\n3,1\n", {}, {"format": "time-mbps"}),
    ],
)
def test_columns_and_units_come_from_the_header(
    file: Path, text: str, given: dict[str, object], keys: dict[str, object]
) -> None:
    file.write_text(text)
    found = reading(file, given)
    assert (found.keys, found.is_direct) == (keys, True)


@pytest.mark.parametrize(
    ("text", "given", "said"),
    [
        ("time,kbps\n0,8\n1,3\n", {"format": "time-mbps"}, "scale=0.001"),
        ("time,bandwidth\n0,8\n1,3\n", {}, "'bandwidth' without a unit, expected a scale"),
        (SPEED_TEST, {}, r"the rates Download \(Mbps\) and Upload \(Mbps\), expected one"),
        ("time,ping\n0,8\n1,3\n", {}, "found no column that its header calls a rate"),
        (
            "time,kbps\n0,8\n1,3\n",
            {"column": "mbps"},
            "found column 'mbps', expected one of the columns 'time', 'kbps'",
        ),
        ("words in a line\nand more of them\n", {}, "no rows of numbers"),
        ("time;mbps\n0;5,5\n1;8,2\n", {}, 'found "5,5" in line 2, expected a number with a point'),
        ("# a\n\ntime;mbps\n0;5\n1;8,2\n", {}, 'found "8,2" in line 5, expected a number with a point'),
        ("time;mbps\n0,5;5\n1;8\n", {}, 'found "0,5" in line 2, expected a number with a point'),
        ('time,mbps\n0,"5,5"\n1,8\n', {}, 'found "5,5" in line 2, expected a number with a point'),
        ("0;5,5\n1;8,2\n", {}, 'found "5,5" in line 1, expected a number with a point'),
        ("0 5\n1 8,2\n", {"format": "time-mbps"}, 'found "8,2" in line 2, expected a number with a point'),
    ],
)
def test_a_header_that_leaves_it_open_is_refused(file: Path, text: str, given: dict[str, object], said: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        reading(file, given)


def test_a_comparison_reads_the_header_and_says_so(file: Path) -> None:
    file.write_text("time,kbps\n0,8000\n30,3000\n60,12000\n90,5000\n")
    said: list[str] = []
    [found] = conditions.conditions([str(file)], say=said.append)
    assert said == [f"{file}: read kbps as the rate, time as the time, 30 s a row"]
    assert found.table["links"]["network"]["rate"]["scale"] == 0.001
    assert found.limits == {"max": "12000kbps"}


def test_a_format_that_is_said_is_not_asked_for(file: Path) -> None:
    file.write_text("0 1\n1 2\n2 3\n")
    with pytest.raises(UsageError, match="several ways"):
        conditions.conditions([str(file)])
    [found] = conditions.conditions([f"{file},format=mbps-hold"])
    assert found.table["links"]["network"]["rate"]["format"] == "mbps-hold"


def test_a_comparison_over_dates_names_the_way(file: Path) -> None:
    file.write_text(SPEED_TEST)
    with pytest.raises(UsageError, match=r"paceline trace .*walk.csv --out DIR"):
        conditions.conditions([f"{file},column=4"])


def test_a_speed_test_becomes_a_recording_that_links_follow(cli: Run, file: Path) -> None:
    file.write_text(SPEED_TEST)
    done = cli("trace", "walk.csv", "--column", "Download (Mbps)", "--out", "found", "--plot")
    assert done.returncode == 0, done.stderr
    assert "read Download (Mbps) as the rate, Date and Time as the time" in done.stderr
    assert "/tmp" not in done.stderr
    rows = pd.read_csv(file.parent / "found" / "trace.csv")
    assert rows["mbps"].tolist() == [93.2, 80.1, 12.5]
    assert rows["hold_s"].tolist() == [1800, 3600, 1800]
    assert (file.parent / "found" / "plots" / "trace.svg").is_file()
    [found] = conditions.conditions([str(file.parent / "found" / "trace.csv")])
    assert found.table["links"]["network"]["rate"]["format"] == "mbps-hold"


@pytest.mark.parametrize("dates", [["1/5/2024 12:00", "1/5/2024 12:01"], ["23:59:30", "0:00:30"], ["0", "60"]])
def test_clocks_of_many_kinds(file: Path, dates: list[str]) -> None:
    file.write_text(
        "Time,Server,Mbps\n" + "".join(f'{date},"a, b",{rate}\n' for date, rate in zip(dates, (3, 5), strict=True))
    )
    assert read(str(file), {}).segments.durations_s.tolist() == [60, 60]


def test_a_cell_without_a_value_is_one_and_a_decimal_comma_is_refused(file: Path) -> None:
    file.write_text("time_ms;mbps\n0;5\n1000;\n2000;6\n")
    assert read(str(file), {}).segments.mbps.tolist() == [5, 6]
    file.write_text("time_ms;mbps\n0;5\n1000;n/a\n2000;6\n")
    assert read(str(file), {}).segments.mbps.tolist() == [5, 6]
    file.write_text("time_ms;mbps\n0;5\n1000;8,2\n2000;6\n")
    with pytest.raises(UsageError, match='found "8,2" in line 3, expected a number with a point'):
        read(str(file), {})


def test_milliseconds_and_bits_per_second(file: Path) -> None:
    file.write_text("time_ms;dl_bps\n0;5000000\n500;6000000\n1000;0\n1500;2000000\n")
    found = read(str(file), {})
    assert found.segments.durations_s.tolist() == [0.5] * 4
    assert found.segments.mbps.tolist() == [5, 6, 0, 2]


def test_the_figures_are_those_of_arithmetic(file: Path) -> None:
    file.write_text("mbps,hold_s\n10,2\n0,1\n20,5\n0,2\n")
    found = read(str(file), {})
    assert found.length_s == 10
    assert found.mean_mbps == pytest.approx(12)
    assert found.quantiles_mbps == {"min": 0, "p5": 0, "p25": 0, "p50": 10, "p75": 20, "p95": 20, "max": 20}
    assert (found.outages.count, found.outages.longest_s) == (2, 2)
    assert found.outages.share == pytest.approx(0.3)
    assert table(found)["mbps"].mean() == pytest.approx(12)


def test_the_autocorrelation_is_that_of_the_process(file: Path) -> None:
    """An autoregression of first order falls below 1/e after -1 / ln(0.9) = 9.5 values."""
    draws = np.random.default_rng(1).normal(size=20_000)
    values = [0.0]
    for draw in draws:
        values.append(0.9 * values[-1] + draw)
    file.write_text("mbps\n" + "".join(f"{50 + value:.6f}\n" for value in values))
    assert read(str(file), {"interval": "2s"}).correlation_s == pytest.approx(19, abs=3)
    file.write_text("mbps\n5\n5\n5\n")
    assert read(str(file), {"interval": "1s"}).correlation_s is None


def test_packets_of_mahimahi_are_no_outages(file: Path) -> None:
    file.write_text("".join(f"{at}\n" for at in range(5, 1000, 5)) + "".join(f"{at}\n" for at in range(1500, 2000, 5)))
    found = read(str(file), {})
    assert (found.outages.count, found.outages.longest_s) == (1, pytest.approx(0.4))
    assert found.quantiles_mbps["p50"] == pytest.approx(2.4)


def test_people_and_programs_are_told_the_same(cli: Run, file: Path) -> None:
    file.with_suffix(".csv.gz").write_bytes(gzip.compress(b"time,kbps\n0,8000\n30,0\n60,12000\n90,5000\n"))
    said = cli("trace", "walk.csv.gz")
    assert said.returncode == 0, said.stderr
    assert said.stderr == "walk.csv.gz: read kbps as the rate, time as the time, 30 s a row\n"
    assert "outages (rate 0): 1, the longest 30 s, 25.0% of the time" in said.stdout
    assert max(map(len, said.stdout.splitlines())) <= 80
    document = json.loads(cli("trace", "walk.csv.gz", "--json").stdout)
    assert document["outages"] == {"count": 1, "longest_s": 30, "share": 0.25}
    assert (document["length_s"], document["mean_mbps"], document["rows"]) == (120, 6.25, 4)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"time,kbps\n", b"\x00\x01", b"\xff\xfe1\x00", b"nan,1\n", b"1,2,3\n4\n", b'"', b"0 1e300\n1 2\n"],
)
def test_no_file_breaks_it(cli: Run, file: Path, content: bytes) -> None:
    file.write_bytes(content)
    done = cli("trace", "walk.csv")
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("paceline: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "content",
    [
        '{"uplink": {"trace_pattern": [{"duration": 1000, "capacity": -800}]}}',
        '[{"duration_ms": 1000, "bandwidth_kbps": -800, "latency_ms": 10}]',
        '{"intervals": [{"sum": {"start": 0, "end": 1, "seconds": 1, "bits_per_second": -800}}]}',
    ],
)
@pytest.mark.parametrize("words", [("trace",), ("compare", "urcp", "um", "--over")])
def test_a_bad_value_of_a_json_recording_is_told(cli: Run, file: Path, content: str, words: tuple[str, ...]) -> None:
    path = file.with_name("rates.json")
    path.write_text(content)
    done = cli(*words, path)
    assert done.returncode == 2
    assert 'found "-800" in line 1 of' in done.stderr
    assert "expected a rate" in done.stderr


@pytest.mark.parametrize("line", [b" ", b"# \n", b"1 5\n"])
def test_a_recording_is_read_no_further_than_its_bound(
    file: Path, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    monkeypatch.setattr(trace_files, "MOST_BYTES", 4 << 20)
    path = file.with_name("rates.csv.gz")
    path.write_bytes(gzip.compress(line * ((32 << 20) // len(line)), 1))
    tracemalloc.start()
    with pytest.raises(DataNotFound, match="too large, expected at most 4 MB, decompressed"):
        for _ in trace_files.lines(path):
            pass
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 << 20


def test_a_file_that_is_not_there(cli: Run) -> None:
    for words in (["nope.csv"], ["."], ["nope.csv", "--format", "time-mbps"]):
        done = cli("trace", *words)
        assert (done.returncode, "no such file" in done.stderr or "no file" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "wimax"], ["a named network", "--over wimax", 'network = "wimax"']),
        (["run", "scream"], ["a controller", "--set flows.NAME.controller=scream"]),
        (["run", "first-sweep"], ["a study", "paceline study first-sweep"]),
        (["run", "walk.csv"], ["a recording of rates", "paceline trace walk.csv", "--over walk.csv"]),
        (["run", "codel"], ["a queue", "paceline help codel"]),
        (["run", "cal"], ["no such scenario file", "near it: call.toml"]),
        (["send", "wimax", "--to", "127.0.0.1:9"], ["a named network"]),
        (["probe", "walk.csv"], ["a recording of rates", "expected a scenario or network"]),
        (["study", "call.toml"], ["a scenario", "paceline run call.toml"]),
        (["trace", "call.toml"], ["a scenario", "expected a recording"]),
        (["fit", "call.toml"], ["a scenario", "expected a recording"]),
        (["compare", "wimax", "scream", "--over", "call.toml"], ["a named network", "expected a controller"]),
        (["compare", "scream", "gcc", "--over", "ledbat"], ["a controller", "expected a scenario, recording"]),
    ],
)
def test_a_word_in_the_wrong_place_is_said_with_its_command(
    cli: Run, file: Path, call_file: Path, words: list[str], said: list[str]
) -> None:
    file.write_text("time,kbps\n0,8000\n30,3000\n")
    (file.parent / "call.toml").write_text(call_file.read_text())
    done = cli(*words)
    assert done.returncode == 2
    assert [part for part in said if part not in done.stderr] == [], done.stderr


def test_an_error_of_the_right_thing_stays_as_it_is(cli: Run, file: Path, call_file: Path) -> None:
    file.write_text("time,kbps\n0,8000\n30,3000\n")
    (file.parent / "call.toml").write_text(call_file.read_text().replace('"10s"', '"x"'))
    for words, said in (
        (["run", "call.toml"], "duration"),
        (["probe", "call.toml"], "duration"),
        (["compare", "urcp", "um", "--over", "call.toml"], "duration"),
        (["compare", "urcp", "um", "--over", "walk.csv,dely=3ms"], "dely"),
        (["trace", "walk.csv", "--column", "x"], "column"),
    ):
        done = cli(*words)
        assert (done.returncode, said in done.stderr, "expected a " in done.stderr.partition("found a")[2]) == (
            2,
            True,
            False,
        ), done.stderr


ALPHARTC = {"type": "video", "downlink": {}, "uplink": {"trace_pattern": [
    {"duration": 4000, "capacity": 3000, "loss": 0, "rtt": 60},
    {"duration": 6000, "capacity": 500, "loss": 0.1, "rtt": 90},
]}}  # fmt: skip
IPERF3 = {"start": {}, "intervals": [{"sum": {"seconds": 0.5, "bits_per_second": 4e6, "omitted": False}}], "end": {}}
PING = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=12.3 ms\n"


def test_recordings_of_other_programs_are_known_by_their_content(file: Path, cli: Run) -> None:
    for name, content, length, mean in (("a.json", ALPHARTC, "10 s", 1.5), ("iperf3.txt", IPERF3, "0.5 s", 4.0)):
        other = file.with_name(name)
        other.write_text(json.dumps(content))
        assert reading(other, {}).keys == {"format": "json"}
        shown = cli("trace", name)
        assert shown.returncode == 0, shown
        for part in (length, f"{mean:.3f}"):
            assert part in shown.stdout, shown
    file.with_name("ping.txt").write_text(PING)
    shown = cli("trace", "ping.txt")
    assert shown.returncode == 2, shown
    assert 'delay = { trace = "ping.txt" }' in shown.stderr, shown
