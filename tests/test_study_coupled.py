"""The study coupled: what its definition must hold, a shortened run, and what its arithmetic must come to."""

import csv
import math
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import paceline
from conftest import ROOT, Run, said_before_any_run
from paceline.studies.definition import Study, load
from paceline.studies.engine import prepare, run_study
from paceline.studies.judge import DOES_NOT_HOLD, HOLDS, IN_DIRECTION
from paceline.studies.rows import Rows
from paceline.toml import loads

COUPLED = ROOT / "studies" / "coupled"
SCENARIOS = ("dumbbell", "priorities", "ratios-2", "ratios-3", "ratios-4", "ratios-5", "video", "background")
BEYOND = ("streams", "mixed", "grid")


@pytest.fixture(scope="module")
def study() -> Study:
    return load(COUPLED)


def test_the_scenarios_are_the_papers(study: Study) -> None:
    assert set(study.scenarios) == {f"{name}.toml" for name in (*SCENARIOS, *BEYOND)}
    for name in SCENARIOS:
        text = study.scenarios[f"{name}.toml"]
        # ns-2's limit of 62 admits 61 that wait; the other link of 1 Gbit/s never fills.
        assert set(re.findall(r"packets = (\d+)", text)) == {"61", "1000"}
        assert text.count('rate = "10Mbps"') == 1
        assert text.count('from = "senders"') >= 1, "flows that share leave one machine"
        assert f'duration = "{48 if name == "video" else 300}s"' in text
    assert study.designs["section-3"].spec.set["links.bottleneck.queue.packets"] == 12
    assert study.designs["section-4"].seeds == tuple(range(1, 11))
    for name, found in (("section-3", ("apart", "active", "conservative")), ("section-4", ("apart", "conservative"))):
        assert study.designs[name].levels["coupling"] == found
        assert study.designs[name].levels["flows"] == tuple(range(1, 11))
    steps = '[["0s", 1], ["100s", 0.66], ["150s", 0.42], ["200s", 0.25], ["250s", 0.11]]'
    assert f"priority = {steps}" in study.scenarios["priorities.toml"]


@pytest.mark.parametrize(("name", "expected"), [("dumbbell", [100]), ("ratios-5", [30, 60, 120, 240, 480])])
def test_round_trips_are_as_said(name: str, expected: list[float]) -> None:
    overrides = {"duration": "5s", "warmup": "0s", "links.bottleneck.rate": "1Gbps"}
    result = paceline.run(COUPLED / f"{name}.toml", overrides=overrides)
    fastest = result.flows.groupby("flow")["srtt_ms"].min()
    assert list(fastest) == pytest.approx(expected, rel=0.01)


def test_the_study_is_of_the_papers_algorithms(study: Study) -> None:
    sets = study.factors["coupling"].sets
    assert sets is not None
    for kind in ("active", "conservative"):
        assert sets[kind]["coupling"] == {"all": {"kind": kind, "profile": "islam2014", "flows": ["*"]}}
    assert "coupling" not in sets["apart"]


def test_runs_of_ns2_are_judged_but_for_those_that_fall_in_step(study: Study) -> None:
    with (COUPLED / "ns2.csv").open(newline="") as file:
        runs = list(csv.DictReader(file))
    assert len(runs) == 20
    judged = {row.id: row for row in study.published if row.id.startswith("ns2-")}
    assert len(judged) == 3 * len(runs)
    for run in runs:
        for metric in ("queue", "loss", "utilisation"):
            row = judged[f"ns2-{run['rtt_ms']}-{run['controller']}-{run['flows']}-{metric}"]
            assert row.published == float(run[metric])
            in_step = run["controller"] == "rap" and int(run["flows"]) < 3
            assert row.rule == ("in-step" if in_step else "ns2")


def test_every_figure_of_the_paper_has_a_claim(study: Study) -> None:
    said = " ".join(row.statement for row in study.published)
    for figure in ("Figures 1 and 2", "Figures 3 and 4", "Figures 5 and 6", *(f"Figure {n}" for n in range(7, 14))):
        assert re.search(rf"{figure}\b", said), figure
    for text in ("Jain", "utilisation", "round trips", "deviates"):
        assert text in said
    published = {row.id: row.published for row in study.published if row.id.startswith(("f9-", "f13-0"))}
    assert published == {
        **{f"f9-{at}-{who}": ratio for who in ("rap", "tfrc") for at, ratio in
           {30: 1, 100: 0.66, 150: 0.42, 200: 0.25, 250: 0.11}.items()},
        "f13-0.2": 0.199, "f13-0.5": 0.499, "f13-0.8": 0.799,
    }  # fmt: skip


def topologies(study: Study, design: str) -> set[tuple[str, ...]]:
    """The parameters of a design's topologies, with the seeds."""
    names = ("bottlenecks", "traffic", "rtts", "clocks")
    points = [study.designs[design].point(number) for number in range(len(study.designs[design]))]
    return {(*(str(point[name]) for name in names), str(study.designs[design].seeds)) for point in points}


