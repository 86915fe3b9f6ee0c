"""Designs, results that depend on nothing but the definition, pictures, and definitions that are wrong."""

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import stats

import paceline
from conftest import CALL, Run, redefined
from paceline.errors import StudyError
from paceline.studies import designs, results, store
from paceline.studies.definition import Study, load
from paceline.studies.engine import run_study
from paceline.studies.factors import Factor
from paceline.studies.progress import State
from paceline.studies.rows import Rows
from paceline.studies.spec import read

STUDY = """\
name = "little"
title = "A little sweep"
scenario = "call.toml"
seeds = [1, 2]

[factors.target]
path = "flows.video.controller.qdelay_target_lo"
unit = "ms"
levels = [20, 60, 100]
range = [10, 200]
scale = "log"
default = 100

[factors.mss]
path = "flows.video.controller.mss"
unit = "B"
levels = [900, 1200]
range = [900, 1400]
integer = true

[designs.single]
kind = "one-at-a-time"

[designs.mixed]
kind = "factorial"
factors = ["target", "mss"]
set = { "links.bottleneck.delay" = "20ms" }

[designs.drawn]
kind = "latin-hypercube"
count = 4

[metrics.rate]
kind = "summary"
path = "flows.video.throughput_mbps"

[metrics.wait]
kind = "summary"
path = "flows.video.queue_delay_ms.mean"
"""
TOTAL = 2 * (5 + 6 + 4)


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """The folder of a sweep of 30 runs of a second."""
    folder = tmp_path / "little"
    folder.mkdir()
    (folder / "call.toml").write_text(CALL.replace('"10s"', '"1s"'))
    (folder / "study.toml").write_text(STUDY)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- Designs.


def points(sweep: Study, name: str) -> list[dict[str, object]]:
    design = sweep.designs[name]
    return [design.point(number) for number in range(len(design))]


def test_one_at_a_time_takes_each_level_of_each_factor(little: Path) -> None:
    sweep = load(little)
    assert points(sweep, "single") == [{"target": 20}, {"target": 60}, {"target": 100}, {"mss": 900}, {"mss": 1200}]
    assert [sweep.designs["single"].varied(number) for number in (0, 2, 3)] == [
        ("target", 0), ("target", 2), ("mss", 0),
    ]  # fmt: skip


def test_the_last_factor_of_a_factorial_changes_fastest(little: Path) -> None:
    first = [tuple(point.values()) for point in points(load(little), "mixed")]
    assert first == [(20, 900), (20, 1200), (60, 900), (60, 1200), (100, 900), (100, 1200)]


def test_a_latin_hypercube_has_one_point_in_each_slice(little: Path) -> None:
    drawn = points(load(redefined(little, "count = 4", "count = 50")), "drawn")
    slices = sorted(int(50 * np.log(point["target"] / 10) / np.log(20) - 1e-4) for point in drawn)
    assert slices == list(range(50))
    assert all(isinstance(point["mss"], int) and 900 <= point["mss"] <= 1400 for point in drawn)


def test_a_grid_and_a_sobol_sequence_cover_the_ranges(little: Path) -> None:
    grid = redefined(little, 'kind = "latin-hypercube"', 'kind = "grid"')
    values = sorted({point["mss"] for point in points(load(grid), "drawn")})
    assert (len(points(load(grid), "drawn")), values) == (16, [900, 1067, 1233, 1400])
    sobol = redefined(little, 'kind = "grid"\ncount = 4', 'kind = "sobol"\ncount = 3\nscramble = false')
    drawn = points(load(sobol), "drawn")
    assert [point["mss"] for point in drawn] == [900, 1150, 1025]


