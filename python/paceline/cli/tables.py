"""Results as tables for people."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from paceline.errors import printable
from paceline.figures import Figure, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from paceline.result import Result

_STATISTICS = ("mean", "p50", "p95", "p99", "max")
_PARTS = {"distribution": ("mean", "max")}
"""Which statistics of a link's figure stand in its row, by how the figure is made."""
_UNITS = {"ratio": "%", "ms": "ms"}
"""Units that the head of a link's column says."""


def print_summary(result: Result) -> None:
    """The run's summary: a table for each flow and one for the links."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    summary = result.summary
    packets = "" if summary["packets"] is None else f"{summary['packets']:,} packets in "
    figures = f": {summary['duration_s']:g} s, seed {summary['seed']}; {packets}{summary['wall_s']:.3f} s"
    console.print(Text.assemble((printable(str(summary.get("name"))), "bold"), figures))
    for table in summary_tables(result):
        console.print(table)


def summary_tables(result: Result) -> Iterator[Table]:
    """A table for each flow, one for the links, and where packets left over sockets how late they did."""
    summary = result.summary
    for name, flow in summary.get("flows", {}).items():
        yield flow_table(name, flow)
    if summary.get("links"):
        yield link_table(summary["links"])
    ends = summary.get("ends") or {"": summary.get("sockets") or {}}
    late = {
        end: sockets
        for end, sockets in ends.items()
        if any(sockets.get(figure.name) is not None for figure in shown("sockets"))
    }
    if late:
        yield lateness_table(late)
    simulated = summary.get("simulated", {}).get("flows", {})
    for name, flow in summary["flows"].items():
        if name in simulated:
            yield beside_table(name, flow, simulated[name])


def flow_table(name: str, flow: dict[str, Any]) -> Table:
    """One flow: a row for each figure, a column for each statistic."""
    table = table_of(f"flow {name} ({flow.get('controller')})", ("", *_STATISTICS, "unit"))
    parts = {"": flow, ".transfers": flow.get("transfers"), ".coupling": flow.get("coupling")}
    for part, values in ((part, values) for part, values in parts.items() if values):
        for figure in shown(f"flows.NAME{part}"):
            value = values.get(figure.name)
            if isinstance(value, dict):
                table.add_row(figure.title, *(number_text(value.get(s)) for s in _STATISTICS), figure.unit)
            elif value is not None:
                number, unit = _with_unit(figure, value)
                table.add_row(figure.title, number, "", "", "", "", unit)
    return table


def beside_table(name: str, line: dict[str, Any], simulated: dict[str, Any]) -> Table:
    """One flow over the line and in the simulator: a row for each figure, of a distribution for two statistics."""
    columns = ("", "line", "simulated", "unit")
    table = table_of(f"flow {name}, over the line and in the simulator", columns)
    for figure in shown("flows.NAME"):
        values: list[Any] = [world.get(figure.name) for world in (line, simulated)]
        if all(isinstance(value, dict) for value in values):
            for part in ("mean", "p95"):
                table.add_row(f"{figure.title}, {part}", *(number_text(value[part]) for value in values), figure.unit)
        elif any(value is not None for value in values):
            numbers = [_with_unit(figure, value) for value in values]
            table.add_row(figure.title, *(number for number, _ in numbers), max(unit for _, unit in numbers))
    return table


def link_table(links: dict[str, dict[str, Any]]) -> Table:
    """All links: a row for each, a column for each figure, of a distribution for its mean and its maximum."""
    from rich.text import Text

    columns = [(figure, part) for figure in shown("links.NAME") for part in _PARTS.get(figure.summary or "", ("",))]
    heads = (" ".join(filter(None, (figure.title, part, _UNITS.get(figure.unit)))) for figure, part in columns)
    table = table_of("links", ("", *heads))
    for name, link in links.items():
        values = ((figure, link[figure.name][part] if part else link[figure.name]) for figure, part in columns)
        table.add_row(Text(printable(name)), *(_with_unit(figure, value)[0] for figure, value in values))
    return table


def lateness_table(ends: dict[str, dict[str, Any]]) -> Table:
    """How late packets left each end that lets packets leave: a row for each figure, a column for each end."""
    table = table_of("how late packets left", ("", *ends, "unit"))
    for figure in shown("sockets"):
        table.add_row(figure.title, *(number_text(sockets.get(figure.name)) for sockets in ends.values()), figure.unit)
    return table


def _with_unit(figure: Figure, value: float | None) -> tuple[str, str]:
    """A value and its unit; ratios in percent, counts without one."""
    if value is None:
        return "-", ""
    if isinstance(value, int):
        return f"{value:,}", ""
    return (f"{100 * value:.1f}", "%") if figure.unit == "ratio" else (number_text(value), figure.unit)


def table_of(title: str, columns: tuple[str, ...]) -> Table:
    """An empty table: names on the left, numbers on the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # As Text, because a name may hold what rich takes for markup in a plain string.
    table = Table(title=Text(printable(title), style="bold"), title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(Text(printable(column)), justify="left" if index == 0 or column == "unit" else "right")
    return table


def number_text(value: float | None) -> str:
    """A number with as many digits as a table shows; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def wrapped(head: str, text: str, indent: int) -> str:
    """A text behind its head, in lines as wide as the terminal; in one line where another program reads it."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return head + text
    width = max(shutil.get_terminal_size().columns, indent + 20)
    return textwrap.fill(
        text,
        width,
        initial_indent=head,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