def test_detection_is_judged_on_topologies_that_no_threshold_was_trained_on(study: Study) -> None:
    search = load(ROOT / "studies" / "coupled-search")
    assert search.tuning is not None

    def levels(factor: str, designs: Sequence[str]) -> set[str]:
        return {
            str(search.designs[one].point(number)[factor])
            for one in designs
            for number in range(len(search.designs[one]))
        }

    near, far = search.tuning.roles["training"], search.tuning.roles["held_out"]
    assert (near, far) == (("near", "near-alike"), ("far", "far-alike"))
    for factor in ("bottlenecks", "load"):
        assert levels(factor, near).isdisjoint(levels(factor, far))
    assert levels("path", near) & levels("path", far) == {"plain"}
    assert {str(search.designs[one].seeds) for one in near}.isdisjoint(str(search.designs[one].seeds) for one in far)
    # Nor does the study coupled judge by any of them: no level of cross-traffic, no ratio of round trips, no seed.
    judged = topologies(study, "grid-tfrc")
    assert len(judged) >= 200
    assert judged == topologies(study, "grid-scream")
    trained = [name.split("-") for name in levels("load", near)]
    assert {name[0] for name in trained}.isdisjoint(one[1] for one in judged)
    assert {name[1] for name in trained}.isdisjoint(one[2] for one in judged)
    assert {str(search.designs[one].seeds) for one in near}.isdisjoint(one[4] for one in judged)


def test_the_truth_is_where_paths_are_narrow(study: Study) -> None:
    """A step of the truth says that both share where the common link is narrower than the sum of the others."""
    for sets in (
        study.factors["bottlenecks"].sets,
        load(ROOT / "studies" / "coupled-search").factors["bottlenecks"].sets,
    ):
        assert sets is not None
        for name, settings in sets.items():
            links = {"left": "100Mbps", "right": "100Mbps", **{
                path.split(".")[1]: rate for path, rate in settings.items() if path.endswith(".rate")
            }}  # fmt: skip
            steps = {link: rate["steps"] if isinstance(rate, dict) else [["0s", rate]] for link, rate in links.items()}
            truth = settings.get("coupling.host.truth", [["0s", [["a", "b"]]]])
            times = [at for at, _ in truth]
            assert all([at for at, _ in rates] == times for rates in steps.values() if len(rates) > 1), name
            for place, (_, groups) in enumerate(truth):
                narrow = {link for link, rates in steps.items() if rates[min(place, len(rates) - 1)][1] != "100Mbps"}
                assert narrow == ({"bottleneck"} if groups else {"left", "right"}), name


def test_the_worth_of_a_topology_is_its_flows_power(study: Study) -> None:
    """Gains come to what they are by hand, the clocks of a topology taken together."""
    rows = Rows(study)
    common = {
        "call": "tfrc",
        "bottlenecks": "two",
        "traffic": "0",
        "rtts": "1",
        "a_delay_ms": 100.0,
        "b_delay_ms": 100.0,
    }
    rows.put({**common, "sharing": "apart", "a_mbps": 1.0, "b_mbps": 4.0})
    for clocks, a in (("fine", 1.0), ("skew", 4.0)):
        rows.put({**common, "sharing": "detected-conservative", "clocks": clocks, "a_mbps": a, "b_mbps": 1.0})
    gain = rows.figure("call = 'tfrc'", "gain('detected-conservative', 'apart')")
    # The roots of 1.01 and 4.01 over 4.01 and 1.01, averaged as logarithms.
    expected = 100 * (math.exp(0.5 * (math.log(1.01) + 0.5 * math.log(1.01 * 4.01) - math.log(4.01 * 1.01))) - 1)
    assert gain == pytest.approx(expected)
    assert rows.figure("call = 'tfrc'", "carried('detected-conservative', 'apart')") == pytest.approx(-30.0)


@pytest.mark.parametrize("profile", ["searched", "steady"])
def test_a_profile_of_detection_is_the_set_that_the_search_found(profile: str) -> None:
    found = loads((ROOT / "studies" / "coupled-search" / "sets.toml").read_text())[profile]

    def detection(overrides: dict[str, object]) -> object:
        loaded = paceline.scenario.read(COUPLED / "grid.toml", overrides=overrides).load()
        return loads(loaded.core.resolved_toml)["coupling"]["host"]["detection"]

    named = detection({"coupling.host.detection.profile": profile})
    assert named == detection(found)
    assert named != detection({})


@pytest.mark.parametrize(
    ("rule", "published", "ours", "verdict"),
    [
        ("every", None, 100.0, HOLDS),
        ("every", None, 99.0, IN_DIRECTION),
        ("some", None, 50.0, HOLDS),
        ("some", None, 0.0, DOES_NOT_HOLD),
        ("fair", None, 0.9995, HOLDS),
        ("fair", None, 0.999, IN_DIRECTION),
        ("deviation", None, 0.3, IN_DIRECTION),
        ("less", None, -5.0, HOLDS),
        ("less", None, 1.0, DOES_NOT_HOLD),
        ("three-less", None, -3.6, IN_DIRECTION),
        ("step", 0.25, 0.2524, HOLDS),
        ("step", 0.25, 0.2526, IN_DIRECTION),
        ("goodput-ratio", 0.199, 0.2039, HOLDS),
        ("goodput-ratio", 0.199, 0.205, IN_DIRECTION),
    ],
)
def test_rules_judge_at_their_borders(
    study: Study, rule: str, published: float | None, ours: float, verdict: str
) -> None:
    assert study.rules[rule].verdict(published, ours) == verdict