def test_a_sobol_sequence_is_the_same_drawn_in_blocks(little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sobol = redefined(little, 'kind = "latin-hypercube"\ncount = 4', 'kind = "sobol"\ncount = 21\nseed = 5')
    whole = points(load(sobol), "drawn")
    monkeypatch.setattr(designs, "BLOCK", 4)
    designs._sobol.cache_clear()
    assert points(load(sobol), "drawn") == whole
    designs._sobol.cache_clear()


def test_what_a_worker_gets_does_not_grow_with_the_design(little: Path) -> None:
    sweep = load(redefined(little, "count = 4", "count = 20000"))
    assert sweep.experiment(len(sweep) - 1).name == "drawn/20000"
    small = load(redefined(little, "count = 20000", "count = 20"))
    assert len(pickle.dumps(sweep.for_workers())) < len(pickle.dumps(small.for_workers())) + 100


def test_listed_points_are_taken_as_they_are(little: Path) -> None:
    listed = 'kind = "list"\npoints = [{}, { mss = 1000 }, { target = 15, mss = 1100 }]'
    sweep = load(redefined(little, 'kind = "latin-hypercube"\ncount = 4', listed))
    assert points(sweep, "drawn") == [{}, {"mss": 1000}, {"target": 15, "mss": 1100}]


# ---- Results.


def test_a_row_has_every_factor_metric_and_parameter_and_can_be_run_alone(little: Path, tmp_path: Path) -> None:
    result = run_study(little, out=tmp_path / "out", workers=1)
    rows = result.results
    assert (len(rows), result.state) == (TOTAL, State("little", TOTAL, TOTAL, 0, 0))
    assert rows["error"].isna().all()
    assert (rows["version"] == paceline.__version__).all()
    row = rows[rows["experiment"] == "mixed/4"].iloc[1]
    assert (row["seed"], row["factor.target"], row["factor.mss"]) == (2, 60, 1200)
    assert row["parameter.links.bottleneck.delay"] == 0.02, "a time is a number"
    schema = pq.read_schema(result.results_file)
    assert schema.field("parameter.links.bottleneck.delay").metadata == {b"unit": b"s"}
    assert schema.field("factor.target").metadata == {b"unit": b"ms"}
    assert result.constants["links.bottleneck.queue.limit"] == (0.3, "s")
    assert not set(result.constants) & {name.removeprefix("parameter.") for name in rows}


def test_the_command_of_a_row_runs_as_it_stands_from_any_folder(little: Path, tmp_path: Path) -> None:
    odd = little.rename(tmp_path / "it's little")
    redefined(odd, '"20ms"', '{ "steps" = 1 }')
    redefined(
        odd, '"links.bottleneck.delay" = { "steps" = 1 }', '"flows.video.source" = { kind = "cbr", rate = "1Mbps" }'
    )
    (tmp_path / "data").mkdir()
    rows = run_study(odd, out=tmp_path / "out", workers=1, data=tmp_path / "data").results
    row = rows[rows["experiment"] == "mixed/4"].iloc[1]
    assert f"--data {tmp_path / 'data'}" in row["command"]
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "paceline").write_text(f'#!/bin/sh\nexec {sys.executable} -m paceline "$@"\n')
    (bin_ / "paceline").chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}
    command = f"{row['command']} --json"
    done = subprocess.run(command, shell=True, cwd="/", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    flow = json.loads(done.stdout)["flows"]["video"]
    assert (flow["throughput_mbps"], flow["queue_delay_ms"]["mean"]) == (row["metric.rate"], row["metric.wait"])


def test_results_do_not_depend_on_the_number_of_workers(little: Path, tmp_path: Path) -> None:
    one, two = (run_study(little, out=tmp_path / str(count), workers=count).results_file for count in (1, 2))
    assert one.read_bytes() == two.read_bytes()


def test_results_do_not_depend_on_where_parts_end(
    little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_study(little, out=tmp_path / "whole", workers=1).results
    monkeypatch.setattr(store, "PART", 7)
    monkeypatch.setattr(results, "GROUP", 2)
    parted = run_study(little, out=tmp_path / "parted", workers=1)
    assert pq.ParquetFile(parted.results_file).metadata.num_row_groups == 3
    pd.testing.assert_frame_equal(parted.results, whole)
    assert len(list((tmp_path / "parted" / ".study").glob("rows-*.journal"))) == 5


def test_one_that_fails_is_recorded_and_stops_nothing(little: Path, tmp_path: Path) -> None:
    # Each value is right by itself; the lowest target above the highest is not.
    high = '[factors.high]\npath = "flows.video.controller.qdelay_target_hi"\nunit = "ms"\nlevels = [50, 400]\n'
    folder = redefined(little, "[factors.mss]", f"{high}range = [300, 400]\n\n[factors.mss]")
    redefined(folder, "default = 100", "default = 20")
    redefined(folder, 'factors = ["target", "mss"]', 'factors = ["target", "high"]')
    result = run_study(folder, out=tmp_path / "out", workers=1)
    failed = result.results[result.results["error"].notna()]
    assert (result.state.failed, len(failed)) == (4, 4)
    assert set(zip(failed["factor.target"], failed["factor.high"], strict=True)) == {(60, 50), (100, 50)}
    assert failed["metric.rate"].isna().all()
    assert failed["error"].str.contains("qdelay_target").all()


# ---- The set-up that comes nearest.

NEAREST = """
[nearest.rate]
"single rate" = 4.0

[nearest.both]
"mixed rate" = 4.0
"mixed wait" = 20.0
"""


def test_the_nearest_points_are_found_and_listed(little: Path, tmp_path: Path) -> None:
    definition = little / "study.toml"
    definition.write_text(definition.read_text() + NEAREST)
    result = run_study(little, out=tmp_path / "out", workers=1)
    rows = result.results[result.results["design"] == "mixed"].groupby("number")[["metric.rate", "metric.wait"]].mean()
    apart = (np.log(rows / [4.0, 20.0])).abs().mean(axis=1)
    both = [near for near in result.nearest if near.reading.name == "both"]
    assert (both[0].number, both[0].distance) == (apart.idxmin(), pytest.approx(apart.min()))
    assert both[0].point == result.study.designs["mixed"].point(both[0].number - 1)
    distances = [near.distance for near in result.nearest]
    assert distances == sorted(distances)
    assert "| both | " in (tmp_path / "out" / "verdict.md").read_text()
    assert "The nearest set-ups" in result.report.read_text()


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        ('"single speed" = 4.0', "nearest.own: found 'single speed', expected one of single, mixed, drawn"),
        ('"single rate" = 0', "nearest.own.single rate: found 0, expected a number above zero"),
        ('"single rate" = 4.0\n"mixed rate" = 4.0', "nearest.own: found designs of different points"),
        ("", "nearest.own: found {}, expected a table of published figures"),
    ],
)
def test_a_wrong_reading_is_said(little: Path, reading: str, said: str) -> None:
    definition = little / "study.toml"
    definition.write_text(f"{definition.read_text()}\n[nearest.own]\n{reading}\n")
    with pytest.raises(StudyError, match=re.escape(said)):
        load(little)


