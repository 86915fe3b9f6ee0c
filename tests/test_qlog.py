"""Runs as qlog: the fields that the schema asks for, and the same numbers as the figures."""

import json
import struct
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import paceline
from conftest import Run as Cli
from paceline import acknowledging, qlog
from processes import PATIENCE_S, free_port, start, wait_for_listener
from test_captures import MIXED

Trace = dict[str, Any]


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Trace], paceline.Result]:
    path = tmp_path_factory.mktemp("qlog") / "mixed.qlog"
    result = paceline.run(MIXED, overrides={"flows.call.record": True}, qlog=path)
    assert [file.name for file in path.parent.iterdir()] == ["mixed.qlog"]
    document = json.loads(path.read_text(), parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert (document["qlog_version"], document["qlog_format"]) == ("0.3", "JSON")
    assert document["title"] == "a call beside bulk"
    return {trace["title"]: trace for trace in document["traces"]}, result


def named(trace: Trace, name: str) -> list[dict[str, Any]]:
    return [event for event in trace["events"] if event["name"] == name]


def test_every_trace_and_event_has_what_the_schema_asks_for(logged: tuple[dict[str, Trace], paceline.Result]) -> None:
    traces, result = logged
    assert set(traces) == {*result.summary["flows"], *result.summary["links"]}
    known = {"smoothed_rtt", "congestion_window", "bytes_in_flight", "pacing_rate"}
    for name, trace in traces.items():
        kind = "client" if name in result.summary["flows"] else "network"
        assert (trace["vantage_point"]["type"], trace["vantage_point"]["name"]) == (kind, name)
        assert (kind == "network") == ("flow" in trace["vantage_point"])
        assert trace["common_fields"]["time_format"] == "relative"
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times)
        assert 0 <= times[0] <= times[-1] <= 8000
        for event in trace["events"]:
            assert set(event) == {"time", "name", "data"}
            category, _, kind = event["name"].partition(":")
            assert category in ("transport", "recovery", "paceline")
            assert event["data"], kind
        for event in named(trace, "recovery:metrics_updated"):
            assert set(event["data"]) <= known
        for event in named(trace, "transport:packet_sent") + named(trace, "transport:packet_received"):
            assert {"packet_type", "packet_number"} <= set(event["data"]["header"])
            assert event["data"]["raw"]["length"] > 20


def test_packets_are_those_of_the_run_and_reports_acknowledge_what_arrived(
    logged: tuple[dict[str, Trace], paceline.Result],
) -> None:
    traces, result = logged
    sent = named(traces["call"], "transport:packet_sent")
    flow = result.summary["flows"]["call"]
    assert [event["data"]["header"]["packet_number"] for event in sent] == list(range(flow["packets_sent"]))
    acked: Counter[int] = Counter()
    for event in named(traces["call"], "transport:packet_received"):
        for frame in event["data"].get("frames", []):
            assert frame["frame_type"] == "ack"
            for first, last in frame["acked_ranges"]:
                assert first <= last < len(sent)
                acked.update(range(first, last + 1))
    lost = {event["data"]["header"]["packet_number"]: event for event in named(traces["call"], "recovery:packet_lost")}
    assert list(lost) == sorted(set(range(max(acked) - 2)) - set(acked)), "the path keeps the order"
    assert len(lost) > 3
    assert all(event["data"]["trigger"] == "reordering_threshold" for event in lost.values())
    assert all(event["time"] >= sent[number]["time"] + 40 for number, event in lost.items()), "a round trip later"
    # The last arrivals are not reported yet.
    assert flow["packets_received"] - 20 <= len(acked) <= flow["packets_received"]
    assert len(sent) - len(acked) >= flow["packets_sent"] - flow["packets_received"]


