"""`paceline check`: figures of runs against bands, and against those of an earlier build or controller."""

import json
import shlex
import shutil
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from conftest import CALL, ROOT, Run, redefined

CHECK = """\
scenario = "call.toml"
seeds = 2

[bands]
flows.video.throughput_mbps = { min = 0.1, max = 8 }
"flows.*.loss_ratio" = { max = 0.2 }
flows.video.queue_delay_ms.p95 = { max = 1000, statistic = "mean" }
metrics.late_delay = { max = 1000 }

[metrics.late_delay]
kind = "series"
column = "one_way_delay_ms"
statistic = "max"
spans = [[2.0, 3.0]]
"""
MINE = """\
class Mine:
    steers = "media"

    def __init__(self, flow):
        pass

    def start(self, now_s):
        return {"target_mbps": RATE}

    def report(self, now_s, packets):
        return {}
"""


@pytest.fixture
def home(tmp_path: Path, cli: Run) -> Path:
    """The folder in which `cli` works, with a check and its scenario."""
    folder = tmp_path / "cwd"
    (folder / "call.toml").write_text(CALL.replace('"10s"', '"3s"').replace('["5s", "4Mbps"]', '["1s", "4Mbps"]'))
    (folder / "check.toml").write_text(CHECK)
    return folder


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def changed(home: Path, old: str, new: str, file: str = "check.toml") -> None:
    text = (home / file).read_text()
    assert old in text
    (home / file).write_text(text.replace(old, new))


def test_bands_that_hold_end_well_and_leave_nothing(cli: Run, home: Path) -> None:
    before = sorted(home.iterdir())
    done = cli("check", "check.toml")
    assert done.returncode == 0, done.stderr
    assert "4 of 4 figures hold in 2 runs" in done.stdout
    assert "flows.video.loss_ratio" in done.stdout, "the star stands for the flow"
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert sorted(home.iterdir()) == before


def test_a_band_that_does_not_hold_is_told_to_people_and_to_services(cli: Run, home: Path) -> None:
    changed(home, "max = 8", "max = 0.2")
    done = cli("check", "check.toml", "--junit", "out.xml", "--markdown", "out.md")
    assert done.returncode == 1
    assert "✗" in done.stdout
    command = next(line for line in done.stdout.splitlines() if line.startswith("paceline run "))
    alone = json.loads(cli(*shlex.split(command)[1:], "--json").stdout)
    found = alone["flows"]["video"]["throughput_mbps"]
    assert found > 0.2, "the command shows it alone"
    assert f"seed 1: found {found:.6g}, expected at most 0.2" in done.stdout
    root = Xml.parse(home / "out.xml").getroot()
    assert root.attrib == {"name": "paceline check check", "tests": "4", "failures": "1", "errors": "0"}
    [case] = [one for one in root.iter("testcase") if one.find("failure") is not None]
    assert (case.get("classname"), case.get("name")) == ("check.call", "flows.video.throughput_mbps")
    assert command in (case.findtext("failure") or "")
    text = (home / "out.md").read_text()
    assert text.startswith("**check: does not hold.** 3 of 4 figures hold in 2 runs.\n\n|  | scenario |")
    first = text.splitlines()[4]
    assert first.startswith("| ✗ | call | flows.video.throughput_mbps | 0.1 to 0.2 |"), "it stands above all that hold"
    assert command in text


def test_the_outcome_is_one_document_for_programs(cli: Run, home: Path) -> None:
    changed(home, "max = 8", "max = 0.2")
    done = cli("check", "check.toml", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["holds"], found["runs"]) == (1, False, 2)
    assert [one["figure"] for one in found["verdicts"] if not one["holds"]] == ["flows.video.throughput_mbps"]


def test_several_scenarios_have_bands_of_their_own(cli: Run, home: Path) -> None:
    (home / "two.toml").write_text(
        'seeds = [3]\nset = { "flows.video.controller.profile" = "rfc8298" }\n'
        "[bands]\nflows.video.throughput_mbps = { min = 1 }\n"
        '[scenarios.near]\nfile = "call.toml"\n'
        '[scenarios.far]\nfile = "call.toml"\nset = { "links.bottleneck.delay" = "80ms" }\n'
        "bands = { flows.video.one_way_delay_ms.p50.min = 80, flows.video.throughput_mbps.min = 0 }\n"
    )
    done = cli("check", "two.toml", "--json")
    assert done.returncode == 0, done.stderr
    told = [(one["scenario"], one["figure"], one["expected"]) for one in json.loads(done.stdout)["verdicts"]]
    assert told == [
        ("near", "flows.video.throughput_mbps", "at least 1"),
        ("far", "flows.video.throughput_mbps", "at least 0"),
        ("far", "flows.video.one_way_delay_ms.p50", "at least 80"),
    ]


# Against earlier figures.


@pytest.fixture
def recorded(cli: Run, home: Path) -> Path:
    """A record of a check whose throughput must stay near."""
    changed(home, "{ min = 0.1, max = 8 }", '{ within = "1%" }')
    done = cli("check", "check.toml", "--record", "base")
    assert (done.returncode, done.stderr) == (0, "recorded in base\n")
    return home / "base"


