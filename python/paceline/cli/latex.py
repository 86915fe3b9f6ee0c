"""The tables of the terminal for LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from paceline.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

_ESCAPED = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "µ": r"\textmu{}",
    "…": r"\ldots{}",
}
_NUMBER = re.compile(r"(?<![\w.-])-(?=\d)")


def escaped(said: object) -> str:
    """A text as LaTeX shows it: no letter of it is a command, and a minus before a number is one."""
    text = "".join(_ESCAPED.get(letter, letter) for letter in printable(str(said)))
    return _NUMBER.sub("$-$", text)


def latex(tables: Iterable[Table]) -> str:
    """The tables, each as a `tabular` under its title as a comment; cells of several lines take as many rows."""
    parts = [_tabular(table) for table in tables]
    return "% \\usepackage{booktabs}\n" + "\n".join(parts)


def _tabular(table: Table) -> str:
    columns = table.columns
    heads = [" ".join(str(column.header).split("\n")) for column in columns]
    places = "".join("r" if column.justify == "right" else "l" for column in columns)
    rows = [line for cells in zip(*(column.cells for column in columns), strict=True) for line in _lines(cells)]
    return "\n".join(
        (
            f"% {printable(str(table.title or ''))}",
            f"\\begin{{tabular}}{{{places}}}",
            "\\toprule",
            _row(heads),
            "\\midrule",
            *map(_row, rows),
            "\\bottomrule",
            "\\end{tabular}\n",
        )
    )


def _lines(cells: Iterable[object]) -> list[list[str]]:
    """The rows that the lines of cells make."""
    parts = [str(cell).split("\n") for cell in cells]
    count = max(map(len, parts), default=0)
    return [[part[place] if place < len(part) else "" for part in parts] for place in range(count)]


def _row(cells: Iterable[str]) -> str:
    # A row that begins with a bracket would be the length that \\ takes.
    return " & ".join(f"{{}}{text}" if text.startswith("[") else text for text in map(escaped, cells)) + r" \\"
