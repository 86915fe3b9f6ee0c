"""Controllers from outside, classes and programs, in all that runs ours; nothing is left of them."""

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from aimd import Aimd

import paceline
from guest_parts import (
    CALL,
    ENCODER,
    EXAMPLES,
    FLOW,
    RAISES,
    Mine,
    call,
    made,
    run,
    without_times,
    written,
)
from paceline import _core, guests
from paceline.code_digest import digest_of
from paceline.errors import ControllerError, ScenarioError, UsageError
from processes import PATIENCE_S

pytestmark = pytest.mark.usefixtures("no_guest_left")


# One controller in three languages.


def compiled(folder: Path) -> list[str]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off"]
    subprocess.run([compiler, *flags, "-o", folder / "aimd", EXAMPLES / "aimd.c", "-lm"], check=True)
    return [str(folder / "aimd")]


def of_node(_folder: Path) -> list[str]:
    if shutil.which("node") is None:
        pytest.skip("there is no Node")
    return ["node", str(EXAMPLES / "aimd.mjs")]


@pytest.mark.parametrize("command", [compiled, of_node])
def test_the_examples_give_the_same_figures_to_the_bit(command: Callable[[Path], list[str]], tmp_path: Path) -> None:
    scenario = call(
        duration="12s",
        controller={"kind": "mine", "wait": "35ms", "factor": 0.65, "step": "900kbps"},
        bitrate={"start": "700kbps"},
        links={"link": {**CALL["links"]["link"], "rate": {"steps": [["0s", "5Mbps"], ["4s", "2Mbps"]]}}},
    )
    ours = run(Aimd, scenario)
    theirs = run(command(tmp_path), scenario)
    assert ours["version"].partition("~")[2] == f"mine-{digest_of(Aimd)}"
    assert theirs["version"].partition("~")[2] == "mine-1.0"
    assert without_times(ours) == without_times(theirs)
    assert 1.5 < ours["flows"]["video"]["throughput_mbps"] < 3


# Every world and every scenario.


@pytest.mark.parametrize(
    ("changes", "least", "most"),
    [
        pytest.param({}, 1.0, 2.9, id="plain"),
        pytest.param({"source": {**ENCODER, "fps": 5}}, 1.0, 2.9, id="5 fps"),
        pytest.param({"source": {**ENCODER, "fps": 120}}, 1.0, 2.9, id="120 fps"),
        pytest.param({"source": {"kind": "cbr", "rate": "500kbps"}}, 0.48, 0.52, id="encoder that does not follow"),
        pytest.param({"ecn": "l4s"}, 1.0, 2.9, id="l4s"),
        pytest.param({"bitrate": {"max": "600kbps"}}, 0.4, 0.65, id="max"),
        pytest.param({"bitrate": {"min": "3500kbps"}}, 2.5, 3.1, id="min"),
        pytest.param({"pause": [["2s", "22s"]], "duration": "30s"}, 0.4, 1.2, id="pause of 20 s"),
    ],
)
def test_a_class_steers_media_of_any_kind(changes: dict[str, Any], least: float, most: float) -> None:
    summary = run(Aimd, call(**{"duration": "8s", **changes}))
    assert least < summary["flows"]["video"]["throughput_mbps"] < most


def test_it_goes_on_after_a_pause() -> None:
    heard: list[float] = []
    listens = made(report=lambda self, now_s, packets: heard.append(now_s) or {"window_bytes": 20_000})
    run(listens, call(pause=[["2s", "22s"]], duration="26s"))
    assert [now_s for now_s in heard if 3 < now_s < 22] == []
    assert len([now_s for now_s in heard if now_s > 22]) > 30


def test_the_first_rate_is_the_applications() -> None:
    first = made(
        parameters={"target_bitrate_start": "1Mbps"},
        start=lambda self, now_s: {"target_mbps": self.told["target_bitrate_start"]},
    )
    for scenario, rate in ((call(), 1.0), (call(bitrate={"start": "2Mbps"}), 2.0)):
        assert run(first, scenario)["flows"]["video"]["target_bitrate_mbps"] == pytest.approx(rate)


