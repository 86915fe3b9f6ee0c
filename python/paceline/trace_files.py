"""Recordings of rates as they are found: which format a file has, and what its header says of columns and units."""

from __future__ import annotations

import csv
import gzip
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

from paceline._core import heading_units
from paceline.errors import DataNotFound, UsageError
from paceline.simulation import registry

LINES = 2000
"""Lines of a file that are looked at."""
LONGEST_LINE = 1 << 20
"""Letters of a line that are looked at: JSON may stand on one line."""
MOST_BYTES = 512 << 20
"""The most that a recording may have, decompressed."""
OF_A_CLOCK, OF_A_RATE = 0.9, 0.75
"""The first column is times if more than this part of its steps rise, and rates if less than that part do."""
_SAY = "say which: FILE,format=NAME, or --format NAME (`paceline list traces`)"

_OF_PING = ("PING ", "Pinging ")
_WORD = re.compile(r"[A-Za-z]+")
_WITH_COMMA = re.compile(r"[-+]?\d+,\d+")
_SEPARATOR = re.compile(r"[;\s]+")
_OF_DAY = re.compile(r"\d{1,2}:\d{2}")
_RATE_NAMES = {
    *("bandwidth", "bitrate", "capacity", "dl", "download", "downlink", "goodput"),
    *("rate", "speed", "throughput", "tput", "ul", "upload", "uplink"),
}
_CLOCK_NAMES = {"clock", "date", "datetime", "elapsed", "epoch", "seconds", "t", "time", "timestamp", "ts"}
_HOLD_NAMES = {"duration", "hold", "holds"}
NOT_DIRECT = "expected seconds: `paceline trace {file} --out DIR` writes DIR/trace.csv, which links follow"
"""The way out for a file that no link can follow as it stands."""


