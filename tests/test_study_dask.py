"""The same sweep on a real Dask cluster of two worker processes, one of which is killed in the middle."""

import os
import signal
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from conftest import Run
from deadly import deadly
from paceline.studies import runner
from paceline.studies.engine import run_study
from paceline.studies.progress import State
from processes import PATIENCE_S
from test_study_designs import TOTAL, little

__all__ = ["little"]
pytestmark = [
    # Dask's own, while a worker goes down.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def waiting() -> AbstractContextManager[object]:
    """A cluster that waits for a worker to come back: after 15 s, which a busy machine takes, it closes a new one."""
    dask = pytest.importorskip("dask")
    return dask.config.set({"distributed.deploy.lost-worker-timeout": f"{PATIENCE_S:.0f}s"})  # type: ignore[no-any-return]


@pytest.mark.real_time
def test_a_cluster_that_loses_a_worker_gives_the_same_results(little: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    expected = run_study(little, out=tmp_path / "here", workers=1).results_file.read_bytes()
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    killed: list[int] = []
    with waiting(), distributed.LocalCluster(**options) as cluster:

        def progress(state: State) -> None:
            if state.finished >= 5 and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        result = run_study(little, out=tmp_path / "there", dask=cluster.scheduler_address, progress=progress)
    assert len(killed) == 1
    assert result.state == State("little", TOTAL, TOTAL, 0, 0)
    assert result.results_file.read_bytes() == expected


@pytest.mark.real_time
def test_an_item_that_kills_its_worker_costs_its_batch_nothing() -> None:
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        waiting(),
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(**options) as cluster,
    ):
        address = cluster.scheduler_address
        done = list(runner.on_dask(deadly, None, range(100), address, died=lambda item: -item))
    assert dict(done) == {item: -40 if item == 40 else item * item for item in range(100)}
    assert len(done) == 100


def test_batches_take_half_a_second() -> None:
    pace = runner._Pace()
    assert pace.batch == 1, "nothing is known yet"
    pace.took(1, 0.05)
    assert pace.batch == 10
    pace.took(3, 60.0)
    assert pace.batch == 1


@pytest.mark.real_time
def test_a_scheduler_that_is_not_there_is_said(little: Path, cli: Run) -> None:
    pytest.importorskip("distributed")
    done = cli("study", little, "--dask", "127.0.0.1:9")
    assert done.returncode == 2
    assert "--dask 127.0.0.1:9: no scheduler answers there" in done.stderr
