"""Runs as qlog, simulated and over sockets: packets, metrics and inner states under the names of QUIC's events.

A file named `.sqlog` is a sequence of JSON texts as the newer drafts have it (draft-ietf-quic-qlog-main-schema-13),
any other is one JSON document of version 0.3, which qvis reads. Either is written event by event. A value that QUIC's
events have no name for, as a controller's inner state, is in events of our own: `docs/captures.md` lists them.
"""

from __future__ import annotations

import heapq
import json
import math
import struct
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline import disk
from paceline.acknowledging import Flow, ranges
from paceline.errors import OutputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from paceline.result import Result

Event = dict[str, Any]

RECOVERY: dict[str, tuple[str, Callable[[float], float]]] = {
    "srtt_ms": ("smoothed_rtt", float),
    "cwnd_bytes": ("congestion_window", round),
    "bytes_in_flight": ("bytes_in_flight", round),
    "state.pacing_rate": ("pacing_rate", lambda mbps: round(mbps * 1e6)),
}
"""The columns of flows.parquet that QUIC's recovery events have names for, and what makes their values of them."""
NAMES, STATISTICS, PACKET = 4, 5, 6
"""Blocks of pcapng that say names of addresses, when the run of an interface began, and packets."""
PACKET_HEAD = 20
"""Bytes of a packet block before the packet."""
ROWS = 64
"""Samples that become Python's objects at once."""
CURRENT = {
    "transport:packet_sent": "quic:packet_sent",
    "transport:packet_received": "quic:packet_received",
    "recovery:metrics_updated": "quic:recovery_metrics_updated",
    "recovery:packet_lost": "quic:packet_lost",
}
"""The names of QUIC's events in the newer drafts, by those of version 0.3."""
SCHEMAS = ["urn:ietf:params:qlog:events:quic-12", "urn:paceline:qlog:events"]


@dataclass(frozen=True)
class Trace:
    """The events that one place saw, in the order of time."""

    name: str
    kind: str
    """The place as the schema calls it: `client` for a sender, `server` for a receiver, `network` for a link."""
    events: Iterator[Event]

    @property
    def vantage_point(self) -> dict[str, str]:
        return {"name": self.name, "type": self.kind, **({"flow": "client"} if self.kind == "network" else {})}


def logged(path: Path, run: Callable[..., Result], pcap: Path | None, pcap_at: str) -> Result:
    """Simulates with a capture at the senders, `pcap` or one that is not kept, and writes what happened into a file."""
    if pcap is not None and pcap_at == "receiver":
        raise UsageError("qlog: found pcap_at receiver, expected sender or both: it tells what senders saw")
    with _folder(path) as folder:
        capture = pcap or folder / "capture.pcapng"
        result = run(pcap=capture)
        with Capture(capture) as packets:
            flows = [end(name, "client", packets, result) for name in result.summary["flows"]]
            write(path, result, [*flows, *links(result)])
    return result


def logged_end(path: Path, kind: str, run: Callable[[Path], Result], pcap: Path | None) -> Result:
    """Runs one end of a flow with a capture of its socket, kept if it is `pcap`, and writes what it saw into a file."""
    with _folder(path) as folder:
        capture = pcap or folder / "capture.pcapng"
        result = run(capture)
        _check_captured(path, result)
        with Capture(capture) as packets:
            write(path, result, [end(name, kind, packets, result) for name in result.summary["flows"]])
    return result


def logged_call(path: Path, run: Callable[[Path, Path], tuple[Result, Result, Result]]) -> tuple[Result, ...]:
    """The same of a call of which all parts are here: both ends of the flow, and the links between them."""
    with _folder(path) as folder:
        captures = [folder / f"{place}.pcapng" for place in ("sender", "receiver")]
        sender, link, receiver = run(*captures)
        _check_captured(path, sender, receiver)
        with ExitStack() as stack:
            sent, arrived = (stack.enter_context(Capture(capture)) for capture in captures)
            (name,) = sender.summary["flows"]
            ends = [
                end(name, "client", sent, sender, f"{name}.sender"),
                end(name, "server", arrived, receiver, f"{name}.receiver"),
            ]
            write(path, sender, [*ends, *links(link)])
    return sender, link, receiver