@cache
def options() -> frozenset[str]:
    """The keys that stand beside `trace`."""
    families = registry()["traces"]
    return frozenset({"format", *(one["name"] for entry in families for one in entry["parameters"])}) - {
        "length", "seed", "preset", "states", "ramps", "los", "blocked", "outage_ratio", "rate_max",
    }  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How a file of rates is read."""

    keys: dict[str, Any]
    """The keys that stand beside `trace`: its format, columns and scale."""
    said: str = ""
    """The part of the header that was used, in words; empty without a header."""
    clock: tuple[int, ...] = ()
    """The columns of a clock that no format has, such as dates, which have to be written anew."""
    time_scale: float = 1.0
    """Seconds of the unit of such a column, where it holds numbers."""

    @property
    def is_direct(self) -> bool:
        """Whether a link can follow the file as it stands."""
        return not self.clock


def reading(file: Path, given: Mapping[str, Any]) -> Reading:
    """How a file is to be read; keys that are given stay as they are.

    Raises:
        UsageError: Its header leaves open which column is the rate, or its unit, or contradicts what is given.
        DataNotFound: It cannot be read.
    """
    if _is_json(file):
        return Reading({"format": "json", **given})
    begin = list(islice(lines(file), LINES))
    if begin and begin[0].startswith(_OF_PING):
        said = "found the output of ping, expected rates: it has delays, which a link follows by"
        raise UsageError(f"{file}: {said} delay = {{ trace = {json.dumps(str(file))} }}")
    rows = _cells(begin)
    if not rows or not _is_header(rows[0]):
        parts = (_SEPARATOR.split(line.strip()) for line in begin)
        _expect_points(file, (cells if len(cells) > 1 else [] for cells in parts))
        return Reading(dict(given) if "format" in given else {"format": format_of(file), **given})
    if not any(_number(cell) is not None for row in rows[1:] for cell in row):
        raise UsageError(f"{file}: found no rows of numbers, expected a recording of rates")
    return _Header(file, rows[0], rows[1:], given).reading()


def says_how_to_read(file: Path) -> bool:
    """Whether a file needs no format: it is JSON, or has a header."""
    return _is_json(file) or any(map(_is_header, _cells(list(islice(lines(file), 1)))))


def seconds_and_mbps(file: Path, found: Reading) -> str:
    """The content of a file whose clock no format has, as lines of seconds and Mbit/s.

    Raises:
        UsageError: A line has no time, or a rate with a decimal comma.
    """
    rate, scale = int(found.keys["column"]), float(found.keys.get("scale", 1.0))
    rows = _cells(list(lines(file)))[1:]
    times = _clock(file, rows, found)
    begin = times[0]
    cells = [row[rate] if rate < len(row) else "" for row in rows]
    _expect_points(file, [[], *([cell] for cell in cells)])
    values = [_number(cell) for cell in cells]
    written = [
        f"{time - begin:.6f},{'' if value is None else f'{value * scale:.9g}'}"
        for time, value in sorted(zip(times, values, strict=True), key=lambda one: one[0])
    ]
    return "\n".join(["seconds,mbps", *written]) + "\n"


def _clock(file: Path, rows: Sequence[Sequence[str]], found: Reading) -> list[float]:
    """The time of each row in seconds: a number in a unit, or a date, a time of the day or both."""
    texts = [" ".join(row[place] for place in found.clock if place < len(row)) for row in rows]
    numbers = [_number(text) for text in texts]
    known = [number * found.time_scale for number in numbers if number is not None]
    if len(known) == len(texts):
        return known
    import pandas as pd

    is_of_day = all(map(_OF_DAY.match, texts))
    texts = [f"2000-01-01 {text}" for text in texts] if is_of_day else texts
    for day_first in (False, True):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                times = pd.to_datetime(pd.Series(texts), dayfirst=day_first, utc=True)
            since = [float(time) for time in (times - times.iloc[0]).dt.total_seconds()]
            return _over_midnight(since) if is_of_day else since
        except (ValueError, OverflowError, UserWarning):
            continue
    for text in texts:
        try:
            pd.to_datetime(text, utc=True)
        except (ValueError, OverflowError):
            raise UsageError(
                f"{file}: found the time {text[:40]!r}, expected a date, a time of the day or both"
            ) from None
    raise UsageError(f"{file}: found times written in several ways, such as {texts[0][:40]!r}, expected one way")


def _over_midnight(times: Sequence[float]) -> list[float]:
    """Times of the day with a day more after each midnight."""
    days = 0.0
    whole = [times[0]]
    for before, time in pairwise(times):
        days += 86_400.0 if time < before - 43_200.0 else 0.0
        whole.append(time + days)
    return whole


class _Header:
    """A header line, the columns below it, and the keys that were given."""

    def __init__(self, file: Path, names: Sequence[str], rows: Sequence[Sequence[str]], given: Mapping[str, Any]):
        self.file, self.names, self.rows, self.given = file, list(names), rows, dict(given)

    def reading(self) -> Reading:
        """The keys for this file."""
        rate = self._given("column") if "column" in self.given else self._rate()
        unit = rate_unit(self.names[rate])
        scale = self._scale(rate, unit)
        keys = {**self.given, "column": rate}
        if scale != 1.0:
            keys["scale"] = scale
        clock = self._clock(rate)
        _expect_points(self.file, [[], *([row[one] for one in (rate, *clock) if one < len(row)] for row in self.rows)])
        hold = self._hold(rate) if not clock else None
        said = f"{self.names[rate]} as the rate"
        if not clock and hold is None:
            keys.setdefault("format", "mbps")
            return Reading(keys, f"read {said}")
        if hold is not None:
            keys |= {"format": self.given.get("format", "mbps-hold"), "time_column": hold}
            return Reading(keys, f"read {said}, {self.names[hold]} as how long it holds")
        keys |= {"format": self.given.get("format", "time-mbps"), "time_column": clock[0]}
        said = f"read {said}, {' and '.join(self.names[place] for place in clock)} as the time"
        times = [_number(row[clock[0]]) for row in self.rows if clock[0] < len(row)]
        known = [time for time in times if time is not None]
        seconds = time_unit(self.names[clock[0]]) or 1.0
        if len(clock) > 1 or len(known) < len(times) or seconds != 1.0 or self._is_quoted():
            return Reading(keys, said, tuple(clock), seconds)
        if len(self.names) == 2 and rate == 1:
            # Where the format has them.
            keys = {key: value for key, value in keys.items() if key not in ("column", "time_column")}
        steps = [b - a for a, b in pairwise(known)]
        return Reading(keys, said + (f", {median(steps):.4g} s a row" if steps else ""))

    def _is_quoted(self) -> bool:
        """Whether a cell holds a separator, which the reader of links would take for the end of the cell."""
        return any(any(mark in cell for mark in ",;") for row in self.rows for cell in row)

    def _given(self, key: str) -> int:
        found = self.given[key]
        if isinstance(found, int) and 0 <= found < len(self.names):
            return found
        if found in self.names:
            return self.names.index(found)
        raise UsageError(f"{self.file}: found {key} {found!r}, expected {self._one_of(range(len(self.names)))}")

    def _one_of(self, places: Iterable[int]) -> str:
        return "one of the columns " + ", ".join(repr(self.names[place]) for place in places)

    def _rate(self) -> int:
        """The column of the rate: the only one with a unit of rates, or with a name of one."""
        in_units = [place for place, name in enumerate(self.names) if rate_unit(name) is not None]
        named = [place for place, name in enumerate(self.names) if _words(name) & _RATE_NAMES]
        found = in_units or named
        if len(found) == 1:
            return found[0]
        if not found and len(self.names) == 1:
            return 0
        if found:
            names = " and ".join(self.names[place] for place in found)
            said = f"found the rates {names}, expected one: say which by its column, such as {self.names[found[0]]!r}"
            raise UsageError(f"{self.file}: {said}")
        expected = f"expected a column, {self._one_of(range(len(self.names)))}"
        raise UsageError(f"{self.file}: found no column that its header calls a rate, {expected}")

    def _scale(self, rate: int, unit: float | None) -> float:
        if "scale" in self.given:
            return float(self.given["scale"])
        name = self.names[rate]
        if unit is None:
            if "format" in self.given:
                return 1.0
            expected = "expected a scale: 1 for Mbit/s, 0.001 for kbit/s, 1e-6 for bit/s, 8 for MB/s"
            raise UsageError(f"{self.file}: found the rate {name!r} without a unit, {expected}")
        if unit != 1.0 and "format" in self.given:
            expected = f"expected scale={unit:g} beside it, or no format: the header says all"
            said = f"found {name!r} and the format {self.given['format']}, whose rates are Mbit/s, {expected}"
            raise UsageError(f"{self.file}: {said}")
        return unit

    def _clock(self, rate: int) -> list[int]:
        if "time_column" in self.given and self.given.get("format") != "mbps-hold":
            return [self._given("time_column")]
        found = [place for place, name in enumerate(self.names) if place != rate and _words(name) & _CLOCK_NAMES]
        dates = [place for place in found if "date" in _words(self.names[place])]
        # A date and the time of the day stand in a column each.
        return (
            [dates[0], next(place for place in found if place not in dates)]
            if dates and len(found) > len(dates)
            else found[:1]
        )

    def _hold(self, rate: int) -> int | None:
        if "time_column" in self.given:
            return self._given("time_column")
        found = [place for place, name in enumerate(self.names) if place != rate and _words(name) & _HOLD_NAMES]
        if not found:
            return None
        if (time_unit(self.names[found[0]]) or 1.0) != 1.0:
            raise UsageError(f"{self.file}: found {self.names[found[0]]!r}, expected how long a rate holds in seconds")
        return found[0]


def rate_unit(name: str) -> float | None:
    """The unit of rates that a heading names, in Mbit/s."""
    return heading_units(name)[0]


def time_unit(name: str) -> float | None:
    """The unit of times that a heading names, in seconds."""
    return heading_units(name)[1]


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _expect_points(file: Path, rows: Iterable[Sequence[str]]) -> None:
    """Refuses numbers with a decimal comma, which would be taken for two cells or for none."""
    for place, row in enumerate(rows):
        for cell in row:
            if _WITH_COMMA.fullmatch(cell):
                raise _no_number(file, place, cell)


def _no_number(file: Path, place: int, cell: str) -> UsageError:
    """The error of a cell in a line of those that say something, counted from 0."""
    number, _ = next(islice(_numbered(file), place, None))
    said = json.dumps(cell[:40], ensure_ascii=False)
    return UsageError(f"{file}: found {said} in line {number}, expected a number with a point")


def _is_header(cells: Sequence[str]) -> bool:
    return any(cells) and all(_number(cell) is None for cell in cells)


def _is_json(file: Path) -> bool:
    """Whether it is JSON, by its name or by how it begins."""
    if file.name.removesuffix(".gz").endswith(".json"):
        return True
    return any(line.lstrip().startswith(("{", "[{")) or line.strip() == "[" for line in islice(lines(file), 1))


def lines(file: Path) -> Iterator[str]:
    """The lines that say something: blank ones and comments are passed over, and of a very long line its beginning."""
    return (line for _, line in _numbered(file))


def _numbered(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that say something, each with its number in the file."""
    opened = gzip.open if file.suffix == ".gz" else open
    size, number, begins = 0, 0, True
    try:
        with opened(file, "rt", encoding="utf-8-sig") as content:
            while line := content.readline(LONGEST_LINE):
                size += len(line)
                if size > MOST_BYTES:
                    raise ValueError(f"too large, expected at most {MOST_BYTES >> 20} MB, decompressed")
                number += begins
                if begins and line.strip() and not line.lstrip().startswith("#"):
                    yield number, line.rstrip("\r\n")
                begins = line.endswith("\n")
    except (OSError, UnicodeDecodeError, EOFError, ValueError) as error:
        raise DataNotFound(f"{file}: cannot be read as a recording: {error}") from None


