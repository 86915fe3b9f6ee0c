"""A newcomer's first command: `paceline demo` without the paper's recordings, and the verdicts that it may give."""

import json
import re
from pathlib import Path

import pytest

from conftest import ROOT, Run, said_before_any_run
from paceline.studies import judge
from paceline.studies.judge import Published, Rule, judged

CALL = (ROOT / "studies" / "first-sweep" / "call.toml").read_text()
STUDY = """\
name = "own"
title = "An own study"
scenario = "call.toml"
published = "published.csv"
data = ["missing/trace.csv"]
judged_without_data = ["free"]

[experiments.one]
title = "One call"

[without_data.all]
"links.bottleneck.rate" = "5Mbps"

[metrics.rate]
kind = "summary"
path = "flows.video.throughput_mbps"

[rules.any]
help = "any number"
between = [0, 10]
direction_between = [0, 100]

[rules.none]
help = "not judged"
judged = false
"""
FIGURES = """\
id,experiment,where,kind,statement,published,unit,metric,rule,note
free,one,here,claim,a rate,,Mbit/s,rate,any,
bound,one,here,claim,a rate,,Mbit/s,rate,any,
said,one,here,claim,a word,,,,none,not a figure
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    for name, text in (("study.toml", STUDY), ("call.toml", CALL), ("published.csv", FIGURES)):
        (folder / name).write_text(text)
    return folder


@pytest.mark.long
@pytest.mark.usefixtures("unpainted")
def test_the_demo_ends_with_a_verdict_the_report_and_a_next_command_that_works(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = cli("demo")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    lines = done.stdout[done.stdout.index("It worked: 18 calls") :].splitlines()
    text = " ".join(" ".join(lines).split())
    found = re.search(r"mean rate fell from (\S+) to (\S+) Mbit/s, .* rose to (\d+) ms.* rose to (\d+) ms", text)
    assert found is not None
    before, after, plain, marked = map(float, found.groups())
    assert 10 < after + 5 < before < 20
    assert 20 < marked < plain < 300
    assert re.search(r"Verdict on generated traces: of 26 figures and claims of the paper \d+ hold", text)
    report = tmp_path / "cwd" / lines[-2].removeprefix("Look at:").strip()
    page = report.read_text()
    assert page.index("On generated traces.") < page.index("<h2")
    assert '<p class="missing"' not in page
    assert "holds on generated traces" in page

    assert lines[-1].startswith("Try next: paceline ")
    tried = cli(*lines[-1].removeprefix("Try next: paceline ").split())
    assert tried.returncode == 0, tried.stderr
    assert "flow video" in tried.stdout

    again = cli("demo")
    assert again.returncode == 0, again.stderr
    assert "18 were there already" in again.stdout


def test_a_demo_without_a_place_to_write_says_so(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "cwd" / "out").write_text("a file")
    done = cli("demo")
    assert done.returncode == 1
    assert "out/demo" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("verdict", "ours"), [(judge.HOLDS, 5.0), (judge.IN_DIRECTION, 50.0), (judge.DOES_NOT_HOLD, 500.0)]
)
def test_the_rule_is_the_same_on_generated_traces(verdict: str, ours: float) -> None:
    rule = Rule(name="any", help="", between=(0, 10), direction_between=(0, 100))
    texts = dict.fromkeys(("where", "statement", "unit", "note"), "")
    line = Published(id="a", experiment="one", kind="claim", published=None, metric="m", rule="any", **texts)
    assert judged(rule, line, ours, True, True) == judged(rule, line, ours, True) == verdict
    assert judged(rule, line, ours, False) == judge.NO_DATA
    assert judged(rule, line, ours, False, True) == f"{verdict} on generated traces"
    assert judged(rule, line, None, False, True) == judge.NO_DATA
    silent = Rule(name="none", help="", judged=False)
    assert judged(silent, line, ours, False, True) == judge.NOT_JUDGED


@pytest.mark.usefixtures("unpainted")
def test_with_the_recordings_the_verdicts_are_the_papers(cli: Run, own: Path, tmp_path: Path) -> None:
    verdicts = []
    for data in (False, True):
        if data:
            (own / "missing").mkdir()
            (own / "missing" / "trace.csv").write_text("5\n")
        done = cli("study", own, "--out", tmp_path / f"out-{data}", "--json")
        assert done.returncode == 0, done.stderr
        verdicts.append({line["id"]: line["verdict"] for line in json.loads(done.stdout)["comparison"]})
    assert verdicts[0] == {"free": "holds on generated traces", "bound": judge.NO_DATA, "said": judge.NOT_JUDGED}
    assert verdicts[1] == {"free": judge.HOLDS, "bound": judge.HOLDS, "said": judge.NOT_JUDGED}


@pytest.mark.parametrize("name", ["nothing", "said"])
def test_a_figure_that_cannot_be_judged_is_refused(cli: Run, own: Path, name: str) -> None:
    said = said_before_any_run(cli, own, '["free"]', f'["{name}"]')
    assert "study.toml" in said
    assert f"found {name!r}, expected one of free, bound" in said
