"""Source kind codec-model against what x264 gave in the same calls, recorded: no encoder is needed.

`benches/codec_model.py --calls` wrote codec_model_x264.json. Clips that are no preset had no part in making the
model; their parameters are by `paceline.video.model.fit`.
"""

from __future__ import annotations

import json
import runpy
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT

BENCH = runpy.run_path(str(ROOT / "benches" / "codec_model.py"))
RECORDED = json.loads((Path(__file__).parent / "codec_model_x264.json").read_text())


def call(name: str, controller: str, link_kbps: int) -> tuple[float, float]:
    """PSNR in dB of a call with the model, and the kbit/s that it made."""
    result = BENCH["call"]({"kind": "codec-model"} | RECORDED["clips"][name], controller, link_kbps)
    return result.summary["flows"]["call"]["psnr_db"], BENCH["made_kbps"](result)


@lru_cache(maxsize=1)
def judged() -> list[tuple[list[Any], float, float]]:
    """Each recorded call, with the model's error in dB and its bytes over x264's."""
    return list(BENCH["judged"](RECORDED["clips"], RECORDED["calls"]))


def is_starved(row: list[Any]) -> bool:
    """Whether nearly nothing arrives whole."""
    return bool(row[2] <= BENCH["LOWEST_LINK"])


def is_preset(row: list[Any]) -> bool:
    return "preset" in RECORDED["clips"][row[0]]


@pytest.mark.parametrize("held_out", [False, True])
def test_overloaded_calls_look_as_with_x264(held_out: bool) -> None:
    errors = [(error, row) for row, error, _ in judged() if is_preset(row) != held_out and not is_starved(row)]
    sizes = np.abs([error for error, _ in errors])
    assert len(errors) == (36 if held_out else 24)
    assert np.mean(sizes) < 0.8
    assert np.mean(sizes <= 1.5) > (0.9 if held_out else 0.8), [row for row in errors if abs(row[0]) > 1.5]
    assert np.max(sizes) < 3.5, max(errors, key=lambda one: abs(one[0]))


def test_starved_calls_look_as_with_x264_mostly() -> None:
    # One packet more or less of a key frame tells there between nothing and a whole picture (docs/codec-model.md).
    sizes = np.abs([error for row, error, _ in judged() if is_starved(row)])
    assert len(sizes) == 28
    assert np.mean(sizes) < 1.5
    assert np.mean(sizes <= 1.5) > 0.7
    assert np.max(sizes) < 5.5


def test_nearly_all_calls_are_within_the_bound() -> None:
    assert sum(abs(error) <= 1.5 for _, error, _ in judged()) >= 74


def test_the_model_makes_the_bytes_that_x264_makes() -> None:
    over = np.array([bytes_over for row, _, bytes_over in judged() if not is_starved(row)])
    assert abs(np.mean(over) - 1) < 0.02
    assert np.all((over > 0.9) & (over < 1.13)), over
    # Key frames on demand take nothing from the rate, on a link that carries a third of what is sent.
    for name in ("newsreader", "sports", "carphone", "bigbuckbunny"):
        made = next(row[4] for row in RECORDED["calls"] if row[:3] == [name, "scream", 100])
        assert call(name, "scream", 100)[1] == pytest.approx(made, rel=0.1)


def test_a_call_in_which_nothing_arrives_whole_has_a_psnr() -> None:
    assert 10 < call("sports", "scream", 100)[0] < 16
