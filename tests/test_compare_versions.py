"""`paceline compare --with`: changes by another build or version of a controller; and tables over conditions."""

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest

from conftest import CALL, Run
from paceline.comparison import report, statistics

SHORT = CALL.replace('"10s"', '"2s"').replace('["5s", "4Mbps"]', '["1s", "4Mbps"]')
MINE = """\
class Mine:
    steers = "media"

    def __init__(self, flow):
        pass

    def start(self, now_s):
        return {"target_mbps": RATE}

    def report(self, now_s, packets):
        return {}
"""


@pytest.fixture
def home(tmp_path: Path, cli: Run) -> Path:
    """The folder in which `cli` works, with two calls and a controller."""
    folder = tmp_path / "cwd"
    (folder / "near.toml").write_text(SHORT)
    (folder / "far.toml").write_text(SHORT.replace('"10ms"', '"60ms"'))
    (folder / "mine.py").write_text(MINE.replace("RATE", "2.0"))
    return folder


MINE_TOO = ("--controller", "mine=mine.py:Mine", "--over", "near.toml", "far.toml")


def compared(cli: Run, *arguments: str) -> dict[str, object]:
    done = cli("compare", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def refused(cli: Run, *arguments: str) -> str:
    done = cli("compare", *arguments)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.long
@pytest.mark.usefixtures("unpainted")
def test_a_controller_is_compared_with_its_earlier_version(cli: Run, home: Path) -> None:
    compared(cli, "mine", "scream", *MINE_TOO, "--seeds", "5", "--out", "old")
    (home / "mine.py").write_text(MINE.replace("RATE", "3.0"))
    found = compared(cli, "mine", *MINE_TOO, "--seeds", "5", "--out", "new", "--with", "old")
    [(own, before)] = found["earlier"].items()  # type: ignore[attr-defined]
    assert own == "mine"
    assert before.startswith("mine@"), "named by the version"
    differences = pd.DataFrame(found["differences"])
    assert set(differences["controller"]) == {"mine"}
    assert set(differences["baseline"]) == {before}
    rate = differences[(differences["figure"] == "throughput_mbps") & (differences["condition"] == "near")].iloc[0]
    assert rate["difference"] > 0.5
    assert rate["better"]
    text = (home / "new" / "report.html").read_text()
    assert f"compared with <b>{before}</b>" in text
    assert text.index("All 2 conditions") < re.search("<h2[^>]*>near", text).start()  # type: ignore[union-attr]
    done = cli("compare", "mine", *MINE_TOO, "--seeds", "5", "--out", "new", "--with", "old")
    assert before in done.stdout
    assert done.stdout.index("all 2 conditions") < done.stdout.index("near, after")


@pytest.mark.usefixtures("unpainted")
def test_another_build_is_named_by_its_commit(cli: Run, home: Path) -> None:
    both = ("scream", "newreno", "--over", "near.toml", "--seeds", "2")
    compared(cli, *both, "--out", "old")
    document = home / "old" / "comparison.json"
    said = json.loads(document.read_text())
    said["version"] = "0.1.0+gac24356f01.changed.s0f1e2d3c4b5a6978.p1a2b3c4d5e6f"
    document.write_text(json.dumps(said))
    found = compared(cli, *both, "--out", "new", "--with", "old")
    assert found["earlier"] == {one: f"{one}@ac24356.0f1e2d" for one in ("scream", "newreno")}
    differences = pd.DataFrame(found["differences"])
    assert set(differences["difference"]) == {0.0}, "each with itself, and this is the same build after all"
    assert "itself in the earlier version" in (home / "new" / "report.html").read_text()


@pytest.mark.usefixtures("unpainted")
def test_what_differs_besides_the_version_is_refused(cli: Run, home: Path) -> None:
    compared(cli, "mine", "slow=scream,qdelay_target_lo=20ms", *MINE_TOO, "--seeds", "2", "--out", "old")
    again = ("mine", *MINE_TOO, "--out", "new", "--with", "old")
    assert "of this same version" in refused(cli, *again, "--seeds", "2")
    (home / "mine.py").write_text(MINE.replace("RATE", "3.0"))
    assert "with seeds 1, 2, expected the same as here: 1 to 3" in refused(cli, *again, "--seeds", "3")
    one = ("mine", "--controller", "mine=mine.py:Mine", "--seeds", "2", "--out", "new", "--with", "old")
    assert "conditions near, far, expected the same as here: near" in refused(cli, *one, "--over", "near.toml")
    assert "expected one that is in both" in refused(cli, "scream", *MINE_TOO, "--seeds", "2", "--with", "old")
    other = ("mine", "slow=scream,qdelay_target_lo=30ms", *MINE_TOO, "--seeds", "2", "--with", "old")
    assert "found controller 'slow' that is another one" in refused(cli, *other)
    assert "--with old: found no controller" in refused(cli, "--with", "old", "--out", "new")
    assert "expected another one" in refused(cli, "mine", *MINE_TOO, "--with", "old", "--out", "old")
    assert "found no finished comparison" in refused(cli, "mine", *MINE_TOO, "--with", "nowhere")
    (home / "near.toml").write_text(SHORT.replace("300ms", "310ms"))
    assert "--with old: found condition 'near' that is another one" in refused(cli, *again, "--seeds", "2")
    assert not (home / "new").exists(), "all that is said before any run"
    (home / "old" / "comparison.json").write_text("[]")
    assert "damaged" in refused(cli, *again, "--seeds", "2")


# Over all conditions.


def runs(delays: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Runs with the one-way delays of each controller under each condition."""
    rows = [
        {"condition": condition, "controller": controller, "seed": seed, "error": None, "one_way_delay_p95_ms": delay}
        for condition, of_controllers in delays.items()
        for controller, values in of_controllers.items()
        for seed, delay in enumerate(values, 1)
    ]
    empty = dict.fromkeys((one.column for one in report.FIGURES.values()), math.nan)
    return pd.DataFrame([{**empty, **row} for row in rows])


def overall(found: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    return statistics.over_conditions(statistics.medians(found), statistics.differences(found, "a"))


def test_each_condition_counts_once_and_the_interval_is_over_them() -> None:
    gains = [1.0, 2.0, 3.0, 2.0, 2.0]
    means, differences = overall(
        runs(
            {f"c{n}": {"a": [10.0 * n] * (n + 1), "b": [10.0 * n + gain] * (n + 1)} for n, gain in enumerate(gains, 1)}
        )
    )
    assert list(means["one_way_delay_p95_ms"]) == [30.0, 32.0]
    assert list(means["runs"]) == [20, 20]
    [row] = differences.to_dict("records")
    assert row["difference"] == 2.0
    assert (row["seeds"], row["baseline_mean"], row["better"]) == (5, 30.0, False)
    # Student's t of four degrees of freedom, for five values with a variance of one half.
    assert row["high"] - row["difference"] == pytest.approx(2.7764 * math.sqrt(0.5 / 5), rel=1e-4)


def test_few_conditions_are_not_marked_and_one_has_no_table() -> None:
    _, differences = overall(runs({f"c{n}": {"a": [10.0, 11.0], "b": [90.0, 91.0]} for n in range(3)}))
    assert list(differences["better"]) == [None]
    assert list(differences["note"]) == ["few conditions"]
    assert all(one.empty for one in overall(runs({"c": {"a": [1.0], "b": [2.0]}})))


def test_a_condition_without_the_figure_of_all_is_left_out() -> None:
    found = runs(
        {"c1": {"a": [10.0], "b": [12.0]}, "c2": {"a": [20.0], "b": [24.0]}, "c3": {"a": [30.0], "b": [math.nan]}}
    )
    means, differences = overall(found)
    assert list(means["one_way_delay_p95_ms"]) == [15.0, 18.0]
    assert list(differences["seeds"]) == [2]
