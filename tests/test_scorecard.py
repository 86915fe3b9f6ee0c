"""`paceline scorecard`: cases as data, verdicts with intervals, grades by section, and the gates over them."""

import json
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import pandas as pd
import pytest

import paceline
from conftest import ROOT, Run
from paceline.comparison.contenders import contenders
from paceline.errors import ControllerError, StudyError, UsageError
from paceline.result import Result
from paceline.scorecards import cases, definition, grades, run, twice
from paceline.scorecards.cases import Rule
from paceline.scorecards.figures import FigureSpec
from paceline.scorecards.grades import FAILS, HOLDS, OPEN, Grade
from paceline.studies.experiment import Context

LITTLE = """\
title = "A little case"
source = "the tests"
chosen = "The tests: nobody else"
answers = ["RFC 9743 6.3", "RFC 8836 2 item 1"]
seeds = 2
few = "tests are short"

[scenario]
duration = "4s"
warmup = "1s"
sample = "100ms"

[scenario.links.bottleneck]
rate = "3Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "200ms" }

[scenario.flows.call]
bitrate = { min = "100kbps", start = "1Mbps", max = "4Mbps" }
source = { kind = "trace-encoder", generator = "frames", fps = 25 }
path = ["bottleneck"]

[variants.near]

[variants.far]
set = { "links.bottleneck.delay" = "100ms" }

[rules]
rate_mbps = { min = 0.3 }
loss = { max = 0.5 }
"""


@pytest.fixture
def folder(tmp_path: Path, cli: Run) -> Path:
    """A folder of cases beside the folder in which `cli` works, with one file."""
    found = tmp_path / "cwd" / "mine"
    found.mkdir()
    (found / "little.toml").write_text(LITTLE)
    return found


def refused(cli: Run, folder: Path, old: str, new: str) -> str:
    """The message about the little case with a slip in it."""
    assert old in LITTLE
    (folder / "little.toml").write_text(LITTLE.replace(old, new, 1))
    done = cli("scorecard", "scream", "--cases", "mine", "--only", "little", "--out", "out", "--quiet")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert not Path(folder.parent, "out", "results.parquet").exists()
    return done.stderr


def test_every_question_has_a_case_or_says_why_none_answers_it() -> None:
    deck = cases.load()
    answered = {answer for case in deck.cases for answer in case.answers}
    for document in deck.documents:
        for question in document.questions:
            name = f"{document.name} {question.section}"
            assert name in answered or question.not_asked, name


def test_every_case_names_its_source_and_who_chose_its_bands() -> None:
    for case in cases.load().cases:
        assert case.file.source.startswith(("RFC ", "draft-ietf-ccwg-bbr-06")), case.name
        assert all(rule.source for rule in case.rules.values()) or "before any run" in case.file.chosen, case.name
        assert all(case.rules_of(kind) for kind in case.file.kinds), case.name


def test_every_figure_of_every_case_is_there_for_each_kind_of_controller(tmp_path: Path) -> None:
    entries = definition.entries(cases.load().cases, contenders(["scream", "cubic"]), [])
    run.try_figures(Context(definition.study(entries, tmp_path), (), True), entries)


def test_the_grid_of_the_internet_is_asked_of_media_and_of_byte_streams() -> None:
    found = definition.entries(cases.load(only=["9743-6.1-grid"]).cases, contenders(["scream", "cubic"]), [])
    flows = {one.contender.label: one.condition.table["flows"]["call"] for one in found}
    assert (flows["scream"]["source"]["kind"], flows["cubic"]["source"]["kind"]) == ("trace-encoder", "bulk")
    assert "bitrate" in flows["scream"]
    assert "bitrate" not in flows["cubic"]


