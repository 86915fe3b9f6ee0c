"""The notebook that comes along runs as notebooks do, in any folder, and results show themselves in it."""

import base64
import json
import os
import re
from pathlib import Path

import pytest

import paceline
from conftest import CALL, ROOT, Run

NOTEBOOK = ROOT / "docs" / "notebooks" / "first-run.ipynb"
HOSTILE = "<script>alert(1)</script>&\"'"


@pytest.mark.long
def test_the_notebook_runs_in_an_empty_folder_and_shows_pictures(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not here: this test runs the notebook with it")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel", reason="ipykernel is not here: the notebook's Python")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("PACELINE_DATA", raising=False)
    assert cli("new", "notebook", "mine.ipynb").returncode == 0
    notebook = nbformat.read(tmp_path / "cwd" / "mine.ipynb", as_version=4)
    resources = {"metadata": {"path": str(tmp_path / "cwd")}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    assert any("<table>" in data.get("text/html", "") for data in shown)
    assert any(base64.b64decode(data["image/png"]).startswith(b"\x89PNG") for data in shown if "image/png" in data)


def test_the_notebook_that_comes_along_has_no_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


def test_a_run_shows_its_figures_and_its_picture(call: paceline.Result) -> None:
    html = call._repr_html_()
    assert "<td>throughput</td>" in html
    picture = re.search(r'src="data:image/png;base64,([^"]+)"', html)
    assert picture is not None
    assert base64.b64decode(picture[1]).startswith(b"\x89PNG")


def test_a_plot_shows_itself(call: paceline.Result) -> None:
    figure = call.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_a_run_without_samples_shows_its_figures_alone() -> None:
    html = paceline.run(CALL, overrides={"duration": "1s", "sample": "5s"})._repr_html_()
    assert "<table>" in html
    assert "<img" not in html


def test_names_of_a_stranger_are_escaped() -> None:
    text = CALL.replace('"a short call"', json.dumps(HOSTILE)).replace("flows.video", f"flows.{json.dumps(HOSTILE)}")
    html = paceline.run(text, overrides={"duration": "1s"})._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.usefixtures("unpainted")
def test_a_comparison_and_a_study_show_their_tables(tmp_path: Path) -> None:
    compared = paceline.compare(
        ["scream", "gcc"], over="first-call", duration="2s", seeds=1, out=tmp_path / "compared", workers=1
    )
    html = compared._repr_html_()
    assert "<td>gcc</td>" in html
    assert "report.html" in html
    assert "<script>" not in html
    with pytest.warns(UserWarning, match="generated traces"):
        studied = paceline.study(_study(tmp_path), out=tmp_path / "studied", workers=1)
    html = studied._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "<td>holds on generated traces</td>" in html


def _study(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "call.toml").write_text(CALL)
    head = "id,experiment,where,kind,statement,published,unit,metric,rule,note\n"
    (folder / "published.csv").write_text(f"free,one,here,claim,{HOSTILE.split('&')[0]},,,rate,any,\n".join([head, ""]))
    (folder / "study.toml").write_text(
        f"name = 'own'\ntitle = {json.dumps(HOSTILE)}\nscenario = 'call.toml'\npublished = 'published.csv'\n"
        "data = ['missing.csv']\njudged_without_data = ['free']\n[experiments.one]\ntitle = 'One'\n"
        "[metrics.rate]\nkind = 'summary'\npath = 'flows.video.throughput_mbps'\n"
        "[rules.any]\nhelp = 'any'\nbetween = [0, 100]\ndirection_between = [0, 100]\n"
    )
    return folder