def test_several_streams_share_the_target_by_priority() -> None:
    scenario = call()
    flow = scenario["flows"]["video"]
    source = flow.pop("source")
    flow["streams"] = {"front": {"source": source, "priority": 1.0}, "side": {"source": source, "priority": 0.5}}
    told: list[Any] = []
    listens = made(sent=lambda self, now_s, packet: told.append((packet.stream, self.flow.priorities)) or {})
    run(listens, scenario)
    assert {stream for stream, _ in told} == {0, 1}
    assert told[0][1] == [1.0, 0.5]


@pytest.mark.parametrize("other", ["scream", "mine"])
def test_it_is_coupled_with_ours(other: str) -> None:
    assigned: list[float] = []

    class Coupled(Aimd):
        def assigned(self, now_s: float, target_mbps: float | None, window_bytes: int | None) -> dict[str, Any]:
            assert (target_mbps is None) != (window_bytes is None)
            assigned.append(now_s)
            if target_mbps is not None:
                self.rate = target_mbps
            return {}

    scenario = call(duration="10s", coupling={"call": {"kind": "active", "flows": ["video", "other"]}})
    scenario["flows"]["other"] = {**deepcopy(FLOW), "controller": other}
    flows = run(Coupled, scenario)["flows"]
    assert len(assigned) > 50
    one, two = (flow["throughput_mbps"] for flow in flows.values())
    assert one == pytest.approx(two, rel=0.1)
    assert one + two > 1


class Window:
    """A window of bytes"""

    steers = "byte_stream"

    def __init__(self, flow: Any) -> None:
        self.window = float(flow.initial_window * flow.largest_packet)

    def start(self, now_s: float) -> dict[str, Any]:
        return {"window_bytes": self.window}

    def report(self, now_s: float, packets: list[Any]) -> dict[str, Any]:
        self.window += sum(1500 * packet.size / self.window for packet in packets if packet.arrived)
        return {"window_bytes": self.window}

    def recovery(self, now_s: float, event: str, size: int) -> dict[str, Any]:
        if event in ("entered", "timed_out"):
            self.window = max(3000.0, self.window / 2)
        return {"window_bytes": self.window}


def test_a_class_steers_a_byte_stream_and_hears_its_recovery() -> None:
    events: list[str] = []

    class Told(Window):
        def recovery(self, now_s: float, event: str, size: int) -> dict[str, Any]:
            events.append(event)
            return super().recovery(now_s, event, size)

    scenario = call(transport="tcp", source={"kind": "bulk"}, duration="20s")
    result = paceline.run(scenario, controllers={"mine": Told})
    assert {"entered", "left"} <= set(events)
    assert result.summary["flows"]["video"]["throughput_mbps"] > 2.8
    flows = result.flows
    # A sample may stand between a smaller window and the acknowledgements that follow.
    assert (flows["bytes_in_flight"] > flows["cwnd_bytes"] + 1500).mean() < 0.2
    with pytest.raises(ScenarioError, match='expected one of "tcp", "sctp", with the controller mine'):
        run(Told, call())


def test_datagrams_go_over_udp_and_rtp() -> None:
    datagrams = type("Datagrams", (Aimd,), {"steers": "datagrams"})
    for transport in ("udp", "rtp"):
        assert run(datagrams, call(transport=transport))["flows"]["video"]["throughput_mbps"] > 0.9
    with pytest.raises(ScenarioError, match='expected "rtp", with the controller mine'):
        run(Aimd, call(transport="udp"))


