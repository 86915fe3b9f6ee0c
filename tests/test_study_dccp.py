"""The study dccp: what its definition must hold, a shortened run, and the verdicts that its arithmetic forces."""

import csv
import re
import shutil
from pathlib import Path

import pytest

import paceline
from conftest import ROOT, Run, said_before_any_run
from paceline.errors import StudyError
from paceline.overrides import as_pairs
from paceline.studies.definition import Study, load
from paceline.studies.engine import prepare, run_study
from paceline.studies.judge import DOES_NOT_HOLD, HOLDS, IN_DIRECTION
from paceline.toml import loads

DCCP = ROOT / "studies" / "dccp"
TOPOLOGIES = {"20": 3, "5-line": 2, "5-shared": 2, "5-line-loss10": 2}
PLACES = {
    "ns-2.35 as it comes", "ns-2.35, sound", "here, like ns-2",
    "here, RFCs' CCIDs and NewReno", "here, RFCs' CCIDs and CUBIC", "here, RFCs' CCIDs and BBR",
}  # fmt: skip


@pytest.fixture(scope="module")
def study() -> Study:
    return load(DCCP)


def test_the_scenarios_are_the_topologies_of_the_oracle(study: Study) -> None:
    for name, flows in TOPOLOGIES.items():
        scenario = paceline.run(DCCP / f"{name}.toml", overrides={"duration": "2s", "sample": "1s"})
        assert len(scenario.summary["flows"]) == flows
        text = study.scenarios[f"{name}.toml"]
        links = re.findall(r"\[links\.(\S+)\]", text)
        assert text.count("packets = 19") == len(links) == len(set(links))
        assert {"-".join(reversed(link.split("-"))) for link in links} == set(links), "each has one back"
        lossy = re.findall(r"\[links\.(\S+)\][^\[]*?loss = \{ kind = \"bernoulli\", ratio = 0.1 \}", text)
        assert lossy == (["pc2-r1", "s2-r1"] if name.endswith("loss10") else [])
    hops = {name: scenario_hops(study, name) for name in TOPOLOGIES}
    assert hops == {"20": [5, 5, 5], "5-line": [3, 1], "5-shared": [3, 3], "5-line-loss10": [3, 1]}


def scenario_hops(study: Study, name: str) -> list[int]:
    """How many links each flow's packets pass."""
    return [len(path.split(",")) for path in re.findall(r"^path = \[(.*)\]$", study.scenarios[f"{name}.toml"], re.M)]


def test_the_experiments_are_the_papers(study: Study) -> None:
    for name in TOPOLOGIES:
        delays, bandwidths = study.designs[f"delay-{name}"].levels, study.designs[f"bandwidth-{name}"].levels
        assert (delays["delay"][0], delays["delay"][-1], delays["bandwidth"]) == (10, 500, (30, 100))
        assert bandwidths["delay"] == (10, 30, 90)
        assert bandwidths["bandwidth"][-1] == (500 if name.endswith("loss10") else 100)
        assert {50, 80} < set(bandwidths["bandwidth"])
        assert 'duration = "100s"' in study.scenarios[f"{name}.toml"]
    systems = set(study.designs["delay-20"].levels["system"])
    assert {"tcp20", "newreno", "cubic", "bbr", "ccid2", "ccid3", "ccid2-ns2", "ccid3-ns2", "udp"} < systems


def test_packets_have_the_payload_that_ns2s_have(study: Study) -> None:
    sizes = {"ccid2-ns2": (532, 500), "ccid3-ns2": (532, 500), "ccid2-ns2-1000": (1032, 1000), "tcp20": (1040, 1000)}
    for system, (on_the_link, payload) in sizes.items():
        overrides = {
            path.replace("*", flow): loads(f"value = {text}")["value"]
            for path, text in as_pairs(study.factors["system"].sets[system])
            for flow in ("s1", "s2")
        }
        run = paceline.run(DCCP / "5-line.toml", overrides={**overrides, "duration": "20s"})
        for flow in run.summary["flows"].values():
            assert flow["goodput_mbps"] / flow["throughput_mbps"] == pytest.approx(payload / on_the_link, rel=0.005)


def test_the_runs_of_ns2_are_all_there_and_those_that_broke_are_not_judged(study: Study) -> None:
    with (DCCP / "ns2.csv").open(newline="") as file:
        runs = list(csv.DictReader(file))
    assert (len(runs), sum(run["status"] != "ok" for run in runs)) == (312, 22)
    judged = {row.id: row for row in study.published if row.kind == "number"}
    assert len(judged) == len(runs)
    for run in runs:
        row = judged[f"{run['set']}-{run['topology']}-{run['system']}-{run['bandwidth']}-{run['delay']}"]
        assert row.published == float(run["throughput_mbps"])
        assert row.rule == ("ns2" if run["status"] == "ok" else "broken")
    assert judged["default-20-ccid3-ns2-80-10"].note == "ns-2 aborted: its Ack Vector overflowed"


