"""Pull requests of other stacks: the action, and the page that shows it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import ROOT
from test_scorecard import LITTLE

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
PAGE = (ROOT / "docs" / "judge-pull-requests.md").read_text()
CHECK = """\
[scorecard]
controllers = ["mine"]
cases = ["cases"]
only = ["little near"]

[bands]
"little near".rate_mbps = { min = 0.3 }
"""


def judged(folder: Path, controllers: str, before: str) -> subprocess.CompletedProcess[str]:
    """The step of the action that judges, run as GitHub runs it."""
    (folder / "check.toml").write_text(CHECK)
    (folder / "cases").mkdir(exist_ok=True)
    (folder / "cases" / "little.toml").write_text(LITTLE)
    inputs = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
    inputs |= {"check": "check.toml", "controllers": controllers, "before": before}
    step = ACTION["runs"]["steps"][-1]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder),
    }
    environment |= {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    for name, value in step["env"].items():
        environment[name] = inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")]
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_the_action_holds_a_change_against_the_controller_without_it(tmp_path: Path) -> None:
    aimd = ROOT / "examples" / "guests" / "aimd.py"
    (tmp_path / "worse.py").write_text(
        f"import sys\nsys.path.insert(0, {str(aimd.parent)!r})\nfrom aimd import Aimd\n\n"
        "class Worse(Aimd):\n    def answer(self):\n        return {'target_mbps': 0.2}\n"
    )
    good, bad = f"mine={aimd}:Aimd", f"mine={tmp_path / 'worse.py'}:Worse"
    same = judged(tmp_path, good, good)
    assert same.returncode == 0, same.stderr
    assert "**check: holds.**" in (tmp_path / "summary.md").read_text()
    fallen = judged(tmp_path, bad, good)
    assert fallen.returncode == 1, fallen.stderr
    assert "holds, as before, or better" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "paceline.xml").is_file()
    wrong = judged(tmp_path, "mine=nowhere.py:Mine", "")
    assert (wrong.returncode, "found no file nowhere.py" in wrong.stderr) == (2, True)


def jobs() -> list[Any]:
    """The jobs that the page shows."""
    shown = [block.partition("```")[0] for block in PAGE.split("```yaml\n")[1:]]
    return [job for text in shown for job in yaml.safe_load(text)["jobs"].values()]


def test_the_jobs_of_the_page_give_the_action_inputs_that_it_has() -> None:
    assert len(jobs()) == 2
    required = {name for name, one in ACTION["inputs"].items() if one.get("required")}
    for job in jobs():
        given = job["steps"][-1]["with"]
        assert required <= {*given} <= {*ACTION["inputs"]}
    for name in ACTION["inputs"]:
        assert f"| `{name}` |" in PAGE


def test_the_step_that_judges_takes_no_input_as_code() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
