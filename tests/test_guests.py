"""Controllers from outside, classes and programs, in all that runs ours; wrong answers; nothing is left of them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import paceline
from conftest import ROOT, Run
from paceline import _core, guests
from paceline.code_digest import digest_of
from paceline.errors import ControllerError, ScenarioError, StudyError, UsageError
from processes import PATIENCE_S, as_in_a_terminal, until

EXAMPLES = ROOT / "examples" / "guests"
sys.path.append(str(EXAMPLES))
from aimd import Aimd  # noqa: E402

ENCODER = {"kind": "trace-encoder", "generator": "frames", "fps": 25}
CALL: dict[str, Any] = {
    "duration": "4s",
    "links": {"link": {"rate": "3Mbps", "delay": "20ms", "queue": {"kind": "droptail", "limit": "200ms"}}},
    "flows": {"video": {"transport": "rtp", "controller": "mine", "source": ENCODER, "path": ["link"]}},
}
FLOW: dict[str, Any] = CALL["flows"]["video"]

STUDY = """\
name = "little"
title = "A little study"
scenario = "call.toml"
seeds = [1, 2]
factors.step = { path = "flows.video.controller.step", unit = "Mbps", levels = [0.5, 2], range = [0.5, 2], default = 1 }
factors.factor = { path = "flows.video.controller.factor", levels = [0.5, 0.9], range = [0.5, 0.9], default = 0.7 }
designs.single = { kind = "one-at-a-time" }
metrics.rate = { kind = "summary", path = "flows.video.throughput_mbps" }
"""
SEARCH = """\
training = ["slow"]
held_out = ["fast"]
conditions.slow = { "links.link.rate" = "2Mbps" }
conditions.fast = { "links.link.rate" = "8Mbps" }
objectives.rate = { want = "more" }
judgement.objectives = ["rate"]
searches.first = { trials = 3, population = 2, seed = 3, picks.best = { best = "rate" }, baselines.defaults = {} }
"""

RAISES = """\
class Own:
    steers = "media"
    def __init__(self, flow):
        pass
    def start(self, now_s):
        return {"target_mbps": 1.0}
    def report(self, now_s, packets):
        return self.divided(packets)
    def divided(self, packets):
        raise ERROR("of the test")  # the line
"""


class Mine:
    """A controller of a test"""

    steers = "media"

    def __init__(self, flow: Any, **parameters: Any) -> None:
        self.flow, self.told = flow, parameters

    def start(self, now_s: float) -> dict[str, Any]:
        return {"target_mbps": 1.0}

    def report(self, now_s: float, packets: list[Any]) -> dict[str, Any]:
        return {}


def made(name: str = "Mine", **members: Any) -> type[Any]:
    return type(name, (Mine,), members)


def call(**changes: Any) -> dict[str, Any]:
    """The call with these keys of its flow, or of the scenario where they are the scenario's."""
    scenario = deepcopy(CALL)
    for key, value in changes.items():
        (scenario if key in ("duration", "links", "coupling") else scenario["flows"]["video"])[key] = value
    return scenario


def run(guest: Any, scenario: dict[str, Any] | None = None, **how: Any) -> dict[str, Any]:
    return paceline.run(scenario or CALL, controllers={"mine": guest}, **how).summary


def program(behaviour: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(ROOT / "tests" / "guest_program.py"), behaviour]


