"""Tuning: searches that come out the same however they are run, fronts, picks, judgements, rankings; bad input."""

import json
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import paceline
from conftest import CALL, ROOT, Run, redefined
from paceline.errors import DataNotFound, StudyError, UsageError
from paceline.overrides import changes
from paceline.studies import store, trials
from paceline.studies import tune as tuned
from paceline.studies.bench import Bench
from paceline.studies.definition import load
from paceline.studies.duels import difference, differences, duel
from paceline.studies.experiment import Row
from paceline.studies.outcomes import TuningResult
from paceline.studies.progress import State
from paceline.studies.search_definition import Objective
from paceline.studies.sensitivity import sensitivity
from paceline.studies.tune import bench_of, tune
from paceline.toml import loads

pytest.importorskip("optuna")
pytest.importorskip("SALib")

STUDY = """\
name = "little"
title = "A little search"
scenario = "call.toml"
training = ["slow", "fast"]
held_out = ["slower", "middle", "faster"]
confirmation = ["far", "near"]

[conditions]
slow = { "links.bottleneck.rate" = "2Mbps" }
fast = { "links.bottleneck.rate" = "8Mbps" }
slower = { "links.bottleneck.rate" = "1500kbps" }
far = { "links.bottleneck.rate" = "4Mbps", "links.bottleneck.delay" = "60ms" }
near = { "links.bottleneck.rate" = "4Mbps", "links.bottleneck.delay" = "2ms" }
middle = { "links.bottleneck.rate" = "4Mbps" }
faster = { "links.bottleneck.rate" = "9Mbps" }

[metrics]
rate = { kind = "summary", path = "flows.video.throughput_mbps" }
wait = { kind = "summary", path = "flows.video.queue_delay_ms.mean" }

[objectives]
rate = { want = "more" }
wait = { want = "less", floor = 0.1 }

[judgement]
objectives = ["rate", "wait"]

[factors]
target = { path = "flows.video.controller.qdelay_target_lo", unit = "ms", range = [10, 200], scale = "log" }
most = { path = "flows.video.controller.target_bitrate_max", unit = "Mbps", range = [0.4, 20], scale = "log" }
mss = { path = "flows.video.controller.mss", unit = "B", range = [900, 1400], integer = true }
buckets = { path = "flows.video.controller.base_delay_buckets", range = [5, 50], integer = true }

[searches.first]
trials = 14
population = 4
seed = 3
picks = { quick = { best = "wait", beside = "defaults", keeps = { rate = 0.5 } }, ahead = { best = "margin" } }
[searches.first.baselines]
defaults = {}
low = { target = 20, most = 1 }

[searches.other]
like = "first"
algorithm = "tpe"
leave = ["buckets"]
objectives = ["wait"]
starts = [{ target = 33 }]

[sensitivity]
trajectories = 4
keep = 2
samples = 8
"""


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """The folder of a tuning study with runs of two seconds."""
    folder = tmp_path / "little"
    folder.mkdir()
    (folder / "call.toml").write_text(CALL.replace('"10s"', '"2s"'))
    (folder / "study.toml").write_text(STUDY)
    return folder


def files(result: TuningResult) -> dict[str, bytes]:
    return {name: (result.out / name).read_bytes() for name in ("trials.parquet", "held_out.parquet", "sets.toml")}


# ---- Searches.


@pytest.mark.usefixtures("unpainted")
def test_a_search_comes_out_the_same_on_one_core_and_on_two(little: Path, tmp_path: Path) -> None:
    one = tune(little, out=tmp_path / "one", workers=1)
    two = tune(little, out=tmp_path / "two", workers=2)
    assert files(one) == files(two)
    assert one.report.read_text() == two.report.read_text()
    trials = pd.read_parquet(one.trials_file)
    assert list(trials["search"].value_counts(sort=False)) == [14, 14]
    assert trials["factor.target"].between(10, 200).all()
    assert trials["factor.target"].nunique() > 5


