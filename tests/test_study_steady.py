"""The study scream-steady: what its definition must hold, and the four main rows on the real frame sizes."""

from pathlib import Path

import pytest

import paceline
from conftest import CALL, ROOT
from paceline.studies import judge
from paceline.studies.definition import load
from paceline.studies.engine import compare, run_study
from paceline.studies.metrics import MetricSpec
from paceline.studies.rows import Rows
from paceline.studies.spec import read
from paceline.toml import loads

STEADY = ROOT / "studies" / "scream-steady"
# Utilisation in %, mean and 95th percentile of the wait in ms, start-up in s, as measured on the reference.
TABLE = {
    "off-5": (99.2, 15.9, 35.9, 4.3),
    "off-20": (99.5, 14.7, 31.3, 7.6),
    "l4s-5": (87.6, 1.41, 4.0, 4.7),
    "l4s-20": (84.9, 1.07, 3.2, 52.0),
}
JUDGED_BY = {
    "utilisation": "utilisation",
    "mean_wait_ms": "mean-delay",
    "p95_wait_ms": "p95-delay",
    "peak_wait_ms": "peak",
    "recovery_s": "recovery",
}


def test_every_main_row_is_there_and_judged_by_its_rule() -> None:
    rows = {row.id: row for row in load(STEADY).published}
    for name, figures in TABLE.items():
        row = [rows[f"{name}-{figure}"] for figure in ("utilisation", "mean", "p95", "start")]
        assert tuple(line.published for line in row) == figures
        start = "start-up" if name.startswith("off") else "not-judged"
        assert [line.rule for line in row] == ["utilisation", "mean-delay", "p95-delay", start]


def test_what_has_a_limit_is_judged_by_it_and_the_rest_is_not() -> None:
    study = load(STEADY)
    assert {name for name, rule in study.rules.items() if rule.judged} == {*JUDGED_BY.values(), "start-up"}
    ablations = {"resume", "scale", "cut", "headroom", "reports", "loss"}
    for row in study.published:
        expected = JUDGED_BY.get(row.metric or "", row.rule)
        if row.experiment.split("-")[0] in ablations:
            expected = "not-judged"
        assert row.rule == expected, row.id


@pytest.mark.parametrize(
    ("rule", "published", "inside", "outside"),
    [
        ("utilisation", 87.6, (85.7, 89.5), (85.5, 89.7)),
        ("mean-delay", 10.0, (8.6, 11.4), (8.4, 11.6)),
        ("p95-delay", 10.0, (8.1, 11.9), (7.9, 12.1)),
        ("start-up", 10.0, (8.6, 11.4), (8.4, 11.6)),
        ("peak", 10.0, (8.6, 11.4), (8.4, 11.6)),
        ("recovery", 5.5, (3.8, 5.8), (3.7, 5.9)),
    ],
)
def test_limits(rule: str, published: float, inside: tuple[float, float], outside: tuple[float, float]) -> None:
    limit = load(STEADY).rules[rule]
    assert [limit.verdict(published, ours) for ours in inside] == [judge.HOLDS] * 2
    assert all(limit.verdict(published, ours) != judge.HOLDS for ours in outside)


def test_the_set_up_is_that_of_the_table() -> None:
    call = loads((STEADY / "call.toml").read_text())
    assert (call["duration"], call["warmup"], call["sample"]) == ("100s", "20s", "100ms")
    controller = call["flows"]["video"]["controller"]
    assert controller == {
        "kind": "scream",
        "profile": "reference-2022",
        "target_bitrate_min": "300kbps",
        "target_bitrate_start": "1Mbps",
        "target_bitrate_max": "100Mbps",
    }
    assert call["flows"]["video"]["feedback"] == {"packets": 1}
    study = load(STEADY)
    for name, design in study.designs.items():
        marked = dict(design.overrides(0)).get("links.bottleneck.mark")
        l4s = "flows.video.ecn" in dict(design.overrides(0))
        assert (marked == '{ "kind" = "ramp", "low" = "2ms", "high" = "10ms" }') == l4s, name