def test_the_window_holds_and_a_pace_and_a_window_can_be_taken_away() -> None:
    flight: list[int] = []

    class Narrow(Mine):
        def start(self, now_s: float) -> dict[str, Any]:
            return {"target_mbps": 3.0, "window_bytes": 4000, "pacing_mbps": 2.0}

        def sent(self, now_s: float, packet: Any) -> dict[str, Any]:
            flight.append(packet.size + (flight[-1] if flight else 0))
            return {}

        def report(self, now_s: float, packets: list[Any]) -> dict[str, Any]:
            flight.append(flight[-1] - sum(packet.size for packet in packets))
            return {"window_bytes": None, "pacing_mbps": None} if now_s > 3 else {}

    wide = run(Narrow)["flows"]["video"]["throughput_mbps"]
    assert max(flight[:50]) <= 4000 + 1212
    assert max(flight) > 8000
    assert run(made(start=Narrow.start))["flows"]["video"]["throughput_mbps"] < wide


def test_a_timeout_comes_when_it_was_asked_for() -> None:
    woken: list[float] = []

    def timeout(self: Any, now_s: float) -> dict[str, Any]:
        woken.append(now_s)
        return {"next_timeout_s": now_s + 0.25 if now_s < 2 else None}

    run(made(timeout=timeout, start=lambda self, now_s: {"target_mbps": 1.0, "next_timeout_s": 0.5}))
    assert woken == pytest.approx([0.5 + 0.25 * place for place in range(7)], abs=1e-6)


# Parameters.