def programs() -> list[str]:
    """The processes of this one that are controllers, and those that have ended and were not waited for."""
    pids = [pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]
    commands = [Path("/proc", pid, "cmdline").read_bytes().decode() for pid in pids]
    return [command for command in commands if not command or "guest_program" in command or "aimd" in command]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No guest stays registered after its block, and no process of one is left, whatever happened in it."""
    yield
    assert (guests._active, _core.registered_guests()) == ({}, [])
    assert programs() == []


def mine_toml(folder: Path) -> Path:
    """The call as a file, and the small study of it."""
    import tomli_w

    (folder / "call.toml").write_text(tomli_w.dumps({"name": "call", **call(controller={"kind": "mine"})}))
    (folder / "study.toml").write_text(STUDY)
    return folder


@pytest.fixture
def little(tmp_path: Path) -> Path:
    folder = tmp_path / "little"
    folder.mkdir()
    return mine_toml(folder)


def without_times(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name not in ("wall_s", "version")}


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
    with pytest.raises(ScenarioError, match='expected "tcp", with the controller mine'):
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


def written(folder: Path, text: str) -> type[Any]:
    (folder / "own.py").write_text(text)
    guest = guests.read(f"own={folder / 'own.py'}:Own")[1]
    assert isinstance(guest, type)
    return guest


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


# Wrong answers.


def answering(value: Any, method: str = "report") -> type[Any]:
    return made(**{method: lambda self, *told: value})


NUMBERS = "target_mbps, pacing_mbps, window_bytes, next_timeout_s"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"target_mbps": float("nan")}, "target_mbps: found NaN, expected Mbit/s from 0 to 1000000"),
        ({"target_mbps": -1}, "target_mbps: found -1, expected Mbit/s from 0"),
        ({"target_mbps": None}, "target_mbps: found None, expected a number"),
        ({"target_mbps": float("inf")}, "target_mbps: found inf, expected Mbit/s: an encoder needs a rate"),
        ({"target_mbps": "5"}, "target_mbps: found '5', expected a number"),
        ({"target_mbps": True}, "target_mbps: found True, expected a number"),
        ({"target_mbps": 10**400}, "target_mbps: found 1000"),
        ({"target_mbps": 2e6}, "target_mbps: found 2000000, expected Mbit/s from 0 to 1000000"),
        ({"pacing_mbps": 0}, "pacing_mbps: found 0, expected Mbit/s above 0: nothing would ever leave"),
        ({"window_bytes": -1}, "window_bytes: found -1, expected bytes from 0 to"),
        ({"next_timeout_s": -1}, "next_timeout_s: found -1, expected seconds of the run from 0 to"),
        ({"next_timeout_s": 1e300}, "next_timeout_s: found 1"),
        ({"next_timeout_s": 1}, "next_timeout_s: found a time, expected none: the controller does not hear timeout"),
        ({"target": 1}, f"found the key 'target', expected one of {NUMBERS}"),
        ({3: 1}, f"found the key 3, expected one of {NUMBERS}"),
        (None, 'found None, expected a dict such as {"target_mbps": 2.5}, or {} where nothing changes'),
        (5, "found 5, expected a dict"),
        ([], "found [], expected a dict"),
        (["x" * 100_000], "found ['xxx"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_wrong_answer_ends_the_run_and_says_who_when_and_what(answer: Any, said: str) -> None:
    for method in ("report", "start", "sent"):
        with pytest.raises(ControllerError) as error:
            run(answering(answer, method))
        text = str(error.value)
        assert text.startswith('controller "mine" at 0.')
        assert f" s, {method}: {said}" in text
        assert len(text) < 1000


def test_a_controller_that_is_woken_at_one_time_for_ever_ends_the_run() -> None:
    guest = made(
        start=lambda self, now_s: {"target_mbps": 1.0, "next_timeout_s": 1.0},
        timeout=lambda self, now_s: {"next_timeout_s": now_s},
    )
    with pytest.raises(ControllerError, match=r'"mine" at 1\.000000 s, timeout: next_timeout_s: found 1000 times'):
        run(guest)


def test_a_target_of_zero_and_a_closed_window_are_answers() -> None:
    assert run(answering({"target_mbps": 0}))["flows"]["video"]["throughput_mbps"] < 0.1
    assert run(answering({"window_bytes": 0}))["flows"]["video"]["throughput_mbps"] < 0.1


# Exceptions.


@pytest.mark.parametrize("kind", ["ZeroDivisionError", "ValueError", "OSError", "RuntimeError", "TimeoutError"])
def test_an_exception_ends_the_run_with_its_own_traceback(kind: str, tmp_path: Path, cli: Run) -> None:
    guest = written(tmp_path, RAISES.replace("ERROR", kind))
    with pytest.raises(Exception, match="of the test") as error:
        run(guest)
    assert type(error.value).__name__ == kind
    assert error.traceback[-1].name == "divided"
    assert error.traceback[-1].lineno == 9
    if sys.version_info >= (3, 11):
        [note] = error.value.__notes__
        assert note.startswith('controller "mine" at 0.')
        assert note.endswith(" s of the run, report")
    done = cli("run", mine_toml(tmp_path) / "call.toml", "--controller", f"mine={tmp_path / 'own.py'}:Own")
    assert done.returncode == 1
    first, *lines = done.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    assert lines[0] == f'  File "{tmp_path / "own.py"}", line 8, in report'
    assert f"{kind}: of the test" in lines
    assert lines[-1].startswith('controller "mine" at 0.')


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"__init__": lambda self: None}, TypeError),
        ({"report": lambda self: {}}, TypeError),
        ({"report": lambda self, now_s, packets: sys.exit(3)}, SystemExit),
        ({"report": lambda self, now_s, packets: packets[0].nothing}, AttributeError),
        ({"report": lambda self, now_s, packets: setattr(packets[0], "size", 1)}, AttributeError),
    ],
)
def test_other_ways_to_fail_arrive_as_they_are(members: dict[str, Any], kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        run(made(**members))


def test_a_file_that_cannot_be_imported_shows_its_line(tmp_path: Path, cli: Run) -> None:
    (tmp_path / "own.py").write_text("import json\n\njson.loads('{')\n")
    done = cli("list", "controllers", "--controller", f"own={tmp_path / 'own.py'}:Own")
    assert done.returncode == 1
    assert f'File "{tmp_path / "own.py"}", line 3' in done.stderr
    assert "typer" not in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mine", "expected NAME=FILE.py:CLASS, NAME=MODULE:CLASS or NAME=COMMAND"),
        ("mine=", "expected NAME=FILE.py:CLASS"),
        ("mine=nowhere.py:Mine", "found no file nowhere.py"),
        ("mine=no.such.module:Mine", "found no module no.such.module"),
        (f"mine={EXAMPLES / 'aimd.py'}:Amid", "found no class Amid"),
        ("mine=/no/such/program", "cannot be started"),
        ("mine='", "quotation"),
        ("scream=true", "ended"),
    ],
)
def test_a_wrong_option_is_said(given: str, said: str, cli: Run) -> None:
    done = cli("list", "controllers", "--controller", given)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_is_given_once(cli: Run) -> None:
    twice = ("--controller", f"mine={EXAMPLES / 'aimd.py'}:Aimd") * 2
    done = cli("list", "controllers", *twice)
    assert (done.returncode, "found a name twice" in done.stderr) == (2, True)


# Programs.


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("version", "found version 2 of the messages, expected 1"),
        ("steers", "found that it steers 0x78, expected d, m or b"),
        ("hears", "found the calls 0b11111111, expected the four lowest bits alone"),
        ("answers-description", "expected a description (d)"),
        ("short-description", "found a message that ends within a field"),
        ("long-description", "found 4 bytes behind the last field of a message, expected none"),
        ("letter", "found a message of the letter 0x3f, expected d, a or e"),
        ("no-text", "found a text that is not UTF-8"),
        ("complains-first", "the program says: version 1 is too new"),
        ("prints", "text for people belongs to standard error"),
        ("closes", "the program closed its pipe, expected an answer"),
        ("dies-first", "the program ended (exit status: 7), expected an answer"),
        ("empty", "found a message of 0 bytes, expected 1 to 65536 bytes"),
        ("huge", "found a message of 1048576 bytes, expected 1 to 65536 bytes"),
        ("floods", "bytes that nobody asked for behind the answer"),
    ],
)
def test_a_program_that_cannot_say_what_it_is_is_refused(behaviour: str, said: str) -> None:
    with pytest.raises(ControllerError) as error:
        run(program(behaviour))
    assert str(error.value).startswith('controller "mine" (')
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("dies", "the program ended (exit status: 3), expected an answer"),
        ("killed", "the program ended (signal: 9 (SIGKILL)), expected an answer"),
        ("late-number", "found the answer to event "),
        ("twice", "behind the last field of a message, expected none"),
        ("describes", "expected an answer (a)"),
        ("complains", "the program says: I divide by zero"),
        ("nan", "target_mbps: found NaN, expected Mbit/s"),
        ("bits", "found the fields 0b11111, expected the four lowest bits alone"),
        ("writes", "text for people belongs to standard error"),
    ],
)
def test_a_program_that_fails_ends_the_run_and_is_named(behaviour: str, said: str) -> None:
    with pytest.raises(ControllerError) as error:
        run(program(behaviour))
    assert str(error.value).startswith('controller "mine" at 1.0')
    assert " s, report: " in str(error.value)
    assert said in str(error.value)


def test_a_program_that_is_woken_for_ever_is_ended() -> None:
    with pytest.raises(ControllerError, match="timeout: next_timeout_s: found 1000 times"):
        run(program("wakes"))


@pytest.mark.real_time
def test_a_program_that_does_not_answer_is_ended() -> None:
    with pytest.raises(
        ControllerError, match=r'controller "mine" at 1\.0\d+ s, report: the program did not answer for 10 s'
    ):
        run(program("silent"))


def test_a_good_program_is_heard_and_ends(capfd: pytest.CaptureFixture[str]) -> None:
    summary = run(program("prints-to-people"))
    assert summary["version"].endswith("~mine-7.1")
    assert summary["flows"]["video"]["target_bitrate_mbps"] == 1.0
    assert capfd.readouterr().err.startswith("hello, I am ready")


def test_a_report_of_thousands_of_packets_fits_through_the_pipe(tmp_path: Path) -> None:
    sizes: list[int] = []
    counts = made(
        start=lambda self, now_s: {"target_mbps": 90.0},
        report=lambda self, now_s, packets: sizes.append(len(packets)) or {},
    )
    scenario = call(
        feedback={"packets": 10_000, "time": "1s", "marker": False},
        source={"kind": "cbr", "rate": "80Mbps"},
        links={"link": {**CALL["links"]["link"], "rate": "100Mbps"}},
    )
    run(counts, scenario)
    assert max(sizes) * 34 > 1 << 17
    assert run(program("good"), scenario)["flows"]["video"]["throughput_mbps"] > 70


def test_each_flow_has_a_process_of_its_own() -> None:
    scenario = call(controller={"kind": "mine"})
    scenario["flows"]["second"] = deepcopy(scenario["flows"]["video"])
    flows = run(program("good"), scenario)["flows"]
    assert {name: flow["target_bitrate_mbps"] for name, flow in flows.items()} == {"video": 1.0, "second": 1.0}


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


# Studies, comparisons and searches.


def rates(out: Path) -> list[float]:
    import pyarrow.parquet as pq

    table = pq.read_table(out / "results.parquet")
    assert {version.partition("~")[2].partition("-")[0] for version in table["version"].to_pylist()} == {"mine"}
    return list(table["metric.rate"].to_pylist())


SCRIPT = """\
import sys
import paceline
from aimd import Aimd

