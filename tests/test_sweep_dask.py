"""The same sweep on a real Dask cluster of two worker processes, one of which is killed in the middle."""

import os
import signal
from pathlib import Path

import pytest

from conftest import Run
from paceline.sweeps.engine import State, run_sweep
from test_sweep import TOTAL, little

__all__ = ["little"]
pytestmark = [
    # Dask's own, while a worker goes down.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_a_cluster_that_loses_a_worker_gives_the_same_results(little: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    expected = run_sweep(little, out=tmp_path / "here", workers=1).results_file.read_bytes()
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    killed: list[int] = []
    with distributed.LocalCluster(**options) as cluster:

        def told(state: State) -> None:
            if state.finished == 5:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        result = run_sweep(little, out=tmp_path / "there", dask=cluster.scheduler_address, told=told)
    assert len(killed) == 1
    assert result.state == State(TOTAL, TOTAL, 0, 0)
    assert result.results_file.read_bytes() == expected


def test_a_scheduler_that_is_not_there_is_said(little: Path, cli: Run) -> None:
    pytest.importorskip("distributed")
    done = cli("study", little, "--dask", "127.0.0.1:9")
    assert done.returncode == 2
    assert "--dask 127.0.0.1:9: no scheduler answers there" in done.stderr