# ---- From Python.


def test_a_study_of_designs_runs_from_python(little: Path, tmp_path: Path) -> None:
    seen: list[State] = []
    result = paceline.study(little, out=tmp_path / "out", workers=1, progress=seen.append)
    assert (len(result.results), seen[-1].finished) == (TOTAL, TOTAL)
    again = paceline.study(little, out=tmp_path / "out", workers=1)
    assert again.state.taken_over == TOTAL


# ---- On the command line.


def test_studies_of_both_kinds_and_the_kinds_of_designs_are_listed(cli: Run) -> None:
    studies = [entry["kind"] for entry in json.loads(cli("list", "studies", "--json").stdout)["studies"]]
    assert {"scream-5g", "scream-tuning"} <= set(studies)
    kinds = [entry["kind"] for entry in json.loads(cli("list", "designs", "--json").stdout)["designs"]]
    assert kinds == list(designs.KINDS)


def test_of_searches_alone_a_dry_run_knows_no_experiments(cli: Run) -> None:
    done = cli("study", "scream-tune", "--dry-run")
    assert done.returncode == 2
    assert "has searches alone" in done.stderr, done.stderr


def test_a_dry_run_says_what_it_would_take_and_writes_nothing(little: Path, cli: Run) -> None:
    done = cli("study", little, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "mixed: 6 points (factorial), 2 seed(s)" in done.stdout
    assert f"experiments: {TOTAL}" in done.stdout
    assert re.search(r"time: +\d+ s on \d+ worker", done.stdout)
    assert not list((little.parent / "cwd").iterdir())
    document = json.loads(cli("study", little, "--dry-run", "--json").stdout)
    assert (document["experiments"], document["designs"]["drawn"]) == (TOTAL, 4)


def test_a_sweep_runs_from_the_command_line(little: Path, cli: Run, tmp_path: Path) -> None:
    done = cli("study", little, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "A little sweep: 30 experiments" in done.stdout
    assert re.search(rf"little: {TOTAL} of {TOTAL}, 0 failed, [0-9.]+/s, 0 s left", done.stderr)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("controller.mss", "controller.msss", "msss"),
        ("levels = [900, 1200]", "levels = [900, 12000000]", "designs.single: mss = 12000000B: "),
        ("range = [900, 1400]", "range = [9, 1400]", "designs.drawn: mss = 9B: "),
        ("range = [900, 1400]", "range = [1400, 900]", "factors.mss.range: found [1400, 900], expected two numbers"),
        ("range = [10, 200]", "range = [0, 200]", "expected numbers above zero: the scale is logarithmic"),
        ("levels = [20, 60, 100]", "levels = 20", "factors.target.levels: found 20, expected a list"),
        ('unit = "ms"', 'units = "ms"', "factors.target: found key 'units', expected one of path"),
        (
            'kind = "factorial"',
            'kind = "factory"',
            "designs.mixed.kind: found 'factory', expected one of one-at-a-time",
        ),
        (
            'factors = ["target", "mss"]',
            'factors = ["delay"]',
            "mixed.factors: found 'delay', expected one of target, mss",
        ),
        ('factors = ["target", "mss"]', "factors = []", "designs.mixed.factors: found none, expected factors"),
        ("count = 4", "count = 0", "designs.drawn.count: found 0, expected a whole number >= 1"),
        (
            "count = 4",
            "count = 4\nlevels = { mss = [] }\n",
            "drawn: found key 'levels', expected one of kind, title",
        ),
        (
            "[designs.drawn]",
            "[designs.drawn]\nfactors = ['gap']\n[factors.gap]\npath = 'duration'\nlevels = [1]",
            "range",
        ),
        ("seeds = [1, 2]", "seeds = [1, 1]", "seeds: found [1, 1], expected a list of whole numbers, each once"),
        ("seeds = [1, 2]", "seeds = []", "seeds: found [], expected a list"),
        ('scenario = "call.toml"', 'scenario = "none.toml"', "scenario: found 'none.toml', which is no file"),
        ('title = "A little sweep"', "", "found no key 'title', expected one"),
    ],
)
def test_a_wrong_definition_is_said_and_nothing_is_written(
    little: Path, cli: Run, old: str, new: str, said: str
) -> None:
    done = cli("study", redefined(little, old, new), "--out", "out")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((little.parent / "cwd").iterdir())


