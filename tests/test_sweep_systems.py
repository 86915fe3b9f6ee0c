"""Sweeps of several systems: named sets, scenarios of designs, recorded runs, paired figures, tables and curves."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

import paceline
from conftest import Run
from paceline.errors import StudyError
from paceline.sweeps.definition import load
from paceline.sweeps.engine import SweepResult, run_sweep
from paceline.sweeps.figures import Expression, Selection

LINE = """\
name = "one"
duration = "3s"
sample = "1s"
[links.a]
rate = "4Mbps"
delay = "10ms"
queue = { packets = 20 }
[flows.s1]
transport = "tcp"
controller = "newreno"
source = { kind = "bulk" }
path = ["a"]
"""
TWO = f"""{LINE}
[links.b]
rate = "4Mbps"
delay = "10ms"
queue = {{ packets = 20 }}
[flows.s2]
transport = "tcp"
controller = "newreno"
source = {{ kind = "bulk" }}
path = ["a", "b"]
"""
STUDY = """\
name = "systems"
title = "Systems on two topologies"
scenario = "one.toml"
published = "published.csv"

[factors.system]
default = "newreno"
[factors.system.sets.newreno]
"flows.*.controller" = "newreno"
[factors.system.sets.cubic]
"flows.*.controller" = "cubic"
[factors.system.sets.udp]
"flows.*.transport" = "udp"
"flows.*.controller" = "none"
"flows.*.source" = { kind = "cbr", rate = "1Mbps" }

[factors.delay]
path = "links.*.delay"
unit = "ms"
levels = [10, 50]

[designs.one]
kind = "factorial"

[designs.two]
kind = "factorial"
scenario = "two.toml"
seeds = [1, 2]
set = { "flows.*.start_within" = "200ms" }
[designs.two.levels]
delay = [10]
system = ["newreno", "udp"]

[recorded.other]
file = "other.csv"
where = { set = "a" }

[metrics.rate]
kind = "summary-over"
path = "flows.*.throughput_mbps"
statistic = "sum"

[metrics.lost]
kind = "summary-ratio"
path = "flows.*.packets_received"
of = "flows.*.packets_sent"

[rules.above]
help = "Above at 80 % of the points."
between = [80, 100]
direction_between = [50.01, 100]

[tables.rates]
of = "one"
beside = "other"
rows = "system"
columns = "delay"
metric = "rate"

[tables.metrics]
of = "one[delay=10]"
rows = "system"
levels = ["udp"]
[tables.metrics.metrics]
rate = "rate, Mbit/s"
lost = "arrived"