def test_the_same_build_is_within_its_own_record(cli: Run, recorded: Path) -> None:
    done = cli("check", "check.toml", "--against", "base")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "within 1 % of" in done.stdout
    assert "against base (0." in done.stdout, "and which build that was"
    assert {one.name for one in recorded.iterdir()} == {"check.json"}


def test_another_version_of_a_controller_is_caught(cli: Run, home: Path) -> None:
    (home / "check.toml").write_text(
        'scenario = "call.toml"\nagainst = "base"\nset = { "flows.video.controller" = "mine" }\n'
        'bands = { flows.video.throughput_mbps = { within = "5%" }, flows.video.loss_ratio = { within = 0.01 } }\n'
    )
    for rate, status in (("2.0", 0), ("2.04", 0), ("2.5", 1)):
        (home / "mine.py").write_text(MINE.replace("RATE", rate))
        wanted = ["--record", "base"] if not (home / "base").exists() else []
        done = cli("check", "check.toml", "--controller", "mine=mine.py:Mine", *wanted)
        assert done.returncode == status, done.stdout + done.stderr
    assert "flows.video.throughput_mbps" in done.stdout
    assert "at most" in done.stdout


def test_a_run_in_a_folder_is_repeated_without_a_file(cli: Run, home: Path) -> None:
    assert cli("run", "call.toml", "--out", "out/call", "--seed", "4").returncode == 0
    done = cli("check", "--against", "out/call")
    assert done.returncode == 0, done.stderr
    assert "flows.video.one_way_delay_ms.p95" in done.stdout
    summary = home / "out/call/summary.json"
    table = json.loads(summary.read_text())
    table["flows"]["video"]["throughput_mbps"] *= 1.1
    summary.write_text(json.dumps(table))
    assert cli("check", "--against", "out/call").returncode == 1
    assert cli("check", "--against", "out/call", "--within", "15%").returncode == 0


def test_near_zero_a_part_means_nothing_and_a_floor_does(cli: Run, home: Path) -> None:
    assert cli("run", "call.toml", "--out", "out/call").returncode == 0
    summary = home / "out/call/summary.json"
    table = json.loads(summary.read_text())
    table["flows"]["video"]["loss_ratio"] += 0.0005
    summary.write_text(json.dumps(table))
    done = cli("check", "--against", "out/call", "--json")
    assert done.returncode == 0, "less than 0.1 % of the packets"


def test_a_comment_changes_no_scenario_and_a_value_does(cli: Run, home: Path, recorded: Path) -> None:
    changed(home, "[links", "# The only link.\n[links", "call.toml")
    assert cli("check", "check.toml", "--against", "base").returncode == 0
    changed(home, 'delay = "10ms"', 'delay = "11ms"', "call.toml")
    done = cli("check", "check.toml", "--against", "base")
    assert done.returncode == 2
    assert "base/check.json: scenario 'call' is another one than was recorded there" in done.stderr


# Wrong input.


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("throughput_mbps = {", "througput_mbps = {", "check.toml:5: bands.flows.video.througput_mbps: found"),
        ("throughput_mbps = {", "througput_mbps = {", "did you mean 'throughput_mbps'?"),
        ("queue_delay_ms.p95 =", "queue_delay_ms =", "found a table, expected a figure in it: flows.video.queue"),
        ("throughput_mbps =", "controller =", "found 'scream', expected a figure that is a number"),
        ("queue_delay_ms.p95 =", "goodput_mbps.p95 =", "is a figure, expected the band there"),
        ("max = 8", "most = 8", "found key 'most', expected one of min, max, within, floor, statistic"),
        ("max = 8", "max = 0.05", "found min 0.1 above max 0.05, expected at most that"),
        ("max = 8", "max = nan", "found nan, expected a number"),
        ("{ min = 0.1, max = 8 }", "{ floor = 1 }", "found no limit, expected min, max or within"),
        ("{ min = 0.1, max = 8 }", "7", "found 7, expected a table such as { max = 100 }"),
        ("{ min = 0.1, max = 8 }", '{ within = "near" }', "found 'near', expected a part such as '5%'"),
        (
            "{ min = 0.1, max = 8 }",
            '{ within = "5%" }',
            "found `within` and no earlier figures, expected --against DIR",
        ),
        ('"mean"', '"avg"', "expected one of each, mean, median, min, max"),
        ("late_delay = {", "late_dealy = {", "did you mean 'late_delay'?"),
        ('"one_way_delay_ms"', '"delays"', "check.toml:10: metrics.late_delay: found column 'delays'"),
        ("call.toml", "nowhere.toml", "check.toml:1: scenario: nowhere.toml: no such scenario file"),
        ('scenario = "call.toml"', "", "found no scenario, expected scenario ="),
        ("seeds = 2", "seeds = 0", "check.toml:2: seeds: found 0, expected a count"),
        ("seeds = 2", "seeds = [1, 1]", "found 1 more than once"),
        ("[bands]", "[bands", "at line 4"),
        ('"flows.*.loss_ratio"', "flows.*.loss_ratio", "at line 6, column 7"),
    ],
)
def test_a_slip_in_the_file_is_named(cli: Run, home: Path, old: str, new: str, said: str) -> None:
    changed(home, old, new)
    done = cli("check", "check.toml", "--junit", "out.xml")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (home / "out.xml").exists()