def test_packets_of_a_controller_that_ignores_marks_say_so() -> None:
    found = definition.entries(cases.load(only=["9743-7.1-l4s"]).cases, contenders(["scream", "um"]), [])
    assert {one.contender.label: one.condition.table["flows"]["call"]["ecn"] for one in found} == {
        "scream": "l4s",
        "um": "off",
    }


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([1.0, 1.0, 1.0], HOLDS),
        ([0.9, 1.0, 1.1], OPEN),
        ([0.1, 0.2, 0.3], FAILS),
        ([2.0], HOLDS),
        ([0.99], FAILS),
        ([5.0, math.nan, 5.0], FAILS),
        ([math.nan], FAILS),
    ],
)
def test_a_rule_holds_where_the_whole_interval_lies_inside(values: list[float], word: str) -> None:
    case = cases.load(only=["9743-5.2-feedback"]).cases[0]
    figure = FigureSpec(title="rate", unit="Mbit/s", metric={})
    own = cases.Case("one", "One", case.file, case.path, {}, {"rate": Rule(min=1.0)}, {"rate": figure})
    entry = definition.entries([case], contenders(["scream"]), [])[0]
    rows = pd.DataFrame({"error": [None] * len(values), "metric.rate": values})
    found = grades.outcome(definition.Entry(own, entry.contender, entry.condition), rows)
    assert found.word == word
    assert bool(found.reasons) == (word != HOLDS)


def test_grades_count_the_cases_that_hold() -> None:
    assert [Grade(holds, 0, 10 - holds).letter for holds in (10, 9, 8, 7, 6, 5, 4, 3)] == list("ABBCCDDE")
    assert (Grade(0, 0, 0).letter, Grade(0, 0, 0).said) == ("", "")
    assert Grade(8, 2, 0).said == "B 8/10"


def test_a_card_has_grades_reasons_and_pictures_and_goes_on_where_it_ended(cli: Run, folder: Path) -> None:
    command = (
        "scorecard",
        "scream",
        "low=fixed,rate=100kbps",
        "--cases",
        "mine",
        "--only",
        "little",
    )
    done = cli(*command, "--out", "one", "--text", "card.txt")
    assert done.returncode == 0, done.stderr
    assert "low, little near: fails" in done.stdout
    assert "rate of the calls together: 0.09" in done.stdout
    home = folder.parent
    page = (home / "one" / "report.html").read_text()
    assert page.count("<svg viewBox") == 2
    assert page.count("<polyline") == 8
    assert "little near" in page
    again = cli(*command, "--out", "one")
    assert "8, 8 of them taken over" in again.stdout
    assert (home / "card.txt").read_bytes() == (home / "one" / "report.txt").read_bytes()
    assert (home / "one" / "scenarios" / "scream@little_near-").parent.is_dir()


@pytest.mark.long
def test_the_bits_are_the_same_with_two_workers(cli: Run, folder: Path) -> None:
    command = ("scorecard", "scream", "cubic", "--cases", "mine", "--only", "little", "--quiet")
    for count in ("1", "2"):
        assert cli(*command, "--out", count, "--workers", count).returncode == 0
    for name in ("verdicts.csv", "report.html", "report.txt", "grades.md"):
        one, two = ((folder.parent / count / name).read_bytes() for count in ("1", "2"))
        assert one == two, name


def test_the_text_goes_by_the_order_of_rfc_9743_in_lines_of_a_draft(cli: Run, folder: Path) -> None:
    done = cli("scorecard", "scream", "cubic", "--cases", "mine", "--only", "little", "--out", "out", "--quiet")
    assert done.returncode == 0, done.stderr
    lines = (folder.parent / "out" / "report.txt").read_text().splitlines()
    assert max(map(len, lines)) <= 69
    headings = [line for line in lines if line.startswith("RFC ")]
    assert [line.partition(".")[0] for line in headings] == [
        f"RFC {number}" for number in (9743, 8836, 8867, 8868, 8869)
    ]
    sections = [line.split(". ")[0] for line in lines[: lines.index(headings[1])] if line[:1].isdigit()]
    numbers = [[*map(int, section.split("."))] for section in sections if section.replace(".", "").isdigit()]
    assert numbers == sorted(numbers)
    assert len(numbers) >= 24
    text = " ".join(" ".join(lines).split())
    assert "Not asked: A text of the author's, no measurement." in text
    assert "scream: rate of the calls together" in text


