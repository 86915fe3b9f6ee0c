"""`paceline fit`: known parameters come back, presets are what it prints, and what cannot be fitted is said plainly."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paceline
from conftest import Run
from paceline import _core
from paceline.fitting.blockage import fit_blockage, states_of, stays_of
from paceline.fitting.distances import among_themselves, autocorrelation, frame_distances, rate_distances
from paceline.fitting.frame_sizes import fit_frames, with_keys
from paceline.fitting.recordings import Frames, Rates, draw_frames, draw_rates, read_rates
from paceline.scenario import read
from paceline.toml import loads

KNOWN = {
    "generator": "mmwave",
    "ramps": True,
    "states": [
        {"name": "blocked", "rates": ["0Mbps", "5Mbps", "19Mbps"], "correlation": "3s", "dwell": "4s",
         "dwell_shape": 0.8, "next": {"reflected": 0.7, "los": 0.3}},
        {"name": "reflected", "rates": ["30Mbps", "100Mbps", "190Mbps"], "correlation": "1.5s", "dwell": "6s",
         "dwell_shape": 1.0, "next": {"blocked": 0.4, "los": 0.6}},
        {"name": "los", "rates": ["210Mbps", "500Mbps", "900Mbps"], "correlation": "6s", "dwell": "12s",
         "dwell_shape": 1.5, "next": {"blocked": 0.2, "reflected": 0.8}},
    ],
}  # fmt: skip
KNOWN_BOUNDS = [25.0, 200.0]

KNOWN_FRAMES = {
    "kind": "frames", "mean": "10kB", "sizes": [0.4, 0.8, 0.9, 1.0, 1.5], "correlation": -0.3, "correlation2": 0.25,
    "key_interval": 60, "key_scale": 3.0, "key_sigma": 0.05, "after_key": [0.6, 0.7], "min": "1B", "max": "1MB",
}  # fmt: skip

WALKS = ("5_walking", "49_walking", "75_walking")
DRIVES = ("15_driving", "22_driving")
BOUNDS = "20Mbps,165Mbps,700Mbps"


def test_known_states_come_back() -> None:
    recording = draw_rates(KNOWN, 40_000, 1.0, seed=7)
    fit = fit_blockage([recording], bounds=KNOWN_BOUNDS)
    assert [state.name for state in fit.states] == ["blocked", "reflected", "los"]
    for state, known in zip(fit.states, KNOWN["states"], strict=True):
        assert state.dwell_s == pytest.approx(float(known["dwell"][:-1]), rel=0.08)
        assert state.dwell_shape == pytest.approx(known["dwell_shape"], rel=0.08)
        assert state.next == pytest.approx(known["next"], abs=0.04)
        assert state.rho == pytest.approx(math.exp(-1 / float(known["correlation"][:-1])), abs=0.06)
        lowest, middle, highest = (float(rate[:-4]) for rate in known["rates"])
        assert state.mbps[10] == pytest.approx(middle, rel=0.06, abs=1)
        assert state.mbps[5] == pytest.approx((lowest + middle) / 2, rel=0.08, abs=1)
        assert state.mbps[15] == pytest.approx((middle + highest) / 2, rel=0.06, abs=1)


def test_what_was_fitted_is_as_near_to_its_recording_as_another_draw_is() -> None:
    recording = draw_rates(KNOWN, 20_000, 1.0, seed=1)
    fit = fit_blockage([recording], bounds=KNOWN_BOUNDS)
    drawn = draw_rates(fit.rate, 100_000, 1.0, seed=2)
    for name, distance in rate_distances([recording], [drawn], fit.bounds, ["blocked", "reflected", "los"]).items():
        assert (distance.ks or 0.0) < 0.05, name
        assert distance.wasserstein is not None
        assert distance.wasserstein < 0.08, name


def test_bounds_are_found_between_clusters_of_rates() -> None:
    around = np.random.default_rng(1).normal(0, 10, 3_000)
    levels = np.repeat(np.tile([30.0, 400.0, 1500.0, 400.0], 75), 10)
    low, high = fit_blockage([Rates("levels", np.maximum(levels + around, 0), 1.0)], states=3).bounds
    assert 100 < low < 300
    assert 700 < high < 1200


def test_known_frame_sizes_come_back() -> None:
    recording = draw_frames(KNOWN_FRAMES, 60_000, seed=5)
    found = fit_frames([recording]).generator
    assert float(str(found["mean"])[:-1]) == pytest.approx(10_000, rel=0.01)
    assert found["key_interval"] == 60
    assert found["key_scale"] == pytest.approx(3.0, rel=0.01)
    assert found["key_sigma"] == pytest.approx(0.05, abs=0.003)
    assert found["after_key"] == pytest.approx([0.6, 0.7], rel=0.02)
    assert found["correlation"] == pytest.approx(-0.3, abs=0.02)
    assert found["correlation2"] == pytest.approx(0.25, abs=0.02)
    sizes = np.array(found["sizes"])
    assert sizes[[0, 10, 20, 30, 40]] / sizes[20] == pytest.approx(np.array([0.4, 0.8, 0.9, 1.0, 1.5]) / 0.9, abs=0.01)


def test_key_frames_are_found_at_their_distance_where_no_file_says_so() -> None:
    drawn = draw_frames(KNOWN_FRAMES, 3_000, seed=5)
    silent = Frames("silent", drawn.sizes[17:], np.zeros(2_983, bool))
    assert np.array_equal(with_keys(silent).keys, drawn.keys[17:])
    nothing = draw_frames({**KNOWN_FRAMES, "key_interval": 0}, 3_000, seed=5)
    assert not with_keys(Frames("nothing", nothing.sizes, np.zeros(3_000, bool))).keys.any()


def test_stays_at_both_ends_are_not_whole() -> None:
    states = states_of(np.array([1.0, 1, 30, 30, 30, 2, 40, 3, 3]), [20.0])
    low, high = stays_of([states], 0), stays_of([states], 1)
    assert (low.whole.tolist(), low.cut.tolist()) == ([1], [2, 2])
    assert (high.whole.tolist(), high.cut.tolist()) == ([3, 1], [])


def test_distances_by_hand() -> None:
    one, other = (Rates(name, np.tile([low, 100.0], 50), 1.0) for name, low in (("one", 0.0), ("other", 20.0)))
    found = rate_distances([one], [other], [50.0], ["low", "high"])
    # Half of the values are 20 apart, the mean is 50; every second change is 80 instead of 100.
    assert (found["rate"].ks, found["rate"].wasserstein) == (0.5, pytest.approx(0.2))
    assert found["rate change over 1 s"].wasserstein == pytest.approx(0.4)
    assert (found["dwell time, low"].ks, found["dwell time, low"].wasserstein) == (0.0, 0.0)
    assert autocorrelation([one.mbps], 1) == pytest.approx(-1.0)
    assert found["autocorrelation, 1 s"].wasserstein == pytest.approx(0.0)
    assert all(not distance.wasserstein for distance in rate_distances([one], [one], [50.0], ["low", "high"]).values())
    frames = Frames("frames", np.tile([10.0, 20.0], 50), np.zeros(100, bool))
    same = frame_distances([frames], [Frames("twice", frames.sizes * 2, frames.keys)])
    assert same["delta frames"].ks == 0.0, "sizes are compared over their means"
    assert same["key frames"].ks is None
    assert len(among_themselves([one, other, one], lambda a, b: {})) == 3


def test_a_recording_is_averaged_over_even_intervals(tmp_path: Path) -> None:
    file = tmp_path / "holds.csv"
    file.write_text("10,0.5\n20,1.0\n40,2.5\n")
    rates, warnings = read_rates(str(file), {"format": "mbps-hold"}, 1.0)
    assert (rates.mbps.tolist(), rates.name, warnings) == ([15.0, 30.0, 40.0, 40.0], "holds.csv", [])


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    """A recording of a quarter of an hour."""
    file = tmp_path / "walk.txt"
    values = draw_rates({"generator": "mmwave", "preset": "lumos5g-walking"}, 900, 1.0, seed=4).mbps
    file.write_text("".join(f"{second} {value}\n" for second, value in enumerate(values)))
    return file


def test_the_output_is_a_scenarios_rate(cli: Run, walk: Path, tmp_path: Path) -> None:
    arguments = ["fit", walk, "--format", "time-mbps", "--split", "0.6", "--states", "3"]
    first = cli(*arguments, "--out", tmp_path / "out")
    assert first.returncode == 0, first.stderr
    rate = loads(first.stdout)["rate"]
    assert [state["name"] for state in rate["states"]] == ["blocked", "reflected", "los"]
    call = f'duration = "5s"\n[links.radio]\n{first.stdout}\nqueue = {{ packets = 9 }}\n' + (
        '[flows.probe]\ntransport = "udp"\nsource = { kind = "cbr" }\npath = ["radio"]\n'
    )
    assert paceline.run(call).links["capacity_mbps"].max() > 0
    assert {str(file.relative_to(tmp_path / "out")) for file in (tmp_path / "out").rglob("*.*")} == {
        "fit.toml", "plots/fit.svg", "plots/fit.png"
    }  # fmt: skip
    assert (tmp_path / "out" / "fit.toml").read_text() == first.stdout
    document = json.loads(cli(*arguments, "--json").stdout)
    assert document["parameters"] == rate, "of another fit"
    assert document["distances"]["held_out"]["rate"]["ks"] < 1


def test_frame_sizes_come_out_as_a_generator(cli: Run, tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.txt"
    sizes.write_text("".join(f"{size:.0f}\n" for size in draw_frames(KNOWN_FRAMES, 2_000, seed=1).sizes))
    done = cli("fit", "--frames", sizes, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    generator = loads(done.stdout)["generator"]
    assert generator["key_interval"] == 60
    assert draw_frames(generator, 500, 1).sizes.mean() == pytest.approx(10_000, rel=0.05)
    assert (tmp_path / "out" / "plots" / "fit.png").stat().st_size > 10_000


WRONG = {
    "no such file": (None, ["--format", "mbps"], ["wrong.txt", "no file"]),
    "empty": ("", ["--format", "mbps"], ["wrong.txt", "an empty file", "one number per line"]),
    "constant": ("5\n" * 300, ["--format", "mbps"], ["constant rate of 5 Mbit/s", "expected one that changes"]),
    "short": ("1\n2\n3\n", ["--format", "mbps"], ["found 3 intervals of 1 s", "at least 120"]),
    "shorter than an interval": ("1\n", ["--format", "mbps-hold"], ["wrong.txt", "found"]),
    "no format": ("1\n2\n", [], ["--format", "found nothing", "time-mbps"]),
    "unknown format": ("1\n2\n", ["--format", "mbs"], ["mbs", "did you mean", "mbps"]),
    "wrong format": ("1 2\n2 3\n", ["--format", "mahimahi"], ["wrong.txt", "line 1", "whole milliseconds"]),
    "no such preset": ("1\n9\n" * 200, ["--format", "mbps", "--states", "2", "--preset", "lumos5g-waking"],
                       ["lumos5g-waking", "lumos5g-walking"]),
    "a state hardly visited": ("1\n" * 200 + "9\n" * 200, ["--format", "mbps", "--bounds", "5Mbps"],
                               ["blocked", "found 0 stays", "at least 5"]),
    "bounds that fall": ("1\n2\n", ["--format", "mbps", "--bounds", "9Mbps,5Mbps"], ["--bounds", "9Mbps,5Mbps"]),
    "an interval that is none": ("1\n2\n", ["--format", "mbps", "--interval", "5"], ["--interval", "1s"]),
    "a part that is none": ("1\n2\n" * 200, ["--format", "mbps", "--split", "1.5"], ["--split", "found 1.5"]),
    "frames, empty": ("", ["--frames"], ["wrong.txt", "found no frame"]),
    "frames, constant": ("20000\n" * 300, ["--frames"], ["frames of one size (20000 B)"]),
    "frames, short": ("1\n2\n3\n", ["--frames"], ["found 3 frames", "at least 200"]),
    "frames, wrong format": ("1 2\n", ["--frames"], ["wrong.txt", "`1 2`", "a frame size in bytes"]),
    "frames, no such preset": ("1\n2\n" * 200, ["--frames", "--preset", "trace-kee"], ["trace-kee", "trace-key"]),
    "frames with bounds": ("1\n2\n", ["--frames", "--bounds", "5Mbps"], ["--bounds", "--frames"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_fitted_is_said(cli: Run, tmp_path: Path, case: str) -> None:
    content, options, named = WRONG[case]
    file = tmp_path / "wrong.txt"
    if content is not None:
        file.write_text(content)
    done = cli("fit", file, *options, "--out", tmp_path / "out")
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for text in named:
        assert text in done.stderr
    assert not (tmp_path / "out").exists()


def resolved_preset(name: str) -> list[dict[str, Any]]:
    call = (
        f'duration = "1s"\n[links.radio]\nrate = {{ generator = "mmwave", preset = "{name}" }}\n'
        'queue = { packets = 9 }\n[flows.probe]\ntransport = "udp"\nsource = { kind = "cbr" }\npath = ["radio"]\n'
    )
    states: list[dict[str, Any]] = loads(read(call).load().core.resolved_toml)["links"]["radio"]["rate"]["states"]
    return states


@pytest.mark.parametrize(("name", "runs"), [("lumos5g-walking", WALKS), ("lumos5g-driving", DRIVES)])
def test_a_preset_is_what_the_command_in_its_docs_prints(cli: Run, data_dir: Path, name: str, runs: list[str]) -> None:
    files = [data_dir / "mmwave_lumos5g" / f"5g_trace_{run}" for run in runs]
    done = cli("fit", *files, "--format", "time-mbps", "--bounds", BOUNDS, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)

    def numbers(states: list[dict[str, Any]]) -> list[float]:
        found: list[float] = []
        for state in states:
            found += [state["dwell_shape"], *state["next"].values(), *map(_mbps, state["rates"])]
            found += [_base_units(state[key]) for key in ("dwell", "correlation")]
        return found

    fitted = numbers(document["parameters"]["states"])
    # The optimiser's last digits may differ from machine to machine.
    assert numbers(resolved_preset(name)) == pytest.approx(fitted, rel=0.02, abs=0.02)
    distances = document["distances"]["fitted"]
    assert distances["rate"]["ks"] < 0.06
    assert distances["rate change over 1 s"]["ks"] < 0.1
    assert distances["autocorrelation, 1 s"]["wasserstein"] < 0.05


def _mbps(rate: str) -> float:
    return _base_units(rate) / 1e6


def _base_units(text: str) -> float:
    found = _core.quantity(text)
    assert found is not None
    return found[0]
