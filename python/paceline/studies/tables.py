"""A study's results as files: results.parquet, comparison.csv and the verdict in words."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError
from paceline.outputs import replace_file
from paceline.series import parquet_bytes
from paceline.studies.compare import Comparison
from paceline.studies.experiment import Row
from paceline.studies.judge import VERDICTS

if TYPE_CHECKING:
    import pyarrow as pa


def results_table(rows: list[Row]) -> pa.Table:
    """One row per experiment; a column is of numbers where every value is one, of texts otherwise."""
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def results_parquet(rows: list[Row]) -> bytes:
    """The rows as a Parquet file."""
    return parquet_bytes(results_table(rows))


def _column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool) for value in present):
        return pa.array(values, type=pa.bool_())
    if present and all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        return pa.array(values, type=pa.int64())
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present):
        return pa.array([None if v is None else float(v) for v in values], type=pa.float64())
    texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return pa.array(texts, type=pa.string())


def comparison_csv(lines: list[Comparison]) -> str:
    """Published, ours, difference and verdict, one line for each published figure."""
    beside = list(dict.fromkeys(title for line in lines for title in line.beside))
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    head = ("id", "experiment", "where", "kind", "statement", "published", "unit", "metric", "ours")
    writer.writerow([*head, "difference", "difference_percent", "rule", "verdict", *beside, "note"])
    for line in lines:
        row = line.published
        figures = (number(line.ours), number(line.difference), number(line.difference_percent))
        others = (number(line.beside.get(title)) for title in beside)
        said = (row.id, row.experiment, row.where, row.kind, row.statement, number(row.published), row.unit)
        writer.writerow([*said, row.metric or "", *figures, row.rule, line.verdict, *others, row.note])
    return sink.getvalue()


def number(value: float | None) -> str:
    """A figure as tables show it: six significant digits, nothing where there is none."""
    return "" if value is None else f"{value:.6g}"


def verdict_markdown(lines: list[Comparison]) -> str:
    """How many figures hold, and each that is judged, as a Markdown table."""
    counts = {verdict: sum(line.verdict == verdict for line in lines) for verdict in VERDICTS}
    said = "; ".join(f"{verdict}: {count}" for verdict, count in counts.items() if count)
    text = [f"Of {len(lines)} published figures and claims: {said}.", ""]
    text += ["| where | what | published | ours | difference | verdict |", "|---|---|---|---|---|---|"]
    for line in lines:
        row = line.published
        percent = "" if line.difference_percent is None else f"{line.difference_percent:+.1f} %"
        cells = (
            f"{row.experiment}, {row.where}",
            row.statement,
            f"{short(row.published)} {row.unit}".strip(),
            f"{short(line.ours)} {row.unit}".strip() if line.ours is not None else "",
            percent,
            line.verdict,
        )
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def claims_markdown(lines: list[Comparison]) -> str:
    """The claims as a Markdown table: a line for each, a column for each place (`where`) that it was judged in."""
    claims = [line for line in lines if line.published.kind == "claim"]
    places = list(dict.fromkeys(line.published.where for line in claims))
    statements: dict[str, dict[str, str]] = {}
    for line in claims:
        ours = f" ({line.ours:.3g}{_unit(line.published.unit)})" if line.ours is not None else ""
        statements.setdefault(line.published.statement, {})[line.published.where] = f"{line.verdict}{ours}"
    text = [f"| claim | {' | '.join(places)} |", "|---" * (len(places) + 1) + "|"]
    for statement, verdicts in statements.items():
        text.append(f"| {statement} | {' | '.join(verdicts.get(place, '') for place in places)} |")
    return "\n".join(text) + "\n"


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""


_MARKS = re.compile(
    r"(<!-- (verdict|claims|table [^\s:]+):[^>]*-->\n).*?(<!-- end of (?:verdict|claims|table) -->)", re.DOTALL
)


def write_into_readme(folder: Path, verdict: str, others: Mapping[str, str] | None = None) -> Path:
    """Puts the verdict, and what `others` has by the word of its mark, between the marks of a study's README."""
    path = folder / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    known = {"verdict": verdict, **(others or {})}
    found = [match[2] for match in _MARKS.finditer(text)]
    if not found:
        raise StudyError(f"{path}: found no marks, expected <!-- verdict: ... --> and <!-- end of verdict -->")
    for mark in found:
        if mark not in known:
            raise StudyError(f"{path}: found mark {mark!r}, expected one of {', '.join(known)}")
    replace_file(path, _MARKS.sub(lambda marks: f"{marks[1]}{known[marks[2]]}{marks[3]}", text))
    return path


def short(value: float | None) -> str:
    """A figure in words: four significant digits."""
    return "" if value is None else f"{value:.4g}"
