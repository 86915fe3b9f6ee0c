"""The evidence of a flow's packets about each other: which have arrived, and which are lost by that.

Reports of RFC 8888 and acknowledgements of TCP and DCCP are read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

KEPT = 1024
"""Packets that are remembered before the undecided ones, and before the first report, which may never come."""
REORDERED = 3
"""A packet is lost when one so many later has arrived (`kPacketThreshold` of RFC 9002 section 6.1.1)."""
TCP, UDP, DCCP = 6, 17, 33
"""Transports by their numbers in IP."""
RTCP = range(192, 224)
"""The second byte of a packet of RTCP, which no packet of RTP has (RFC 5761)."""
ACK, SACK, VECTORS = 0x10, 5, (38, 39)
"""The flag and the option of TCP that acknowledge, and the options that are Ack Vectors (RFC 4340 section 11.4)."""
DCCP_ACK, DCCP_DATA_ACK, DCCP_DATA = 3, 4, 2
"""Types of DCCP's packets that acknowledge, or bear data, or both."""
ACKNOWLEDGED = 24
"""Bytes of a DCCP-Ack before its options: with 48-bit numbers, which all of ours have (RFC 4340 section 5.1)."""


@dataclass
class Stream:
    """Packets seen so far of one sequence of numbers: an SSRC's, or DCCP's."""

    packets: int = 0
    numbers: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of the newest packet with a sequence number: its number in the flow, and in the stream."""
    newest: int = -1
    """The last packet that was reported to have arrived, by its number in the stream."""
    missing: dict[int, int] = field(default_factory=dict)
    """Packets that were reported missing and are not lost yet: their number in the flow by that in the stream."""
    lost_up_to: int = -1
    """Every packet up to here is decided, by its number in the stream."""

    def sent(self, sequence: int, number: int) -> None:
        """A packet passed."""
        self.numbers.pop(sequence % 65536, None)
        self.numbers[sequence % 65536] = number, self.packets
        self.packets += 1
        known_from = (self.lost_up_to if self.newest >= 0 else self.packets) - KEPT
        # The oldest is first.
        while next(iter(self.numbers.values()))[1] < known_from:
            del self.numbers[next(iter(self.numbers))]

    def reported(self, begin: int, arrived: list[bool]) -> list[int]:
        """The packets from `begin` on arrived or did not; numbers in the flow of those that did."""
        found = []
        for place, has_arrived in enumerate(arrived):
            number, own = self.numbers.get((begin + place) % 65536, (None, -1))
            if number is None:
                continue
            if has_arrived:
                found.append(number)
                self.missing.pop(own, None)
                self.newest = max(self.newest, own)
            elif own > self.lost_up_to:
                self.missing[own] = number
        return found

    def lost(self) -> list[int]:
        """Numbers in the flow of packets that are lost since it was last asked."""
        self.lost_up_to = max(self.lost_up_to, self.newest - REORDERED)
        due = sorted(own for own in self.missing if own <= self.lost_up_to)
        return [self.missing.pop(own) for own in due]


@dataclass
class Segments:
    """Segments seen so far with data of a TCP connection."""

    ends: dict[int, int] = field(default_factory=dict)
    """Where each segment ends that is not acknowledged in order, by where it begins; ascending."""
    numbers: dict[int, int] = field(default_factory=dict)
    """Numbers in the flow of those that are not acknowledged at all."""
    walked: dict[int, int] = field(default_factory=dict)
    """How far the segments of a selective acknowledgement are known, by where it begins."""
    lost: list[int] = field(default_factory=list)
    """Numbers of packets whose data was sent again since it was last asked."""
    newest: int | None = None
    """Where the furthest segment ends."""

    def near(self, sequence: int) -> int:
        """A sequence number of 32 bits beyond its turns: the one that is next to the newest."""
        if self.newest is None:
            return sequence
        return self.newest + ((sequence - self.newest + 2**31) % 2**32 - 2**31)

    def sent(self, sequence: int, length: int, number: int) -> None:
        """A segment passed. An earlier one with the same begin is lost by its sender's judgement, or a probe."""
        begin = self.near(sequence)
        if begin in self.numbers:
            self.lost.append(self.numbers[begin])
        elif self.newest is not None and begin < self.newest:
            # Acknowledged, or cut in another way: nothing is known of it.
            return
        self.ends[begin] = max(begin + length, self.ends.get(begin, 0))
        self.numbers[begin] = number
        self.newest = max(begin + length, begin if self.newest is None else self.newest)

    def acknowledged(self, number: int, blocks: list[tuple[int, int]]) -> list[int]:
        """All before `number` and within blocks has arrived; numbers in the flow of those of which that is new."""
        cumulative = self.near(number)
        found = []
        for begin, end in [(begin, end) for begin, end in blocks if begin != end]:
            first, last = self.near(begin), self.near(end)
            at = self.walked.get(first, first)
            while at < last and at in self.ends:
                if at in self.numbers:
                    found.append(self.numbers.pop(at))
                at = self.ends[at]
            self.walked[first] = at
        while self.ends and self.ends[begin := next(iter(self.ends))] <= cumulative:
            del self.ends[begin]
            if begin in self.numbers:
                found.append(self.numbers.pop(begin))
        if not self.ends or cumulative > min(self.walked, default=cumulative):
            self.walked = {begin: at for begin, at in self.walked.items() if begin > cumulative}
        return sorted(found)


