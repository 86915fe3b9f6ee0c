"""The page of the hot path names every attribute that stands in the code for speed."""

import re
import subprocess

from conftest import ROOT

ATTRIBUTE = re.compile(
    r"^[ \t]*#\[(inline\(always\)|inline\(never\)|cold)\]\n(?:[ \t]*(?:#\[|///).*\n)*.*\bfn (\w+)", re.MULTILINE
)
KINDS = ("inline(always)", "inline(never)", "cold")


def in_code() -> dict[str, tuple[set[str], ...]]:
    """The functions of each file by their attribute; functions of one name are not told apart."""
    listed = subprocess.run(["git", "ls-files", "crates/*.rs"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = {}
    for name in listed.stdout.splitlines():
        text = (ROOT / name).read_text(encoding="utf-8")
        # Each attribute by itself, since a function may have two.
        found = [
            match
            for place in re.finditer(r"^[ \t]*#\[(?:inline\(|cold)", text, re.MULTILINE)
            if (match := ATTRIBUTE.match(text, place.start()))
        ]
        if found:
            files[name.removeprefix("crates/")] = tuple(
                {match[2] for match in found if match[1] == kind} for kind in KINDS
            )
    return files


def on_page() -> dict[str, tuple[set[str], ...]]:
    page = (ROOT / "docs/hot-path.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+\.rs)` \|([^|]*)\|([^|]*)\|([^|]*)\|$", page, re.MULTILINE)
    return {file: tuple(set(re.findall(r"`(\w+)`", cell)) for cell in cells) for file, *cells in rows}


def test_the_page_names_each_attribute() -> None:
    assert on_page() == in_code()