def _check_captured(path: Path, *ends: Result) -> None:
    """An error if a capture is not whole."""
    if any(end.summary["sockets"]["failed_captures"] for end in ends):
        raise OutputError(f"qlog {path}: cannot be made: its packets could not be written beside it: a full disk?")


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """A folder beside a file for what it is made of, there before the run begins."""
    try:
        disk.expect_file(path)
        with disk.temporary_folder(path.absolute().parent, f".{path.name}.") as folder:
            yield folder
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"qlog {path}: cannot be written: {error.strerror}") from None


def end(flow: str, kind: str, packets: Capture, result: Result, name: str | None = None) -> Trace:
    """One end of a flow; of equal times packets come before samples."""
    samples = flow_events(_rows(result.flows_arrow, "flow", flow))
    return Trace(name or flow, kind, heapq.merge(packets.events(flow), samples, key=_time))


def links(result: Result) -> list[Trace]:
    """The links of a run."""
    table = result.links_arrow
    return [Trace(name, "network", link_events(_rows(table, "link", name))) for name in result.summary["links"]]


def write(path: Path, result: Result, traces: list[Trace]) -> None:
    """Writes traces in the format that the file's name asks for."""
    texts = (sequence if path.suffix == ".sqlog" else document)(result.summary["name"], traces)
    disk.write(path, (text.encode() for text in texts))


def document(title: str, traces: list[Trace]) -> Iterator[str]:
    """A file of version 0.3: a trace for each place, one after the other."""
    front = {"qlog_version": "0.3", "qlog_format": "JSON", "title": title}
    yield _json(front)[:-1] + ',"traces":['
    for number, trace in enumerate(traces):
        common = {"time_format": "relative", "reference_time": 0, "group_id": trace.name}
        told = {"title": trace.name, "vantage_point": trace.vantage_point, "common_fields": common}
        yield "," * (number > 0) + _json(told)[:-1] + ',"events":['
        for count, event in enumerate(trace.events):
            yield "," * (count > 0) + _json(event)
        yield "]}"
    yield "]}\n"


def sequence(title: str, traces: list[Trace]) -> Iterator[str]:
    """A sequence of JSON texts (RFC 7464): what the file is, and the events of all places, each with its `group_id`."""
    only = traces[0].vantage_point if len(traces) == 1 else {"type": "unknown"}
    clock = {"clock_type": "monotonic", "epoch": "unknown"}
    common = {"time_format": "relative_to_epoch", "reference_time": clock}
    trace = {"title": title, "common_fields": common, "vantage_point": only, "event_schemas": SCHEMAS}
    front = {"file_schema": "urn:ietf:params:qlog:file:sequential", "serialization_format": "JSON-SEQ"}
    yield f"\x1e{_json({**front, 'title': title, 'trace': trace})}\n"
    for event in heapq.merge(*map(_grouped, traces), key=_time):
        yield f"\x1e{_json(event)}\n"


def _grouped(trace: Trace) -> Iterator[Event]:
    for event in trace.events:
        yield {**event, "name": CURRENT.get(event["name"], event["name"]), "group_id": trace.name}


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _time(event: Event) -> float:
    time: float = event["time"]
    return time


def _rows(table: pa.Table, column: str, name: str) -> Iterator[dict[Any, Any]]:
    """The samples of a flow or link."""
    import pyarrow.compute as pc

    for batch in table.filter(pc.equal(table[column], name)).to_batches(max_chunksize=ROWS):
        yield from batch.to_pylist()


def _said(row: dict[Any, Any]) -> dict[str, Any]:
    """The numbers of a row that exist."""
    return {str(key): value for key, value in row.items() if isinstance(value, (int, float)) and math.isfinite(value)}


def flow_events(rows: Iterator[dict[Any, Any]]) -> Iterator[Event]:
    """The values of a flow's samples, each value when it changes."""
    last: dict[tuple[str, str], Any] = {}
    for row in rows:
        said = _said(row)
        time, stream = said.pop("time_s") * 1000, str(row.get("stream"))
        recovery = {name: make(said[key]) for key, (name, make) in RECOVERY.items() if key in said}
        inner = {key: value for key, value in said.items() if key.startswith("state.") and key not in RECOVERY}
        state = {key.removeprefix("state."): value for key, value in inner.items()}
        media = {key: value for key, value in said.items() if key not in RECOVERY and not key.startswith("state.")}
        for name, data in (
            ("recovery:metrics_updated", recovery),
            ("paceline:controller_updated", state),
            ("paceline:media_updated", media),
        ):
            # The controller is one for all streams of a flow.
            of = stream if name == "paceline:media_updated" else ""
            changed = {key: value for key, value in data.items() if last.get((name + of, key)) != value}
            last |= {(name + of, key): value for key, value in changed.items()}
            if changed:
                yield {"time": time, "name": name, "data": {"stream": stream, **changed} if of else changed}


