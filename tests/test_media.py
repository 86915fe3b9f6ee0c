"""Both ends of a call of media in RTP, stepped datagram by datagram."""

import math
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import paceline

DELAY = 0.02


class Call:
    """A sender, a receiver, and a link of a rate in Mbit/s that loses one packet in so many."""

    def __init__(self, sender: paceline.MediaSender, receiver: paceline.MediaReceiver, *, lost: int = 0) -> None:
        self.sender, self.receiver, self.lost = sender, receiver, lost
        self.now, self.free, self.left, self.mbps = 0.0, 0.0, 0, 5.0
        self.ways: tuple[deque[tuple[float, bytes]], ...] = (deque(), deque())
        self.came: list[paceline.MediaArrival] = []

    def run(self, seconds: float, *streams: int) -> None:
        for _ in range(int(seconds * 1000)):
            self.step(streams)

    def sleep(self, seconds: float) -> None:
        """The sender's program is suspended, and reads first what waits in its socket then."""
        for _ in range(int(seconds * 1000)):
            self.step_receiver(self.now)
            self.now = round(self.now + 0.001, 3)
        while self.ways[1]:
            self.sender.receive(self.now, self.ways[1].popleft()[1])

    def step(self, streams: tuple[int, ...]) -> None:
        now = self.now
        if round(now * 1000) % 20 == 0:
            frame = round(now * 50)
            for stream in streams:
                rest = int((self.sender.target_mbps(stream) or 0.0) * 1e6 * 0.02 / 8) + 1
                while rest > 0:
                    size = min(rest, 1000)
                    rest -= size
                    payload = bytes([frame % 256]) * size
                    self.sender.push(now, stream, payload, frame=frame, timestamp=frame * 1800, marker=rest == 0)
        while (sent := self.sender.poll(now)) is not None:
            self.left += 1
            self.free = max(self.free, now) + len(sent.data) * 8 / self.mbps / 1e6
            if not self.lost or self.left % self.lost:
                self.ways[0].append((self.free + DELAY, sent.data))
        self.step_receiver(now)
        while self.ways[1] and self.ways[1][0][0] <= now:
            self.sender.receive(now, self.ways[1].popleft()[1])
        self.now = round(now + 0.001, 3)

    def step_receiver(self, now: float) -> None:
        while self.ways[0] and self.ways[0][0][0] <= now:
            arrival = self.receiver.receive(now, self.ways[0].popleft()[1])
            if arrival is not None:
                self.came.append(arrival)
        while (back := self.receiver.poll(now)) is not None:
            self.ways[1].append((now + DELAY, back))