def test_every_point_is_a_scenario(study: Study) -> None:
    bench, missing = prepare(study)
    assert missing is None
    for first, design in zip(study.firsts(), study.designs.values(), strict=True):
        for number in range(0, len(design), 3):
            bench.scenario(study.experiment(first + number * len(design.seeds))).load()


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """The study with runs of twelve seconds, few numbers of flows, and steps of priority that come early."""
    folder = tmp_path / "coupled"
    shutil.copytree(COUPLED, folder)
    for file in folder.glob("*.toml"):
        text = re.sub(r'^duration = ".*"$', 'duration = "12s"', file.read_text(), flags=re.M)
        text = re.sub(r'^warmup = ".*"$', 'warmup = "4s"', text, flags=re.M)
        text = text.replace("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", "[1, 5]")
        text = re.sub(r"^seeds = .*$", "seeds = [1, 2]", text, flags=re.M)
        text = re.sub(r"^priority = \[0.1.*\]$", "priority = [0.5]", text, flags=re.M)
        text = text.replace('traffic = ["0", "30", "60", "90"]', 'traffic = ["0", "90"]')
        text = text.replace('rtts = ["1", "3", "6", "10"]', 'rtts = ["10"]')
        text = text.replace('clocks = ["fine", "skew", "steps", "both"]', 'clocks = ["fine"]')
        text = text.replace("flows = [2, 3, 4, 5, 6, 7, 8, 9, 10]", "flows = [2, 5]")
        text = text.replace('["100s", 0.66], ["150s", 0.42], ["200s", 0.25], ["250s", 0.11]', '["8s", 0.25]')
        file.write_text(text.replace("[[30, 100]]", "[[5, 8]]").replace("[[252, 300]]", "[[9, 12]]"))
    definition = folder / "study.toml"
    definition.write_text(re.sub(r'^figures = \["throughput"\]$', "figures = []", definition.read_text(), flags=re.M))
    return folder


@pytest.mark.long
@pytest.mark.usefixtures("unpainted")
def test_a_shortened_study_runs_and_judges(short: Path, tmp_path: Path) -> None:
    result = run_study(short, out=tmp_path / "out")
    rows = result.results
    assert (result.state.failed, len(rows)) == (0, len(result.study))
    queue = rows[rows["design"] == "section-4"].groupby(["factor.controller", "factor.flows", "factor.coupling"])
    mean = queue["metric.queue"].mean()
    assert mean["tfrc", 5, "conservative"] < mean["tfrc", 5, "apart"]
    figures = {line.published.id: line for line in result.comparison}
    assert figures["f9-250-tfrc"].ours == pytest.approx(0.25, rel=0.03)
    assert figures["f9-30-tfrc"].ours == pytest.approx(1.0, rel=0.01)
    assert figures["ratios-apart-rap"].verdict == HOLDS
    assert figures["ns2-100-rap-1-queue"].verdict == "not judged"
    streams = rows[rows["design"] == "streams"].groupby(["factor.flows", "factor.coupling"])["metric.jain"].mean()
    assert streams[5, "rfc-active"] > 0.99 > streams[5, "apart"]
    grid = rows[rows["design"].str.startswith("grid-")]
    assert grid["metric.right_part"].notna().all()
    assert (rows[rows["design"].str.startswith("known-")]["metric.right_part"].isna()).all(), "nobody decides"
    video = rows[rows["design"] == "video"]
    assert video["metric.video_mbps"].notna().all()
    assert rows[rows["design"] == "section-4"]["metric.video_mbps"].isna().all(), "there is no such flow"
    assert len(list((tmp_path / "out" / "tables").glob("*.md"))) == len(result.study.tables)
    assert (tmp_path / "out" / "plots" / "figures-5-6.png").is_file()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('profile = "islam2014", flows = ["*"] } }', 'profile = "islam2015", flows = ["*"] } }', "islam2015"),
        ('only = "flow-2"', 'only = "flow-3"', "metrics.second_30: found 'flow-3', expected one of flow-1, flow-2"),
        ('scenario = "video.toml" }', 'scenario = "vidoe.toml" }', "did you mean 'video.toml'"),
        ('flows = ["flow-1", "flow-2"]', 'flows = ["flow-1", "flow-9"]', "found 'flow-9'"),
    ],
)
def test_a_slip_in_the_definition_is_said_before_any_run(short: Path, cli: Run, old: str, new: str, said: str) -> None:
    assert said in said_before_any_run(cli, short, old, new)
