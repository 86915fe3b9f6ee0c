"""The cost of the study engine: `make bench` runs it; no test depends on it.

`python benches/study.py` prints the engine's own cost of an experiment and the time of the 1,224 experiments of
scream-tuning; `python benches/study.py N...` runs sweeps of N experiments of 0.1 s and prints a table of their size.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import paceline
from paceline import _core
from paceline.studies import experiment
from paceline.studies.definition import load
from paceline.studies.engine import prepare
from paceline.studies.runner import cores

CALL = """\
duration = "100ms"
[links.bottleneck]
rate = "8Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "300ms" }
[flows.video]
transport = "rtp"
controller = { kind = "scream", profile = "reference-2022" }
source = { kind = "trace-encoder", generator = "frames", fps = 50 }
path = ["bottleneck"]
"""

STUDY = """\
name = "tiny"
title = "Many short calls"
scenario = "call.toml"
[factors.rate]
path = "links.bottleneck.rate"
unit = "Mbps"
range = [1, 100]
scale = "log"
[factors.delay]
path = "links.bottleneck.delay"
unit = "ms"
range = [1, 200]
[factors.target]
path = "flows.video.controller.qdelay_target_lo"
unit = "ms"
range = [10, 200]
[designs.drawn]
kind = "sobol"
count = COUNT
[metrics.throughput_mbps]
kind = "summary"
path = "flows.video.throughput_mbps"
[metrics.queue_delay_ms]
kind = "summary"
path = "flows.video.queue_delay_ms.mean"
[metrics.srtt_ms]
kind = "summary"
path = "flows.video.sampled.srtt_ms"
"""


def tiny(folder: Path, count: int) -> Path:
    """A sweep of so many short calls."""
    study = folder / "tiny"
    study.mkdir()
    (study / "call.toml").write_text(CALL)
    (study / "study.toml").write_text(STUDY.replace("COUNT", str(count)))
    return study


def processor_s() -> float:
    """Seconds that the children of this process had of a processor."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def command(study: Path | str, out: Path) -> tuple[float, float]:
    """Runs `paceline study`: seconds on the wall and of the processors."""
    before, start = processor_s(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "paceline", "study", str(study), "--out", str(out)], check=True, capture_output=True
    )
    return time.perf_counter() - start, processor_s() - before


def simulator_s(study: Path, count: int) -> float:
    """Seconds of the processor that the extension needs for an experiment: read, simulated and summed up."""
    bench, _ = prepare(load(study))
    texts = [bench.scenario(bench.study.experiment(index)) for index in range(count)]
    start = time.process_time()
    for text in texts:
        _ = paceline.simulation.simulate(text.load()).summary_json
    return (time.process_time() - start) / count


def in_process_s(study: Path, count: int) -> float:
    """Seconds of the processor for an experiment as a worker runs it."""
    bench, _ = prepare(load(study))
    start = time.process_time()
    for index in range(count):
        experiment.run(bench, index)
    return (time.process_time() - start) / count


def costs(folder: Path) -> None:
    """The engine's own cost of an experiment, and the time of a study of usual runs."""
    count = 4000
    study = tiny(folder, count)
    simulator, worker = simulator_s(study, 500), in_process_s(study, 500)
    wall, processor = command(study, folder / "out")
    each = processor / count
    print(f"study engine, {count:,} experiments of 0.1 s: {count / wall:.0f} a second on {cores()} cores")
    print(f"  simulator                {simulator * 1e3:6.2f} ms of the processor each")
    print(f"  rest of the worker       {(worker - simulator) * 1e3:6.2f}")
    print(f"  processes, rows, start   {(each - worker) * 1e3:6.2f}")
    print(f"  the engine's own         {(each - simulator) * 1e3:6.2f}   wanted (aim) 2")
    wall, processor = command("scream-tuning", folder / "tuning")
    print(f"scream-tuning, 1,224 experiments: {wall:.1f} s, {processor:.1f} s of the processor", end="")
    print("   wanted (floor, aim) 70, 45")


# In a process of its own, so that its peak of memory is its own: the sweep, then the same taken over whole.
SIZE = """\
import resource, sys, time
from paceline.studies.engine import run_study
if __name__ == "__main__":
    start = time.perf_counter()
    run_study(sys.argv[1], out=sys.argv[2])
    wall = time.perf_counter() - start
    own, workers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    start = time.perf_counter()
    run_study(sys.argv[1], out=sys.argv[2])
    resumed = time.perf_counter() - start
    processor = [used.ru_utime + used.ru_stime for used in (own, workers)]
    print(wall, resumed, *processor, own.ru_maxrss / 1024, workers.ru_maxrss / 1024)
"""
COLUMNS = ("experiments", "seconds", "a second", "main ms", "worker ms", "main MB", "worker MB", "B a row", "resume s")


def size(count: int) -> None:
    """Seconds that a sweep of `count` experiments of 0.1 s takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.py").write_text(SIZE)
        out = folder / "out"
        arguments = [sys.executable, str(folder / "run.py"), str(tiny(folder, count)), str(out)]
        done = subprocess.run(arguments, check=True, capture_output=True, text=True)
        wall, resumed, main, worker, main_mb, worker_mb = map(float, done.stdout.split())
        written = (out / "results.parquet").stat().st_size / count
    times = f"{wall:>12.1f}{count / wall:>12.0f}{main / count * 1e3:>12.2f}{worker / count * 1e3:>12.2f}"
    print(f"{count:>12,}{times}{main_mb:>12.0f}{worker_mb:>12.0f}{written:>12.0f}{resumed:>12.1f}", flush=True)


def main() -> None:
    print(f"build of the extension: {_core.build}", flush=True)
    counts = [int(argument) for argument in sys.argv[1:]]
    if counts:
        print("".join(f"{column:>12}" for column in COLUMNS))
        for count in counts:
            size(count)
    else:
        with tempfile.TemporaryDirectory() as name:
            costs(Path(name))


if __name__ == "__main__":
    main()
