"""Sweeps of several systems: named sets, scenarios of designs, recorded runs, paired figures, tables and curves."""

import re
import shutil
from pathlib import Path

import pytest

import paceline
from conftest import Run
from paceline.errors import StudyError
from paceline.studies.definition import load
from paceline.studies.engine import run_study
from paceline.studies.experiment import Context
from paceline.studies.outcomes import StudyResult
from paceline.studies.rows import Rows

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

[macros]
"share_above(metric, one, other)" = '''
SELECT 100 * avg((first > second)::INT) FROM (
    SELECT avg(metric) FILTER (system = one) AS first, avg(metric) FILTER (system = other) AS second
    FROM selected GROUP BY delay
) WHERE first IS NOT NULL AND second IS NOT NULL'''

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
of = "design = 'one' AND delay = 10"
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
c1,one,here,claim,NewReno is above UDP,,%,"share_above(rate, 'newreno', 'udp')",above,
c2,"design IN ('one','other') AND delay=10",there,claim,it is above UDP,,%,"share_above(rate,'newreno','udp')",above,
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
def result(systems: Path, tmp_path: Path) -> StudyResult:
    """The study's results."""
    return run_study(systems, out=tmp_path / "out", workers=1)


def rows(result: StudyResult) -> Rows:
    """Own rows and recorded ones, as figures see them."""
    return Rows(result.study).fill(result.results_file)


def test_each_design_has_its_scenario_its_seeds_and_the_sets_of_its_level(result: StudyResult) -> None:
    rows = result.results
    assert (rows["error"].isna().all(), len(rows)) == (True, 3 * 2 + 2 * 2)
    [two] = rows[(rows["design"] == "two") & (rows["factor.system"] == "udp") & (rows["seed"] == 2)].to_dict("records")
    assert two["parameter.links.b.delay"] == 0.01
    assert [two[f"parameter.flows.{name}.transport"] for name in ("s1", "s2")] == ["udp", "udp"]
    assert "two.toml" in two["command"]
    assert "flows.s2.start_within" in two["command"]
    assert two["metric.rate"] == pytest.approx(2.0, rel=0.02), "the sum over both flows"
    cubic = rows[(rows["factor.system"] == "cubic") & (rows["factor.delay"] == 50)]
    assert list(cubic["parameter.links.a.delay"]) == [0.05]


def test_figures_are_sql_over_own_and_recorded_rows(result: StudyResult) -> None:
    found = result.results.set_index(["design", "factor.system", "factor.delay"])["metric.rate"]
    table = rows(result)
    above = [found["one", "newreno", delay] > found["one", "udp", delay] for delay in (10.0, 50.0)]
    assert table.figure("one", "share_above(rate, 'newreno', 'udp')") == 50.0 * sum(above)
    assert table.figure("one", "max(rate) - min(rate)") == pytest.approx(found["one"].max() - found["one"].min())
    own = result.results[(result.results["design"] == "two") & (result.results["factor.system"] == "udp")]
    assert table.figure("design = 'two' AND system = 'udp'", "rate") == pytest.approx(own["metric.rate"].mean())
    # Runs measured elsewhere know two delays of NewReno, and what they do not know has no pair.
    assert table.figure("other", "count(*)") == 3
    assert table.figure("other", "share_above(rate, 'newreno', 'udp')") is None
    assert table.figure("delay >= 51", "avg(rate)") is None
    both = table.figure("design IN ('one', 'two') AND system = 'udp' AND delay = 10", "avg(rate)")
    assert both is not None
    assert 1.0 < both < 2.0
    with pytest.raises(StudyError, match="one: found 6 points for 'rate', expected one, or an expression"):
        table.figure("one", "rate")


def test_claims_are_judged_wherever_they_are_looked_for(result: StudyResult) -> None:
    assert [line.published.where for line in result.comparison] == ["here", "there"]
    assert result.comparison[1].ours == 100.0
    assert result.comparison[1].verdict == "holds"


