"""Folders for a while, and what killed processes left of them."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from paceline import disk
from paceline.outputs import OutputFolder

KILLED = """
import os, sys
from pathlib import Path
from paceline import disk
with disk.temporary_folder(Path(sys.argv[1]), "run-") as folder:
    (folder / "packets").write_text("many")
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_stays(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    (left,) = tmp_path.iterdir()
    os.utime(left, (0, 0))
    (tmp_path / "run").mkdir()
    with disk.temporary_folder(tmp_path, "run-") as used:
        os.utime(used, (0, 0))
        assert not left.exists()
        with disk.temporary_folder(tmp_path, "run-") as other:
            assert {path.name for path in tmp_path.iterdir()} == {"run", used.name, other.name}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_two_runs_that_end_together_do_not_mix_their_files(tmp_path: Path) -> None:
    def write() -> None:
        with OutputFolder(tmp_path) as folder:
            folder.stage("one", "second")
            folder.stage("other", "second")
            staged.set()

    staged = threading.Event()
    (tmp_path / "one").write_text("first")
    second = threading.Thread(target=write)
    with disk.locked(tmp_path):
        second.start()
        staged.wait()
        second.join(0.2)
        assert (tmp_path / "one").read_text() == "first"
    second.join()
    assert [(tmp_path / name).read_text() for name in ("one", "other")] == ["second"] * 2