def test_a_controller_of_another_kind_is_added_to_a_card_that_is_there(cli: Run, folder: Path) -> None:
    (folder / "stream.toml").write_text(LITTLE.replace("seeds = 2", 'seeds = 1\nkinds = ["bytes"]'))
    known = ("--cases", "mine", "--only", "little", "--only", "stream", "--out", "out", "--quiet")
    assert "4; 0 failed" in cli("scorecard", "scream", *known).stdout
    done = cli("scorecard", "scream", "cubic", *known)
    assert "10, 4 of them taken over; 0 failed" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "A little case"', "tilte = 1", "found key 'tilte'"),
        (
            '"RFC 8836 2 item 1"',
            '"RFC 8836 2 item 99"',
            "little.toml:4: answers: found 'RFC 8836 2 item 99', expected one of RFC 88",
        ),
        ("loss = { max = 0.5 }", "lost = { max = 0.5 }", "rules.lost: found 'lost', expected one of"),
        ("{ max = 0.5 }", "{ }", "rules.loss: found neither `min` nor `max`"),
        ("{ max = 0.5 }", "{ max = 0.5, min = 1 }", "rules.loss.min: found 1, expected at most max, which is 0.5"),
        ('few = "tests are short"', "", "found 2 and no `few`, expected the reason why 20 are not needed"),
        ("flows.call]", "flows.talk]", "scenario.flows: found no flow called call*, expected those under test"),
        ('rate = "3Mbps"', 'rate = "3MBps"', "little.toml:14: scenario.links.bottleneck.rate: found"),
        (
            '"links.bottleneck.delay" = "100ms"',
            '"links.b*.x.delay" = "1ms"',
            "scenario.links.bottleneck.x: found an unknown key",
        ),
        ('"links.bottleneck.delay" = "100ms"', '"links.far*.delay" = "1ms"', "found nothing that 'far*' stands for"),
        ("[rules]", '[figures.rate_mbps]\ntitle = "rate"\nmetric = { kind = "seris" }\n\n[rules]', "found 'seris'"),
        (
            "[rules]",
            '[figures.rate_mbps]\ntitle = "rate"\n'
            'metric = { kind = "of-flows", column = "rate_mbps", statistic = "mean" }\n\n[rules]',
            "figures.rate_mbps: found column 'rate_mbps', expected one of",
        ),
        ("loss = { max", "silent_s = { max = 1 }\nutilisation = { min = 0.1 }\nloss = { max", None),
    ],
)
def test_a_wrong_case_is_said_with_its_line_before_any_run(
    cli: Run, folder: Path, old: str, new: str, said: str | None
) -> None:
    if said is None:
        (folder / "little.toml").write_text(LITTLE.replace(old, new, 1))
        done = cli("scorecard", "scream", "--cases", "mine", "--only", "little", "--out", "out", "--quiet")
        assert done.returncode == 0, done.stderr
        return
    assert said in refused(cli, folder, old, new)


def test_wrong_arguments_are_said(cli: Run, folder: Path) -> None:
    for arguments, said in (
        ((), "scorecard: found no controller, expected one or more, such as scream:robust"),
        (("scream", "--only", "littles"), "--only littles: found no case called so"),
        (("scream", "--only", "8867-5"), "--only 8867-5: found no case called so, expected 8867-5* for the"),
        (("scream", "--against", "nowhere"), "--against nowhere: found no verdicts.csv there"),
        (("scream", "--cases", "nowhere"), "nowhere: found no case (*.toml) there"),
        (("scream", "--junit", "x.xml"), "--junit: found neither --require nor --against"),
        (("scream", "--require", "x.toml"), "--require x.toml: no such file"),
        (("scream:rubost",), "did you mean"),
        (("scream", "scream"), "found two called 'scream'"),
        (("cubic", "--only", "8867-5.1"), "controller cubic: found no case for controllers of bytes"),
    ):
        done = cli("scorecard", *arguments, "--out", "out", "--quiet")
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (folder.parent / "out").exists()


GUEST = """\
import random, time

class Own:
    steers = "media"
    count = 0
    def __init__(self, flow):
        Own.count += 1
    def start(self, now_s):
        return {"target_mbps": 1.0}
    def report(self, now_s, packets):
        BODY
"""


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("raise KeyError('mine')", 0, "4 of 4 runs failed: KeyError: 'mine'"),
        ("return None", 0, "report: found None, expected a dict"),
        ("return {}", 0, "little near: holds"),
        (
            "return {'target_mbps': 1.0 + 0.1 * Own.count} if now_s > 1.0 else {}",
            1,
            "found another answer in a second run of 'little near', expected the same: at 1.0",
        ),
    ],
)
def test_a_controller_from_outside_that_is_bad_is_said(
    cli: Run, folder: Path, body: str, status: int, said: str, no_guest_left: None
) -> None:
    (folder.parent / "own.py").write_text(GUEST.replace("BODY", body))
    known = ("--controller", "own=own.py:Own", "--cases", "mine", "--only", "little")
    done = cli("scorecard", "own", *known, "--out", "out", "--json", "--quiet")
    assert done.returncode == status, done.stderr
    if status:
        assert said in done.stderr
        assert "flow call" in done.stderr
        return
    found = {one["case"]: one for one in json.loads(done.stdout)["cases"]}["little near"]
    told = [f"little near: {found['verdict']}", *found["reasons"]]
    assert any(said.replace("4 of 4", "2 of 2") in one for one in told), told


