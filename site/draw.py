"""Draws pictures of pages anew, by the commands and the lines of Python that the pages show.

`python site/draw.py docs/gallery.md`: a picture below the name of a file, such as `out/call/plots/rates.png`, is that
file, as the page's blocks have made it.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"^`([^`\n]+\.png)`:\n\n!\[[^\]]*\]\(([^)]+)\)", re.MULTILINE)


def pictures(page: Path) -> list[tuple[str, Path]]:
    """The file that the blocks of a page make for each of its pictures, and the picture's place in the repository."""
    return [(made, page.parent / shown) for made, shown in _PICTURE.findall(page.read_text(encoding="utf-8"))]


def commands(page: Path) -> Iterator[list[str]]:
    """The commands of a page, and its lines of Python as commands."""
    for kind, code in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            yield [sys.executable, "-c", code]
        else:
            words = (shlex.split(line, comments=True) for line in code.splitlines() if line.startswith("paceline "))
            yield from ([sys.executable, "-m", *one] for one in words)


def draw(page: Path) -> None:
    """Draws the pictures of a page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("examples", "scenarios", "studies"):
            (folder / part).symlink_to(ROOT / part)
        for command in commands(page):
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for made, shown in pictures(page):
            shown.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / made, shown)
            print(shown)


if __name__ == "__main__":
    for one in sys.argv[1:]:
        draw(Path(one).resolve())