def test_parameters_arrive_in_units_of_people() -> None:
    declared = {
        "gain": 0.5,
        "count": 3,
        "hold": ("20ms", "a time"),
        "rate": "2500kbps",
        "size": "1200B",
        "fast": True,
        "word": "cautious",
    }
    told: list[dict[str, Any]] = []
    guest = made(parameters=declared, start=lambda self, now_s: told.append(self.told) or {"target_mbps": 1.0})
    run(guest)
    assert told[-1] == {
        "gain": 0.5, "count": 3, "hold": 0.02, "rate": 2.5, "size": 1200, "fast": True, "word": "cautious"
    }  # fmt: skip
    changed = {"kind": "mine", "hold": "1s", "fast": False, "word": "bold", "count": 4}
    run(guest, call(controller=changed))
    assert told[-1] == {**told[0], "hold": 1.0, "fast": False, "word": "bold", "count": 4}
    with guests.using({"mine": guest}):
        entries = {one["kind"]: one for one in json.loads(_core.registry_json())["controllers"]}
    assert [one["name"] for one in entries["mine"]["parameters"]] == list(declared)
    assert "a time" in json.dumps(entries["mine"])


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        ({"kind": "mine", "step": "fast"}, 'controller.step: found "fast" (text), expected a rate such as "20Mbps"'),
        ({"kind": "mine", "stepp": "1Mbps"}, 'did you mean "step"'),
        ({"kind": "mine", "profile": "quick"}, 'profile: found "quick" (text), expected "default"'),
        ("mina", 'found "mina" (text), expected one of'),
    ],
)
def test_a_wrong_parameter_is_the_scenarios_error(controller: Any, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        run(Aimd, call(controller=controller))
    assert said in str(error.value)


@pytest.mark.parametrize(
    "parameters",
    [5, {"a b": 1}, {"kind": 1}, {"profile": 1}, {3: 1}, {"a": None}, {"a": [1]}, {"a": float("nan")}, {"a": (1, 2)}],
    ids=repr,
)
def test_parameters_that_are_none_are_refused(parameters: Any) -> None:
    with pytest.raises(UsageError, match=r"controllers: 'mine': parameters: found .*, expected"):
        run(made(parameters=parameters))


def test_a_class_that_changes_its_parameters_changes_nothing_of_its_runs() -> None:
    parameters = {"gain": 0.5}
    guest = made(parameters=parameters, report=lambda self, now_s, packets: parameters.update(gain=9.0, more=1) or {})
    with guests.using({"mine": guest}):
        first = paceline.run(CALL).summary
        assert without_times(first) == without_times(paceline.run(CALL).summary)


# Names.


@pytest.mark.parametrize("name", ["scream", "newreno", "none", "Mine", "a b", "", "3g", "ü", 'x"y', "a.b", 3])
def test_a_name_that_cannot_be_is_refused(name: Any) -> None:
    with pytest.raises(UsageError) as error:
        paceline.run(call(controller="scream"), controllers={name: Mine})
    assert str(name) in str(error.value)


@pytest.mark.parametrize(
    "guest",
    [Mine(None), 5, None, [], [""], lambda: 0, type("NoReport", (), {}), b"ls"],
    ids=["instance", "number", "None", "no words", "an empty word", "function", "no report", "bytes"],
)
def test_a_thing_that_is_no_controller_is_refused(guest: Any) -> None:
    with pytest.raises((UsageError, ControllerError), match=r"expected|cannot be started"):
        run(guest)


@pytest.mark.parametrize("controllers", [5, [("mine", Mine)], "mine", {"mine"}], ids=repr)
def test_controllers_are_a_dictionary(controllers: Any) -> None:
    with pytest.raises(UsageError, match=re.escape('expected a dictionary such as {"mine": Mine}')):
        paceline.run(CALL, controllers=controllers)


def test_without_it_the_name_is_unknown() -> None:
    run(Mine)
    with pytest.raises(ScenarioError, match='found "mine"'):
        paceline.run(CALL)


def test_the_version_is_the_own_one_or_a_digest() -> None:
    assert run(made(version="2.1 beta~x"))["version"].endswith("~mine-2.1-beta-x")
    assert run(Mine)["version"].endswith(f"~mine-{digest_of(Mine)}")
    with pytest.raises(UsageError, match='steers: found "nothing", expected media, datagrams or byte_stream'):
        run(made(steers="nothing"))


def test_a_digest_is_of_what_the_class_does(tmp_path: Path) -> None:
    text = (
        "GAIN = 0.5\ndef half(rate):\n    return GAIN * rate\n"
        "class Own:\n    def report(self, now_s, packets):\n        return {'target_mbps': half(2)}\n"
    )
    first = digest_of(written(tmp_path, text))
    assert first == digest_of(written(tmp_path, "# A comment.\n\n" + text))
    (tmp_path / "other").mkdir()
    assert first == digest_of(written(tmp_path / "other", text))
    for old, new in (
        ("0.5", "0.6"),
        ("half(2)", "half(3)"),
        ("GAIN * rate", "GAIN + rate"),
        ("packets):", "packets, x=1):"),
    ):
        assert digest_of(written(tmp_path, text.replace(old, new))) != first, new

    def closed(gain: float) -> type[Any]:
        return made(report=lambda self, now_s, packets: {"target_mbps": gain})

    assert digest_of(closed(1.0)) == digest_of(closed(1.0)) != digest_of(closed(2.0))


def test_a_class_without_a_source_has_a_digest_too() -> None:
    found = []
    for rate in ("1.0", "1.0", "2.0"):
        names: dict[str, Any] = {}
        text = RAISES.replace('raise ERROR("of the test")', f"return {{'target_mbps': {rate}}}")
        exec(text, names)
        found.append(run(names["Own"])["version"])
    assert found[0] == found[1] != found[2]


# One list for all threads of a process.


def test_two_threads_run_one_class() -> None:
    with ThreadPoolExecutor(4) as threads:
        found = [without_times(one) for one in threads.map(run, [Aimd] * 8)]
    assert all(one == found[0] for one in found)


def test_two_threads_cannot_run_two_classes_under_one_name() -> None:
    inside, over = threading.Event(), threading.Event()

    class Waits(Mine):
        def start(self, now_s: float) -> dict[str, Any]:
            inside.set()
            over.wait(PATIENCE_S)
            return {"target_mbps": 1.0}

    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(run, Waits)
        inside.wait(PATIENCE_S)
        try:
            with pytest.raises(UsageError, match="found another 'mine' while one is running, expected one at a time"):
                run(Aimd)
            other = paceline.run(call(controller="other"), controllers={"other": Aimd}).summary
        finally:
            over.set()
        assert first.result()["flows"].keys() == other["flows"].keys() == {"video"}


def test_a_controller_may_run_the_simulator() -> None:
    inner = call(controller="other", duration="1s")

    class Foresees(Mine):
        def start(self, now_s: float) -> dict[str, Any]:
            foreseen = paceline.run(inner, controllers={"other": Aimd}).summary["flows"]["video"]["throughput_mbps"]
            return {"target_mbps": foreseen}

    assert run(Foresees)["flows"]["video"]["target_bitrate_mbps"] > 0.5


def test_a_block_that_fails_leaves_nothing() -> None:
    with (
        pytest.raises(UsageError, match="no controller of Paceline has"),
        guests.using({"first": Mine, "scream": Mine}),
    ):
        pass
    with guests.using({"first": Mine}), suppress(ZeroDivisionError), guests.using({"first": Mine, "second": Aimd}):
        assert [kind for kind, _ in _core.registered_guests()] == ["first", "second"]
        raise ZeroDivisionError
    with guests.using({"first": Aimd}):
        assert [kind for kind, _ in _core.registered_guests()] == ["first"]


# Stepped by a program.


def test_a_stepped_controller_answers_and_fails_as_its_own() -> None:
    def report(self: Any, now_s: float, packets: list[Any]) -> dict[str, Any]:
        if packets[0].arrived_s is None:
            raise ValueError("of the test")
        return {"target_mbps": 2.0, "window_bytes": 5000}

    with guests.using({"mine": made(report=report)}):
        controller = paceline.Controller("mine")
        controller.on_offered(0.0, 1200)
        assert controller.target_mbps == 1.0
        for sequence in (1, 2):
            controller.on_sent(0.0, sequence, 1000)
        controller.on_feedback(0.1, [(1, 0.05)])
        assert (controller.target_mbps, controller.window_bytes, controller.allowed_bytes) == (2.0, 5000, 4000)
        with pytest.raises(ValueError, match="of the test"):
            controller.on_feedback(0.2, [(2, None)])


def test_a_media_sender_fails_as_its_controller_does() -> None:
    with guests.using({"mine": made(sent=lambda self, now_s, packet: {"target_mbps": float("nan")})}):
        sender = paceline.MediaSender("mine")
        stream = sender.add_stream(0.0, ssrc=500)
        sender.start(0.0)
        sender.push(0.0, stream, b"x" * 100, frame=1, frame_end=True)
        assert sender.target_mbps(stream) == 1.0
        with pytest.raises(ControllerError, match="sent: target_mbps: found NaN"):
            sender.poll(0.0)


def test_a_class_that_steers_media_probes_and_sees_the_packets_of_its_probe() -> None:
    probed: list[int] = []

    def sent(self: Any, now_s: float, packet: Any) -> dict[str, Any]:
        if packet.probe is not None:
            probed.append(packet.probe)
        return {}

    def start(self: Any, now_s: float) -> dict[str, Any]:
        return {"target_mbps": 1.0, "probe": {"mbps": 3.0, "bytes": 12_000}}

    run(made(start=start, sent=sent))
    assert len(probed) >= 10
    assert set(probed) == {1}


def test_over_tcp_a_class_is_told_which_reports_say_no_round_trip() -> None:
    told: list[bool] = []

    def report(self: Any, now_s: float, packets: Any) -> dict[str, Any]:
        told.extend(packet.ambiguous for packet in packets)
        return {"window_bytes": 40_000}

    link = {
        "rate": "4Mbps",
        "delay": "20ms",
        "queue": {"kind": "droptail", "limit": "200ms"},
        "loss": {"kind": "bernoulli", "ratio": 0.05},
    }
    flow = {"transport": "tcp", "controller": "mine", "source": {"kind": "bulk"}, "path": ["link"]}
    scenario = {"duration": "10s", "links": {"link": link}, "flows": {"file": flow}}
    run(made(steers="byte_stream", start=lambda self, now_s: {"window_bytes": 40_000}, report=report), scenario)
    assert 0 < sum(told) < len(told) / 2