scale = lambda rate: 0.9 * rate

class Mine(Aimd):
    def answer(self):
        return {name: scale(value) for name, value in super().answer().items()}

if __name__ == "__main__":
    for workers in (2, 1):
        paceline.study(sys.argv[1], out=f"{sys.argv[2]}/{workers}", workers=workers, controllers={"mine": Mine})
"""


def test_workers_have_the_class_of_a_script(little: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), *sys.path])}
    command = [sys.executable, tmp_path / "script.py", little, tmp_path]
    subprocess.run(command, check=True, env=environment, timeout=PATIENCE_S)
    assert rates(tmp_path / "1") == rates(tmp_path / "2")


@pytest.mark.parametrize("place", ["file", "module", "program"])
def test_workers_have_the_class_of_a_file_and_of_a_module(place: str, little: Path, cli: Run) -> None:
    folder = little.parent / "cwd"
    shutil.copy(EXAMPLES / "aimd.py", folder / f"aimd_{place}.py")
    where = {
        "file": f"aimd_{place}.py:Aimd",
        "module": f"aimd_{place}:Aimd",
        "program": " ".join(program("good")),
    }[place]
    if place == "program":
        (little / "study.toml").write_text(
            STUDY.replace("controller.step", "controller.gain").replace(', unit = "Mbps"', "", 1)
        )
        text = (little / "study.toml").read_text().replace("controller.factor", "controller.gain")
        (little / "study.toml").write_text(
            "\n".join(line for line in text.splitlines() if "factors.factor" not in line)
        )
    for workers in ("1", "2"):
        done = cli("study", little, "--controller", f"mine={where}", "--workers", workers, "--out", f"out/{workers}")
        assert done.returncode == 0, done.stderr
    assert rates(folder / "out" / "1") == rates(folder / "out" / "2")


def test_a_study_of_another_class_is_refused_and_named(little: Path, tmp_path: Path, cli: Run) -> None:
    own = tmp_path / "own.py"
    own.write_text((EXAMPLES / "aimd.py").read_text())
    command = ("study", little, "--controller", f"mine={own}:Aimd", "--out", "out")
    assert cli(*command).returncode == 0
    own.write_text(own.read_text().replace('"""A controller', '"""Another text'))
    assert cli(*command).returncode == 0
    known = paceline.study(little, out=tmp_path / "cwd" / "out", controllers={"mine": Aimd})
    assert known.state.taken_over == known.state.finished > 0
    own.write_text(own.read_text().replace("1.5 * self.rate", "2.5 * self.rate"))
    done = cli(*command)
    assert done.returncode == 2
    assert "out: found results of another controller mine (" in done.stderr
    with pytest.raises(StudyError, match="another controller mine"):
        paceline.study(little, out=tmp_path / "cwd" / "out", controllers={"mine": type("Other", (Aimd,), {"more": 1})})


def test_a_class_that_cannot_be_sent_is_said(little: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"controllers: found mine: cannot pickle .*; expected classes that can be sent"
    ):
        paceline.study(
            little, out=tmp_path / "out", workers=2, controllers={"mine": type("X", (Aimd,), {"a": threading.Lock()})}
        )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_wrong_answer_is_the_rows_error_and_an_exception_ends_the_study(
    workers: int, little: Path, tmp_path: Path
) -> None:
    parameters = Aimd.parameters
    wrong = made(parameters=parameters, report=lambda self, now_s, packets: {"target_mbps": float("nan")})
    result = paceline.study(little, out=tmp_path / "wrong", workers=workers, controllers={"mine": wrong})
    assert (
        result.results["error"].str.endswith("report: target_mbps: found NaN, expected Mbit/s from 0 to 1000000").all()
    )
    raising = made(parameters=parameters, report=lambda self, now_s, packets: {}[now_s])
    with pytest.raises(KeyError):
        paceline.study(little, out=tmp_path / "raising", workers=workers, controllers={"mine": raising})


def test_the_commands_that_run_ours_run_a_guest(little: Path, cli: Run) -> None:
    guest = ("--controller", f"mine={EXAMPLES / 'aimd.py'}:Aimd")
    listed = cli("list", "controllers", *guest, "--json")
    assert "mine" in {one["kind"] for one in json.loads(listed.stdout)["controllers"]}
    over = ("--over", little / "call.toml", "--seeds", "1", "--duration", "2s")
    done = cli("compare", "scream", "mine", "slow=mine,step=200kbps", *guest, *over, "--out", "compared")
    assert (done.returncode, "slow" in done.stdout) == (0, True), done.stderr
    done = cli("run", little / "call.toml", *guest, "--out", "run", "--json")
    assert json.loads(done.stdout)["flows"]["video"]["controller"] == "mine"
    again = cli("run", "run/scenario.toml", *guest, "--json")
    assert without_times(json.loads(again.stdout)) == without_times(json.loads(done.stdout))
    assert cli("study", little, *guest, "--dry-run", "--out", "dry").returncode == 0


def test_searches_take_a_guest(little: Path, cli: Run) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("SALib")
    guest = ("--controller", f"mine={EXAMPLES / 'aimd.py'}:Aimd")
    text = (little / "study.toml").read_text()
    (little / "study.toml").write_text(SEARCH + text)
    done = cli("tune", little, *guest, "--out", "tuned")
    assert (done.returncode, "3 sets tried" in done.stdout) == (0, True), done.stderr


def test_a_comparison_in_python_takes_a_guest(little: Path, tmp_path: Path) -> None:
    contenders = ["scream", "mine"]
    over = [str(little / "call.toml")]
    result = paceline.compare(contenders, out=tmp_path / "out", over=over, seeds=1, duration="2s", own={"mine": Aimd})
    assert set(result.medians["controller"]) == {"scream", "mine"}


# Sockets.


@pytest.mark.real_time
@pytest.mark.parametrize("behaviour", ["good", "Aimd"])
def test_a_guest_runs_over_sockets(behaviour: str, little: Path, cli: Run) -> None:
    where = f"{EXAMPLES / 'aimd.py'}:Aimd" if behaviour == "Aimd" else " ".join(program(behaviour))
    done = cli("live", little / "call.toml", "--controller", f"mine={where}", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["version"].partition("~")[2].startswith("mine-")
    assert summary["flows"]["video"]["throughput_mbps"] > 0.5


@pytest.mark.real_time
@pytest.mark.parametrize("kind", ["ValueError", "OSError"])
def test_an_exception_ends_a_call_over_sockets(kind: str, tmp_path: Path, cli: Run) -> None:
    written(tmp_path, RAISES.replace("ERROR", kind))
    call_file = mine_toml(tmp_path) / "call.toml"
    call_file.write_text(call_file.read_text().replace('"4s"', '"100s"'))
    done = cli("live", call_file, "--controller", f"mine={tmp_path / 'own.py'}:Own")
    assert done.returncode == 1
    assert f'File "{tmp_path / "own.py"}", line 10, in divided' in done.stderr
    assert f"{kind}: of the test" in done.stderr


@pytest.mark.real_time
@pytest.mark.parametrize("behaviour", ["dies", "nan"])
def test_a_program_that_fails_ends_a_call_over_sockets(behaviour: str, little: Path, cli: Run) -> None:
    text = (little / "call.toml").read_text().replace('"4s"', '"100s"')
    (little / "call.toml").write_text(text)
    done = cli("live", little / "call.toml", "--controller", f"mine={' '.join(program(behaviour))}")
    assert done.returncode == 1
    assert done.stderr.startswith('paceline: controller "mine" at 1.')
    assert "Traceback" not in done.stderr


@pytest.mark.real_time
@pytest.mark.parametrize("place", ["class", "program"])
def test_ctrl_c_ends_a_run(place: str, tmp_path: Path) -> None:
    sign = tmp_path / "running"
    (tmp_path / "own.py").write_text(
        "from pathlib import Path\nfrom aimd import Aimd\nclass Own(Aimd):\n    def start(self, now_s):\n"
        f"        Path({str(sign)!r}).touch()\n        return super().start(now_s)\n"
    )
    shutil.copy(EXAMPLES / "aimd.py", tmp_path)
    where = (
        f"{tmp_path / 'own.py'}:Own" if place == "class" else f"sh -c 'touch {sign}; exec {' '.join(program('good'))}'"
    )
    call_file = mine_toml(tmp_path) / "call.toml"
    call_file.write_text(call_file.read_text().replace('"4s"', '"100000s"'))
    command = [sys.executable, "-m", "paceline", "run", call_file, "--controller", f"mine={where}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=as_in_a_terminal) as process:
        until("a guest that runs", lambda: sign.exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE_S)[1]
    assert (process.returncode, said) == (1, "paceline: interrupted: nothing was written\n")
