"""Pages whose pictures and figures are made by the repository: the gallery, and the page with a slider."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conftest import ROOT
from paceline.browser.chromium import NAMES

GALLERY = ROOT / "docs" / "gallery.md"
SLIDER = ROOT / "docs" / "slider.html"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_of_ten_pictures_has_the_lines_that_make_it() -> None:
    draw = script("draw")
    text = GALLERY.read_text()
    made = draw.pictures(GALLERY)
    assert len(made) == text.count("![") == text.count("\n## ") == 10
    assert len(list(draw.commands(GALLERY))) == 10
    written = [
        word for command in draw.commands(GALLERY) for word in re.findall(r"out/[\w-]+|\w+\.png", " ".join(command))
    ]
    for source, shown in made:
        assert any(source.startswith(one) for one in written), source
        assert shown.read_bytes().startswith(b"\x89PNG")
        assert shown.stat().st_size < 200_000


def runs() -> dict[str, Any]:
    found = re.search(r"^const DATA = (.*);$", SLIDER.read_text(), re.MULTILINE)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.mark.parametrize(("controller", "percent"), [("scream", 0), ("gcc", 2)])
def test_a_place_of_the_slider_is_a_run(controller: str, percent: float) -> None:
    slider, data = script("slider"), runs()
    again = slider.run(controller, percent)
    shown = data["runs"][controller][data["losses"].index(percent)]
    remedy = "python site/slider.py > docs/slider.html"
    for figure in ("mean_mbps", "frame_delay_ms", "shown"):
        assert again[figure] == pytest.approx(shown[figure], rel=0.05), f"{figure}: {remedy}"
    assert len(shown["mbps"]) == len(again["mbps"]) == data["duration_s"] / data["step_s"]


def test_the_page_with_the_slider_needs_nothing_from_elsewhere() -> None:
    text = SLIDER.read_text()
    assert len(text) < 200_000
    assert not re.findall(r"(?:src|href)=|https?://|@import", text)
    data = runs()
    assert [len(of) for of in data["runs"].values()] == [len(data["losses"])] * 3
    assert len(data["commands"]) == len(data["losses"])


CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)


@pytest.mark.peer
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not here: this test opens the page")
@pytest.mark.parametrize("place", [0, 9])
def test_a_browser_shows_the_run_of_the_sliders_place(place: int, tmp_path: Path) -> None:
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    command = [CHROMIUM, *options, f"{SLIDER.as_uri()}#{place}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    data = runs()
    assert f'<output id="loss">{data["losses"][place]} %</output>' in shown
    assert f'<code id="command">{data["commands"][place]}</code>' in shown
    for name, of in data["runs"].items():
        assert f"</i>{name}</td><td>{of[place]['mean_mbps']:.2f}</td>" in shown
    assert shown.count('<path d="M') == 2 * len(data["runs"])