@pytest.mark.usefixtures("unpainted")
def test_the_baselines_come_first_and_the_scenario_completes_them(little: Path, tmp_path: Path) -> None:
    result = tune(little, out=tmp_path / "out", searches=("first",), trials=4)
    trials = pd.read_parquet(result.trials_file)
    assert list(trials["baseline"].fillna("")) == ["defaults", "low", "", ""]
    resolved = loads(bench_of(load(little), None).scenario("first", "slow", {}).load().core.resolved_toml)
    controller = resolved["flows"]["video"]["controller"]
    assert f"{trials['factor.mss'][0]:.0f}B" == controller["mss"] == f"{trials['factor.mss'][1]:.0f}B"
    assert trials["factor.buckets"][0] == controller["base_delay_buckets"]
    assert (trials["factor.target"][1], trials["factor.most"][1]) == (20, 1)
    other = pd.read_parquet(tune(little, out=tmp_path / "other", searches=("other",), trials=4).trials_file)
    assert other["factor.target"][2] == 33


@pytest.mark.usefixtures("unpainted")
def test_a_trials_objectives_are_those_of_its_runs(little: Path, tmp_path: Path) -> None:
    result = tune(little, out=tmp_path / "out", searches=("first",), trials=6)
    row = pd.read_parquet(result.trials_file).iloc[5]
    rates, waits = [], []
    for rate in ("2Mbps", "8Mbps"):
        run = paceline.run(
            little / "call.toml",
            overrides={
                "links.bottleneck.rate": rate,
                "flows.video.controller.qdelay_target_lo": f"{row['factor.target']}ms",
                "flows.video.controller.target_bitrate_max": f"{row['factor.most']}Mbps",
                "flows.video.controller.mss": f"{row['factor.mss']:.0f}B",
                "flows.video.controller.base_delay_buckets": int(row["factor.buckets"]),
            },
        ).summary["flows"]["video"]
        rates.append(run["throughput_mbps"])
        waits.append(run["queue_delay_ms"]["mean"])
    assert row["objective.rate"] == pytest.approx(math.sqrt(rates[0] * rates[1]))
    assert row["objective.wait"] == pytest.approx(math.sqrt((waits[0] + 0.1) * (waits[1] + 0.1)) - 0.1)


@pytest.mark.usefixtures("unpainted")
def test_nothing_tried_beats_the_front_in_everything(little: Path, tmp_path: Path) -> None:
    trials = pd.read_parquet(tune(little, out=tmp_path / "out").trials_file)
    for _, own in trials.groupby("search"):
        by_two = own["search"].iloc[0] == "first"
        values = np.column_stack([-own["objective.rate"] * by_two, own["objective.wait"]])
        beaten = [any((other <= one).all() and (other < one).any() for other in values) for one in values]
        assert list(own["front"]) == [not one for one in beaten]
        assert own["front"].sum() < len(own)
        assert by_two == (own["front"].sum() > 1)


@pytest.mark.usefixtures("unpainted")
def test_picks_keep_what_they_must(little: Path, tmp_path: Path) -> None:
    [judged] = tune(little, out=tmp_path / "out", searches=("first",)).judged.values()
    found = judged.found
    quick, defaults = found.picks["quick"], found.baselines["defaults"]
    assert quick is not None
    assert quick.objectives["rate"] >= 0.5 * defaults.objectives["rate"]
    able = [trial for trial in found.trials if trial.objectives["rate"] >= 0.5 * defaults.objectives["rate"]]
    assert quick.objectives["wait"] == min(trial.objectives["wait"] for trial in able)
    sets = loads((tmp_path / "out" / "sets.toml").read_text())
    assert sets["quick"]["flows.video.controller.mss"] == f"{quick.measured.point['mss']}B"