# ---- Pictures.

PICTURES = """
[pictures.levels]
kind = "levels"
design = "single"
metric = "rate"

[pictures.numbers]
kind = "numbers"
design = "mixed"
metric = "wait"
log = true

[pictures.against]
kind = "against"
design = "mixed"
metric = "rate"
against = "wait"

[pictures.relative]
kind = "levels"
design = "single"
metrics = ["rate", "wait"]
relative = true
log = true
"""


def test_pictures_show_the_metrics_over_what_was_varied(little: Path, tmp_path: Path) -> None:
    (little / "study.toml").write_text(STUDY + PICTURES)
    result = run_study(little, out=tmp_path / "out")
    single = result.results[result.results["design"] == "single"]
    targets = single[single["varied"] == "target"].groupby("factor.target")
    rows = Rows(result.study).fill(result.results_file)
    figures = {name: picture.draw(result.study, rows) for name, picture in result.study.pictures.items()}

    target, mss = [axes for axes in figures["levels"].axes if axes.get_visible()]
    rates = targets["metric.rate"].mean()
    assert [list(line) for line in target.lines[0].get_data()] == [[20, 60, 100], pytest.approx(list(rates))]
    assert (target.get_xlabel(), list(mss.lines[0].get_xdata())) == ("target, ms", [900, 1200])
    bars = target.collections[0].get_segments()
    by_seed = single[single["factor.target"] == 20][["seed", "metric.rate"]].groupby("seed").mean()["metric.rate"]
    low, high = stats.t.interval(0.95, 1, by_seed.mean(), stats.sem(by_seed))
    assert [bars[0][0][1], bars[0][1][1]] == pytest.approx([low, high])
    assert len(figures["numbers"].axes[0].lines[0].get_ydata()) == 6
    assert figures["numbers"].axes[0].get_yscale() == "log"
    # Only the factor with a default has something to compare with.
    [panel] = [axes for axes in figures["relative"].axes if axes.get_visible()]
    drawn = {line.get_label(): line for line in panel.lines}
    assert list(drawn["rate"].get_ydata()) == pytest.approx(list(rates / rates[100]))
    for name in result.study.pictures:
        assert (tmp_path / "out" / "plots" / f"{name}.svg").read_text().startswith("<?xml")
    assert result.report.read_text().count("<svg") == 4


