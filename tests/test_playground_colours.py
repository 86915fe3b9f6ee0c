"""The playground's colours are those of all other pictures."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from paceline.plots.styles import DARK, LIGHT
from paceline.plots.vocabulary import LOOKS

PAGE = ROOT / "crates" / "playground" / "page"

ASK = """
import { coloursOf, grey } from "./plot.js";
for (const dark of [false, true]) {
  globalThis.window = { matchMedia: () => ({ matches: dark }) };
  const asked = [["scream"], ["cubic", "gcc"], ["gcc", "gcc", "scream"], ["mine", "gcc"]];
  console.log(JSON.stringify([grey(), ...asked.map(coloursOf)]));
}
"""


def test_the_pages_colours_are_those_of_the_vocabulary() -> None:
    written = subprocess.run(
        [sys.executable, ROOT / "site" / "vocabulary.py"], capture_output=True, text=True, check=True
    )
    remedy = "python site/vocabulary.py > crates/playground/page/vocabulary.js"
    assert (PAGE / "vocabulary.js").read_text() == written.stdout, remedy


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here: this test asks the page's script")
def test_a_controller_has_its_colour_wherever_it_stands(tmp_path: Path) -> None:
    for name in ("plot.js", "vocabulary.js"):
        shutil.copy(PAGE / name, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "ask.js").write_text(ASK)
    done = subprocess.run(["node", "ask.js"], cwd=tmp_path, capture_output=True, text=True, check=True)
    for line, palette in zip(done.stdout.splitlines(), (LIGHT, DARK), strict=True):
        grey, one, two, three, own = json.loads(line)
        scream, cubic, gcc = (palette[int(LOOKS[kind].colour[1:])] for kind in ("scream", "cubic", "gcc"))
        assert (grey, one, two) == (palette[7], [scream], [cubic, gcc])
        assert (three[0], three[2], len(set(three))) == (gcc, scream, 3)
        assert own[1] == gcc
        assert own[0] != gcc