def _cells(found: Sequence[str]) -> list[list[str]]:
    """The cells of lines, by the separator that the first has."""
    mark = next((mark for mark in ",;\t" if found and mark in found[0]), None)
    if mark is None:
        one = len(found) > 1 and all(len(line.split()) == 1 for line in found[1:])
        return [[line.strip()] if one else line.split() for line in found]
    try:
        return [[cell.strip() for cell in row] for row in csv.reader(found, delimiter=mark, skipinitialspace=True)]
    except csv.Error:
        return [[cell.strip().strip('"') for cell in line.split(mark)] for line in found]


def are_rows(found: Sequence[str]) -> bool:
    """Whether lines are rows of numbers, with a header or without: at least two of three have a number in a cell."""
    rows = _cells(found)
    numbers = [row for row in rows if any(_number(cell) is not None for cell in row)]
    return len(numbers) >= 1 and 3 * len(numbers) >= 2 * (len(rows) - 1) and all(len(row) < 100 for row in rows)


def format_of(file: Path) -> str:
    """The format that a file without a header can only have.

    Raises:
        UsageError: It could be read in two ways, or in none.
    """
    if _is_json(file):
        return "json"
    rows = [row for row in map(_row, islice(lines(file), LINES)) if row]
    if len(rows) < 2:
        raise UsageError(f"{file}: found fewer than two lines of numbers, expected a recording of rates; {_SAY}")
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
    raise UsageError(f"{file}: found a file that can be read in several ways, or in none; {_SAY}")


def _row(line: str) -> list[float]:
    try:
        return [float(word) for word in line.replace(",", " ").replace(";", " ").split()]
    except ValueError:
        return []