def test_a_study_without_tables_tells_each_metric_by_each_factor(little: Path, tmp_path: Path, cli: Run) -> None:
    redefined(little, "count = 4", "count = 20")
    done = cli("study", little, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    rows = pd.read_parquet(tmp_path / "out" / "results.parquet")
    table = (tmp_path / "out" / "tables" / "mixed-mss.md").read_text()
    assert table in done.stdout
    own = rows[(rows["design"] == "mixed") & (rows["factor.mss"] == 900)]
    seeds = own.groupby("seed")["metric.wait"].mean()
    half = float(stats.t.ppf(0.975, 1) * stats.sem(seeds))
    assert table.splitlines()[0] == "| mss, B | rate | wait |"
    assert f"| {own['metric.wait'].mean():.3g} ± {half:.3g}, n=2 |" in table.splitlines()[2]
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| 900", "| 1200"]
    assert len((tmp_path / "out" / "tables" / "drawn-target.md").read_text().splitlines()) == 2 + 4, "four quarters"
    report = (tmp_path / "out" / "report.html").read_text()
    assert "<h3>mixed-mss</h3>" in report
    assert f"{own['metric.wait'].mean():.3g} ± {half:.3g}, n=2" in report


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'kind = "numbers"',
            'kind = "number"',
            "pictures.numbers.kind: found 'number', expected one of levels, numbers, .* did you mean 'numbers'",
        ),
        ('metric = "wait"', 'metric = "waits"', "pictures.numbers.metric: found 'waits', expected one of rate, wait"),
        ('metrics = ["rate", "wait"]', "", "pictures.relative: expected either `metric` or `metrics`"),
        ('against = "wait"\n', "", "pictures.against: found no key 'against', expected one"),
    ],
)
def test_a_wrong_picture_is_said_before_any_run(little: Path, old: str, new: str, message: str) -> None:
    assert old in PICTURES
    (little / "study.toml").write_text(STUDY + PICTURES.replace(old, new))
    with pytest.raises(StudyError, match=message):
        load(little)


def test_a_value_is_written_without_exponent_and_whole_in_nanoseconds() -> None:
    factor = read("factors.wait", {"name": "wait", "path": "a.b", "unit": "ms", "range": [0, 10]}, Factor)
    assert factor.override(0.000025) == [("a.b", '"0.000025ms"')]
    assert [factor.near(value) for value in (1.23456789, 0.0000004, 12.0)] == [1.23457, 0.0, 10]
    whole = read("factors.size", {"name": "size", "path": "a.b", "range": [1.5, 9.2], "integer": True}, Factor)
    assert [whole.near(value) for value in (0.0, 4.4, 20.0)] == [2, 4, 9]


def test_a_rule_that_is_not_there_is_said_with_its_keys(cli: Run, little: Path) -> None:
    (little / "published.csv").write_text("id,experiment,metric,rule\na,single,rate,more\n")
    named = 'scenario = "call.toml"\npublished = "published.csv"'
    text = (little / "study.toml").read_text().replace('scenario = "call.toml"', named)
    (little / "study.toml").write_text(text)
    done = cli("study", little, "--dry-run")
    assert (done.returncode, "expected a table [rules.more] in study.toml, with help" in done.stderr) == (2, True)
    (little / "study.toml").write_text(text + "\n[rules.more]\nbetween = [5, 10]\ndirection_between = [0, 10]\n")
    done = cli("study", little, "--dry-run")
    assert "rules.more: found no key 'help', expected one; its keys are help, judged" in done.stderr
    rule = 'help = "More."\nbetween = [5, 10]\ndirection_between = [0, 10]\n'
    (little / "study.toml").write_text(f"{text}\n[rules.more]\n{rule}")
    assert cli("study", little, "--dry-run").returncode == 0