@pytest.mark.usefixtures("unpainted")
def test_a_pick_that_no_set_is_good_enough_for_is_said(little: Path, tmp_path: Path) -> None:
    result = tune(redefined(little, "rate = 0.5", "rate = 50.0"), out=tmp_path / "out", searches=("first",), trials=6)
    assert result.judged["first"].found.picks["quick"] is None
    assert "quick: no set keeps what was asked" in result.report.read_text()
    assert {one.one for one in result.judged["first"].duels} == {"ahead"}


@pytest.mark.usefixtures("unpainted")
def test_a_search_that_was_killed_goes_on(little: Path, tmp_path: Path) -> None:
    whole = tune(little, out=tmp_path / "whole", searches=("first",))
    tune(little, out=tmp_path / "out", searches=("first",), trials=8, workers=1)
    journal = tmp_path / "out" / ".study" / "search_first-000000.journal"
    lines = journal.read_bytes().split(b"\n\n")
    journal.write_bytes(b"\n\n".join(lines[:15]) + lines[15][:20])
    seen: list[State] = []
    resumed = tune(little, out=tmp_path / "out", searches=("first",), progress=seen.append)
    own = [state.finished for state in seen if state.what == "first"]
    assert own == list(range(8, 15)), "seven sets were whole"
    assert files(resumed) == files(whole)


