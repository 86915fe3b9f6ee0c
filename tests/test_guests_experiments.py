"""Controllers from outside in studies, comparisons, searches, and over sockets."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from aimd import Aimd

import paceline
from conftest import Run
from guest_parts import (
    EXAMPLES,
    RAISES,
    SEARCH,
    STUDY,
    made,
    mine_toml,
    program,
    without_times,
    written,
)
from paceline.errors import StudyError, UsageError
from processes import PATIENCE_S, as_in_a_terminal, until

pytestmark = pytest.mark.usefixtures("no_guest_left")


# Studies, comparisons and searches.


def rates(out: Path) -> list[float]:
    import pyarrow.parquet as pq

    table = pq.read_table(out / "results.parquet")
    assert {version.partition("~")[2].partition("-")[0] for version in table["version"].to_pylist()} == {"mine"}
    return list(table["metric.rate"].to_pylist())


SCRIPT = """\
import sys
import paceline
from aimd import Aimd

scale = lambda rate: 0.9 * rate

class Mine(Aimd):
    def answer(self):
        return {name: scale(value) for name, value in super().answer().items()}

if __name__ == "__main__":
    for workers in (2, 1):
        paceline.study(sys.argv[1], out=f"{sys.argv[2]}/{workers}", workers=workers, controllers={"mine": Mine})
