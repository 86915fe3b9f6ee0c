"""The stub file of the extension against the extension."""

import subprocess
import sys

from conftest import ROOT


def test_the_stub_says_what_the_extension_has() -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "paceline._core"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
