"""Citations: each section exists in the text that it cites, and a draft is cited with its version.

The texts are no part of the repository. Sections are checked where a folder of them is at hand: `PACELINE_RFC`, or else
`../shared/rfc`.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import ROOT

TEXTS = Path(os.environ.get("PACELINE_RFC") or ROOT.parent / "shared" / "rfc")
SOURCES = ("*.rs", "*.py", "*.md", "*.toml", "*.lua")


def spaced(pattern: str) -> re.Pattern[str]:
    """A pattern in which a space stands for any number of them."""
    return re.compile(pattern.replace(" ", " +"))


NUMBER = r"(?:[1-9]\d?|[A-F])"
END = r"(?![\w%*/]|[.,]\w)"
SECTION = rf"{NUMBER}(?:\.\d\d?)*{END}"
DOTTED = rf"{NUMBER}(?:\.\d\d?)+{END}"
DOCUMENT = r"(?P<document>RFC \d{3,5}|draft-[a-z]+-[a-z0-9-]*[a-z0-9])"
WORD = r"(?:[Ss]ections?|[Rr]ules?|§|[Aa]ppendix|[Aa]ppendices)"
AND = r"(?:, and |, | and | to | or )"
SECTIONS = rf"(?P<sections>{SECTION}(?:{AND}{SECTION})*)"
# A section alone is one of a document that its heading, its file or its folder names.
FORMS = [
    spaced(rf"{DOCUMENT}(?:'s)?,? \(?{WORD} {SECTIONS}"),
    spaced(rf"{DOCUMENT} (?P<sections>{SECTION}(?:{AND}{DOTTED})*)"),
    spaced(rf"{WORD} {SECTIONS} of {DOCUMENT}"),
    spaced(rf"{WORD} {SECTIONS}"),
]
# A row of a DEVIATIONS.md begins with sections of the document that its heading names.
ROW = re.compile(rf"^\| (?P<sections>{SECTION}(?:, {SECTION})*)", re.MULTILINE)
HEADING = re.compile(r"^(#+) (.*)", re.MULTILINE)
TITLE = spaced(r"(?P<document>draft-[a-z]+-[a-z0-9-]*[a-z0-9]), (?P<title>(?:[A-Z]|cwnd)[^\"|;()]*?)\s*(?=[\"|;()])")
DRAFT = re.compile(r"\bdraft-[a-z]+-[a-z]+[a-z0-9-]*[a-z0-9]\b")


class Text(NamedTuple):
    """The sections of a document, by which it is cited."""

    sections: set[str]
    titles: set[str]


def of_rfc(text: str) -> Text:
    """Sections, and rules such as "(2.1)" of RFC 6298."""
    headings = re.findall(r"^(?:Appendix )?(\d+(?:\.\d+)*|[A-Z](?:\.\d+)*)\.? {1,3}(?=\S)", text, re.MULTILINE)
    return Text({*headings, *re.findall(r"^ {3}\((\d\.\d)\) ", text, re.MULTILINE)}, set())


def of_draft(text: str) -> Text:
    """Sections of a draft in Markdown, which are numbered as it is printed: letters behind "--- back"."""
    found = Text(set(), set())
    number: list[int] = []
    appendix = False
    lines = [*re.sub(r"^~~~.*?^~~~", "", text, flags=re.MULTILINE | re.DOTALL).splitlines(), ""]
    for line, following in pairwise(lines):
        if re.match(r"-+ *back", line):
            number, appendix = [], True
        if not (heading := re.match(r"(#+) +(.*?)(?: *\{#.*)?$", line)):
            continue
        found.titles.add(heading[2].partition(":")[0].strip())
        if re.match(r"\{: ?numbered=\"?(false|no)", following):
            continue
        depth = len(heading[1])
        number = [*number[:depth], *[0] * (depth - len(number))]
        number[-1] += 1
        first = chr(ord("A") - 1 + number[0]) if appendix else str(number[0])
        found.sections.add(".".join([first, *map(str, number[1:])]))
    return found


def read(path: Path) -> Text:
    return (of_rfc if path.suffix == ".txt" else of_draft)(path.read_text(encoding="utf-8"))


@cache
def text_of(document: str) -> Text | None:
    """The text of a document, a draft's in whatever version, if it is at hand."""
    name = f"*rfc{document[4:]}.*" if document.startswith("RFC") else f"{re.sub(r'-[0-9][0-9]$', '', document)}.md"
    return next(map(read, TEXTS.glob(name)), None)


def unbroken(text: str) -> str:
    """A text in one line, without the marks of comments; each character stays at its place."""
    return re.sub(r"\n[ \t]*(?:///?|//!|#+|--)?", lambda found: " " * len(found.group()), text)


@cache
def sources() -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if Path(name).name != Path(__file__).name]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names}