def test_a_packet_is_lost_when_one_three_later_has_arrived_and_once() -> None:
    stream = acknowledging.Stream()
    for number in range(12):
        stream.sent((65_530 + number) % 65_536, 2 * number)
    assert stream.reported(65_530, [True, False, False, True]) == [0, 6]
    assert stream.lost() == []
    assert stream.reported(65_534, [True]) == [8]
    assert stream.lost() == [2]
    assert stream.reported(65_531, [False, True]) == [4]
    assert stream.reported(65_535, [True] * 7) == [10, 12, 14, 16, 18, 20, 22]
    assert stream.reported(65_531, [False]) == []
    assert stream.reported(100, [True]) == []
    assert stream.lost() == []


def test_segments_are_acknowledged_in_order_and_by_blocks_and_lost_when_they_are_sent_again() -> None:
    segments = acknowledging.Segments()
    begin = 2**32 - 2500
    for number in range(8):
        segments.sent((begin + 1000 * number) % 2**32, 1000, 10 + number)
    at = [(begin + 1000 * number) % 2**32 for number in range(9)]
    assert segments.acknowledged(at[1], []) == [10]
    assert segments.acknowledged(at[1], [(at[2], at[4])]) == [12, 13]
    assert segments.acknowledged(at[1], [(at[2], at[5]), (at[6], at[7])]) == [14, 16]
    assert segments.lost == []
    segments.sent(at[1], 1000, 18)
    segments.sent(at[3], 1000, 19)
    assert segments.lost == [11], "what has arrived is not lost"
    assert segments.acknowledged(at[1], [(at[2], at[5]), (at[6], at[7])]) == []
    assert segments.acknowledged(at[8], []) == [15, 17, 18]
    assert segments.acknowledged(at[2], []) == []
    assert (segments.ends, segments.numbers, segments.walked) == ({}, {}, {})


@given(packet=st.binary(max_size=200), protocol=st.sampled_from([6, 17, 33]), version=st.sampled_from([0x45, 0x60]))
def test_whatever_is_captured_is_read(packet: bytes, protocol: int, version: int) -> None:
    flow = acknowledging.Flow()
    head = bytearray(40 if version == 0x60 else 20)
    head[0], head[9 if version == 0x45 else 6] = version, protocol
    for number in range(3):
        assert isinstance(flow.passed(bytes(head) + packet, number), list)
        assert isinstance(flow.lost(), list)


def test_a_report_that_says_more_than_it_holds_is_read_as_far_as_it_goes() -> None:
    flow = acknowledging.Flow()
    rtp = bytes([0x45, *[0] * 8, 17, *[0] * 10]) + bytes(8) + struct.pack(">BBHII", 0x80, 96, 7, 0, 100) + b"x"
    assert flow.passed(rtp, 0) == []
    front = bytes([0x45, *[0] * 8, 17, *[0] * 10]) + bytes(8)
    block = struct.pack(">IHHHH", 100, 7, 1, 0x8000, 0)
    for length, rest, found in [
        (5, b"", [0]),
        (500, b"", [0]),
        (500, struct.pack(">IHH", 100, 8, 9000), [0]),
        (1, b"", []),
    ]:
        report = struct.pack(">BBHI", 0x8B, 205, length, 1) + block + rest + bytes(4)
        assert flow.passed(front + report, 0) == found


def test_what_tcp_and_dccp_acknowledge_is_what_arrived(logged: tuple[dict[str, Trace], paceline.Result]) -> None:
    traces, result = logged
    for name, told in [("file", True), ("ccid2", True), ("ccid3", False)]:
        flow = result.summary["flows"][name]
        acked = acknowledged(named(traces[name], "transport:packet_received"))
        lost = [event["data"]["header"]["packet_number"] for event in named(traces[name], "recovery:packet_lost")]
        if not told:
            assert (acked, lost) == (set(), []), "CCID 3 tells of no single packet"
            continue
        assert flow["packets_received"] - 20 <= len(acked) <= flow["packets_received"]
        assert len(lost) == len(set(lost)) > 3
        assert not acked & set(lost)
        # A dropped packet is known to be lost, but for the last.
        dropped = flow["packets_sent"] - flow["packets_received"]
        assert dropped - 20 <= len(lost) <= dropped


