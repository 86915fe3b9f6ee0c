"""Controllers from outside that answer wrongly, late or never: who it was, and when, is said."""

import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from conftest import Run
from guest_parts import CALL, EXAMPLES, RAISES, call, made, mine_toml, program, run, written
from paceline.errors import ControllerError

pytestmark = pytest.mark.usefixtures("no_guest_left")


# Wrong answers.


def answering(value: Any, method: str = "report") -> type[Any]:
    return made(**{method: lambda self, *told: value})


NUMBERS = "target_mbps, pacing_mbps, window_bytes, next_timeout_s, probe"


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
        ({"probe": 5}, 'probe: found 5, expected a dict such as {"mbps": 5.0, "bytes": 20000}'),
        ({"probe": {"mbps": 5.0}}, "probe: found {'mbps': 5.0}, expected a dict such as"),
        ({"probe": {"mbps": 0.0, "bytes": 100}}, "probe: mbps: found 0, expected Mbit/s above 0"),
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
        ("hears", "found the calls 0b11111111, expected the five lowest bits alone"),
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
        ("bits", "found the fields 0b111111, expected the five lowest bits alone"),
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
