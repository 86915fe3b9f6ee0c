"""The code in the documentation runs: Python blocks, `paceline` commands, scenarios, and the notebook's cells."""

import json
import re
import shlex
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import paceline
from conftest import ROOT, called
from paceline.simulation import registry
from paceline.studies.designs import KINDS
from processes import rust_example

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The page that shows each example, by package.
EXAMPLES = {
    "crates/rtp/examples/embed.rs": "embed",
    "crates/wire/examples/rfc8888.rs": "embed-rfc8888",
    "crates/endpoint/examples/endpoint.rs": "endpoint",
}
SECTION = re.compile(r"^ *// docs: (?!end$).+?\n(.*?)^ *// docs: end$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for found, code in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that looks like the repository's."""
    for name in ("examples", "scenarios", "studies"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PACELINE_DATA", raising=False)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_python_blocks_run(page: Path, folder: Path) -> None:
    names: dict[str, Any] = {}
    for number, code in enumerate(blocks(page, "python"), 1):
        exec(compile(shortened(code), f"{page.name}, block {number}", "exec"), names)
    if page.stem == "write-a-study":
        assert names["result"].verdicts == {"holds": 3}
        assert (len(names["result"].results), names["result"].state.failed) == (76, 0)


# Long parts of pages, and the short ones that are run in their place.
SHORTENED = {
    'duration = "60s"\nwarmup = "20s"': 'duration = "3s"\nwarmup = "1s"',
    'run("scenarios/real-video.toml")': 'run("scenarios/real-video.toml", overrides={"duration": "4s"})',
    "live scenarios/first-call.toml": "live scenarios/first-call.toml --set duration=6s",
    "run scenarios/real-video.toml": "run scenarios/real-video.toml --set duration=4s",
    "--over scenarios/first-call.toml --out out/aimd": "--over scenarios/first-call.toml --seeds 1 --duration 2s",
    "--over scenarios/first-call.toml wimax --seeds 10": "--over scenarios/first-call.toml wimax --seeds 2",
    "--seeds 2 --duration 30s --out out/bus": "--seeds 1 --duration 2s --out out/bus",
    "--seeds 5 --duration 20s --out out/rate": "--seeds 1 --duration 2s --out out/rate",
}


def shortened(code: str) -> str:
    for long, short in SHORTENED.items():
        code = code.replace(long, short)
    return code


def test_what_is_shortened_is_there() -> None:
    shown = "".join(code for page in PAGES for language in ("python", "sh") for code in blocks(page, language))
    assert not [long for long in SHORTENED if long not in shown]


def commands() -> Iterator[Any]:
    """Lines with `paceline` of each page, but for those that a page before it has, too."""
    seen: set[str] = set()
    for page in PAGES:
        own = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("paceline ")]
        lines = [line for line in own if line.partition("#")[0].strip() not in seen]
        seen |= {line.partition("#")[0].strip() for line in own}
        real = [line for line in lines if line.startswith("paceline live ")]
        for some, marks in (([line for line in lines if line not in real], ()), (real, pytest.mark.real_time)):
            if some:
                yield pytest.param(some, marks=marks, id=f"{page.stem}{'-live' * (some is real)}")


@pytest.mark.long
@pytest.mark.parametrize("lines", list(commands()))
def test_commands_run(lines: list[str], folder: Path) -> None:
    for line in lines:
        command, _, stdin = shortened(line).partition("<")
        arguments = shlex.split(command, comments=True)[1:]
        done = called(*arguments, stdin=Path(stdin.strip()).read_text() if stdin else "")
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_the_scenario_of_the_readme_is_the_one_that_comes_along() -> None:
    shown = blocks(ROOT / "README.md", "toml")[0]
    file = (ROOT / "scenarios" / "first-call.toml").read_text()
    assert shown in file


def test_the_scenarios_of_the_pages_are_sound(folder: Path) -> None:
    """Scenarios that stand whole in a page: they run, and the reference names every key that there is."""
    texts = [text for page in PAGES for text in blocks(page, "toml") if "duration =" in text and "[flows." in text]
    assert len(texts) >= 3
    for text in texts:
        assert paceline.run(text).summary["packets"] > 0
    reference = "".join(page.read_text() for page in (ROOT / "docs").glob("*reference*.md"))
    schema = "".join(path.read_text() for path in (ROOT / "crates" / "scenario" / "src" / "schema").glob("*.rs"))
    keys = {
        key
        for listed in re.findall(r"(?:KEYS: \[&str; \d+\] =|\.only\(&)\s*\[(.*?)\]", schema, re.DOTALL)
        for key in re.findall(r'"(\w+)"', listed)
    }
    entries = [entry for name, family in registry().items() if name != "controllers" for entry in family]
    keys |= {parameter["name"] for entry in entries for parameter in entry["parameters"]}
    assert len(keys) > 60
    assert not {key for key in keys if not re.search(rf"\b{key}\b", reference)}


@pytest.mark.parametrize(("page", "count"), [("embed", 4), ("embed-rfc8888", 2), ("endpoint", 4)])
def test_the_code_of_an_embedding_page_is_that_of_its_examples(page: str, count: int) -> None:
    texts = [(ROOT / path).read_text() for path, shown in EXAMPLES.items() if shown == page]
    sections = [textwrap.dedent(section) for text in texts for section in SECTION.findall(text)]
    assert len(sections) == count
    assert sorted(blocks(ROOT / "docs" / f"{page}.md", "rust")) == sorted(sections)


def test_the_c_of_the_embedding_page_is_that_of_the_programs_that_are_tested() -> None:
    programs = (ROOT / "crates" / "capi" / "tests").glob("*.c")
    known = {line.strip() for program in programs for line in program.read_text().splitlines()}
    shown = [line.strip() for block in blocks(ROOT / "docs" / "embed-c.md", "c") for line in block.splitlines()]
    code = [line for line in shown if line and not line.startswith("/*")]
    assert len(code) > 10
    assert [line for line in code if line not in known] == []


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not here: this test runs the Rust example")
@pytest.mark.parametrize("path", EXAMPLES)
def test_the_embedding_examples_print_what_their_page_shows(path: str) -> None:
    done = subprocess.run([rust_example(Path(path).stem)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout in blocks(ROOT / "docs" / f"{EXAMPLES[path]}.md", "text")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not here: this test asks it for dependencies")
@pytest.mark.parametrize(
    ("taken", "brings"),
    [
        ("cc wire", "units"),
        ("rtp", "cc ends media units wire"),
        ("endpoint", "cc ends media rtp units wire"),
        ("tcp", "cc ends media units"),
        ("dccp", "cc ends media units wire"),
    ],
)
def test_what_is_embedded_brings_no_more_than_it_needs(taken: str, brings: str) -> None:
    """The controllers and formats bring neither media nor ends, and no transport brings another."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--edges", "normal"]
    command += [f"--package=paceline-{name}" for name in taken.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    brought = {line.split()[0] for line in done.stdout.splitlines() if line}
    ours = {f"paceline-{name}" for name in f"{taken} {brings}".split()}
    others = {"libm"} | ({"smallvec"} if "wire" in f"{taken} {brings}" else set())
    assert brought == ours | others | ({"rand_core", "rand_pcg"} if "ends" in brings else set())


def test_the_notebook_runs(folder: Path) -> None:
    notebook = json.loads((ROOT / "docs" / "notebooks" / "first-run.ipynb").read_text())
    names: dict[str, object] = {}
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)


def test_the_class_of_the_page_is_that_of_its_example() -> None:
    shown = blocks(ROOT / "docs" / "bring-your-own.md", "python")[0]
    assert shown == (ROOT / "examples" / "guests" / "aimd.py").read_text()


def anchors(page: Path) -> set[str]:
    """The names by which links reach a page's headings: in lower case, spaces as hyphens, without other marks."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, *ROOT.glob("studies/*/README.md")]:
        for target, heading in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                led = page.parent / target if target else page
                assert led.exists(), f"{page.name}: {target}"
                assert not heading or led.suffix != ".md" or heading in anchors(led), f"{page.name}: {target}#{heading}"


def test_the_picture_of_the_readme_is_a_picture() -> None:
    assert (ROOT / "docs" / "images" / "overview.png").read_bytes().startswith(b"\x89PNG")


def test_every_public_name_has_a_text() -> None:
    for name in paceline.__all__:
        if not name.startswith("__"):
            assert getattr(paceline, name).__doc__, name


def test_the_study_of_the_page_is_the_one_that_comes_along() -> None:
    shown = blocks(ROOT / "docs" / "write-a-study.md", "toml")[0]
    assert (ROOT / "studies" / "first-sweep" / "study.toml").read_text().startswith(shown)


def test_the_page_names_every_kind_of_design() -> None:
    page = (ROOT / "docs" / "write-a-study.md").read_text()
    assert not {kind for kind in KINDS if f"`{kind}`" not in page}


def test_the_check_of_the_page_is_the_one_that_comes_along() -> None:
    assert blocks(ROOT / "docs" / "check.md", "toml")[0] == (ROOT / "examples" / "checks" / "call.toml").read_text()


# Pages that are looked up and not read.
REFERENCES = {"coupled-pairs", "decisions", "figures", "hot-path", "known-results", "scenario-reference"} | {
    f"reference-{kind}" for kind in ("controllers", "flows", "links", "sources")
}
MOST_WORDS = 2_000
"""Words of a page, without code."""


def test_a_page_is_read_in_ten_minutes() -> None:
    pages = {page.stem: BLOCK.sub("", page.read_text(encoding="utf-8")) for page in PAGES[1:]}
    words = {name: len(text.split()) for name, text in pages.items() if name not in REFERENCES}
    assert not {name: count for name, count in words.items() if count > MOST_WORDS}
