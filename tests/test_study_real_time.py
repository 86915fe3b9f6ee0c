"""Studies whose experiments run in real time: against the kernel's TCP, or over sockets of this machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import paceline
from conftest import ROOT
from paceline.errors import StudyError, UsageError
from paceline.scenario import read
from paceline.studies import real_time
from paceline.studies.definition import load
from paceline.studies.experiment import Context
from processes import may_make_networks

PATH = ROOT / "studies" / "kernel-tcp" / "path.toml"

STUDY = """
name = "two-worlds"
title = "Simulated and over sockets"
scenario = "call.toml"

[factors.rate]
path = "links.path.rate"
unit = "Mbps"
levels = [1]

[designs.simulator]
kind = "factorial"

[designs.line]
kind = "factorial"
world = "line"

[metrics.mbps]
kind = "summary"
path = "flows.video.throughput_mbps"

[metrics.received]
kind = "summary"
path = "flows.video.packets_received"
world = "line"
"""

CALL = """
name = "two worlds"
duration = "3s"
[links.path]
rate = "1Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "200ms" }
[flows.video]
controller = "scream"
source = { kind = "trace-encoder", generator = "frames", fps = 30 }
path = ["path"]
return_delay = "10ms"
"""


def needs_the_kernel(test: Callable[..., None]) -> Callable[..., None]:
    """A test that runs the kernel's TCP over a path."""
    is_absent = shutil.which("iperf3") is None or not may_make_networks()
    skipped = pytest.mark.skipif(is_absent, reason="needs iperf3, and root or networks of one's own")
    return pytest.mark.real_time(pytest.mark.peer(skipped(test)))


@pytest.fixture
def two_worlds(tmp_path: Path) -> Path:
    folder = tmp_path / "two-worlds"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    (folder / "call.toml").write_text(CALL)
    return folder


@pytest.mark.real_time
def test_one_study_has_rows_of_both_worlds(two_worlds: Path, tmp_path: Path) -> None:
    result = paceline.study(two_worlds, out=tmp_path / "out")
    simulated, real = result.results.to_dict("records")
    assert result.error is None
    assert min(simulated["metric.mbps"], real["metric.mbps"]) > 0.1, "how near they are is said where nothing else runs"
    assert simulated["metric.received"] != simulated["metric.received"], "a figure of sockets alone"
    assert real["metric.received"] > 50


def test_a_study_in_real_time_stays_on_this_machine(two_worlds: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="real time on this machine"):
        paceline.study(two_worlds, out=tmp_path / "out", dask="127.0.0.1:1")


def test_each_row_says_what_runs_it_alone() -> None:
    for name, said in (("kernel-tcp", "link"), ("browser", "browser")):
        study = load(ROOT / "studies" / name)
        commands = {Context(study, (), True).command(study.experiment(index)).split()[1] for index in range(len(study))}
        assert {"run", said} <= commands


def test_a_controller_that_the_kernel_lacks_is_named() -> None:
    scenario = read(PATH, overrides={"flows.bulk.controller": "tahoe"}).load()
    with pytest.raises(StudyError, match="has controller tahoe, expected one of sack, newreno, cubic, bbr"):
        real_time.run("kernel-tcp", scenario)


@needs_the_kernel
def test_the_kernel_fills_a_path_and_its_sender_is_heard() -> None:
    scenario = read(PATH, overrides={"duration": "6s", "links.path.rate": "5Mbps"}).load()
    summary = real_time.run("kernel-tcp", scenario).summary
    flow = summary["flows"]["bulk"]
    # A link that wakes late adds that to a round trip of some 100 ms.
    late = summary["sockets"]["late_max_ms"] / 100
    assert 3.5 / (1 + late) < flow["throughput_mbps"] < 5.1
    assert flow["srtt_ms"]["mean"] > 40
    assert flow["kernel"]["retransmits"] >= 0


@needs_the_kernel
def test_a_run_that_ends_before_its_time_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_time, "SETTLED_S", 5.0)
    scenario = read(PATH, overrides={"duration": "8s"}).load()
    with pytest.raises(KeyboardInterrupt):
        real_time.run("kernel-tcp", scenario)
