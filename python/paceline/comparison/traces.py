"""Recordings of rates as they are found: which format a file has."""

from __future__ import annotations

import gzip
from functools import cache
from itertools import islice, pairwise
from pathlib import Path

from paceline.errors import DataNotFound, UsageError
from paceline.simulation import registry

LINES = 2000
"""Lines of a file that are looked at."""
OF_A_CLOCK, OF_A_RATE = 0.9, 0.75
"""The first column is times if more than this part of its steps rise, and rates if less than that part do."""
_SAY = "say which: FILE,format=NAME (`paceline list traces`)"


@cache
def options() -> frozenset[str]:
    """The keys that stand beside `trace`."""
    families = registry()["traces"]
    return frozenset({"format", *(one["name"] for entry in families for one in entry["parameters"])}) - {
        "length", "seed", "preset", "states", "ramps", "los", "blocked", "outage_ratio", "rate_max",
    }  # fmt: skip


def format_of(file: Path) -> str:
    """The format that a file can only have.

    Raises:
        UsageError: It could be read in two ways, or in none.
    """
    if file.name.removesuffix(".gz").endswith(".json"):
        return "json-ghent"
    rows = _numbers(file)
    if len(rows) < 2:
        raise UsageError(f"over {file}: found fewer than two lines of numbers, expected a recording of rates; {_SAY}")
    columns = {len(row) for row in rows}
    rising = [sum(a[place] < b[place] for a, b in pairwise(rows)) / (len(rows) - 1) for place in (0, -1)]
    if columns == {1}:
        # Milliseconds, of which several packets may have the same.
        whole = all(row[0] == int(row[0]) >= 0 for row in rows) and all(a[0] <= b[0] for a, b in pairwise(rows))
        return "mahimahi" if whole else "mbps"
    # Clocks of recordings step back now and then; a rate rises about every second time.
    if columns == {2} and rising[0] > OF_A_CLOCK >= rising[1]:
        return "time-mbps"
    if columns == {2} and rising[0] < OF_A_RATE:
        return "mbps-hold"
    raise UsageError(f"over {file}: found a file that can be read in several ways, or in none; {_SAY}")


def _numbers(file: Path) -> list[list[float]]:
    """The first lines as numbers, without what stands above them."""
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8") as lines:
            found = [_row(line) for line in islice(lines, LINES)]
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise DataNotFound(f"over {file}: cannot be read as a recording: {error}") from None
    return [row for row in found if row]


def _row(line: str) -> list[float]:
    try:
        return [float(word) for word in line.replace(",", " ").replace(";", " ").split()]
    except ValueError:
        return []
