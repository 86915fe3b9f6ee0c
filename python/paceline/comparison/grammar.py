"""The one way in which controllers and conditions are written in a command: `LABEL=HEAD,NAME=VALUE,...`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paceline.errors import UsageError
from paceline.toml import TOMLDecodeError, loads

_LABEL = re.compile(r"([^=,:/]+)=(.+)", re.DOTALL)
_OPENING, _CLOSING = "[{(", "]})"
LABEL_LETTERS = 80
"""The longest label: it names files."""


@dataclass(frozen=True)
class Phrase:
    """A text of the grammar, taken apart."""

    label: str | None
    head: str
    values: dict[str, Any]
    """Values by their names, which may be dotted."""


def read(where: str, text: str) -> Phrase:
    """Takes a text apart.

    Raises:
        UsageError: It is empty, or what follows a comma is no NAME=VALUE.
    """
    match = _LABEL.fullmatch(text)
    label, rest = (match[1].strip(), match[2]) if match else (None, text)
    head, *pairs = (part.strip() for part in split(rest))
    if not head or "=" in head:
        raise UsageError(f"{where}: found {text!r}, expected a name, such as scream or mine=scream:rfc8298")
    values: dict[str, Any] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name.strip() or not value.strip():
            raise UsageError(
                f"{where} {text}: found {pair!r} behind a comma, expected NAME=VALUE{_apart(where, head, pair)}"
            )
        if name.strip() in values:
            raise UsageError(f"{where} {text}: found {name.strip()!r} twice, expected it once")
        values[name.strip()] = value_of(value.strip())
    return Phrase(label, head, values)


def _apart(where: str, head: str, other: str) -> str:
    """The end of a message where a comma stands between two things: they are words of their own."""
    return f", or a space before it: {head} {other}" if where.startswith(("controller", "over")) else ""


def split(text: str) -> list[str]:
    """The parts between commas; commas in brackets or quotes part nothing."""
    parts, begun, depth, quote = [], 0, 0, ""
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth = max(0, depth - 1)
        elif letter == "," and depth == 0:
            parts.append(text[begun:place])
            begun = place + 1
    return [*parts, text[begun:]]


def value_of(text: str) -> Any:
    """A value as TOML, or else as a text, as behind `--set`."""
    try:
        found = loads(f"value = {text}")
    except TOMLDecodeError:
        return text
    value = found["value"]
    # A text that looks like a date is a text: scenarios have no dates.
    return value if len(found) == 1 and isinstance(value, (bool, int, float, str, list, dict)) else text


def put(table: dict[str, Any], path: str, value: Any) -> None:
    """Sets the value at a dotted path of a table, whose tables on the way are made."""
    *way, last = path.split(".")
    for key in way:
        inner = table.get(key)
        table[key] = inner = dict(inner) if isinstance(inner, Mapping) else {}
        table = inner
    table[last] = value


def expect_labels(where: str, labels: list[str]) -> None:
    """Refuses a label that stands for two things, or that no file can be called."""
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"{where}: found two called {label!r}, expected each once, or a label: other={label}")
        if len(label) > LABEL_LETTERS or not label.isprintable():
            raise UsageError(
                f"{where}: found the name {label[:LABEL_LETTERS]!r}, expected at most {LABEL_LETTERS} printable "
                "letters: say a shorter label, such as mine=..."
            )


def seeds_of(text: str) -> tuple[int, ...]:
    """Seeds as a command says them: how many, from 1 on; a span such as 11-20; or a list of both."""
    found: list[int] = []
    alone = text.strip().isdecimal()
    for part in text.split(","):
        first, dash, last = (one.strip() for one in part.partition("-"))
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UsageError(f"--seeds: found {text!r}, expected a count such as 10, or seeds such as 11-20 or 1,5,9")
        low, high = (1, int(first)) if alone else (int(first), int(last or first))
        if high < low:
            raise UsageError(
                f"--seeds: found {text!r}, which is no seed, expected from 1 on: a count such as 10, or 11-20"
            )
        if high - low >= LARGEST_COUNT:
            raise UsageError(f"--seeds: found {high - low + 1:,} seeds, expected at most {LARGEST_COUNT:,}")
        found += range(low, high + 1)
    return checked_seeds(found)


LARGEST_COUNT = 100_000
"""More seeds than this are refused as a mistake."""


def checked_seeds(seeds: list[int]) -> tuple[int, ...]:
    """Seeds, each once, at least one."""
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise UsageError(f"seeds: found {seed!r}, expected whole numbers from 0 to {2**63 - 1}")
    if not seeds or len(seeds) > LARGEST_COUNT:
        raise UsageError(f"seeds: found {len(seeds):,} of them, expected from 1 to {LARGEST_COUNT:,}")
    seed, count = Counter(seeds).most_common(1)[0]
    if count > 1:
        raise UsageError(f"seeds: found {seed} more than once, expected each once")
    return tuple(seeds)