def test_tables_and_curves_have_recorded_runs_beside(result: StudyResult) -> None:
    table = (result.out / "tables" / "rates.md").read_text().splitlines()
    assert table[0] == "| system | 10 ms | 50 ms |"
    assert [line.split(" | ")[0] for line in table[2:]] == ["| newreno", "| cubic", "| udp"]
    assert "(3.5)" in table[2]
    assert "(3.8, reset)" in table[3]
    assert "9.9" not in "".join(table), "of another set"
    assert (result.out / "tables" / "metrics.md").read_text().splitlines()[2].startswith("| udp | 0.996 | ")
    figure = result.study.pictures["curves"].draw(result.study, rows(result))
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
        "<!-- claims ours: by the program -->\n<!-- end of claims -->\n"
        "<!-- table rates: by the program -->\nold\n<!-- end of table -->\n"
    )
    with (systems / "published.csv").open("a") as file:
        file.write("c3,one,over there,ours,UDP is slower,,%,\"share_above(rate, 'newreno', 'udp')\",above,\n")
    shutil.copy(systems / "study.toml", systems / "curves.png")
    done = cli("study", systems, "--out", "out", "--write-verdict")
    assert done.returncode == 0, done.stderr
    text = readme.read_text()
    assert "| claim | here | there |" in text
    assert "| claim | over there |" in text
    assert text.count("UDP is slower") == 1
    assert "| NewReno is above UDP |" in text
    assert "| system | 10 ms | 50 ms |" in text
    assert "\nold\n" not in text
    assert (systems / "curves.png").read_bytes().startswith(b"\x89PNG")
    readme.write_text("<!-- table rate: by the program -->\n<!-- end of table -->\n")
    done = cli("study", systems, "--out", "out", "--resume", "--write-verdict")
    assert done.returncode == 2
    assert "found mark 'table rate', expected one of verdict, claims, claims ours, table rates" in done.stderr


def test_judging_otherwise_needs_no_new_runs(systems: Path, tmp_path: Path) -> None:
    run_study(systems, out=tmp_path / "out", workers=1)
    text = (systems / "study.toml").read_text().replace("[80, 100]", "[90, 100]")
    (systems / "study.toml").write_text(text.replace('levels = ["udp"]', 'levels = ["cubic"]'))
    assert run_study(systems, out=tmp_path / "out", workers=1).state.taken_over == 10
    (systems / "two.toml").write_text(TWO.replace('"3s"', '"2s"'))
    with pytest.raises(StudyError, match="another definition"):
        run_study(systems, out=tmp_path / "out", workers=1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'default = "newreno"',
            'default = "reno"',
            "factors.system: found level 'reno', expected one of newreno, cubic, udp; did you mean 'newreno'?",
        ),
        ('default = "newreno"', 'unit = "ms"', "factors.system.unit: found beside `sets`"),
        ('system = ["newreno", "udp"]', 'system = ["tcp"]', "designs.two: found system 'tcp', expected one of newreno"),
        ('scenario = "two.toml"', 'scenario = "three.toml"', "scenario: found 'three.toml', which is no file"),
        ("seeds = [1, 2]", "seeds = [-1]", "designs.two.seeds.1: found -1, expected a whole number >= 0"),
        ('path = "links.*.delay"', 'path = "nodes.*.delay"', "nodes.*.delay: found nothing that `*` stands for"),
        ('file = "other.csv"', 'file = "others.csv"', "recorded.other.file: found 'others.csv', which is no file"),
        ('where = { set = "a" }', 'where = { kind = "a" }', "found no column 'kind', expected one: set, system"),
        ('where = { set = "a" }', 'where = { set = "c" }', "recorded.other: found no line of"),
        ("[recorded.other]", "[recorded.one]", "recorded.one: found a design of the same name"),
        (
            'rows = "system"\ncolumns',
            'rows = "systems"\ncolumns',
            "tables.rates.rows: found 'systems', expected one of system, delay; did you mean 'system'?",
        ),
        ('columns = "delay"\n', "", "tables.rates: expected either `metric` over `columns`, or `metrics`"),
        ('levels = ["udp"]', 'levels = ["tcp"]', "tables.metrics.levels: found system 'tcp', expected one of newreno"),
        ('lines = "system"', 'lines = "flow"', "pictures.curves.lines: found 'flow', expected one of system, delay"),
        ('over = "delay", title', 'over = "rate", title', "pictures.curves.panels.1.over: found 'rate'"),
        ('of = "two", over', 'of = "three", over', "pictures.curves.panels.2.of: found 'three', expected one of one"),
        ("FROM selected", "FROM select", "macros.share_above(metric, one, other): "),
    ],
)
def test_a_wrong_definition_is_said(systems: Path, old: str, new: str, said: str) -> None:
    text = (systems / "study.toml").read_text()
    assert old in text
    (systems / "study.toml").write_text(text.replace(old, new))
    with pytest.raises((StudyError, paceline.ScenarioError)) as found:
        Context(load(systems), (), True).overrides(load(systems).experiment(0))
    assert said in str(found.value)