@pytest.mark.parametrize("format", ["rfc8888", "twcc"])
def test_a_notebook_can_step_a_call(format: str) -> None:
    sender = paceline.MediaSender("scream", format=format, reduced_size=True, repair=True, target_bitrate_max="20Mbps")
    receiver = paceline.MediaReceiver(format=format, reduced_size=True)
    stream = sender.add_stream(0.0, ssrc=500, rtx_ssrc=501)
    receiver.add_stream(ssrc=500, rtx_ssrc=501)
    sender.start(0.0)
    call = Call(sender, receiver, lost=2000)
    call.run(15, stream)
    assert 3.5 <= (sender.target_mbps(stream) or 0.0) <= 5.0
    call.mbps = 1.0
    call.run(15, stream)
    assert 0.4 <= (sender.target_mbps(stream) or 0.0) <= 1.1
    assert any(arrival.repaired for arrival in call.came)
    assert {arrival.ssrc for arrival in call.came} == {500}
    assert all(set(arrival.payload) <= {arrival.timestamp // 1800 % 256} for arrival in call.came)
    figures, counts = sender.statistics(), receiver.statistics()
    assert figures["resent"]
    assert figures["rtcp_malformed"] == figures["unknown_reports"] == 0
    assert 0.04 <= (figures["srtt_s"] or 0.0) <= 0.5
    assert counts["restored"] > 0
    assert counts["malformed"] == counts["unknown_ssrc"] == counts["unreported"] == 0
    assert receiver.reception(500) is not None
    assert receiver.reception(501 + 1) is None


@pytest.mark.parametrize("controller", ["scream", "scream-v2", "gcc", "tempo", "nada", "urcp", "um", "sprout"])
@pytest.mark.parametrize("streams", [1, 2])
def test_retransmissions_cost_little(controller: str, streams: int) -> None:
    came = []
    for repair in (False, True):
        sender, receiver = paceline.MediaSender(controller, repair=repair), paceline.MediaReceiver()
        identifiers = []
        for ssrc in range(500, 500 + 2 * streams, 2):
            more = {"rtx_ssrc": ssrc + 1} if repair else {}
            identifiers.append(sender.add_stream(0.0, ssrc=ssrc, **more))
            receiver.add_stream(ssrc=ssrc, **more)
        sender.start(0.0)
        call = Call(sender, receiver, lost=100)
        call.mbps = 3.0
        call.run(15, *identifiers)
        before = len(call.came)
        call.run(10, *identifiers)
        came.append(len(call.came) - before)
    assert came[1] > 0.8 * came[0]


@pytest.mark.parametrize("controller", ["scream", "scream-v2", "gcc", "tempo", "nada", "urcp", "um", "rap"])
def test_reports_that_waited_for_a_suspended_program_are_no_long_round_trips(controller: str) -> None:
    sender, receiver = paceline.MediaSender(controller), paceline.MediaReceiver()
    stream = sender.add_stream(0.0, ssrc=500)
    receiver.add_stream(ssrc=500)
    sender.start(0.0)
    call = Call(sender, receiver, lost=500)
    call.run(15, stream)
    before = len(call.came)
    call.run(5, stream)
    usual = len(call.came) - before
    call.sleep(60)
    call.run(2, stream)
    before = len(call.came)
    call.run(5, stream)
    assert len(call.came) - before > 0.8 * usual


@pytest.mark.parametrize("controller", ["gcc", "scream"])
def test_transport_wide_reports_count_streams_that_were_not_added(controller: str) -> None:
    targets = []
    for added in ((500, 600), (500,), ()):
        sender = paceline.MediaSender(controller, format="twcc", target_bitrate_max="20Mbps")
        receiver = paceline.MediaReceiver(format="twcc")
        streams = [sender.add_stream(0.0, ssrc=ssrc) for ssrc in (500, 600)]
        for ssrc in added:
            receiver.add_stream(ssrc=ssrc)
        sender.start(0.0)
        call = Call(sender, receiver)
        call.run(15, *streams)
        targets.append(sum(sender.target_mbps(stream) or 0.0 for stream in streams))
        assert {arrival.ssrc for arrival in call.came} == set(added)
        assert (receiver.statistics()["unknown_ssrc"] > 0) == (len(added) < 2)
    assert targets[1:] == pytest.approx([targets[0]] * 2, rel=0.4)
    assert targets[0] > 0.8


@pytest.mark.parametrize(
    "buffer", [bytearray(b"abc"), memoryview(b"abc"), memoryview(b"a.b.c")[::2], np.frombuffer(b"abc", np.uint8)]
)
def test_bytes_may_be_any_buffer(buffer: Any) -> None:
    sender, receiver = paceline.MediaSender("scream"), paceline.MediaReceiver()
    stream = sender.add_stream(0.0, ssrc=500)
    receiver.add_stream(ssrc=500)
    sender.start(0.0)
    sender.push(0.0, stream, buffer, frame=1, marker=True)
    sent = sender.poll(0.0)
    assert sent is not None
    assert sent.data[-3:] == b"abc"
    arrival = receiver.receive(0.02, np.frombuffer(sent.data, np.uint8))
    assert arrival is not None
    assert arrival.payload == b"abc"
    sender.receive(0.04, buffer)
    assert sender.statistics()["rtcp_malformed"] == 1


@pytest.mark.parametrize("format", ["rfc8888", "twcc"])
def test_reports_of_another_session_are_counted_and_change_nothing(format: str) -> None:
    senders = [paceline.MediaSender("scream", format=format, reduced_size=True) for _ in range(2)]
    receiver = paceline.MediaReceiver(format=format, reduced_size=True)
    receiver.add_stream(ssrc=600)
    for sender, ssrc in zip(senders, (500, 600), strict=True):
        sender.add_stream(0.0, ssrc=ssrc)
        sender.start(0.0)
        sender.push(0.0, 0, bytes(500), frame=1, marker=True)
        sent = sender.poll(0.0)
        assert sent is not None
        receiver.receive(0.02, sent.data)
    report = receiver.poll(0.02)
    assert report is not None
    before = senders[0].statistics()
    senders[0].receive(0.04, report)
    expected = before | {"rtcp_received": before["rtcp_received"] + 1, "rtcp_unknown_ssrc": 1}
    assert senders[0].statistics() == expected
    senders[1].receive(0.04, report)
    assert senders[1].statistics()["rtcp_unknown_ssrc"] == 0
    assert senders[1].statistics()["srtt_s"] is not None


@pytest.mark.parametrize("found", ["abc", 3, None, [1, 2], np.zeros(3)])
def test_what_holds_no_bytes_is_said(found: Any) -> None:
    sender, receiver = paceline.MediaSender("scream"), paceline.MediaReceiver()
    for call in (
        lambda: sender.push(0.0, 0, found, frame=1),
        lambda: sender.receive(0.0, found),
        lambda: receiver.receive(0.0, found),
    ):
        with pytest.raises(paceline.UsageError, match=r"^data: found .*, expected bytes, or a buffer"):
            call()


def test_events_and_ends() -> None:
    sender, receiver = paceline.MediaSender("scream"), paceline.MediaReceiver(ssrc=99, cname="me")
    streams = [sender.add_stream(0.0, ssrc=ssrc, priority=priority) for ssrc, priority in ((500, 2), (600, 1))]
    receiver.add_stream(ssrc=500)
    receiver.add_stream(ssrc=600)
    sender.start(0.0)
    call = Call(sender, receiver)
    call.run(2, *streams)
    assert receiver.ssrc == 99
    assert receiver.ask_for_picture(call.now, 500, full=True)
    assert not receiver.ask_for_picture(call.now, 500)
    call.run(1, *streams)
    sender.push(call.now, streams[0], bytes(5000), frame=7)
    sender.push(call.now, 9, bytes(10), frame=8, marker=True)
    sender.remove_stream(call.now, streams[1])
    call.run(1, streams[0])
    whole = bytes([0x80, 0xE0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1]) + b"payload"
    sender.push(call.now, streams[0], whole, frame=9, whole=True)
    sent = sender.poll(call.now)
    assert sent is not None
    assert (sent.data[-7:], sent.stream, sent.ecn) == (b"payload", streams[0], 0)
    receiver.leave()
    call.run(1, streams[0])
    events = list(iter(sender.poll_event, None))
    assert ("key_frame", streams[0]) in [(event.kind, event.stream) for event in events]
    discards = [
        (event.stream, event.frame, event.offset, event.reason) for event in events if event.kind == "discarded"
    ]
    assert (streams[0], 7, 0, "too_large") in discards
    assert (9, 8, 0, "removed") in discards
    assert [event.ssrc for event in events if event.kind == "ended"] == [99]
    assert [(event.kind, event.ssrc) for event in iter(receiver.poll_event, None)] == [("ended", 600)]
    sender.stop(call.now)
    assert sender.poll(call.now) is not None, "it says goodbye"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: paceline.MediaSender("skream"), "controller: found skream, expected one of scream, "),
        (lambda: paceline.MediaSender("tfrc"), "controller: found tfrc, expected one of media that goes by reports"),
        (lambda: paceline.MediaSender("scream", format="remb"), 'format: found remb, expected one of "rfc8888"'),
        (
            lambda: paceline.MediaSender("scream", pace=1),
            "pace: found an unknown parameter, expected a parameter that docs/",
        ),
        (lambda: paceline.MediaSender("scream").add_stream(0.0), "ssrc: found none, expected the SSRC"),
        (lambda: paceline.MediaSender("scream").add_stream(0.0, ssrc=-1), "ssrc: found -1, expected a whole number"),
        (lambda: paceline.MediaSender("scream").start(math.nan), "now_s: found NaN, expected seconds from 0"),
        (
            lambda: paceline.MediaSender("scream").remove_stream(0.0, 3),
            "stream: found 3, expected one that the flow",
        ),
        (lambda: paceline.MediaSender("scream").set_limits(0.0, 0, 2, 1), "min_mbps, max_mbps: found 2 and 1"),
        (lambda: paceline.MediaSender("scream").push(0.0, 0, b"", frame=1, payload_type=72), "data: .*payload type"),
        (lambda: paceline.MediaSender("scream").push(0.0, 0, b"x", frame=1, whole=True), "data: "),
        (
            lambda: paceline.MediaSender("scream").push(0.0, 0, bytes(65536), frame=1),
            "data: found 65536 bytes, expected",
        ),
        (lambda: paceline.MediaSender("scream").receive(0.0, b"", ecn=4), r"ecn: found 4, expected 0 \(Not-ECT\)"),
        (lambda: paceline.MediaReceiver(time="soon"), "time: found soon, expected a time"),
        (lambda: paceline.MediaReceiver().add_stream(clock_rate=1), "ssrc: found none"),
        (lambda: paceline.MediaReceiver().remove_stream(7), "ssrc: found 7, expected that of a stream that was added"),
        (lambda: paceline.MediaReceiver().ask_for_picture(0.0, 7), "ssrc: found 7"),
    ],
)
def test_what_is_wrong_is_said(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(paceline.UsageError, match=message):
        make()


def test_thousands_of_hostile_calls_are_answered() -> None:
    """Arguments drawn at random, of which many are wrong: each call answers or raises, and nothing panics."""
    draws = random.Random(16)
    sender, receiver = paceline.MediaSender("scream", repair=True, seed=16), paceline.MediaReceiver(seed=16)
    sender.add_stream(0.0, ssrc=1, rtx_ssrc=2)
    receiver.add_stream(ssrc=1, rtx_ssrc=2)
    sender.start(0.0)
    under_way: deque[bytes] = deque([b""], maxlen=50)
    now, refused = 0.0, 0

    def mutated() -> bytes:
        data = bytearray(draws.choice(under_way))
        for _ in range(draws.randrange(4)):
            if data:
                data[draws.randrange(len(data))] = draws.randrange(256)
        return bytes(data[: draws.randrange(len(data) * 2 + 1)])

    def number() -> Any:
        return draws.choice([0, 1, 2, 3, 64, 255, 256, 2**32, 2**64, -1, 0.5, math.nan, math.inf, None, "x"])

    calls: list[Callable[[], Any]] = [
        lambda: sender.push(now, number(), mutated(), frame=draws.randrange(9), whole=draws.random() < 0.3),
        lambda: sender.push(now, 0, bytes(draws.randrange(1300)), frame=1, payload_type=number(), timestamp=number()),
        lambda: sender.poll(now),
        lambda: sender.poll(number()),
        lambda: sender.receive(now, mutated(), ecn=draws.randrange(5)),
        lambda: sender.add_stream(now, ssrc=number(), priority=number()),
        lambda: sender.remove_stream(now, number()),
        lambda: sender.set_priority(now, 0, number()),
        lambda: sender.set_limits(now, 0, number(), number()),
        lambda: sender.poll_event(),
        lambda: sender.target_mbps(number()),
        lambda: receiver.receive(now, mutated(), ecn=draws.randrange(4)),
        lambda: receiver.poll(now),
        lambda: receiver.add_stream(ssrc=number(), rtx_ssrc=number()),
        lambda: receiver.remove_stream(number()),
        lambda: receiver.ask_for_picture(now, number()),
        lambda: receiver.poll_event(),
        lambda: receiver.statistics(),
    ]
    for _ in range(10_000):
        now += draws.random() * 0.01
        try:
            answer = draws.choice(calls)()
        except (ValueError, TypeError, OverflowError):
            refused += 1
            continue
        if isinstance(answer, paceline.MediaDatagram):
            under_way.append(answer.data)
        elif isinstance(answer, bytes):
            under_way.append(answer)
    assert 1000 < refused < 7000
    assert sender.statistics()["pushed"]
    assert receiver.statistics()["packets"] > 0