def named(text: str) -> set[str]:
    return {re.sub(" +", " ", found["document"]) for found in spaced(DOCUMENT).finditer(text)}


def headed(text: str, position: int) -> set[str]:
    """The documents that the heading above a place of a page names, or the next heading above that one."""
    levels: dict[int, set[str]] = {}
    for heading in HEADING.finditer(text, 0, position):
        levels = {level: documents for level, documents in levels.items() if level < len(heading[1])}
        if documents := named(heading[2]):
            levels[len(heading[1])] = documents
    return levels[max(levels)] if levels else set()


def around(name: str) -> set[str]:
    """The documents that a file names, or else its folder."""
    beside = [name, *(f"{Path(name).parent}/{other}" for other in ("DEVIATIONS.md", "mod.rs", "lib.rs"))]
    return next((found for file in beside if file in sources() and (found := named(unbroken(sources()[file])))), set())


def citations(name: str, original: str) -> Iterator[tuple[int, set[str], str]]:
    """Line, documents of which one is meant, and section of each citation in a file."""
    text = unbroken(original)
    seen: set[int] = set()
    for form in FORMS:
        for found in form.finditer(text):
            if found.start("sections") in seen:
                continue
            seen.update(range(*found.span("sections")))
            cited = named(found.groupdict().get("document") or "")
            above = headed(original, found.start()) if not cited and name.endswith(".md") else set()
            for section in re.findall(SECTION, found["sections"]):
                yield original.count("\n", 0, found.start()) + 1, cited or above or around(name), section
    for found in ROW.finditer(original) if name.endswith("DEVIATIONS.md") else ():
        for section in re.findall(SECTION, found["sections"]):
            yield original.count("\n", 0, found.start()) + 1, headed(original, found.start()), section


@pytest.fixture(scope="module")
def texts() -> Path:
    if not TEXTS.is_dir():
        pytest.skip("the texts of RFCs are not at hand: PACELINE_RFC names their folder")
    return TEXTS


@pytest.mark.parametrize(
    ("written", "document", "sections"),
    [
        ("RFC 8298 4.1.2.6, 4.1.2.7", "RFC 8298", ["4.1.2.6", "4.1.2.7"]),
        ("(RFC 5348, sections 4.3 and 5)", "RFC 5348", ["4.3", "5"]),
        ("/// lost (RFC\n/// 8985 section\n/// 7.2).", "RFC 8985", ["7.2"]),
        ("section 3.1 of RFC 8888", "RFC 8888", ["3.1"]),
        ('"draft-ietf-rmcat-gcc-02 5.6: 0.001 to 0.1"', "draft-ietf-rmcat-gcc-02", ["5.6"]),
        ("Of RFC 8382: the values of section 2.2.", "RFC 8382", ["2.2"]),
        ("RFC 4340, 4341 and 4342; RFC 5348 has 5 %", "", []),
    ],
)
def test_a_citation_is_read(written: str, document: str, sections: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sources(), "a.rs", written)
    found = list(citations("a.rs", written))
    assert [section for _, _, section in found] == sections
    assert all(documents == {document} for _, documents, _ in found)


def test_each_section_that_is_cited_exists(texts: Path) -> None:
    checked = 0
    missing = []
    for name, original in sources().items():
        for line, documents, section in citations(name, original):
            known = [text.sections for document in documents if (text := text_of(document))]
            if known and len(known) == len(documents):
                checked += 1
                if not any(section in sections for sections in known):
                    missing.append(f"{name}:{line}: no section {section} in {' or '.join(sorted(documents))}")
    assert missing == []
    assert checked > 1500


def test_each_section_that_is_cited_by_its_title_exists(texts: Path) -> None:
    cited = [
        (name, found["document"], re.sub(" +", " ", found["title"]))
        for name, original in sources().items()
        for found in TITLE.finditer(unbroken(original))
        if text_of(found["document"])
    ]
    assert len(cited) > 50
    assert [one for one in cited if (text := text_of(one[1])) and one[2] not in text.titles] == []


def test_each_draft_is_cited_with_its_version() -> None:
    cited = [(name, draft) for name, text in sources().items() for draft in DRAFT.findall(text)]
    assert len(cited) > 100
    assert [f"{name}: {draft}" for name, draft in cited if not re.search(r"-\d\d$", draft)] == []


def test_the_sections_of_each_text_are_read_without_a_gap(texts: Path) -> None:
    for path in sorted(texts.iterdir()):
        sections = read(path).sections
        assert {"1", "2", "3"} <= sections, path
        for section in sections:
            head, _, last = section.rpartition(".")
            if last.isdigit() and int(last) > 1:
                assert f"{head}.{int(last) - 1}".lstrip(".") in sections, (path, section)