def test_metrics_are_those_of_the_series(logged: tuple[dict[str, Trace], paceline.Result]) -> None:
    traces, result = logged
    rows = result.flows[result.flows["flow"] == "call"]
    seen: dict[str, float] = {}
    state: dict[str, float] = {}
    for event in traces["call"]["events"]:
        if event["name"] == "recovery:metrics_updated":
            seen |= event["data"]
        if event["name"] == "paceline:controller_updated":
            state |= event["data"]
    last = rows.iloc[-1]
    assert seen["congestion_window"] == last["cwnd_bytes"]
    assert seen["bytes_in_flight"] == last["bytes_in_flight"]
    assert seen["smoothed_rtt"] == last["srtt_ms"]
    assert seen["pacing_rate"] == round(last["state.pacing_rate"] * 1e6)
    assert state["qdelay_target"] == last["state.qdelay_target"]
    assert len(named(traces["l"], "paceline:link_updated")) == len(result.links)


def test_a_capture_is_shared_and_must_have_the_senders(cli: Cli, call_file: Path, tmp_path: Path) -> None:
    both = ["--qlog", tmp_path / "call.qlog", "--pcap", tmp_path / "call.pcapng", "--pcap-at"]
    done = cli("run", call_file, "--set", "duration=1s", *both, "both")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.glob("call.*[gq]")) == ["call.pcapng", "call.qlog"]
    shared = (tmp_path / "call.qlog").read_bytes()
    done = cli("run", call_file, "--set", "duration=1s", "--qlog", tmp_path / "call.qlog")
    assert (tmp_path / "call.qlog").read_bytes() == shared
    done = cli("run", call_file, *both, "receiver")
    assert done.returncode == 2
    assert "expected sender or both" in done.stderr
    done = cli("run", call_file, "--qlog", "no-such-folder/x.qlog")
    assert done.returncode == 1
    assert "no-such-folder/x.qlog" in done.stderr


def read_sequence(path: Path) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """The header of a sequence of JSON texts, and its events by the places that saw them."""
    front, *texts = path.read_text().split("\x1e")[1:]
    assert all(text.endswith("}\n") for text in texts)
    events = [json.loads(text) for text in texts]
    times = [event["time"] for event in events]
    assert times == sorted(times)
    assert times[0] >= 0
    places: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        places.setdefault(event["group_id"], []).append(event)
    return json.loads(front), places


def test_a_sequence_tells_the_same_under_the_newer_names(
    logged: tuple[dict[str, Trace], paceline.Result], tmp_path: Path
) -> None:
    traces, _ = logged
    path = tmp_path / "mixed.sqlog"
    paceline.run(MIXED, overrides={"flows.call.record": True}, qlog=path)
    front, places = read_sequence(path)
    assert (front["file_schema"], front["serialization_format"]) == ("urn:ietf:params:qlog:file:sequential", "JSON-SEQ")
    assert front["trace"]["common_fields"]["time_format"] == "relative_to_epoch"
    assert front["trace"]["event_schemas"]
    names = {now: before for before, now in qlog.CURRENT.items()}
    for name, trace in traces.items():
        told = [{**event, "name": names.get(event["name"], event["name"])} for event in places[name]]
        assert [{key: event[key] for key in ("time", "name", "data")} for event in told] == trace["events"]
    assert set(places) == set(traces)
    assert {event["name"].partition(":")[0] for events in places.values() for event in events} == {"quic", "paceline"}


@pytest.mark.long
@pytest.mark.parametrize("spell", [qlog.document, qlog.sequence])
def test_memory_does_not_grow_with_the_packets(spell: Any, tmp_path: Path) -> None:
    result = paceline.run(MIXED, overrides={"duration": "30s"}, pcap=tmp_path / "mixed.pcapng")
    assert len(result.flows_arrow) + len(result.links_arrow) > 0
    with qlog.Capture(tmp_path / "mixed.pcapng") as packets:
        ends = [qlog.end(name, "client", packets, result) for name in result.summary["flows"]]
        tracemalloc.start()
        written = sum(len(text) for text in spell("", [*ends, *qlog.links(result)]))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert written > 3_000_000
    # Events that are held take five times their text. A part that does not grow, such as a block of samples, is
    # 1.2 MB of 3.8.
    assert most < written / 2