def test_rfc8298_stands_beside_every_set_up_that_is_judged() -> None:
    study = load(STEADY)
    for row in study.published:
        if study.rules[row.rule].judged:
            beside = study.designs[row.experiment].spec.beside
            assert beside == {"RFC 8298": f"{row.experiment}-rfc8298"}
            overrides = dict(study.designs[beside["RFC 8298"]].overrides(0))
            assert overrides["flows.video.controller.profile"] == '"rfc8298"'


def test_an_experiment_with_over_runs_once_for_each_value_and_is_averaged() -> None:
    study = load(STEADY)
    design, first = study.designs["step-starts"], dict(zip(study.designs, study.firsts(), strict=True))["step-starts"]
    runs = [study.experiment(first + number) for number in range(len(design))]
    assert [run.name for run in runs] == [f"step-starts/{number}" for number in range(1, 9)]
    assert [dict(design.overrides(n))["flows.video.source.offset"] for n in range(2)] == ['"0s"', '"6s"']

    def line(last: float | None) -> judge.Comparison:
        rows = Rows(study)
        for name in study.designs:
            rows.put({"design": name, "number": 1, "peak_wait_ms": 300.0})
        for number in range(2, 9):
            rows.put({"design": "step-starts", "number": number, "peak_wait_ms": 300.0 if number < 8 else last})
        return {one.published.id: one for one in compare(study, rows, has_data=True)}["step-starts-peak"]

    assert line(380.0).ours == pytest.approx(310.0)
    assert line(None).verdict == judge.NO_FIGURE


def test_until_is_the_end_of_the_first_window_that_keeps_its_conditions() -> None:
    """A flow of 2 Mbit/s that begins at 3 s, on a link of 2 Mbit/s: the first whole second of it ends at 4 s."""
    scenario = CALL.replace('sample = "50ms"', 'sample = "100ms"').replace(
        '["0s", "8Mbps"], ["5s", "4Mbps"]', '["0s", "2Mbps"]'
    )
    scenario = scenario.replace("path =", 'start = "3s"\npath =').replace(
        '{ kind = "trace-encoder", generator = "frames", fps = 50 }', '{ kind = "bulk" }'
    ).replace('{ kind = "scream", profile = "reference-2022" }', '{ kind = "fixed", rate = "4Mbps" }')  # fmt: skip
    result = paceline.run(scenario)
    said = {"name": "m", "kind": "until", "window": 1.0, "of_capacity": {"throughput_mbps": [0.9, 9.0]}}

    def until(start: float, **more: object) -> float | None:
        value: float | None = read("metrics.m", {**said, "start": start, **more}, MetricSpec).value(result)
        return value

    assert until(0.0) == pytest.approx(4.0, abs=0.11)
    assert until(6.0) == pytest.approx(1.0)
    assert until(0.0, below={"queue_delay_ms": 1.0}) is None


@pytest.mark.usefixtures("unpainted")
def test_the_four_main_rows_hold(tmp_path: Path, data_dir: Path) -> None:
    """The real study without its other experiments."""
    copy = tmp_path / "scream-steady"
    copy.mkdir()
    text = (STEADY / "study.toml").read_text()
    begin, end = text.index("# ---- A link that falls"), text.index("# Replaces what the data")
    (copy / "study.toml").write_text(text[:begin] + text[end:])
    (copy / "call.toml").write_text((STEADY / "call.toml").read_text())
    head, *lines = (STEADY / "published.csv").read_text().splitlines(keepends=True)
    (copy / "published.csv").write_text(head + "".join(line for line in lines if line.split(",")[1] in TABLE))
    result = run_study(copy, out=tmp_path / "out", data=data_dir)
    assert result.missing is None
    judged = {line.published.id: line.verdict for line in result.comparison if line.verdict != judge.NOT_JUDGED}
    assert len(judged) == 14
    assert set(judged.values()) == {judge.HOLDS}, judged