[pictures.curves]
kind = "curves"
metric = "rate"
lines = "system"
beside = "another simulator"
panels = [{ of = "one", over = "delay", title = "one", beside = "other" }, { of = "two", over = "delay" }]
"""
OTHER = """\
set,system,delay,rate,status
a,newreno,10,3.5,ok
a,cubic,10,3.8,reset
a,newreno,50,1.0,ok
b,newreno,10,9.9,ok
"""
PUBLISHED = """\
id,experiment,where,kind,statement,published,unit,metric,rule,note
c1,one[system=newreno],here,claim,NewReno is above UDP,,%,share-above rate one[system=udp],above,
c2,"other[system=newreno, delay=10]",elsewhere,claim,NewReno is above UDP,,%,share-above rate one[system=udp],above,
"""


@pytest.fixture
def systems(tmp_path: Path) -> Path:
    """The folder of a sweep of three systems on two topologies."""
    folder = tmp_path / "systems"
    folder.mkdir()
    files = {"one.toml": LINE, "two.toml": TWO, "study.toml": STUDY, "other.csv": OTHER, "published.csv": PUBLISHED}
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def result(systems: Path, tmp_path: Path) -> SweepResult:
    """What it gives."""
    return run_sweep(systems, out=tmp_path / "out", workers=1)


def frame(result: SweepResult) -> pd.DataFrame:
    """Own rows and recorded ones, as figures see them."""
    return pd.concat([result.results, *(one.frame() for one in result.sweep.recorded.values())], ignore_index=True)


def figure(result: SweepResult, experiment: str, metric: str) -> float | None:
    """A figure as published.csv writes it."""
    sweep = result.sweep
    selection = Selection.read(experiment, sweep.known_designs, sweep.factors)
    return Expression.read(metric, sweep.known_designs, sweep.factors, sweep.metrics).of(selection, frame(result))


def test_each_design_has_its_scenario_its_seeds_and_the_sets_of_its_level(result: SweepResult) -> None:
    rows = result.results
    assert (rows["error"].isna().all(), len(rows)) == (True, 3 * 2 + 2 * 2)
    [two] = rows[(rows["design"] == "two") & (rows["factor.system"] == "udp") & (rows["seed"] == 2)].to_dict("records")
    assert two["parameter.links.b.delay"] == "10ms"
    assert [two[f"parameter.flows.{name}.transport"] for name in ("s1", "s2")] == ["udp", "udp"]
    assert "two.toml" in two["command"]
    assert "flows.s2.start_within" in two["command"]
    assert two["metric.rate"] == pytest.approx(2.0, rel=0.02), "the sum over both flows"
    cubic = rows[(rows["factor.system"] == "cubic") & (rows["factor.delay"] == 50)]
    assert list(cubic["parameter.links.a.delay"]) == ["50ms"]


def test_pairs_differ_only_in_what_selections_fix(result: SweepResult) -> None:
    rows = result.results.set_index(["design", "factor.system", "factor.delay"])["metric.rate"]
    ratios = [rows["one", "newreno", delay] / rows["one", "udp", delay] for delay in (10.0, 50.0)]
    assert figure(result, "one[system=newreno]", "share-above rate one[system=udp]") == 100.0 * sum(
        ratio > 1 for ratio in ratios
    ) / len(ratios)
    product = ratios[0] * ratios[1]
    assert figure(result, "one[system=newreno]", "paired-ratio rate one[system=udp]") == pytest.approx(product**0.5)
    assert figure(result, "one[system=newreno]", "share-near rate one[system=newreno]") == 100.0
    # Runs measured elsewhere know one delay of both, and what they do not know has no pair.
    near = figure(result, "one[system=newreno, delay<=10]", "share-near rate other")
    own = rows["one", "newreno", 10.0]
    assert near == (100.0 if abs(own - 3.5) <= 0.35 else 0.0)
    assert figure(result, "one[delay>=51]", "share-above rate other") is None
    both = figure(result, "one+two[system=udp, delay=10]", "mean rate")
    assert both is not None
    assert 1.0 < both < 2.0


def test_claims_are_judged_wherever_they_are_looked_for(result: SweepResult) -> None:
    assert [line.published.where for line in result.comparison] == ["here", "elsewhere"]
    assert result.comparison[1].ours == 100.0
    assert result.comparison[1].verdict == "holds"


def test_tables_and_curves_have_recorded_runs_beside(result: SweepResult) -> None:
    table = (result.out / "tables" / "rates.md").read_text().splitlines()
    assert table[0] == "| system | 10 ms | 50 ms |"
    assert [line.split(" | ")[0] for line in table[2:]] == ["| newreno", "| cubic", "| udp"]
    assert "(3.5)" in table[2]
    assert "(3.8, reset)" in table[3]
    assert "9.9" not in "".join(table), "of another set"
    assert (result.out / "tables" / "metrics.md").read_text().splitlines()[2].startswith("| udp | 0.996 | ")
    figure = result.sweep.pictures["curves"].draw(result.sweep, frame(result))
    first = figure.axes[0]
    lines = {line.get_label(): line for line in first.lines}
    assert len(lines["newreno"].get_xdata()) == 2
    dashed = [line for line in first.lines if line.get_linestyle() == "--" and len(line.get_xdata())]
    assert sorted(len(line.get_xdata()) for line in dashed) == [1, 2]
    assert [list(line.get_ydata()) for line in first.lines if line.get_marker() == "x" and len(line.get_xdata())] == [
        [3.8]
    ]
    assert (result.out / "plots" / "curves.png").is_file()


def test_a_readme_gets_claims_and_tables_between_its_marks(systems: Path, cli: Run) -> None:
    readme = systems / "README.md"
    readme.write_text(
        "# Systems\n<!-- claims: by the program -->\n<!-- end of claims -->\n"
        "<!-- table rates: by the program -->\nold\n<!-- end of table -->\n"
    )
    shutil.copy(systems / "study.toml", systems / "curves.png")
    done = cli("study", systems, "--out", "out", "--write-verdict")
    assert done.returncode == 0, done.stderr
    text = readme.read_text()
    assert "| claim | here | elsewhere |" in text
    assert "| NewReno is above UDP |" in text
    assert "| system | 10 ms | 50 ms |" in text
    assert "\nold\n" not in text
    assert (systems / "curves.png").read_bytes().startswith(b"\x89PNG")
    readme.write_text("<!-- table rate: by the program -->\n<!-- end of table -->\n")
    done = cli("study", systems, "--out", "out", "--resume", "--write-verdict")
    assert done.returncode == 1
    assert "found mark 'table rate', expected one of verdict, claims, table rates" in done.stderr


def test_judging_otherwise_needs_no_new_runs(systems: Path, tmp_path: Path) -> None:
    run_sweep(systems, out=tmp_path / "out", workers=1)
    text = (systems / "study.toml").read_text().replace("[80, 100]", "[90, 100]")
    (systems / "study.toml").write_text(text.replace('levels = ["udp"]', 'levels = ["cubic"]'))
    assert run_sweep(systems, out=tmp_path / "out", workers=1, resume=True).state.taken_over == 10
    (systems / "two.toml").write_text(TWO.replace('"3s"', '"2s"'))
    with pytest.raises(StudyError, match="another definition"):
        run_sweep(systems, out=tmp_path / "out", workers=1, resume=True)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'default = "newreno"',
            'default = "reno"',
            "factors.system: found level 'reno', expected one of newreno, cubic",
        ),
        ('default = "newreno"', 'unit = "ms"', "factors.system.unit: found beside `sets`"),
        ('system = ["newreno", "udp"]', 'system = ["tcp"]', "designs.two: found system 'tcp', expected one of newreno"),
        ('scenario = "two.toml"', 'scenario = "three.toml"', "scenario: found 'three.toml', which is no file"),
        ("seeds = [1, 2]", "seeds = [-1]", "designs.two.seeds: found -1, expected a whole number"),
        ('path = "links.*.delay"', 'path = "nodes.*.delay"', "nodes.*.delay: found nothing that `*` stands for"),
        ('file = "other.csv"', 'file = "others.csv"', "recorded.other.file: found 'others.csv', which is no file"),
        ('where = { set = "a" }', 'where = { kind = "a" }', "found no column 'kind', expected one: set, system"),
        ('where = { set = "a" }', 'where = { set = "c" }', "recorded.other: found no line of"),
        ("[recorded.other]", "[recorded.one]", "recorded.one: found a design of the same name"),
        (
            'rows = "system"\ncolumns',
            'rows = "systems"\ncolumns',
            "tables.rates.rows: found 'systems', expected one of",
        ),
        ('columns = "delay"\n', "", "tables.rates: expected either `metric` over `columns`, or `metrics`"),
        ('levels = ["udp"]', 'levels = ["tcp"]', "tables.metrics.levels: found system 'tcp', expected one of newreno"),
        ('lines = "system"', 'lines = "flow"', "pictures.curves.lines: found 'flow', expected one of system, delay"),
        ('over = "delay", title', 'over = "rate", title', "pictures.curves.panels: 1.over: found 'rate'"),
        ('of = "two", over', 'of = "three", over', "found selection 'three', expected one of one, two, other"),
    ],
)
def test_a_wrong_definition_is_said(systems: Path, old: str, new: str, said: str) -> None:
    text = (systems / "study.toml").read_text()
    assert old in text
    (systems / "study.toml").write_text(text.replace(old, new))
    with pytest.raises((StudyError, paceline.ScenarioError)) as found:
        load(systems).overrides(load(systems).experiment(0))
    assert said in str(found.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a,newreno,10,fast,ok", "other.csv: line 2: rate: found 'fast', expected a number"),
        ("a,tcp,10,1.0,ok", "other.csv: line 2: system: found system 'tcp', expected one of newreno"),
        ("a,newreno,,1.0,ok", "other.csv: line 2: delay: found '', expected a number"),
    ],
)
def test_a_wrong_recorded_run_is_said(systems: Path, line: str, said: str) -> None:
    (systems / "other.csv").write_text(f"set,system,delay,rate,status\n{line}\n")
    with pytest.raises(StudyError) as found:
        load(systems)
    assert said in str(found.value)


@pytest.mark.parametrize(
    ("experiment", "said"),
    [
        ("one+none", "expected one of one, two, other"),
        ("one+one", "expected one of one, two, other"),
        ("one+two/1", "expected one design before /1"),
        ("one[system=tcp]", "found system 'tcp', expected one of newreno, cubic, udp"),
        ("one[system>=udp]", "expected a number behind >="),
        ("one[delay]", "expected FACTOR=VALUE in brackets"),
    ],
)
def test_a_wrong_selection_is_said(systems: Path, experiment: str, said: str) -> None:
    sweep = load(systems)
    with pytest.raises(StudyError) as found:
        Selection.read(experiment, sweep.known_designs, sweep.factors)
    assert said in str(found.value)
