"""Pictures of the time series that a design keeps, and of metrics over a number that they differ in."""

from pathlib import Path

import pandas as pd
import pytest

from conftest import CALL
from paceline.errors import StudyError
from paceline.plots import study_series
from paceline.studies.definition import load
from paceline.studies.engine import run_study
from paceline.studies.rows import Rows

STUDY = """\
name = "kept"
title = "A sweep that keeps"
scenario = "call.toml"
seeds = [1, 2]

[factors.delay]
path = "links.bottleneck.delay"
unit = "ms"
levels = [10, 40]

[designs.one]
kind = "factorial"
keep = true

[designs.other]
kind = "factorial"

[metrics.short]
kind = "summary"
path = "flows.video.one_way_delay_ms.p50"

[metrics.long]
kind = "summary"
path = "flows.video.one_way_delay_ms.p95"

[pictures.runs]
kind = "runs"
lines = "delay"
labels = { 10 = "near", 40 = "far" }
panels = [
    { design = "one", column = "one_way_delay_ms", every = 0.5, axis = "delay, ms" },
    { design = "one", where = "delay = 40", column = "one_way_delay_ms", draw = "cdf", above_least = true },
    { design = "one", column = "throughput_mbps", draw = "distribution", scale = 1000, end = 5000 },
]

[pictures.flows]
kind = "runs"
panels = [{ design = "one", column = "one_way_delay_ms", log = true }]

[pictures.across]
kind = "across"
over = "percentile"
points = { long = 95, short = 50 }
lines = "delay"
panels = [{ of = "one", title = "all" }]
"""


@pytest.fixture
def keeping(tmp_path: Path) -> Path:
    """The folder of a sweep of 8 runs of two seconds."""
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "call.toml").write_text(CALL.replace('"10s"', '"2s"'))
    (folder / "study.toml").write_text(STUDY)
    return folder


def test_kept_runs_are_drawn_line_by_line(keeping: Path, tmp_path: Path) -> None:
    result = run_study(keeping, out=tmp_path / "out", workers=1)
    rows = Rows(result.study).fill(result.results_file)
    drawn = {name: one.draw(result.study, rows).axes for name, one in result.study.pictures.items()}
    over_time, cdf, bins = (axes for axes in drawn["runs"] if axes.get_visible())
    assert [line.get_label() for line in over_time.lines] == ["near", "far"]
    near, far = (line.get_ydata().mean() for line in over_time.lines)
    assert 28 < far - near < 32, "30 ms of propagation apart"
    assert list(over_time.lines[0].get_xdata()[:2]) == [0.25, 0.75], "the middles of half seconds"
    (line,) = cdf.lines
    assert line.get_label() == "far"
    assert line.get_color() == over_time.lines[1].get_color(), "one colour for a level"
    assert line.get_xdata()[0] == 0
    assert line.get_ydata()[-1] == 1
    assert all(abs(line.get_ydata().sum() - 1) < 1e-9 for line in bins.lines), "all samples lie below the end"
    assert bins.get_xlim() == (0, 5000)
    (flows,) = drawn["flows"]
    assert [line.get_label() for line in flows.lines] == ["video"]
    assert flows.get_yscale() == "log"
    (across,) = drawn["across"]
    frame = rows.frame("design = 'one' AND delay = 40")
    assert list(across.lines[1].get_xdata()) == [50, 95], "in the order of the numbers"
    assert list(across.lines[1].get_ydata()) == [frame["short"].mean(), frame["long"].mean()]


def test_a_mean_over_time_and_a_distribution_are_exact() -> None:
    values = pd.DataFrame({"time_s": [0.5, 1.0, 1.5, 4.0], "value": [1.0, 3.0, 5.0, 10.0]})
    means = study_series.over_time(values, 1.0)
    assert means["time_s"].tolist() == [0.5, 1.5, 3.5]
    assert means["value"].tolist() == [2.0, 5.0, 10.0]
    middles, parts = study_series.distribution(values, 6.0)
    assert parts.sum() == 0.75, "what lies beyond the end counts in no bin"
    assert parts[(middles > 0.9) & (middles < 1.1)].sum() == 0.25


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"one", where', '"other", where', r"runs.panels.2.design: found 'other', which keeps no time"),
        ('"one", where', '"on", where', r"runs.panels.2.design: found 'on', expected one of .*one"),
        ('"delay = 40"', '"dely = 40"', r"runs.panels.2.where: found"),
        ('lines = "delay"\nlab', 'lines = "dely"\nlab', r"pictures.runs.lines: found 'dely', expected one of flow"),
        ('every = 0.5', 'every = 0', r"runs.panels.1.every: found 0, expected"),
        ("long = 95", "lon = 95", r"across.points: found 'lon', expected one of .*long"),
    ],
)  # fmt: skip
def test_a_wrong_picture_is_refused_before_any_run(keeping: Path, old: str, new: str, said: str) -> None:
    text = (keeping / "study.toml").read_text()
    assert old in text
    (keeping / "study.toml").write_text(text.replace(old, new))
    with pytest.raises(StudyError, match=said):
        load(keeping)


def test_a_column_that_there_is_not_is_named(keeping: Path, tmp_path: Path) -> None:
    text = (keeping / "study.toml").read_text()
    (keeping / "study.toml").write_text(text.replace('column = "throughput_mbps"', 'column = "throughput"'))
    with pytest.raises(StudyError, match=r"pictures.runs: found column 'throughput'.*'throughput_mbps'"):
        run_study(keeping, out=tmp_path / "out", workers=1)