def link_events(rows: Iterator[dict[Any, Any]]) -> Iterator[Event]:
    """The values of a link's samples."""
    for row in rows:
        said = _said(row)
        yield {"time": said.pop("time_s") * 1000, "name": "paceline:link_updated", "data": said}


class Capture:
    """The packets of a capture that we wrote, of flows at their senders or of one flow at either end.

    It stays in its file: what is kept of a packet is its place there.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._file = mmap(file.fileno(), 0, access=ACCESS_READ)
        self._names: dict[bytes, str] = {}
        self._zero = 0
        self._places: dict[str, array[int]] = {}
        for kind, at, length in self._blocks():
            if kind == NAMES:
                self._names |= address_names(self._file[at : at + length])
            elif kind == STATISTICS:
                self._zero = self._nanos(at)
            # The second interface is that of the receivers.
            elif kind == PACKET and self._word(at) == 0:
                self._places.setdefault(self._flow(at), array("Q")).append(at)

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def events(self, flow: str) -> Iterator[Event]:
        """The packets that the flow sent and received there since the clock of its end showed zero."""
        seen = Flow()
        # Over sockets a capture is of one flow, and has no names.
        for at in self._places.get(flow if self._names else "", ()):
            length = self._word(at + 12)
            begin = at + PACKET_HEAD
            packet = self._file[begin : begin + length]
            # The only option of a packet says which way it went.
            outbound = self._word(begin + (length + 3) // 4 * 4 + 4) & 3 == 2
            time = (self._nanos(at) - self._zero) / 1e6
            events = [packet_event(seen, time, packet, outbound=outbound), *losses(seen, time)]
            if time >= 0:
                yield from events

    def _blocks(self) -> Iterator[tuple[int, int, int]]:
        """Type, and where the body is and how long."""
        at = 0
        while at < len(self._file):
            kind, length = struct.unpack_from(">II", self._file, at)
            yield kind, at + 8, length - 12
            at += length

    def _word(self, at: int) -> int:
        word: int = struct.unpack_from(">I", self._file, at)[0]
        return word

    def _nanos(self, at: int) -> int:
        return self._word(at + 4) << 32 | self._word(at + 8)

    def _flow(self, at: int) -> str:
        if not self._names:
            return ""
        source = at + PACKET_HEAD + 12
        return self._names[self._file[source : source + 4]].rpartition(".")[0]


def address_names(body: bytes) -> dict[bytes, str]:
    """The names of IPv4 addresses in a block."""
    at, names = 0, {}
    while (record := struct.unpack_from(">HH", body, at))[1]:
        content = body[at + 4 : at + 4 + record[1]]
        names[content[:4]] = content[4:].rstrip(b"\0").decode()
        at += 4 + (record[1] + 3) // 4 * 4
    return names


def packet_event(flow: Flow, time: float, packet: bytes, *, outbound: bool) -> Event:
    """A packet that an end of a flow sent or received, and what it acknowledges."""
    number = flow.sent if outbound else flow.received
    flow.sent, flow.received = flow.sent + outbound, flow.received + (not outbound)
    header = {"packet_type": "1RTT", "packet_number": number}
    data: dict[str, Any] = {"header": header, "raw": {"length": len(packet)}}
    if acked := flow.passed(packet, number):
        data["frames"] = [{"frame_type": "ack", "acked_ranges": ranges(sorted(acked))}]
    return {"time": time, "name": f"transport:packet_{'sent' if outbound else 'received'}", "data": data}


def losses(flow: Flow, time: float) -> list[Event]:
    """The packets that are lost by what has passed up to now."""
    return [
        {
            "time": time,
            "name": "recovery:packet_lost",
            "data": {
                "header": {"packet_type": "1RTT", "packet_number": number},
                **({"trigger": trigger} if trigger else {}),
            },
        }
        for number, trigger in flow.lost()
    ]