def test_a_controller_that_never_returns_is_given_up(
    cli: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, no_guest_left: None
) -> None:
    monkeypatch.setattr("paceline.scorecards.definition.PATIENCE_S", 0.2)
    monkeypatch.setattr("paceline.scorecards.twice.PATIENCE_S", 0.2)
    (folder.parent / "own.py").write_text(GUEST.replace("BODY", "while True: time.sleep(0.01)"))
    known = ("--controller", "own=own.py:Own", "--cases", "mine", "--only", "little")
    done = cli("scorecard", "own", *known, "--out", "out", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "found no end after 0.2 s, expected one" in done.stdout


def test_required_grades_and_cases_are_held(cli: Run, folder: Path) -> None:
    home = folder.parent
    command = (
        "scorecard",
        "low=fixed,rate=100kbps",
        "--cases",
        "mine",
        "--only",
        "little",
        "--quiet",
    )
    (home / "least.toml").write_text('holds = ["little near"]\ngrades = { "RFC 9743 6.3" = "B", all = "E" }\n')
    done = cli(*command, "--out", "out", "--require", "least.toml", "--junit", "card.xml", "--markdown", "card.md")
    assert done.returncode == 1, done.stderr
    assert "low, RFC 9743 6.3: found E 0/2, expected B or better" in done.stdout
    assert "low, little near: found fails, expected holds" in done.stdout
    root = Xml.parse(home / "card.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("3", "2")
    assert "does not hold" in (home / "card.md").read_text()
    (home / "least.toml").write_text('grades = { all = "E" }\n')
    assert cli(*command, "--out", "out", "--require", "least.toml").returncode == 0
    for text, said in (
        ('grades = { al = "E" }', "least.toml:1: grades.al: found 'al', expected one of all"),
        ('grades = { all = "F" }', "found 'F', expected one of A, B, C, D, E"),
        ("", "found neither `grades` nor `holds`"),
        ('holds = ["littles"]', "found 'littles'"),
    ):
        (home / "least.toml").write_text(text)
        refused = cli(*command, "--out", "out", "--require", "least.toml")
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr


def test_no_case_may_fall_against_an_earlier_card(cli: Run, folder: Path) -> None:
    home = folder.parent
    known = ("--cases", "mine", "--only", "little", "--quiet")
    assert cli("scorecard", "mine=scream", *known, "--out", "before").returncode == 0
    assert cli("scorecard", "mine=scream", *known, "--out", "same", "--against", "before").returncode == 0
    low = "mine=fixed,rate=100kbps"
    fallen = cli("scorecard", low, *known, "--out", "after", "--against", "before")
    assert fallen.returncode == 1
    assert "mine, little near: found fails, expected holds, as before, or better" in fallen.stdout
    assert cli("scorecard", "mine=scream", *known, "--out", "better", "--against", "after").returncode == 0
    other = cli("scorecard", "other=scream", *known, "--out", "other", "--against", "before")
    assert (other.returncode, "found no case in common, expected one of mine" in other.stderr) == (2, True)
    (folder / "little.toml").write_text(LITTLE.replace("min = 0.3", "min = 0.1"))
    moved = cli("scorecard", "mine=scream", *known, "--out", "moved", "--against", "before")
    assert moved.returncode == 2
    assert "rate_mbps: found min 0.3 then and 0.1 now, expected one rule" in moved.stderr
    (home / "before" / "verdicts.csv").write_text("a,b\n1,2\n")
    damaged = cli("scorecard", "mine=scream", *known, "--out", "same", "--against", "before")
    assert (damaged.returncode, "expected what a scorecard wrote" in damaged.stderr) == (2, True)


def test_cases_of_two_folders_have_names_of_their_own(folder: Path) -> None:
    (folder / "8867-5.2.toml").write_text(LITTLE.partition("[variants.near]")[0] + "[rules]\nloss = { max = 1 }\n")
    with pytest.raises(StudyError, match=r"found case '8867-5\.2', which .*cases/8867-5\.2\.toml has, too"):
        cases.load([folder])


def test_a_name_with_a_star_chooses_cases() -> None:
    assert {case.file.name for case in cases.load(only=["8868-*"]).cases} >= {"8868-loss", "8868-delay"}
    assert [case.name for case in cases.load(only=["8868-loss 1 %"]).cases] == ["8868-loss 1 %"]
    with pytest.raises(UsageError, match="did you mean '8868-oscillation'"):
        cases.load(only=["8868-oscilation"])


def test_the_readers_of_the_cases_are_those_of_the_repository() -> None:
    assert {path.stem for path in (ROOT / "scorecard" / "cases").glob("*.toml")} == {
        case.file.name for case in cases.load().cases
    }


ALTERED = """\
from aimd import Aimd

class Double(Aimd):
    def answer(self):
        return {"target_mbps": 2.0 * self.rate, "pacing_mbps": 3.0 * self.rate}

class Unmarked:
    def __init__(self, packet):
        self.sent_s, self.arrived_s, self.marked = packet.sent_s, packet.arrived_s, False

class Deaf(Aimd):
    def report(self, now_s, packets):
        return super().report(now_s, [Unmarked(packet) for packet in packets])
"""
SHORTER = (
    ('duration = "60s"', 'duration = "20s"'),
    ('"20s"\nsample', '"8s"\nsample'),
    ('"40s"\nsample', '"8s"\nsample'),
)
"""Times of cases, and of their warm-ups, that are enough to see an alteration."""
SEEN = {
    "short-9743-5.1.2-bufferbloat 5 Mbit/s": {"steady"},
    "short-9743-6.1-grid 1 Mbit/s, 100 ms": {"steady", "double"},
    "short-9743-7.1-marks": {"deaf"},
}
"""Cases that the unaltered controller passes, with the alterations that each of them sees."""


def copy_of_case(name: str, folder: Path, seeds: int, shorter: tuple[tuple[str, str], ...] = ()) -> None:
    """Another case, `short-NAME`: of so many seeds, and of other times."""
    text = (ROOT / "scorecard" / "cases" / f"{name}.toml").read_text()
    for long, short in shorter:
        text = text.replace(long, short)
    text = re.sub("^(seeds|few) = .*\n", "", text, flags=re.MULTILINE)
    (folder / f"short-{name}.toml").write_text(f'seeds = {seeds}\nfew = "an alteration is large"\n{text}')


def altered(cli: Run, folder: Path, only: list[str]) -> dict[str, set[str]]:
    """By case that the example of a controller passes, its alterations that do not."""
    (folder.parent / "altered.py").write_text(ALTERED)
    known = ["--controller", f"aimd={ROOT / 'examples' / 'guests' / 'aimd.py'}:Aimd"]
    for name in ("double", "deaf"):
        known += ["--controller", f"{name}=altered.py:{name.capitalize()}"]
    chosen = [word for name in only for word in ("--only", name)]
    known += ["--cases", str(folder), *chosen]
    done = cli("scorecard", "aimd", "steady=aimd,factor=1.0", "double", "deaf", *known, "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, str]] = {}
    for one in json.loads(done.stdout)["cases"]:
        found.setdefault(one["case"], {})[one["controller"]] = one["verdict"]
    return {
        case: {label for label, word in words.items() if word != HOLDS}
        for case, words in found.items()
        if words["aimd"] == HOLDS
    }


def test_each_alteration_of_a_controller_fails_the_cases_that_should_see_it(
    cli: Run, folder: Path, no_guest_left: None
) -> None:
    for name in SEEN:
        file = name.removeprefix("short-").partition(" ")[0]
        copy_of_case(file, folder, 1, SHORTER)
    assert altered(cli, folder, list(SEEN)) == SEEN


@pytest.mark.long
def test_alterations_fail_the_sections_that_should_see_them_and_no_others(
    cli: Run, folder: Path, no_guest_left: None
) -> None:
    chosen = "8868-* 9743-5.1.1-collapse 9743-5.1.2* 9743-6.1-grid 9743-7.1-ecn 9743-7.1-marks 9743-7.6*"
    for name in chosen.split():
        for path in (ROOT / "scorecard" / "cases").glob(f"{name}.toml"):
            copy_of_case(path.stem, folder, 3)
    found = altered(cli, folder, ["short-*"])
    seen = {
        label: {case for case, labels in found.items() if label in labels} for label in ("steady", "double", "deaf")
    }
    # Without a decrease every queue fills and nothing backs off; marks are no part of that.
    assert seen["steady"] >= {case for case in found if "-ecn" in case or "-queue" in case or "bufferbloat" in case}
    assert "short-9743-5.1.1-collapse" in seen["steady"]
    # Twice the rate is seen where a step is large beside the link.
    assert "short-9743-6.1-grid 1 Mbit/s, 100 ms" in seen["double"]
    assert not {case for case in seen["double"] if "-marks" in case or "-7.6" in case}
    # Marks alone tell of a queue that a delay of 50 ms does not.
    assert seen["deaf"] == {"short-9743-7.1-marks"}


def test_the_case_of_the_page_is_one(folder: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "scorecard.md").read_text()
    text = page[page.index('title = "A link that halves"') :].partition("```")[0]
    (folder / "little.toml").write_text(text)
    found = cases.load([folder], ["little"]).cases
    assert [case.name for case in found] == ["little 50 ms", "little 200 ms"]
    entries = definition.entries(found, contenders(["scream", "cubic"]), [])
    run.try_figures(Context(definition.study(entries, tmp_path), (), True), entries)


def test_the_function_answers_by_controller_section_and_case(folder: Path, tmp_path: Path) -> None:
    result = paceline.scorecard(
        ["mine=fixed,rate=1Mbps"], out=tmp_path / "out", cases=[folder], only=["little"], workers=1
    )
    assert result.controllers == ["mine"]
    mine = result["mine"]
    assert (mine["RFC 9743 6.3"], mine["all"]) == (Grade(2, 0, 0), Grade(2, 0, 0))
    assert mine["little near"].word == HOLDS
    assert {"all", "RFC 9743", "little far"} <= {*mine}
    assert set(result.verdicts["case"]) == {"little near", "little far"}
    with pytest.raises(KeyError, match="did you mean 'little near'"):
        mine["little nar"]
    with pytest.raises(KeyError, match="found controller 'yours', expected one of mine"):
        result["yours"]
    assert result.report.is_file()
    with pytest.raises(UsageError, match="found no controller"):
        paceline.scorecard([], out=tmp_path / "out")


PROGRAM = f"{sys.executable} {ROOT / 'tests' / 'guest_program.py'}"


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("dies", "the program ended (exit status: 3), expected an answer"),
        ("killed", "the program ended (signal: 9 (SIGKILL)), expected an answer"),
    ],
)
def test_a_program_that_ends_fails_its_cases(cli: Run, folder: Path, behaviour: str, said: str) -> None:
    known = ("--controller", f"own={PROGRAM} {behaviour}", "--cases", "mine", "--only", "little")
    done = cli("scorecard", "own", *known, "--out", "out", "--quiet")
    assert done.returncode == 0, done.stderr
    assert f"report: {said}" in " ".join(done.stdout.split())
    assert "4 failed" in done.stdout


@pytest.mark.long
def test_a_program_that_does_not_answer_fails_its_cases(cli: Run, folder: Path) -> None:
    known = ("--controller", f"own={PROGRAM} silent", "--cases", "mine", "--only", "little near")
    done = cli("scorecard", "own", *known, "--out", "out", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "the program did not answer for 10 s" in " ".join(done.stdout.split())


def test_our_own_controllers_run_twice_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    run_once, count = twice._run, iter(range(20, 99))

    def farther(entry: definition.Entry, data: Sequence[str]) -> Result:
        """The run, over a path that is longer each time."""
        delay = ("links.bottleneck.delay", f'"{next(count)}ms"')
        return run_once(replace(entry, condition=replace(entry.condition, settings=(delay,))), data)

    monkeypatch.setattr(twice, "_run", farther)
    entries = definition.entries(cases.load(only=["8867-5.1"]).cases, contenders(["scream"]), [])
    with pytest.raises(
        ControllerError, match=r"controller scream: found another answer in a second run.*: at .* s, flow"
    ):
        twice.expect_alike(entries, [])
