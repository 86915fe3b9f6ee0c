"""A controller that is stepped packet by packet."""

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

import paceline

SIZE = 1212


def call(
    controller: paceline.Controller, seconds: float, *, mbps: float = 5.0, lost: int = 0, zero: float = 0.0
) -> list[float]:
    """The target at the end of each second of a sender that always has a packet, over a link with 20 ms each way."""
    reports: deque[tuple[float, int, float | None]] = deque()
    now, free, next_send, sequence, targets = zero, 0.0, 0.0, 0, []
    controller.on_offered(now, SIZE)
    for step in range(int(seconds * 1000)):
        now = zero + step / 1000
        while reports and reports[0][0] <= now:
            _, number, arrived = reports.popleft()
            controller.on_feedback(now, [(number, arrived)])
        due = controller.next_timeout_s
        if due is not None and due <= now:
            controller.on_send_queue(now, SIZE, newest_frame=SIZE)
            controller.on_timeout(now)
        while next_send <= now and (controller.allowed_bytes is None or controller.allowed_bytes >= SIZE):
            controller.on_sent(now, sequence, SIZE)
            free = max(free, now) + SIZE * 8 / mbps / 1e6
            reports.append((free + 0.04, sequence, None if lost and sequence % lost == 0 else free + 0.02))
            controller.on_offered(now, SIZE)
            pace, gap = controller.pacing_mbps, controller.pacing_gap_s or 0.0
            sequence, next_send = sequence + 1, max(next_send, now) + (SIZE * 8 / pace / 1e6 if pace else gap)
        if step % 1000 == 999:
            targets.append(controller.target_mbps or 0.0)
    return targets


def test_a_notebook_can_step_a_controller() -> None:
    controller = paceline.Controller("scream", profile="reference-2022", target_bitrate_max="20Mbps")
    targets = call(controller, 20)
    assert 3.5 <= sum(targets[10:]) / 10 <= 5.5
    assert controller.srtt_s is not None
    assert 0.04 <= controller.srtt_s <= 0.3
    assert controller.queue_delay_s is not None
    assert 0 < (controller.in_flight_bytes or 0) <= (controller.window_bytes or 0) + SIZE
    assert controller.kind == "scream"
    assert controller.take_probe() is None
    assert {"qdelay_target", "target_bitrate"} & set(controller.state())
    assert all(value is None or math.isfinite(value) for value in controller.state().values())


