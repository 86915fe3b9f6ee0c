"""A simulated run as qlog: packets and metrics of each flow under the names of QUIC's events, for its viewers.

The schema is qlog's (draft-ietf-quic-qlog-main-schema) in version 0.3, which qvis reads. What QUIC's
events have no name for, as a controller's inner state, is in events of our own: `docs/captures.md` lists them.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from paceline import disk
from paceline.errors import OutputError, UsageError

if TYPE_CHECKING:
    from paceline.result import Result

Event = dict[str, Any]

RECOVERY: dict[str, tuple[str, Callable[[float], float]]] = {
    "srtt_ms": ("smoothed_rtt", float),
    "cwnd_bytes": ("congestion_window", round),
    "bytes_in_flight": ("bytes_in_flight", round),
    "state.pacing_rate": ("pacing_rate", lambda mbps: round(mbps * 1e6)),
}
"""The columns of flows.parquet that QUIC's recovery events have names for, and what makes their values of them."""
NAMES, PACKET = 4, 6
"""Blocks of pcapng that say names of addresses, and packets."""
UDP = 17


@dataclass
class Flow:
    """What was seen of the packets of one flow at its sender."""

    sent: int = 0
    received: int = 0
    events: list[Event] = field(default_factory=list)
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    """The number in the flow of the newest packet with an SSRC and a sequence number."""


def logged(path: Path, run: Callable[..., Result], pcap: Path | None, pcap_at: str) -> Result:
    """Runs with a capture at the senders, `pcap` or one that is not kept, and writes what happened into a file."""
    if pcap is not None and pcap_at == "receiver":
        raise UsageError("qlog: found pcap_at receiver, expected sender or both: it tells what senders saw")
    try:
        with TemporaryDirectory(dir=path.absolute().parent, prefix=f".{path.name}.") as folder:
            capture = pcap or Path(folder) / "capture.pcapng"
            result = run(pcap=capture)
            content = json.dumps(document(result, capture), separators=(",", ":")) + "\n"
            disk.write(path, content.encode())
    except OSError as error:
        raise OutputError(f"qlog {path}: cannot be written: {error.strerror}") from None
    return result


def document(result: Result, capture: Path) -> dict[str, Any]:
    """The run as one qlog file with a trace for each flow, and one for each link."""
    packets = packet_events(capture)
    flows = result.flows.to_dict("records")
    links = result.links.to_dict("records")
    traces = [
        _trace(name, "client", [*packets.get(name, []), *flow_events(row for row in flows if row["flow"] == name)])
        for name in result.summary["flows"]
    ]
    traces += [
        _trace(name, "network", list(link_events(row for row in links if row["link"] == name)), flow="client")
        for name in result.summary["links"]
    ]
    return {"qlog_version": "0.3", "qlog_format": "JSON", "title": result.summary["name"], "traces": traces}


def _trace(name: str, kind: str, events: list[Event], **more: str) -> dict[str, Any]:
    """The events of one place, in the order of time; of equal times packets come first."""
    return {
        "title": name,
        "vantage_point": {"name": name, "type": kind, **more},
        "common_fields": {"time_format": "relative", "reference_time": 0, "group_id": name},
        "events": sorted(events, key=lambda event: event["time"]),
    }


def _said(row: dict[Any, Any]) -> dict[str, Any]:
    """The numbers of a row that exist."""
    return {str(key): value for key, value in row.items() if isinstance(value, (int, float)) and math.isfinite(value)}


def flow_events(rows: Iterator[dict[Any, Any]]) -> Iterator[Event]:
    """What the samples of a flow say, each value when it changes."""
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
    """What the samples of a link say."""
    for row in rows:
        said = _said(row)
        yield {"time": said.pop("time_s") * 1000, "name": "paceline:link_updated", "data": said}


def packet_events(capture: Path) -> dict[str, list[Event]]:
    """What the senders of a capture sent and received, by the names of their flows."""
    names: dict[bytes, str] = {}
    flows: dict[str, Flow] = {}
    for kind, body in blocks(capture.read_bytes()):
        if kind == NAMES:
            names |= address_names(body)
        elif kind == PACKET:
            interface, high, low, length = struct.unpack_from(">IIII", body)
            packet = body[20 : 20 + length]
            source = names[packet[12:16]]
            flow = flows.setdefault(source.rpartition(".")[0], Flow())
            # The second interface is that of the receivers.
            if interface == 0:
                time = (high << 32 | low) / 1e6
                (_sent if source.endswith(".sender") else _received)(flow, time, packet)
    return {name: flow.events for name, flow in flows.items()}


def blocks(file: bytes) -> Iterator[tuple[int, bytes]]:
    """The blocks of a capture that we wrote: type and body."""
    at = 0
    while at < len(file):
        kind, length = struct.unpack_from(">II", file, at)
        yield kind, file[at + 8 : at + length - 4]
        at += length


def address_names(body: bytes) -> dict[bytes, str]:
    """The names of IPv4 addresses in a block."""
    at, names = 0, {}
    while (record := struct.unpack_from(">HH", body, at))[1]:
        content = body[at + 4 : at + 4 + record[1]]
        names[content[:4]] = content[4:].rstrip(b"\0").decode()
        at += 4 + (record[1] + 3) // 4 * 4
    return names


def _sent(flow: Flow, time: float, packet: bytes) -> None:
    header: dict[str, Any] = {"packet_type": "1RTT", "packet_number": flow.sent}
    if packet[9] == UDP and len(packet) >= 40 and packet[28] >> 6 == 2:
        (sequence,), (ssrc,) = struct.unpack_from(">H", packet, 30), struct.unpack_from(">I", packet, 36)
        flow.numbers[ssrc, sequence] = flow.sent
    flow.events.append(_packet("transport:packet_sent", time, header, packet))
    flow.sent += 1


def _received(flow: Flow, time: float, packet: bytes) -> None:
    header: dict[str, Any] = {"packet_type": "1RTT", "packet_number": flow.received}
    event = _packet("transport:packet_received", time, header, packet)
    if packet[9] == UDP and (acked := acknowledged(flow, packet[28:])):
        event["data"]["frames"] = [{"frame_type": "ack", "acked_ranges": acked}]
    flow.events.append(event)
    flow.received += 1


def _packet(name: str, time: float, header: dict[str, Any], packet: bytes) -> Event:
    # qvis takes a packet's size from where earlier drafts had it.
    header["packet_size"] = len(packet)
    return {"time": time, "name": name, "data": {"header": header, "raw": {"length": len(packet)}}}


def acknowledged(flow: Flow, report: bytes) -> list[list[int]]:
    """Ranges of a flow's packets that a report of RFC 8888 says to have arrived."""
    if len(report) < 12 or report[1] != 205 or report[0] & 0x1F != 11:
        return []
    found, at, end = [], 8, 4 * struct.unpack_from(">H", report, 2)[0]
    while at + 8 <= end:
        ssrc, begin, count = struct.unpack_from(">IHH", report, at)
        entries = struct.unpack_from(f">{count}H", report, at + 8)
        numbers = [flow.numbers.get((ssrc, (begin + place) % 65536)) for place in range(count)]
        found += [number for number, entry in zip(numbers, entries, strict=True) if entry >> 15 and number is not None]
        at += 8 + 2 * (count + count % 2)
    return ranges(sorted(found))


def ranges(numbers: list[int]) -> list[list[int]]:
    """Ascending numbers as ranges, first and last in."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
