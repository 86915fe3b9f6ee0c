"""Tables, verdicts and claims of a study as Markdown, also between the marks of its README."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline.errors import StudyError
from paceline.outputs import replace_file
from paceline.studies.estimates import short
from paceline.studies.judge import VERDICTS, Comparison


@dataclass(frozen=True)
class Cells:
    """A table of texts; as a text it is Markdown."""

    heading: Sequence[str]
    lines: Sequence[Sequence[str]]

    def __str__(self) -> str:
        lines = ["| " + " | ".join(map(plain, cells)) + " |" for cells in (self.heading, *self.lines)]
        return "\n".join([lines[0], "|---" * len(self.heading) + "|", *lines[1:]]) + "\n"


_MARKUP = re.compile(r"[\\`*\[\]|~$>]|(?<!\w)_|_(?!\w)")
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def plain(text: str) -> str:
    """A text that Markdown shows as it is: on one line, without markup, HTML or the end of a cell."""
    text = _NO_TEXT.sub(" ", text)
    text = re.sub(r"&(?=[#\w])", "&amp;", text).replace("<", "&lt;")
    return _MARKUP.sub(r"\\\g<0>", text)


def verdict_markdown(lines: list[Comparison]) -> str:
    """How many figures hold, and each that is judged, as a Markdown table."""
    counts = {verdict: sum(line.verdict == verdict for line in lines) for verdict in VERDICTS}
    said = "; ".join(f"{verdict}: {count}" for verdict, count in counts.items() if count)
    rows = []
    for line in lines:
        row = line.published
        percent = "" if line.difference_percent is None else f"{line.difference_percent:+.1f} %"
        cells = (
            ", ".join(filter(None, [row.name, row.where])),
            row.statement,
            f"{short(row.published)} {row.unit}".strip(),
            f"{short(line.ours)} {row.unit}".strip() if line.ours is not None else "",
            percent,
            line.verdict,
        )
        rows.append(cells)
    heading = ("where", "claim", "published", "ours", "difference", "verdict")
    return f"Of {len(lines)} published figures and claims: {said}.\n\n{Cells(heading, rows)}"


def claims_markdown(lines: list[Comparison], kind: str = "claim") -> str:
    """Claims of a kind as a Markdown table: a line for each, a column for each place (`where`) where it was judged."""
    claims = [line for line in lines if line.published.kind == kind]
    places = list(dict.fromkeys(line.published.where for line in claims))
    statements: dict[str, dict[str, str]] = {}
    for line in claims:
        unit = f" {line.published.unit}" if line.published.unit else ""
        ours = f" ({line.ours:.3g}{unit})" if line.ours is not None else ""
        statements.setdefault(line.published.statement, {})[line.published.where] = f"{line.verdict}{ours}"
    rows = [[statement, *(found.get(place, "") for place in places)] for statement, found in statements.items()]
    return str(Cells(["claim", *places], rows))


_MARKS = re.compile(
    r"(<!-- (verdict|claims|(?:claims|table) [^\s:]+):[^>]*-->\n).*?(<!-- end of (?:verdict|claims|table) -->)",
    re.DOTALL,
)


def write_into_readme(folder: Path, known: Mapping[str, str]) -> Path:
    """Puts texts between the marks of a study's README, each by the word of its mark."""
    path = folder / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = [match[2] for match in _MARKS.finditer(text)]
    if not found:
        raise StudyError(f"{path}: found no marks, expected <!-- verdict: ... --> and <!-- end of verdict -->")
    for mark in found:
        if mark not in known:
            raise StudyError(f"{path}: found mark {mark!r}, expected one of {', '.join(known)}")
    replace_file(path, _MARKS.sub(lambda marks: f"{marks[1]}{known[marks[2]]}{marks[3]}", text))
    return path