@pytest.mark.parametrize("kind", ["gcc", "scream", "um"])
def test_the_clock_may_have_any_zero(kind: str) -> None:
    """As near as a float is to the seconds since 1970: 0.12 us."""
    soon, late = (call(paceline.Controller(kind), 60, zero=zero) for zero in (0.0, time.time() // 1))
    assert sum(late[10:]) == pytest.approx(sum(soon[10:]), rel=0.05)


@pytest.mark.parametrize("zero", [0.0, 1_795_000_000.1, 3e9])
def test_what_is_due_is_due_when_the_clock_shows_it(zero: float) -> None:
    controller = paceline.Controller("gcc")
    controller.on_offered(zero, SIZE)
    controller.on_sent(zero, 0, SIZE)
    for _ in range(5):
        due = controller.next_timeout_s
        assert due is not None
        controller.on_send_queue(due, SIZE)
        controller.on_timeout(due)
        assert (controller.next_timeout_s or math.inf) > due


def test_it_answers_what_it_is_told() -> None:
    clean, lossy = (paceline.Controller("scream", profile="reference-2022") for _ in range(2))
    assert sum(call(lossy, 15, lost=20)) < 0.7 * sum(call(clean, 15))
    marked = paceline.Controller("scream", largest_packet="1212B", l4s=True, priorities=[2, 1])
    marked.on_offered(0.0, SIZE, queued=3 * SIZE, oldest_s=0.01)
    marked.on_sent(0.0, 0, SIZE, stream=0, app_limited=True)
    marked.on_feedback(0.05, [(0, 0.02)], marked=[0], clock_step_s=0.001)
    fixed = paceline.Controller("fixed", rate="2Mbps")
    fixed.on_timeout(0.0)
    assert (fixed.pacing_mbps, fixed.pacing_burst_s) == (2.0, 0.0)
    gcc = paceline.Controller("gcc", profile="libwebrtc", largest_packet="1212B")
    gcc.on_offered(0.0, SIZE, queued=SIZE, oldest_s=0.0)
    assert (gcc.pacing_mbps, gcc.pacing_burst_s) == (0.75, 0.04)
    assert (fixed.allowed_bytes, fixed.allowed_packets, fixed.window_bytes, fixed.srtt_s) == (None, None, None, None)
    assert fixed.take_discard() is None


@pytest.mark.parametrize("kind", ["tfrc", "ccid3"])
def test_a_controller_with_a_receiver_half_is_as_fast_as_its_equation(kind: str) -> None:
    """RFC 5348 section 3.1 with p = 0.01, R = 0.1 s, s = 1000 B and t_RTO = 4 R: 0.9 Mbit/s."""
    controller = paceline.Controller(kind, largest_packet="1000B")
    half = paceline.ReceiverHalf(kind, largest_packet="1000B")
    there: deque[tuple[float, int, float, float | int | None]] = deque()
    back: deque[tuple[float, tuple[float, float, float, float]]] = deque()
    next_send, sequence, late = 0.0, 0, 0
    controller.on_offered(0.0, 100_000)
    for step in range(60_000):
        now = step / 1000
        while back and back[0][0] <= now:
            controller.on_message(now, *back.popleft()[1])
        if (controller.next_timeout_s or math.inf) <= now:
            controller.on_send_queue(now, 100_000)
            controller.on_timeout(now)
        while next_send <= now and (controller.allowed_packets is None or controller.allowed_packets > 0):
            put = controller.annotation(now)
            controller.on_sent(now, sequence, 1000)
            sequence += 1
            late += now >= 30
            if sequence % 100:
                there.append((now + 0.05, sequence, now, put))
            pace, gap = controller.pacing_mbps, controller.pacing_gap_s or 0.0
            next_send = max(next_send, now) + (8000 / pace / 1e6 if pace else gap)
        due = (half.next_timeout_s or math.inf) <= now
        while there and there[0][0] <= now:
            _, number, sent, put = there.popleft()
            due |= half.on_arrival(now, number, 1000, sent, annotation=put)
        if due and (message := half.report(now)) is not None:
            back.append((now + 0.05, message))
    assert isinstance(controller.annotation(60.0), float if kind == "tfrc" else int)
    assert 0.7 <= late * 8000 / 30 / 1e6 <= 1.1


class Sender:
    """A call whose encoder makes a frame each 20 ms, of the size that its target asks for."""

    def __init__(self) -> None:
        self.controller = paceline.Controller("scream", profile="reference-2022", target_bitrate_max="20Mbps")
        self.reports: deque[tuple[float, int, float]] = deque()
        self.sequence = self.waiting = self.sent = 0
        self.made = 0.0

    def step(self, millis: int, free: float) -> float:
        """Does what is due, and answers until when the link of 6 Mbit/s is busy."""
        controller, now = self.controller, millis / 1000
        if millis % 20 == 0:
            self.made += (controller.target_mbps or 0.3) * 1e6 * 0.02 / 8 / SIZE
            packets = int(self.made)
            self.made -= packets
            self.waiting += packets
            controller.on_offered(now, packets * SIZE, queued=self.waiting * SIZE)
        while self.reports and self.reports[0][0] <= now:
            _, number, arrived = self.reports.popleft()
            controller.on_feedback(now, [(number, arrived)])
        if controller.next_timeout_s is not None and controller.next_timeout_s <= now:
            controller.on_send_queue(now, self.waiting * SIZE)
            controller.on_timeout(now)
        while self.waiting and (controller.allowed_bytes or 0) >= SIZE:
            self.waiting -= 1
            controller.on_sent(now, self.sequence, SIZE, app_limited=not self.waiting)
            free = max(free, now) + SIZE * 8 / 6e6
            self.reports.append((free + 0.04, self.sequence, free + 0.02))
            self.sequence += 1
            self.sent += SIZE
        if controller.take_discard():
            self.waiting = 0
            controller.on_send_queue(now, 0)
        return free


@pytest.mark.parametrize("kind", ["active", "conservative", "cm"])
def test_controllers_of_a_notebook_share_by_priority(kind: str) -> None:
    senders = [Sender(), Sender(), Sender()]
    coupling, free = paceline.Coupling(kind), 0.0
    for sender, priority in zip(senders, (1, 2, 4), strict=True):
        coupling.join(0.0, sender.controller, priority=priority)
    assert coupling.kind == kind
    window = paceline.Controller("newreno")
    coupling.join(0.0, window)
    assert coupling.share(window)["sum_mbps"] is None, "a window is no rate before its first round trip"
    coupling.leave(0.0, window)
    for step in range(40_000):
        if step == 20_000:
            for sender in senders:
                sender.sent = 0
        for sender in senders:
            free = sender.step(step, free)
    first, second, third = (sender.sent for sender in senders)
    assert second / first == pytest.approx(2, rel=0.1)
    assert third / first == pytest.approx(4, rel=0.1)
    assert sum((first, second, third)) * 8 / 20e6 > 4
    share = coupling.share(senders[2].controller)
    assert share["sum_mbps"] is not None
    assert share["rate_mbps"] == pytest.approx(share["sum_mbps"] * 4 / 7, rel=1e-4)
    assert (share["desired_mbps"], share["priority"]) == (None, 4)
    # A member that wants less leaves the rest to the others; one that left is nobody's concern.
    coupling.set_desired(40.0, senders[2].controller, 0.1)
    assert coupling.share(senders[2].controller)["desired_mbps"] == pytest.approx(0.1)
    coupling.leave(40.0, senders[2].controller)
    with pytest.raises(paceline.UsageError, match="found one that is not in this group"):
        coupling.share(senders[2].controller)


def test_wrong_uses_of_a_coupling_change_nothing() -> None:
    coupling, other = paceline.Coupling(), paceline.Coupling("efcm")
    first, second = paceline.Controller("rap"), paceline.Controller("rap")
    coupling.join(0.0, first, priority=2)
    before = coupling.share(first)
    for call, message in [
        (
            lambda: paceline.Coupling("activex"),
            "coupling: found activex, expected one of active, .*; did you mean active",
        ),
        (lambda: paceline.Coupling("cm", profile="rfc"), "profile: found rfc, expected one of rfc3124"),
        (lambda: paceline.Coupling("active", leaving="stay"), "leaving: found stay, expected"),
        (lambda: coupling.join(0.0, first), "controller: found one that is in this group"),
        (lambda: other.join(0.0, first), "controller: found one that is in another group"),
        (lambda: other.join(0.0, paceline.Controller("sprout")), "controller: found one that shares with nobody"),
        (lambda: coupling.join(0.0, second, priority=math.nan), "priority: found NaN, expected a number from"),
        (lambda: coupling.join(0.0, second, priority=0), "priority: found 0, expected"),
        (lambda: coupling.join(-1.0, second), "now_s: found -1, expected seconds"),
        (lambda: coupling.leave(0.0, second), "controller: found one that is not in this group"),
        (lambda: coupling.set_priority(0.0, first, -1), "priority: found -1, expected"),
        (lambda: coupling.set_desired(0.0, first, math.nan), "desired_mbps: found NaN, expected a number"),
    ]:
        with pytest.raises(paceline.UsageError, match=message):
            call()  # type: ignore[no-untyped-call]
    assert coupling.share(first) == before
    coupling.leave(0.0, first)
    for call in (lambda: coupling.leave(0.0, first), lambda: coupling.set_priority(0.0, first, 1)):
        with pytest.raises(paceline.UsageError, match="found one that is not in this group"):
            call()
    other.join(0.0, first)


def test_a_member_that_is_dropped_leaves() -> None:
    coupling = paceline.Coupling(leaving="subtract")
    members = [paceline.Controller("rap") for _ in range(3)]
    for place in range(3):
        coupling.join(0.0, members[place])
    members.pop()
    members[0].on_timeout(0.1)
    assert coupling.share(members[0])["sum_mbps"] == pytest.approx(2 * (coupling.share(members[1])["rate_mbps"] or 0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: paceline.Controller("skream"),
            "controller: found skream, expected one of scream, .*; did you mean scream",
        ),
        (lambda: paceline.Controller("scream", profile="rfc"), "profile: found rfc, expected one of "),
        (lambda: paceline.Controller("scream", mss="0B"), "mss: found 0B, expected a size from "),
        (lambda: paceline.Controller("scream", mss=1200), "mss: found 1200, expected a size from "),
        (lambda: paceline.Controller("scream", pace=1), "pace: found an unknown parameter, expected a parameter that "),
        (
            lambda: paceline.Controller("scream", qdelay_target_low="1ms"),
            "such as qdelay_target_lo, .*; did you mean qdelay_target_lo",
        ),
        (lambda: paceline.Controller("scream", priorities=[1, -1]), r"priorities: found \[1, -1\], expected "),
        (lambda: paceline.ReceiverHalf("scream"), "controller: found scream, expected tfrc or ccid3"),
        (
            lambda: paceline.Controller("tfrc").on_message(0, 1.5, 1, 0, 0),
            "loss_event_rate: found 1.5, expected",
        ),
        (lambda: paceline.Controller("tfrc").on_message(0, 0, math.nan, 0, 0), "receive_mbps: found NaN, expected a"),
        (lambda: paceline.Controller("tfrc").on_message(0, 0, 1, -1, 0), "newest_sent_s: found -1, expected seconds"),
        (
            lambda: paceline.ReceiverHalf("tfrc").on_arrival(0, 0, 1, 0, annotation=-1.0),
            "annotation: found -1, expected",
        ),
        (lambda: paceline.ReceiverHalf("tfrc").on_arrival(0, 0, 1, 0, ecn=4), "ecn: found 4, expected 0"),
        (lambda: paceline.Controller("scream").on_timeout(-1), "now_s: found -1, expected seconds from 0 to"),
        (lambda: paceline.Controller("scream").on_timeout(math.nan), "now_s: found NaN, expected seconds"),
        (
            lambda: paceline.Controller("scream").on_feedback(0, [(7, 0.1)]),
            "packets: found 7, expected one of stream 0",
        ),
        (lambda: paceline.Controller("scream").on_sent(0, -1, SIZE), "sequence: found -1, expected a whole number"),
        (lambda: paceline.Controller("scream").on_sent(0, 2**64, SIZE), f"sequence: found {2**64}, expected"),
        (lambda: paceline.Controller("scream").on_sent(0, 1.5, SIZE), "sequence: found 1.5, expected a whole number"),  # type: ignore[arg-type]
        (lambda: paceline.Controller("scream").on_sent(0, 1, -SIZE), "size: found -1212, expected a whole number"),
        (lambda: paceline.Controller("scream").on_sent(0, 1, SIZE, stream=256), "stream: found 256, expected a whole"),
        (lambda: paceline.Controller("scream").on_offered(0, SIZE, queued=-1), "queued: found -1, expected a whole"),
        (lambda: paceline.Controller("scream").on_feedback(0, [(-1, 0.1)]), "packets: found -1, expected a whole"),
        (lambda: paceline.Controller("scream").on_feedback(0, [7]), "packets: found 7, expected a number of a packet"),  # type: ignore[list-item]
        (lambda: paceline.Controller("scream").on_feedback(0, [], marked=[-1]), "marked: found -1, expected a whole"),
        (lambda: paceline.ReceiverHalf("tfrc").on_arrival(0, -1, 1, 0), "sequence: found -1, expected a whole number"),
        (lambda: paceline.Controller("scream").set_limits(0, 2, 1), "min_mbps, max_mbps: found 2 and 1"),
    ],
)
def test_what_is_wrong_is_said(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(paceline.UsageError, match=message):
        make()