"""


def test_workers_have_the_class_of_a_script(little: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), *sys.path])}
    command = [sys.executable, tmp_path / "script.py", little, tmp_path]
    subprocess.run(command, check=True, env=environment, timeout=PATIENCE_S)
    assert rates(tmp_path / "1") == rates(tmp_path / "2")


@pytest.mark.parametrize("place", ["file", "module", "program"])
def test_workers_have_the_class_of_a_file_and_of_a_module(place: str, little: Path, cli: Run) -> None:
    folder = little.parent / "cwd"
    shutil.copy(EXAMPLES / "aimd.py", folder / f"aimd_{place}.py")
    where = {
        "file": f"aimd_{place}.py:Aimd",
        "module": f"aimd_{place}:Aimd",
        "program": " ".join(program("good")),
    }[place]
    if place == "program":
        (little / "study.toml").write_text(
            STUDY.replace("controller.step", "controller.gain").replace(', unit = "Mbps"', "", 1)
        )
        text = (little / "study.toml").read_text().replace("controller.factor", "controller.gain")
        (little / "study.toml").write_text(
            "\n".join(line for line in text.splitlines() if "factors.factor" not in line)
        )
    for workers in ("1", "2"):
        done = cli("study", little, "--controller", f"mine={where}", "--workers", workers, "--out", f"out/{workers}")
        assert done.returncode == 0, done.stderr
    assert rates(folder / "out" / "1") == rates(folder / "out" / "2")


def test_a_study_of_another_class_is_refused_and_named(little: Path, tmp_path: Path, cli: Run) -> None:
    own = tmp_path / "own.py"
    own.write_text((EXAMPLES / "aimd.py").read_text())
    command = ("study", little, "--controller", f"mine={own}:Aimd", "--out", "out")
    assert cli(*command).returncode == 0
    own.write_text(own.read_text().replace('"""A controller', '"""Another text'))
    assert cli(*command).returncode == 0
    known = paceline.study(little, out=tmp_path / "cwd" / "out", controllers={"mine": Aimd})
    assert known.state.taken_over == known.state.finished > 0
    own.write_text(own.read_text().replace("1.5 * self.rate", "2.5 * self.rate"))
    done = cli(*command)
    assert done.returncode == 2
    assert "out: found results of another controller mine (" in done.stderr
    with pytest.raises(StudyError, match="another controller mine"):
        paceline.study(little, out=tmp_path / "cwd" / "out", controllers={"mine": type("Other", (Aimd,), {"more": 1})})


def test_a_class_that_cannot_be_sent_is_said(little: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"controllers: found mine: cannot pickle .*; expected classes that can be sent"
    ):
        paceline.study(
            little, out=tmp_path / "out", workers=2, controllers={"mine": type("X", (Aimd,), {"a": threading.Lock()})}
        )


@pytest.mark.parametrize("workers", [1, 2])
def test_a_wrong_answer_is_the_rows_error_and_an_exception_ends_the_study(
    workers: int, little: Path, tmp_path: Path
) -> None:
    parameters = Aimd.parameters
    wrong = made(parameters=parameters, report=lambda self, now_s, packets: {"target_mbps": float("nan")})
    result = paceline.study(little, out=tmp_path / "wrong", workers=workers, controllers={"mine": wrong})
    assert (
        result.results["error"].str.endswith("report: target_mbps: found NaN, expected Mbit/s from 0 to 1000000").all()
    )
    raising = made(parameters=parameters, report=lambda self, now_s, packets: {}[now_s])
    with pytest.raises(KeyError):
        paceline.study(little, out=tmp_path / "raising", workers=workers, controllers={"mine": raising})


def test_the_commands_that_run_ours_run_a_guest(little: Path, cli: Run) -> None:
    guest = ("--controller", f"mine={EXAMPLES / 'aimd.py'}:Aimd")
    listed = cli("list", "controllers", *guest, "--json")
    assert "mine" in {one["kind"] for one in json.loads(listed.stdout)["controllers"]}
    over = ("--over", little / "call.toml", "--seeds", "1", "--duration", "2s")
    done = cli("compare", "scream", "mine", "slow=mine,step=200kbps", *guest, *over, "--out", "compared")
    assert (done.returncode, "slow" in done.stdout) == (0, True), done.stderr
    done = cli("run", little / "call.toml", *guest, "--out", "run", "--json")
    assert json.loads(done.stdout)["flows"]["video"]["controller"] == "mine"
    again = cli("run", "run/scenario.toml", *guest, "--json")
    assert without_times(json.loads(again.stdout)) == without_times(json.loads(done.stdout))
    assert cli("study", little, *guest, "--dry-run", "--out", "dry").returncode == 0


def test_searches_take_a_guest(little: Path, cli: Run) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("SALib")
    guest = ("--controller", f"mine={EXAMPLES / 'aimd.py'}:Aimd")
    text = (little / "study.toml").read_text()
    (little / "study.toml").write_text(SEARCH + text)
    done = cli("tune", little, *guest, "--out", "tuned")
    assert (done.returncode, "3 sets tried" in done.stdout) == (0, True), done.stderr


def test_a_comparison_in_python_takes_a_guest(little: Path, tmp_path: Path) -> None:
    contenders = ["scream", "mine"]
    over = [str(little / "call.toml")]
    result = paceline.compare(contenders, out=tmp_path / "out", over=over, seeds=1, duration="2s", own={"mine": Aimd})
    assert set(result.medians["controller"]) == {"scream", "mine"}


# Sockets.


@pytest.mark.real_time
@pytest.mark.parametrize("behaviour", ["good", "Aimd"])
def test_a_guest_runs_over_sockets(behaviour: str, little: Path, cli: Run) -> None:
    where = f"{EXAMPLES / 'aimd.py'}:Aimd" if behaviour == "Aimd" else " ".join(program(behaviour))
    done = cli("live", little / "call.toml", "--controller", f"mine={where}", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["version"].partition("~")[2].startswith("mine-")
    assert summary["flows"]["video"]["throughput_mbps"] > 0.5


@pytest.mark.real_time
@pytest.mark.parametrize("kind", ["ValueError", "OSError"])
def test_an_exception_ends_a_call_over_sockets(kind: str, tmp_path: Path, cli: Run) -> None:
    written(tmp_path, RAISES.replace("ERROR", kind))
    call_file = mine_toml(tmp_path) / "call.toml"
    call_file.write_text(call_file.read_text().replace('"4s"', '"100s"'))
    done = cli("live", call_file, "--controller", f"mine={tmp_path / 'own.py'}:Own")
    assert done.returncode == 1
    assert f'File "{tmp_path / "own.py"}", line 10, in divided' in done.stderr
    assert f"{kind}: of the test" in done.stderr


@pytest.mark.real_time
@pytest.mark.parametrize("behaviour", ["dies", "nan"])
def test_a_program_that_fails_ends_a_call_over_sockets(behaviour: str, little: Path, cli: Run) -> None:
    text = (little / "call.toml").read_text().replace('"4s"', '"100s"')
    (little / "call.toml").write_text(text)
    done = cli("live", little / "call.toml", "--controller", f"mine={' '.join(program(behaviour))}")
    assert done.returncode == 1
    assert done.stderr.startswith('paceline: controller "mine" at 1.')
    assert "Traceback" not in done.stderr


@pytest.mark.real_time
@pytest.mark.parametrize("place", ["class", "program"])
def test_ctrl_c_ends_a_run(place: str, tmp_path: Path) -> None:
    sign = tmp_path / "running"
    (tmp_path / "own.py").write_text(
        "from pathlib import Path\nfrom aimd import Aimd\nclass Own(Aimd):\n    def start(self, now_s):\n"
        f"        Path({str(sign)!r}).touch()\n        return super().start(now_s)\n"
    )
    shutil.copy(EXAMPLES / "aimd.py", tmp_path)
    where = (
        f"{tmp_path / 'own.py'}:Own" if place == "class" else f"sh -c 'touch {sign}; exec {' '.join(program('good'))}'"
    )
    call_file = mine_toml(tmp_path) / "call.toml"
    call_file.write_text(call_file.read_text().replace('"4s"', '"100000s"'))
    command = [sys.executable, "-m", "paceline", "run", call_file, "--controller", f"mine={where}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=as_in_a_terminal) as process:
        until("a guest that runs", lambda: sign.exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE_S)[1]
    assert (process.returncode, said) == (1, "paceline: interrupted: nothing was written\n")