def test_every_claim_is_judged_like_ns2_and_by_the_rfcs(study: Study) -> None:
    places: dict[str, set[str]] = {}
    for row in study.published:
        if row.kind == "claim":
            places.setdefault(row.statement, set()).add(row.where)
    paper = {statement: found for statement, found in places.items() if not statement.startswith("a call")}
    assert len(paper) == 17
    for found in paper.values():
        assert {"ns-2.35 as it comes", "ns-2.35, sound", "here, like ns-2", "here, RFCs' CCIDs and NewReno"} <= found
    with_tcp = [found for statement, found in paper.items() if "above TCP" in statement]
    assert all(found == PLACES for found in with_tcp)
    assert all("here, like ns-2" in found for found in places.values())


@pytest.mark.parametrize(
    ("rule", "ours", "verdict"),
    [
        ("above", 80.0, HOLDS),
        ("above", 79.9, IN_DIRECTION),
        ("above", 50.0, DOES_NOT_HOLD),
        ("drop", -10.0, HOLDS),
        ("drop", -0.1, IN_DIRECTION),
        ("drop", 1.0, DOES_NOT_HOLD),
    ],
)
def test_rules_judge_at_their_borders(study: Study, rule: str, ours: float, verdict: str) -> None:
    assert study.rules[rule].verdict(None, ours) == verdict


def test_every_point_is_a_scenario(study: Study) -> None:
    bench, missing = prepare(study)
    assert missing is None
    for first, design in zip(study.firsts(), study.designs.values(), strict=True):
        seen = set()
        for number in range(len(design)):
            experiment = study.experiment(first + number * len(design.seeds))
            if experiment.point["system"] not in seen:
                seen.add(experiment.point["system"])
                bench.scenario(experiment).load()


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """The study with runs of two seconds, and few points."""
    folder = tmp_path / "dccp"
    shutil.copytree(DCCP, folder)
    for file in folder.glob("*.toml"):
        text = file.read_text().replace('duration = "100s"', 'duration = "2s"').replace('"10s"', '"1s"')
        text = re.sub(r"^delay = \[10, .*\]$", "delay = [10, 90]", text, flags=re.M)
        text = re.sub(r"^bandwidth = \[.*\]$", "bandwidth = [10, 30]", text, flags=re.M)
        file.write_text(re.sub(r"^seeds = .*$", "seeds = [1]", text, flags=re.M))
    return folder


@pytest.mark.long
@pytest.mark.usefixtures("unpainted")
def test_a_shortened_study_runs_and_judges(short: Path, tmp_path: Path) -> None:
    result = run_study(short, out=tmp_path / "out")
    rows = result.results
    assert (result.state.failed, len(rows)) == (0, len(result.study))
    line = rows[(rows["design"] == "delay-5-line") & (rows["factor.bandwidth"] == 30)].set_index(
        ["factor.system", "factor.delay"]
    )
    # A window of 20 packets: 20 x 1040 B in each round trip, from 0.1 s on, over one hop and over three.
    ours = line.loc[("tcp20", 10.0), "metric.throughput_mbps"]
    expected = sum(20 * 1040 * 8 / (2e-3 * hops * 10 + 1040 * 8 * hops / 30e6) / 1e6 for hops in (1, 3))
    assert ours == pytest.approx(expected, rel=0.12)
    assert (line["metric.throughput_mbps"] <= 60.0).all(), "two links into R1"
    calls = rows[(rows["design"] == "call-20") & (rows["factor.delay"] == 10) & (rows["factor.bandwidth"] == 30)]
    calls = calls.set_index("factor.system")
    assert (calls["metric.frames_shown"] > 0).all(), "frames of every system are shown"
    assert (calls["metric.frame_delay_p95_ms"] > 50).all(), "five hops of 10 ms"
    assert {line.published.kind for line in result.comparison} == {"claim", "number"}
    verdicts = {line.published.id: line.verdict for line in result.comparison}
    assert verdicts["drop50-ns2"] == verdicts["drop80-ns2"] == verdicts["far-ns2"] == HOLDS, "ns-2's own runs"
    assert verdicts["drop50-ns2s"] == DOES_NOT_HOLD
    assert verdicts["default-20-ccid3-ns2-80-10"] == "not judged"
    assert len(list((tmp_path / "out" / "tables").glob("*.md"))) == len(result.study.tables)
    assert (tmp_path / "out" / "plots" / "figure-3.png").is_file()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "ccid3", profile = "ns2"', 'kind = "ccid3", profile = "ns3"', "ns3"),
        ('path = "links.*.rate"', 'path = "links.*.rates"', "rates"),
        ('scenario = "5-shared.toml"', 'scenario = "5-split.toml"', "which is no file"),
        ('where = { set = "equal", topology = "20" }', 'where = { set = "even" }', "found no line of"),
    ],
)
def test_a_slip_in_the_definition_is_said_before_any_run(short: Path, cli: Run, old: str, new: str, said: str) -> None:
    assert said in said_before_any_run(cli, short, old, new)


def test_a_claim_about_an_unknown_system_is_said(short: Path) -> None:
    text = (short / "published.csv").read_text()
    (short / "published.csv").write_text(text.replace("'bbr')", "'bbr2')", 1))
    with pytest.raises(StudyError, match=r"found 'bbr2', expected one of .* did you mean 'bbr'"):
        load(short)
