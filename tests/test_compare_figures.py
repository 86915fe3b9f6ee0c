"""The statistics of a comparison: intervals, scores, the weights at which an order changes, ellipses."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from paceline.comparison import ranking, statistics
from paceline.comparison.figures import FIGURES, OfFlows, metrics, weights_of
from paceline.errors import UsageError
from paceline.plots import rate_delay

FIGURE_COLUMNS = [one.column for one in FIGURES.values()]

# Intervals.


def test_intervals_of_few_and_of_equal_values() -> None:
    assert statistics.interval(np.array([]))[2] == statistics.NO_SEED
    low, high, note = statistics.interval(np.array([2.0]))
    assert math.isnan(low)
    assert math.isnan(high)
    assert note == statistics.ONE_SEED
    assert statistics.interval(np.full(10, 0.25)) == (0.25, 0.25, statistics.SAME)


def test_the_interval_is_students() -> None:
    """Of 1 to 5 the variance is 2.5; t is 2.7764 with four degrees of freedom, and 12.706 with one."""
    low, high, note = statistics.interval(np.arange(1.0, 6.0))
    assert (low, high) == pytest.approx((3 - 2.77645 * math.sqrt(0.5), 3 + 2.77645 * math.sqrt(0.5)), abs=1e-4)
    assert note == ""
    low, high, note = statistics.interval(np.array([1.0, 3.0]))
    assert (low, high) == pytest.approx((2 - 12.7062, 2 + 12.7062), abs=1e-4)
    assert note == statistics.FEW_SEEDS


@pytest.mark.parametrize("seeds", [2, 5, 20])
@pytest.mark.parametrize(
    ("drawn", "least", "most"), [("normal", 0.035, 0.065), ("equals", 0.01, 0.05), ("lognormal", 0.07, 0.21)]
)
def test_intervals_miss_the_mean_as_often_as_the_page_says(drawn: str, least: float, most: float, seeds: int) -> None:
    rng = np.random.default_rng(7)
    values = rng.normal(0.0, 1.0, (1000, seeds)) if drawn == "normal" else rng.lognormal(0.0, 1.0, (1000, seeds))
    if drawn == "equals":
        values -= rng.lognormal(0.0, 1.0, values.shape)
    mean = math.exp(0.5) if drawn == "lognormal" else 0.0
    found = [statistics.interval(one) for one in values]
    assert least <= np.mean([not low <= mean <= high for low, high, _ in found]) <= most


def _runs(**figures: dict[str, list[float | None]]) -> pd.DataFrame:
    """Runs under one condition: by controller, the throughput with seeds 1, 2, ...; None of a run that failed."""
    rows = [
        {"condition": "c", "controller": one, "seed": seed, "error": None if value is not None else "no",
         **dict.fromkeys(FIGURE_COLUMNS), "throughput_mbps": value}
        for one, values in figures.items()
        for seed, value in enumerate(values, 1)
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({**dict.fromkeys(FIGURE_COLUMNS, float), "error": object})


def test_a_run_that_failed_takes_its_seed_out_of_the_pairs() -> None:
    runs = _runs(a=[1.0, 2.0, 3.0], b=[2.0, None, 5.0], c=[None, 7.0, None], d=[None, None, None])
    medians = statistics.medians(runs).set_index("controller")
    assert medians["failed"].to_dict() == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert medians.loc["b", "throughput_mbps"] == 3.5
    found = statistics.differences(runs, "a").set_index("controller")
    assert found["seeds"].to_dict() == {"b": 2, "c": 1, "d": 0}
    assert found["note"]["c"] == statistics.ONE_SEED
    assert found["difference"]["b"] == 1.5
    ranked = ranking.rank(statistics.medians(runs), {"throughput": 1.0})
    assert ranked.order == ["c", "b", "a"]
    assert any("d is not ranked" in note for note in ranked.notes)


def test_what_is_alike_by_chance_is_no_certainty() -> None:
    """Two runs with a freeze more each may be chance; not so where no figure changes with the seed."""
    runs = _runs(a=[5.0, 5.1], b=[4.0, 4.2]).assign(freezes=[0.0, 0.0, 1.0, 1.0])
    found = statistics.differences(runs, "a").set_index("figure").loc["freezes"]
    assert (found["difference"], found["better"], found["note"]) == (1.0, None, statistics.ALIKE)
    assert math.isnan(found["low"])
    settled = _runs(a=[5.0] * 5, b=[4.0] * 5).assign(freezes=[0.0] * 5 + [1.0] * 5)
    found = statistics.differences(settled, "a").set_index("figure").loc["freezes"]
    assert (found["better"], found["note"]) == (False, statistics.SAME)


def test_less_delay_is_better_and_less_rate_is_worse() -> None:
    runs = _runs(
        a=[5.0, 5.1, 5.2, 5.0, 5.1],
        b=[1.0, 1.1, 1.3, 1.0, 1.2],
        c=[5.1, 5.0, 5.1, 5.1, 5.1],
        d=[9.0, 9.1, 9.3, 9.0, 9.2],
    )
    runs["one_way_delay_p95_ms"] = runs["throughput_mbps"]
    found = statistics.differences(runs, "a").set_index(["controller", "figure"])["better"]
    rate, delay = (found.xs(column, level=1).to_dict() for column in ("throughput_mbps", "one_way_delay_p95_ms"))
    assert rate == {"b": False, "c": None, "d": True}
    assert delay == {"b": True, "c": None, "d": False}
    few = statistics.differences(runs[runs["seed"] < 5], "a")
    assert few["better"].isna().all(), "four seeds are too few for a mark"
    assert set(few["note"]) == {statistics.FEW_SEEDS}


# Start-up.


class _Run:
    """A run of which there are only the time series: two flows with a sample each half second."""

    flows_arrow = pa.table(
        {
            "time_s": [0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 2.0, 2.0],
            "flow": ["a", "b"] * 4,
            "throughput_mbps": [0.0, 1.0, 2.0, 1.0, 4.0, 1.0, 9.0, 1.0],
            "one_way_delay_ms": [None, 90.0, 20.0, 90.0, 30.0, 90.0, 40.0, 90.0],
            "frame_delay_ms": [None, 9.0, 50.0, 9.0, 60.0, 9.0, 70.0, 9.0],
        }
    )


def _figures(flows: tuple[str, ...], start_up: tuple[float, float]) -> dict[str, float | None]:
    found = metrics({"f": flows}, {"f": ()}, {"f": start_up})
    run: Any = _Run()
    return {name: one.value_in("f", run) for name, one in found.items() if not isinstance(one, OfFlows)}


def test_figures_of_start_up_are_of_the_warm_up_and_distributions_of_the_rest() -> None:
    found = _figures(("a",), (0.0, 1.0))
    assert found["start_up_mbps"] == 1.0
    assert found["start_up_delay_p95_ms"] == 20.0
    assert found["one_way_delay_ms.p50"] == 35.0
    assert found["frame_delay_ms.p50"] == 65.0
    assert _figures(("a", "b"), (0.0, 1.0))["start_up_mbps"] == 2.0, "rates of several flows add up"
    assert _figures(("a",), (0.5, 1.0))["start_up_mbps"] == 2.0, "a flow that starts later starts up later"
    cut = _figures(("a",), (0.0, 1.2))
    assert (cut["start_up_mbps"], cut["one_way_delay_ms.p50"]) == (1.0, 40.0), "a row across the end is in neither"


def test_without_a_warm_up_there_is_no_start_up() -> None:
    for start_up in ((0.0, 0.0), (5.0, 1.0)):
        found = _figures(("a",), start_up)
        assert (found["start_up_mbps"], found["start_up_delay_p95_ms"]) == (None, None)
    assert _figures(("a",), (0.0, 0.0))["one_way_delay_ms.p50"] == 30.0
    assert "start-up" not in weights_of(None)
    assert weights_of("start-up=1") == {"start-up": 1.0}


def test_the_first_columns_are_those_that_people_ask_for() -> None:
    assert list(FIGURES)[:6] == ["throughput", "frame-delay", "delay", "send-queue", "loss", "start-up"]


# The ranking.


def _medians(**controllers: tuple[float, float]) -> pd.DataFrame:
    """Medians of rate and delay under one condition."""
    rows = [
        {"condition": "c", "controller": one, "runs": 1, "failed": 0, **dict.fromkeys(FIGURE_COLUMNS, math.nan),
         "throughput_mbps": rate, "one_way_delay_p95_ms": delay}
        for one, (rate, delay) in controllers.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_scores_are_shares_of_the_best() -> None:
    found = ranking.rank(_medians(fast=(10.0, 99.0), quick=(5.0, 49.0)), {"throughput": 1.0, "delay": 3.0})
    assert found.scores["fast"] == {"throughput": 1.0, "delay": 0.5}
    assert found.scores["quick"] == {"throughput": pytest.approx(5.01 / 10.01), "delay": 1.0}
    assert found.utilities == {"quick": pytest.approx((5.01 / 10.01 + 3) / 4), "fast": pytest.approx(2.5 / 4)}
    assert found.order == ["quick", "fast"]


def test_the_weight_at_which_the_first_two_change_is_exact() -> None:
    medians = _medians(fast=(10.0, 99.0), quick=(5.0, 49.0), third=(6.0, 60.0))
    weights = {"throughput": 1.0, "delay": 2.0}
    found = ranking.rank(medians, weights)
    assert found.flips
    for flip in found.flips:
        at = ranking.rank(medians, {**weights, flip.figure: flip.at})
        assert at.utilities[flip.first] == pytest.approx(at.utilities[flip.other], abs=1e-12)
        step = 1e-6 if flip.at > flip.weight else -1e-6
        beyond = ranking.rank(medians, {**weights, flip.figure: flip.at + step})
        assert beyond.utilities[flip.other] > beyond.utilities[flip.first]
        assert not flip.leads or beyond.order[0] == flip.other
        before = ranking.rank(medians, {**weights, flip.figure: flip.at - step})
        assert before.order[0] == found.order[0] or not flip.leads


def test_the_first_place_changes_where_a_scan_of_the_weights_says() -> None:
    medians = _medians(fast=(10.0, 99.0), quick=(5.0, 49.0), third=(9.0, 55.0))
    weights = {"throughput": 1.0, "delay": 1.0}
    found = ranking.rank(medians, weights)
    scanned = set()
    for figure, now in weights.items():
        for steps in (range(1, 20_000), range(-1, -round(now * 1000), -1)):
            leaders = (
                (step, ranking.utility_order(found.scores, {**weights, figure: now + step / 1000})) for step in steps
            )
            change = next(((step, order[0]) for step, order in leaders if order[0] != found.order[0]), None)
            if change is not None:
                scanned.add((figure, round(now + change[0] / 1000, 2), change[1]))
    assert len(scanned) == 4
    leads = {(flip.figure, round(flip.at, 2), flip.other) for flip in found.flips if flip.leads}
    assert {(figure, other) for figure, _, other in leads} == {(figure, other) for figure, _, other in scanned}
    for mine, theirs in zip(sorted(leads), sorted(scanned), strict=True):
        assert mine[1] == pytest.approx(theirs[1], abs=0.011)


def test_who_is_best_in_everything_stays_first() -> None:
    found = ranking.rank(_medians(best=(10.0, 20.0), worse=(9.0, 30.0)), {"throughput": 1.0, "delay": 1.0})
    assert found.flips == []
    level = ranking.rank(_medians(best=(10.0, 20.0), worse=(10.0, 30.0)), {"throughput": 1.0, "delay": 1.0})
    assert level.flips == [], "a tie at the weight zero is no change"


def test_a_figure_that_somebody_lacks_does_not_count() -> None:
    medians = _medians(a=(10.0, 20.0), b=(9.0, math.nan))
    found = ranking.rank(medians, {"throughput": 1.0, "delay": 1.0})
    assert (found.weights, found.order) == ({"throughput": 1.0}, ["a", "b"])
    assert any(note.startswith("delay does not count") for note in found.notes)
    assert ranking.rank(medians, {"delay": 1.0}).order == []


@pytest.mark.parametrize(
    "wrong", ["speed=1", "delay", "delay=x", "delay=-1", "delay=nan", "delay=0", "delay=1,delay=2"]
)
def test_weights_that_are_written_wrongly(wrong: str) -> None:
    with pytest.raises(UsageError, match="weights: found"):
        weights_of(wrong)


def test_an_ellipse_has_the_points_deviations() -> None:
    points = np.random.default_rng(3).normal(0, 1, (2000, 2)) @ np.diag([5.0, 0.5]) + [10.0, 3.0]
    outline = rate_delay.ellipse(points)
    assert np.ptp(outline, axis=0) == pytest.approx([10.0, 1.0], rel=0.06)
    assert outline[:-1].mean(axis=0) == pytest.approx([10.0, 3.0], abs=0.3)
    assert np.isfinite(rate_delay.ellipse(np.ones((4, 2)))).all()