def test_the_published_numbers_of_a_design_are_recorded_runs(systems: Path) -> None:
    definition = systems / "study.toml"
    text = definition.read_text() + '[rules.near]\nhelp = "Near."\nholds = 0.1\ndirection = 0.2\n'
    definition.write_text(text + '[recorded.paper]\npublished = "one"\n')
    numbers = [
        "p1,design = 'one' AND system = 'newreno' AND delay = 10,here,rate,a rate,4.5,Mbit/s,rate,near,",
        "p2,design = 'one' AND system = 'newreno' AND delay = 10,here,lost,a loss,0.1,,lost,near,",
        "p3,design = 'one' AND system = 'udp' AND delay = 50,here,rate,a rate,1.5,Mbit/s,rate,near,",
        "p4,design = 'two' AND system = 'udp' AND delay = 10,here,rate,of another design,9,Mbit/s,rate,near,",
        "p5,design = 'one' AND system = 'udp' AND delay > 10,here,rate,of no point,9,Mbit/s,rate,near,",
        "p6,design = 'one' AND system = 'udp' AND delay = 10,here,rate,of no metric,9,Mbit/s,2 * rate,near,",
    ]
    (systems / "published.csv").write_text(PUBLISHED + "\n".join(numbers) + "\n")
    assert load(systems).recorded["paper"].rows == (
        {"design": "paper", "number": 1, "system": "newreno", "delay": 10.0, "error": None, "rate": 4.5, "lost": 0.1},
        {"design": "paper", "number": 2, "system": "udp", "delay": 50.0, "error": None, "rate": 1.5},
    )
    for wrong, said in (
        ('published = "three"', "recorded.paper: found no published number of design 'three', expected some"),
        ('published = "one"\nfile = "other.csv"', "recorded.paper: expected either file or published"),
        ('title = "neither"', "recorded.paper: expected either file or published"),
    ):
        definition.write_text(f"{text}[recorded.paper]\n{wrong}\n")
        with pytest.raises(StudyError, match=re.escape(said)):
            load(systems)


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
    ("experiment", "metric", "said"),
    [
        ("one+none", "rate", "found 'one+none', expected one of one, other, two, or SQL: Binder Error"),
        ("speed = 10", "rate", 'Referenced column "speed" not found'),
        ("system = 'tcp'", "rate", "found 'tcp', expected one of one, two, other, system, delay, newreno, cubic, udp"),
        ("one", "avg(speed)", "found 'avg(speed)': Binder Error: Referenced column \"speed\" not found"),
        ("one", "avg(rate", "Parser Error"),
    ],
)
def test_a_wrong_figure_is_said_with_its_line(systems: Path, experiment: str, metric: str, said: str) -> None:
    text = PUBLISHED.replace("c1,one,here", f'c1,"{experiment}",here')
    text = text.replace("\"share_above(rate, 'newreno', 'udp')\",above,\nc2", f'"{metric}",above,\nc2')
    (systems / "published.csv").write_text(text)
    with pytest.raises(StudyError) as found:
        load(systems)
    assert said in str(found.value)
    assert "published.csv: c1: " in str(found.value)