@pytest.mark.long
@pytest.mark.usefixtures("unpainted")
def test_a_kill_loses_no_run_on_the_held_out_conditions(
    little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tune(little, out=tmp_path / "whole", searches=("first",), trials=6, workers=1)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "paceline", "tune", str(little), "--search", "first", "--trials", "6"]

    def kept() -> int:
        journals = (out / ".study").glob("held_out_first_*.journal")
        return sum(len([line for line in journal.read_bytes().split(b"\n")[:-1] if line]) for journal in journals)

    with subprocess.Popen(
        [*command, "--workers", "1", "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while kept() < 3:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.001)
        process.kill()
    before = kept()
    ran: list[str] = []
    simulated = trials.run

    def counted(bench: Bench, task: trials.Task) -> Row:
        ran.append(task.condition)
        return simulated(bench, task)

    monkeypatch.setattr(tuned, "run", counted)
    resumed = tune(little, out=out, searches=("first",), trials=6, workers=1)
    sets = {trial.number for trial in resumed.judged["first"].found.named.values()}
    assert 3 <= before < 5 * len(sets), "it was killed while the held-out conditions were run"
    assert len(ran) == 5 * len(sets) - before, "what was finished is not run again"
    assert files(resumed) == files(whole)


@pytest.mark.usefixtures("unpainted")
def test_other_held_out_conditions_are_run_beside_those_that_are_kept(little: Path, tmp_path: Path) -> None:
    tune(little, out=tmp_path, searches=("first",), trials=4)
    seen: list[State] = []
    folder = redefined(little, 'middle = { "links.bottleneck.rate" = "4Mbps" }', "middle = {}")
    tune(folder, out=tmp_path, searches=("first",), trials=4, progress=seen.append)
    assert {(state.what, state.taken_over) for state in seen} == {("first, held out", 0)}


@pytest.mark.usefixtures("unpainted")
def test_other_picks_are_made_from_the_same_trials(little: Path, tmp_path: Path) -> None:
    one = tune(little, out=tmp_path, searches=("first",), trials=6)
    folder = redefined(little, 'best = "margin"', 'best = "rate"')
    two = tune(folder, out=tmp_path, searches=("first",), trials=6)
    assert two.trials_file == one.trials_file
    [judged] = two.judged.values()
    best = max(judged.found.trials, key=lambda trial: trial.objectives["rate"])
    assert judged.found.picks["ahead"] == best


@pytest.mark.usefixtures("unpainted")
def test_a_journal_stays_good_when_another_search_changes(little: Path, tmp_path: Path) -> None:
    tune(little, out=tmp_path, searches=("first",), trials=6)
    journal = tmp_path / ".study" / "search_first-000000.journal"
    before = journal.read_bytes()
    folder = redefined(little, 'leave = ["buckets"]', 'leave = ["mss"]')
    tune(folder, out=tmp_path, searches=("first",), trials=6)
    assert journal.read_bytes() == before


@pytest.mark.usefixtures("unpainted")
@pytest.mark.parametrize(("old", "new"), [("seed = 3", "seed = 4"), ('"8Mbps"', '"7Mbps"')])
def test_a_journal_of_another_search_is_refused(little: Path, tmp_path: Path, old: str, new: str) -> None:
    tune(little, out=tmp_path, searches=("first",), trials=4)
    journal = tmp_path / ".study" / "search_first-000000.journal"
    before = journal.read_bytes()
    with pytest.raises(StudyError, match=r"found results of another definition \(.*\); they stay as they are"):
        tune(redefined(little, old, new), out=tmp_path, searches=("first",), trials=4)
    assert journal.read_bytes() == before


@pytest.mark.usefixtures("unpainted")
def test_a_damaged_record_costs_its_run_alone(little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "COMMIT_S", 0.0)
    whole = files(tune(little, out=tmp_path, searches=("first",), trials=4))
    journal = tmp_path / ".study" / "search_first-000000.journal"
    before = journal.read_bytes()
    journal.write_bytes(before.replace(b'"rate"', b'"rats"', 1))
    seen: list[State] = []
    again = tune(little, out=tmp_path, searches=("first",), trials=4, progress=seen.append)
    assert [state.finished for state in seen if state.what == "first"] == [4]
    assert files(again) == whole
    assert len(journal.read_bytes()) > len(before), "one record more"


@pytest.mark.usefixtures("unpainted")
def test_a_set_that_cannot_run_is_recorded_and_the_search_goes_on(little: Path, tmp_path: Path) -> None:
    # The lowest target bitrate lies above the highest of some sets: wrong in combination only.
    folder = redefined(
        little,
        "[factors]",
        '[factors]\nleast = { path = "flows.video.controller.target_bitrate_min", unit = "Mbps", range = [0.1, 2] }',
    )
    trials = pd.read_parquet(tune(folder, out=tmp_path / "out", searches=("first",), trials=20).trials_file)
    failed = trials[trials["error"].notna()]
    assert 0 < len(failed) < 20
    assert failed["error"].str.contains("target_bitrate_min").all()
    assert not failed["front"].any()
    assert failed["objective.rate"].isna().all()


@pytest.mark.usefixtures("unpainted")
def test_the_study_of_the_documentation_runs(little: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "search-parameters.md").read_text()
    (little / "study.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    [judged] = tune(little, out=tmp_path / "out", trials=4).judged.values()
    assert judged.found.title == "all"
    assert set(judged.found.picks) == {"quick"}


# ---- The judgement.


@pytest.mark.parametrize("name", ["scream-5g-low-delay", "scream-5g-balanced", "scream-5g-throughput"])
def test_a_set_in_a_file_is_the_set_in_the_study(data_dir: Path, name: str) -> None:
    file = ROOT / "studies" / "scream-tune" / "sets.toml"
    study = load("scream-tune")

    def controller(scenario: str | Path, overrides: list[tuple[str, str]]) -> object:
        resolved = loads(paceline.scenario.read(scenario, overrides=overrides, data=data_dir).load().core.resolved_toml)
        return resolved["flows"]["video"]["controller"]

    changed = changes([f"@{file}:{name}"])
    assert dict(changed)["flows.video.controller.profile"] == '"reference-2022"'
    assert controller(CALL, changed) == controller(study.scenarios[study.scenario], changed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@sets.toml:fas", "found no set 'fas' in sets.toml, expected one of fast, slow"),
        ("@none.toml:fast", "none.toml"),
        ("@broken.toml:fast", "expected @FILE:NAME"),
        ("@sets.toml", "expected @FILE:NAME"),
        ("@sets.toml:title", "found no set 'title'"),
    ],
)
def test_a_set_that_is_not_there_is_named(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sets.toml").write_text('title = "two"\n[fast]\nseed = 2\n[slow]\nseed = 3\n')
    Path("broken.toml").write_text("= 1")
    assert changes(["duration=4s", "@sets.toml:fast"]) == [("duration", "4s"), ("seed", "2")]
    with pytest.raises(UsageError) as caught:
        changes([text])
    assert message in str(caught.value)


def test_a_difference_has_students_interval() -> None:
    scores = np.array([0.1, 0.3, 0.2, 0.4])
    found = difference(Objective(name="rate", want="more"), scores, 0.95)
    low, high = stats.ttest_1samp(scores, 0.0).confidence_interval(0.95)
    assert (found.mean, found.low, found.high) == pytest.approx((0.25, low, high))
    assert found.ahead
    assert found.capped == pytest.approx((0.1 + 0.2 + 0.2 + 0.2) / 4)
    assert found.better == 4
    assert found.change[0] == pytest.approx(100 * (math.exp(0.25) - 1))
    less = difference(Objective(name="wait", want="less"), scores, 0.95)
    assert less.change[0] == pytest.approx(100 * (math.exp(-0.25) - 1))
    assert less.change[1] < less.change[0] < less.change[2] < 0


def test_a_set_beats_another_only_in_every_objective(little: Path) -> None:
    tuning = load(little).tuning
    assert tuning is not None
    names = tuning.held_out

    def runs(rates: list[float], waits: list[float]) -> dict[str, dict[str, float]]:
        return {name: {"rate": rate, "wait": wait} for name, rate, wait in zip(names, rates, waits, strict=True)}

    plain = runs([1.0, 2.0, 3.0], [10.0, 20.0, 30.0])
    better = runs([1.2, 2.41, 3.62], [5.0, 10.1, 15.0])
    faster_only = runs([1.2, 2.41, 3.62], [10.0, 20.5, 29.0])
    assert duel(tuning, ("a", "b"), (better, plain), names).beats
    assert not duel(tuning, ("a", "b"), (plain, better), names).beats
    assert not duel(tuning, ("a", "b"), (faster_only, plain), names).beats
    assert not duel(tuning, ("a", "b"), (plain, plain), names).beats


@pytest.mark.usefixtures("unpainted")
def test_held_out_sets_are_baselines_and_picks(little: Path, tmp_path: Path) -> None:
    tune(little, out=tmp_path, searches=("first",), trials=6)
    held_out = pd.read_parquet(tmp_path / "held_out.parquet")
    assert list(held_out["set"].unique()) == ["defaults", "low", "quick", "ahead"]
    assert list(held_out["condition"].unique()) == ["slower", "middle", "faster", "far", "near"]


@pytest.mark.usefixtures("unpainted")
def test_the_confirmation_is_judged_apart(little: Path, tmp_path: Path) -> None:
    result = tune(little, out=tmp_path, searches=("first",), trials=6)
    [judged] = result.judged.values()
    assert [one.differences[0].conditions for one in judged.duels] == [3] * 4
    assert [one.differences[0].conditions for one in judged.confirmation] == [2] * 4
    assert "on 2 recordings more" in result.report.read_text()


@pytest.mark.usefixtures("unpainted")
def test_a_design_stands_for_the_conditions_of_its_experiments(little: Path, tmp_path: Path) -> None:
    designs = """[factors.rate_of]
path = "links.bottleneck.rate"
unit = "Mbps"
levels = [2, 8]
[designs.rates]
kind = "factorial"
seeds = [5, 6]
set = { "links.bottleneck.delay" = "7ms" }
[designs.rates.levels]
rate_of = [2, 8]

[searches.first]"""
    redefined(little, 'training = ["slow", "fast"]', 'training = ["rates", "fast"]')
    redefined(little, "[searches.first]\n", designs + "\n")
    bench = bench_of(load(little), None)
    assert bench.tuning.training == ("rates/1/5", "rates/1/6", "rates/2/5", "rates/2/6", "fast")
    scenario = loads(bench.scenario("first", "rates/2/6", {}).load().core.resolved_toml)
    link = scenario["links"]["bottleneck"]
    assert (scenario["seed"], link["rate"], link["delay"]) == (6, "8Mbps", "7ms")
    result = tune(little, out=tmp_path / "out", searches=("first",), trials=2)
    assert set(result.judged["first"].found.trials[0].measured.runs) == set(bench.tuning.training)
    assert "rates, fast</td>" in result.report.read_text()


@pytest.mark.usefixtures("unpainted")
def test_cma_es_goes_by_the_margin(little: Path, tmp_path: Path) -> None:
    folder = redefined(little, 'algorithm = "tpe"', 'algorithm = "cma-es"')
    folder = redefined(folder, 'objectives = ["wait"]', 'objectives = ["margin"]')
    one, two = (tune(folder, out=tmp_path / str(count), searches=("other",), workers=count) for count in (1, 2))
    assert files(one) == files(two)
    trials = pd.read_parquet(one.trials_file)
    assert list(trials.index[trials["front"]]) == [trials["objective.margin"].idxmax()]
    found = one.judged["other"].found
    ends = [
        difference.capped
        for other in found.baselines.values()
        for difference in differences(one.tuning, found.trials[9].measured.runs, other.measured.runs, ("slow", "fast"))
    ]
    assert found.trials[9].objectives["margin"] == min(ends)


def test_the_margin_is_drawn_beside_the_objectives(little: Path, tmp_path: Path) -> None:
    folder = redefined(little, 'objectives = ["wait"]', 'objectives = ["margin", "wait"]')
    result = tune(folder, out=tmp_path, searches=("other",), trials=6)
    assert "margin (more is better)" in (tmp_path / "plots" / "other-front.svg").read_text()
    assert result.report.exists()


@pytest.mark.usefixtures("unpainted")
def test_paceline_study_runs_searches_too(little: Path, tmp_path: Path) -> None:
    redefined(little, "trials = 14", "trials = 4")
    result = paceline.study(little, out=tmp_path / "out", workers=1)
    assert result.searches is not None
    assert files(result.searches) == files(tune(little, out=tmp_path / "tune", workers=1))
    text = (little / "study.toml").read_text()
    more = '[experiments.one]\ntitle = "One"\n[designs.both]\nkind = "grid"\ncount = 2\nfactors = ["mss"]\n'
    (little / "study.toml").write_text(text + more)
    mixed = paceline.study(little, out=tmp_path / "mixed", workers=1)
    assert list(mixed.results["experiment"]) == ["one", "both/1", "both/2"]
    assert mixed.searches is not None
    assert files(mixed.searches) == files(result.searches)


# ---- The ranking.


@pytest.mark.usefixtures("unpainted")
def test_the_parameter_that_limits_the_rate_ranks_first(little: Path, tmp_path: Path) -> None:
    result = sensitivity(little, out=tmp_path / "one", workers=1)
    assert result.ranking[0].factor == "most"
    assert result.ranking[-1].factor == "buckets"
    assert result.ranking[-1].mean == 0.0
    assert [line.factor for line in result.sobol] == [line.factor for line in result.ranking[:2]]
    assert result.sobol[0].total["rate"].value > 0.5 > result.sobol[1].total["rate"].value
    table = pd.read_csv(tmp_path / "one" / "sensitivity.csv")
    assert len(table) == 4 * 2 + 2 * 2 * 2
    again = sensitivity(little, out=tmp_path / "one", workers=2)
    assert (again.ranking, again.sobol) == (result.ranking, result.sobol)


# ---- The command line, and what goes wrong.


@pytest.mark.usefixtures("unpainted")
def test_the_command_says_what_was_found(little: Path, tmp_path: Path, cli: Run) -> None:
    done = cli("tune", str(little), "--out", str(tmp_path / "out"), "--trials", "5", "--search", "first")
    assert done.returncode == 0, done.stderr
    assert "A little search" not in done.stdout
    assert "first: 5 sets tried, " in done.stdout
    assert "beside low: rate" in done.stdout
    done = cli(
        "tune", str(little), "--out", str(tmp_path / "out"), "--trials", "5", "--search", "first", "--resume", "--json"
    )
    document = json.loads(done.stdout)
    assert document["searches"]["first"]["trials"] == 5
    done = cli("sensitivity", str(little), "--out", str(tmp_path / "rank"), "--search", "first", "--json")
    assert done.returncode == 0, done.stderr
    assert next(iter(json.loads(done.stdout)["sobol"])) == "most"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('training = ["slow", "fast"]', "training = []", "training: found none"),
        ('"slower", "middle"', '"slow", "middle"', "held_out: found 'slow', which is also trained on"),
        ('"slower", "middle"', '"slowest", "middle"', "held_out: found 'slowest', expected one of"),
        ('"far", "near"', '"fast", "near"', "confirmation: found 'fast', which is also trained on"),
        (
            'algorithm = "tpe"',
            'algorithm = "cma-es"\nstep = 2.0',
            "searches.other.step: found 2.0, expected a number",
        ),
        ('algorithm = "tpe"', 'algorithm = "cma-es"\npopulation = 1', "population: found 1, expected a whole number"),
        (
            "population = 4",
            'population = 4\nalgorithm = "cma-es"',
            "found 2, expected one: CMA-ES optimises a single one",
        ),
        ('want = "more"', 'want = "most"', "objectives.rate.want: found 'most', expected one of more, less"),
        ("rate = { want", "speed = { want", "objectives: found 'speed', expected one of rate, wait"),
        (
            'algorithm = "tpe"',
            'algorithm = "cma"',
            "searches.other.algorithm: found 'cma', expected one of nsga2, tpe, cma-es",
        ),
        ('like = "first"', 'like = "last"', "searches.other.like: found 'last'"),
        (
            "population = 4",
            "population = 1",
            "searches.first.population: found 1, expected a whole number >= 2",
        ),
        ("low = { target", "low = { goal", "baselines.low: found 'goal', expected one of target"),
        ('best = "margin"', 'best = "speed"', "picks.ahead.best: found 'speed'"),
        ('beside = "defaults"', 'beside = "high"', "picks.quick.beside: found 'high'"),
        ("starts = [{ target", "starts = [{ goal", "searches.other.starts.1: found 'goal'"),
        ('objectives = ["wait"]', 'objectives = ["speed"]', "searches.other.objectives: found 'speed'"),
        ('beside = "defaults", ', "", "picks.quick: found one of beside and keeps"),
        ("qdelay_target_lo", "qdelay_goal", "target = .*: .*qdelay_goal"),
        ("range = [10, 200]", "range = [0.001, 200]", "target = 0.001ms: .*qdelay_target_lo"),
        ('"8Mbps"', '"8 parrots"', "condition 'fast'"),
        ("judgement", "judgment", "found key 'judgment', expected one of .* did you mean 'judgement'"),
    ],
)
def test_a_wrong_definition_is_said_before_any_run(
    little: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        tune(redefined(little, old, new), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("unpainted")
def test_other_things_that_are_wrong(little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACELINE_DATA", raising=False)
    with pytest.raises(StudyError, match="searches: found 'third', expected one of first, other"):
        tune(little, out=tmp_path / "out", searches=("third",))
    with pytest.raises(UsageError, match="--trials 1: expected at least 2: the baselines come first"):
        tune(little, out=tmp_path / "out", trials=1)
    with pytest.raises(StudyError, match="found no searches, expected a study with some"):
        tune("scream-tuning", out=tmp_path / "out")
    missing = redefined(
        little,
        'fast = { "links.bottleneck.rate" = "8Mbps" }',
        'fast = { "links.bottleneck.rate" = { trace = "gone.txt", format = "mbps", interval = "1s" } }',
    )
    with pytest.raises(
        DataNotFound, match=r"study\.toml: gone\.txt: no such file.*; --data or PACELINE_DATA says where recordings are"
    ):
        tune(missing, out=tmp_path / "out")