@dataclass
class Flow:
    """Packets seen so far of one flow at one end."""

    sent: int = 0
    received: int = 0
    streams: dict[int, Stream] = field(default_factory=dict)
    """Packets seen of each SSRC."""
    dccp: Stream = field(default_factory=Stream)
    tcp: Segments = field(default_factory=Segments)

    def passed(self, packet: bytes, number: int) -> list[int]:
        """A packet passed, from its IP header on, as the one with that number in its direction.

        Returns:
            Numbers of those that it acknowledges, which went the other way.
        """
        ip, protocol = (20, packet[9]) if packet[0] >> 4 == 4 else (40, packet[6])
        content = packet[ip:]
        if protocol == UDP:
            return self._datagram(content[8:], number)
        if protocol == TCP and len(content) >= 20:
            return self._segment(content, number)
        if protocol == DCCP and len(content) >= 16:
            return self._dccp_packet(content, number)
        return []

    def lost(self) -> list[tuple[int, str | None]]:
        """Numbers of packets that are lost since it was last asked, and by which rule of QUIC's."""
        streams = [stream for stream in (*self.streams.values(), self.dccp) if stream.missing]
        reordered = sorted(number for stream in streams for number in stream.lost())
        again, self.tcp.lost = self.tcp.lost, []
        return [*((number, "reordering_threshold") for number in reordered), *((number, None) for number in again)]

    def _datagram(self, content: bytes, number: int) -> list[int]:
        if len(content) >= 12 and content[0] >> 6 == 2 and content[1] not in RTCP:
            (sequence,), (ssrc,) = struct.unpack_from(">H", content, 2), struct.unpack_from(">I", content, 8)
            self.streams.setdefault(ssrc, Stream()).sent(sequence, number)
            return []
        return self._report(content)

    def _report(self, report: bytes) -> list[int]:
        if len(report) < 12 or report[1] != 205 or report[0] & 0x1F != 11:
            return []
        found: list[int] = []
        # Reports of strangers in a capture may say any length.
        at, end = 8, min(4 * struct.unpack_from(">H", report, 2)[0], len(report))
        while at + 8 <= end:
            ssrc, begin, count = struct.unpack_from(">IHH", report, at)
            if at + 8 + 2 * count > len(report):
                break
            entries = struct.unpack_from(f">{count}H", report, at + 8)
            if ssrc in self.streams:
                found += self.streams[ssrc].reported(begin, [entry >> 15 == 1 for entry in entries])
            at += 8 + 2 * (count + count % 2)
        return found

    def _segment(self, segment: bytes, number: int) -> list[int]:
        sequence, acknowledgement = struct.unpack_from(">II", segment, 4)
        head = 4 * (segment[12] >> 4)
        if len(segment) > head:
            self.tcp.sent(sequence, len(segment) - head, number)
            return []
        if not segment[13] & ACK or self.tcp.newest is None:
            return []
        blocks = [block for kind, value in options(segment[20:head]) if kind == SACK for block in pairs(value)]
        return self.tcp.acknowledged(acknowledgement, blocks)

    def _dccp_packet(self, packet: bytes, number: int) -> list[int]:
        kind, head = packet[8] >> 1 & 15, 4 * packet[4]
        if kind in (DCCP_DATA, DCCP_DATA_ACK) and len(packet) > head:
            self.dccp.sent(int.from_bytes(packet[10:16]), number)
            return []
        if kind != DCCP_ACK or len(packet) < ACKNOWLEDGED:
            return []
        newest = int.from_bytes(packet[18:24])
        vector = b"".join(value for kind, value in options(packet[ACKNOWLEDGED:head], below=32) if kind in VECTORS)
        # From the newest on backwards, a byte for each run: two bits for its state, of which 3 is missing.
        arrived = [run >> 6 != 3 for run in vector for _ in range((run & 63) + 1)]
        return self.dccp.reported(newest - len(arrived) + 1, arrived[::-1])


def options(front: bytes, below: int = 2) -> list[tuple[int, bytes]]:
    """Kind and value of the options of a header; kinds below a number have no length (RFC 9293 3.1; RFC 4340 5.8)."""
    found, at = [], 0
    while at < len(front):
        kind = front[at]
        if kind < below:
            at += 1
            continue
        length = front[at + 1] if at + 1 < len(front) else 0
        if length < 2:
            break
        found.append((kind, front[at + 2 : at + length]))
        at += length
    return found


def pairs(value: bytes) -> list[tuple[int, int]]:
    """The blocks of a selective acknowledgement (RFC 2018)."""
    return [(begin, end) for begin, end in struct.iter_unpack(">II", value[: len(value) // 8 * 8])]


def ranges(numbers: list[int]) -> list[list[int]]:
    """Ascending numbers as ranges, first and last in."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