def sent(events: list[dict[str, Any]]) -> list[int]:
    return [event["data"]["header"]["packet_number"] for event in events if event["name"] == "quic:packet_sent"]


def received(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["name"] == "quic:packet_received"]


def acknowledged(events: list[dict[str, Any]]) -> set[int]:
    """The packets that reports among these events acknowledge."""
    frames = [frame for event in events for frame in event["data"].get("frames", [])]
    ranges = [span for frame in frames for span in frame["acked_ranges"]]
    return {number for first, last in ranges for number in range(first, last + 1)}


@pytest.mark.real_time
def test_a_call_in_real_time_is_seen_at_both_ends_and_at_its_links(cli: Cli, call_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "call.sqlog"
    done = cli("live", call_file, "--set", "duration=2s", "--set", "flows.video.record=true", "--json", "--qlog", path)
    assert done.returncode == 0, done.stderr
    assert [file.name for file in tmp_path.glob("*qlog*")] == ["call.sqlog"]
    front, places = read_sequence(path)
    assert front["trace"]["vantage_point"] == {"type": "unknown"}
    flow = json.loads(done.stdout)["flows"]["video"]
    ours, theirs = places["video.sender"], places["video.receiver"]
    assert len(places) >= 3
    assert len(sent(ours)) >= flow["packets_sent"] > 50
    assert len(received(theirs)) >= flow["packets_received"] > 50
    acked = acknowledged(received(ours))
    assert len(acked) > flow["packets_received"] / 2
    assert acked <= set(sent(ours))
    names = {event["name"] for event in ours}
    assert {"quic:recovery_metrics_updated", "paceline:controller_updated"} <= names
    # The clock of each end is that of its samples.
    assert all(0 <= event["time"] < 6000 for events in places.values() for event in events)
    first = next(event["time"] for event in ours if event["name"] == "quic:packet_sent")
    assert first < 500
    # On one machine the receiver's zero is when the first packet was made: it has been under way for the path's delay.
    assert 10 <= received(theirs)[0]["time"] < 500


@pytest.mark.real_time
def test_each_end_over_sockets_writes_what_it_saw(call_file: Path, tmp_path: Path) -> None:
    port, short = free_port(), ["--set", "duration=2s"]
    there = ["--listen", f"127.0.0.1:{port}", "--qlog", tmp_path / "receiver.sqlog"]
    here = ["--to", f"127.0.0.1:{port}", "--qlog", tmp_path / "sender.qlog", "--pcap", tmp_path / "sender.pcapng"]
    with start("receive", call_file, *short, *there) as receiver:
        wait_for_listener(port)
        with start("send", call_file, *short, *here) as sender:
            for process in (sender, receiver):
                _, said = process.communicate(timeout=PATIENCE_S)
                assert process.returncode == 0, said
    assert (tmp_path / "sender.pcapng").exists()
    (trace,) = json.loads((tmp_path / "sender.qlog").read_text())["traces"]
    assert trace["vantage_point"] == {"name": "video", "type": "client"}
    assert acknowledged(named(trace, "transport:packet_received"))
    assert named(trace, "recovery:metrics_updated")
    front, places = read_sequence(tmp_path / "receiver.sqlog")
    assert front["trace"]["vantage_point"] == {"name": "video", "type": "server"}
    arrived = received(places["video"])
    assert 50 < len(arrived) <= len(named(trace, "transport:packet_sent"))
    # Its reports are about what has arrived.
    reports = [event for event in places["video"] if event["name"] == "quic:packet_sent"]
    assert len(acknowledged(reports)) > len(arrived) / 2


def test_what_cannot_be_written_is_said_before_the_call(cli: Cli, call_file: Path) -> None:
    ends = (["send", "--to", "127.0.0.1:9"], ["receive", "--listen", "127.0.0.1:0"], ["live"])
    for command, *told in ends:
        done = cli(command, call_file, *told, "--qlog", "no-such-folder/x.sqlog")
        assert done.returncode == 1
        assert "no-such-folder/x.sqlog" in done.stderr
