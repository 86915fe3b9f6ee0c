"""Results as a notebook shows them: HTML that needs no other file. Every text of a scenario or a study is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from paceline.errors import UsageError
from paceline.figures import shown
from paceline.plots import draw
from paceline.plots.style import image

if TYPE_CHECKING:
    from pathlib import Path

    from paceline.plots.plot import Run

_STATISTICS = ("mean", "p50", "p95", "max")
SHOWN = 30
"""Lines of a table; of more, the report has the rest."""


def of_run(result: Run) -> str:
    """A run: a table for each flow, and the overview."""
    summary = result.summary
    parts = [_heading(str(summary.get("name")), f"{summary['duration_s']:g} s, seed {summary['seed']}")]
    for name, flow in summary.get("flows", {}).items():
        parts.append(_table((f"{name} ({flow.get('controller')})", *_STATISTICS, "unit"), _figures(flow)))
    return "".join([*parts, _overview(result)])


def _figures(flow: dict[str, Any]) -> Iterable[Sequence[str]]:
    """A row for each figure of a flow."""
    for figure in shown("flows.NAME"):
        value = flow.get(figure.name)
        if isinstance(value, dict):
            yield (figure.title, *(_number(value.get(one)) for one in _STATISTICS), figure.unit)
        elif isinstance(value, (int, float)):
            yield (figure.title, _number(value), *[""] * (len(_STATISTICS) - 1), figure.unit)


def _overview(result: Run) -> str:
    try:
        figure = draw("overview", result)
    except UsageError:
        return ""
    return f'<img alt="overview" style="max-width: 100%" src="data:image/png;base64,{_base64(image(figure, "png"))}">'


def of_many(
    title: str, about: Sequence[str], heading: Sequence[str], rows: Iterable[Sequence[object]], report: Path
) -> str:
    """Many runs: lines about them, a table, and where the report is."""
    cells = [[_cell(value) for value in row] for row in rows]
    table = _table(heading, cells) if cells else ""
    return f"{_heading(title, *about)}{table}<p>Report: <code>{escape(str(report))}</code></p>"


def _heading(title: str, *about: str) -> str:
    return f"<p><b>{escape(title)}</b>{''.join(f'<br>{escape(line)}' for line in about)}</p>"


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = list(rows)
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heading)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in lines[:SHOWN])
    more = f"<p>and {len(lines) - SHOWN} more</p>" if len(lines) > SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    return "" if value is None else _number(float(value)) if isinstance(value, (int, float)) else str(value)


def _number(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.4g}"


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
