"""Runs as qlog: the fields that the schema asks for, and the same numbers as the figures."""

import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import paceline
from conftest import Run as Cli
from paceline import qlog
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
    # What arrived last is not reported yet.
    assert flow["packets_received"] - 20 <= len(acked) <= flow["packets_received"]
    assert len(sent) - len(acked) >= flow["packets_sent"] - flow["packets_received"]


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
    """What a sequence of JSON texts says of itself, and its events by the places that saw them."""
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
    assert written > 2_000_000
    assert most < written / 4