def test_earlier_figures_that_are_missing_or_others_are_named(cli: Run, home: Path, recorded: Path) -> None:
    def said(*arguments: str) -> str:
        done = cli("check", *arguments)
        assert done.returncode == 2, done.stdout
        assert "Traceback" not in done.stderr
        return done.stderr

    assert cli("run", "call.toml", "--out", "run").returncode == 0
    (home / "study").mkdir()
    (home / "study" / "results.parquet").write_text("")
    assert "found neither FILE nor --against DIR" in said()
    assert "no such check" in said("nowhere.toml")
    assert "expected the check's FILE as well" in said("--against", "base")
    assert "found a single run, which is repeated without FILE" in said("check.toml", "--against", "run")
    assert "paceline study --strict" in said("--against", "study")
    assert "no such folder" in said("--against", "nowhere")
    assert "found no earlier result there" in said("--against", ".")
    assert "expected a part such as" in said("--against", "run", "--within", "near")
    assert "expected `within` of its bands" in said("check.toml", "--within", "5%")
    changed(home, "seeds = 2", "seeds = [2, 9]")
    assert "found no run of 'call' with seed 9, expected it recorded; found seeds 1, 2" in said(
        "check.toml", "--against", "base"
    )
    (recorded / "check.json").write_text("{}")
    assert "found a damaged file" in said("check.toml", "--against", "base")


def test_outputs_are_asked_for_before_any_run(cli: Run, home: Path) -> None:
    (home / "file").write_text("")
    for arguments in (("--junit", "nowhere/out.xml"), ("--markdown", "."), ("--record", "file")):
        done = cli("check", "check.toml", *arguments)
        assert done.returncode == 1
        assert "expected a file" in done.stderr or "is not there" in done.stderr or "expected a folder" in done.stderr


def test_a_run_that_fails_is_an_error_and_no_record(cli: Run, home: Path) -> None:
    (home / "mine.py").write_text(MINE.replace("RATE", "1.0").replace("pass", "raise ValueError('\\x00]]>')"))
    changed(home, "seeds = 2", 'seeds = 2\nset = { "flows.video.controller" = "mine" }')
    mine = ["--controller", "mine=mine.py:Mine"]
    done = cli("check", "check.toml", *mine, "--junit", "out.xml", "--markdown", "out.md", "--record", "base")
    assert done.returncode == 1
    assert "nothing was recorded: runs failed" in done.stderr
    assert not (home / "base" / "check.json").exists()
    root = Xml.parse(home / "out.xml").getroot()
    assert root.get("errors") == "2"
    errors = [one.get("message") or "" for one in root.iter("error")]
    assert errors[0].startswith("ValueError: \\x00]]>"), "the text of a stranger"
    assert "2 runs failed" in (home / "out.md").read_text()


def test_names_of_strangers_break_no_report(cli: Run, home: Path) -> None:
    name = "<b>|`x`[31m"
    (home / "call.toml").write_text((home / "call.toml").read_text().replace("[flows.video]", f'[flows."{name}"]'))
    (home / "check.toml").write_text('scenario = "call.toml"\nbands = { "flows.*.throughput_mbps" = { max = 0 } }\n')
    done = cli("check", "check.toml", "--junit", "out.xml", "--markdown", "out.md")
    assert done.returncode == 1, done.stderr
    assert Xml.parse(home / "out.xml").getroot().get("failures") == "1"
    table = [line for line in (home / "out.md").read_text().splitlines() if line.startswith("| ✗")]
    assert len(table) == 1
    assert "<b>" not in table[0]
    assert "\\|" in table[0]


# Studies.


@pytest.fixture
def study(home: Path) -> Path:
    """A small study with rules."""
    return Path(shutil.copytree(ROOT / "studies" / "first-sweep", home / "sweep"))


@pytest.mark.usefixtures("unpainted")
def test_a_study_whose_rule_does_not_hold_ends_with_status_1_if_strict(cli: Run, study: Path) -> None:
    assert cli("study", study, "--out", "out", "--strict").returncode == 0
    redefined(study, "between = [5, 1000000]\n", "between = [5000, 1000000]\n")
    redefined(study, "direction_between = [0, 1000000]", "direction_between = [4000, 1000000]")
    assert cli("study", study, "--out", "out").returncode == 0, "without it, a verdict is no fault"
    done = cli("study", study, "--out", "out", "--strict")
    assert done.returncode == 1
    assert "--strict: longer: does not hold: found " in done.stderr
    assert " %, expected 4000 to 1e+06" in done.stderr


def test_a_study_of_which_nothing_is_judged_cannot_be_strict(cli: Run, study: Path) -> None:
    text = (study / "study.toml").read_text().replace('published = "published.csv"\n', "")
    (study / "study.toml").write_text(text)
    done = cli("study", study, "--out", "out", "--strict")
    assert done.returncode == 2
    assert "found no published figure" in done.stderr
