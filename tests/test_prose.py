"""Sentences of comments, help texts, messages and pages begin with their noun, and not with a pronoun in its place."""

import ast
import io
import os
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from conftest import ROOT

# Openings that leave open which thing is meant. A question may begin so.
_NO_NOUN = [
    r"(?:(?:about|after|also|and|as|at|before|beside|but|by|for|from|here|in|into|not|of|on|only|or|over|than|then|to"
    r"|under|with|within|without) )?what",
    r"those",
    r"ones? (?:that|which|who|whose)",
    r"so (?:many|much)",
    r"as (?:many|much) (?:as|of)",
    r"that (?:which|of|by which|in which)",
    r"(?:these|they|this) (?:are|is) (?:what|those)",
    r"who|whoever|whose|whom",
]
_OPENING = re.compile(rf"(?:{'|'.join(_NO_NOUN)})(?![\w'-])", re.IGNORECASE)
_SKIPPED = {"target", "node_modules", "out"}
# A sentence ends before a capital letter; markup before its first word is none of it.
_END = re.compile(r"(?<=[.!?])[\"'”)*_`]*\s+(?=[*_`\"(\[]*[A-Z])")
_MARKUP = re.compile(r"(?:[-*#>+]+ |\d+\. )*[*_`\"(\[]*")
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# Comments of Rust by their marks: those of lines beside each other with the same mark belong together.
_COMMENT = re.compile(r"[ \t]*(//[/!]?(?!/)) ?(.*)")
# A literal of Rust in one line or, continued by backslashes, in several; and a quotation mark as a character.
_TEXT = re.compile(r'"((?:[^"\\\n]|\\.|\\\n)*)"')
_QUOTATION_MARK = re.compile(r"b?'\"'")


def _paragraphs(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items, headings and table cells of Markdown, each with the number of its first line."""
    text = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    block: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], first):
        begins = not line.strip() or re.match(r" *(?:[-*+] |\d+\. |#+ |\||>)", line)
        if begins and block:
            yield number - len(block), " ".join(block)
            block = []
        if line.lstrip().startswith("|"):
            yield from ((number, cell) for cell in line.strip(" |").split("|"))
        elif line.strip():
            block.append(line.strip())
        if block and block[0].startswith("#"):
            yield number, block.pop()


def _together(lines: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str]]:
    """Paragraphs of comments: each line with its number, its mark and its text."""
    block: list[tuple[int, str, str]] = []
    for line in [*lines, (-1, "", "")]:
        if block and (line[0] != block[-1][0] + 1 or line[1] != block[-1][1]):
            yield from _paragraphs("\n".join(text for _, _, text in block), block[0][0])
            block = []
        block.append(line)


def _of_page(path: Path) -> Iterator[tuple[int, str]]:
    yield from _paragraphs(path.read_text(encoding="utf-8"), 1)


def _of_python(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings, comments, and every other text that begins like a sentence, such as help and messages."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.match(r"\s*[A-Z`]", node.value):
            yield from _paragraphs(node.value, node.lineno)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = (token for token in tokens if token.type == tokenize.COMMENT)
    yield from _together((token.start[0], str(token.start[1]), token.string.lstrip("# ")) for token in comments)


def _of_rust(path: Path) -> Iterator[tuple[int, str]]:
    """Comments, and every text that begins like a sentence."""
    lines = path.read_text(encoding="utf-8").split("\n")
    found = ((number, _COMMENT.fullmatch(line)) for number, line in enumerate(lines, 1))
    yield from _together((number, comment[1], comment[2]) for number, comment in found if comment)
    code = "\n".join("" if _COMMENT.fullmatch(line) else line for line in lines)
    code = _QUOTATION_MARK.sub(lambda mark: " " * len(mark[0]), code)
    for text in _TEXT.finditer(code):
        if re.match(r"[A-Z`]", text[1]):
            yield code.count("\n", 0, text.start()) + 1, re.sub(r"\\\n\s*", "", text[1])


_READERS = {".md": _of_page, ".py": _of_python, ".pyi": _of_python, ".rs": _of_rust}


def without_noun(paragraph: str) -> list[str]:
    """Sentences of a paragraph that begin with a pronoun in place of their noun."""
    sentences = (_MARKUP.sub("", sentence.strip(), count=1) for sentence in _END.split(paragraph))
    return [one for one in sentences if _OPENING.match(one) and not re.search(r"\?[\"'”)*_`]*$", one.rstrip())]


def faults(path: Path) -> list[tuple[int, str]]:
    """Line of its paragraph, and text, of each such sentence of a file."""
    return [(line, one) for line, text in _READERS[path.suffix](path) for one in without_noun(text)]


def files() -> list[Path]:
    """Sources and pages outside of hidden and built folders, but for this file, whose examples are faults."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        found += [Path(folder, name) for name in names if Path(name).suffix in _READERS]
    return sorted(path for path in found if path != Path(__file__))


def test_sentences_begin_with_their_noun() -> None:
    found = [f"{path.relative_to(ROOT)}:{line}: {text[:80]}" for path in files() for line, text in faults(path)]
    assert not found, "name the thing that is meant:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What a packet weighs.", 1),
        ("Bytes in flight. Those that are lost count. **So many** wait.", 2),
        ("`x`: one that ends. One that ends.", 1),
        ("By what flows are found", 1),
        ("What is a flow? The packets of a sender.", 0),
        ("Somewhat late. Whatever arrives is counted. So that all may go. Whole packets.", 0),
        ("Packets that wait, and what they wait for.", 0),
    ],
)
def test_openings_that_are_found(text: str, count: int) -> None:
    assert len(without_noun(text)) == count


def test_every_kind_of_text_is_read(tmp_path: Path) -> None:
    texts = {
        "page.md": "# What waits\n\nText. What\nelse.\n\n| what | a |\n\n```\nWhat a block is.\n```\n",
        "code.py": '"""What f is."""\nprint("Those that wait")\n# A line, and\n# its rest. What.\n',
        "code.rs": '/// What `f`\n/// is. Those wait.\n// So many.\nlet a = ("What for", \'"\', "what");\n',
    }
    for name, count in (("page.md", 3), ("code.py", 3), ("code.rs", 4)):
        (tmp_path / name).write_text(texts[name])
        assert len(faults(tmp_path / name)) == count, name
