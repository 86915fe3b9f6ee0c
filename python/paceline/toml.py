"""TOML: read by the standard library where it has it, and written a value at a time."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from paceline.errors import ScenarioError, UsageError

if sys.version_info >= (3, 11):
    import tomllib as _toml
else:
    import tomli as _toml

TOMLDecodeError = _toml.TOMLDecodeError
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
MOST_DOTS = 79
"""Dots of a key: the scenario's reader takes no more, and the time and memory of `tomllib` grow with their square."""
_PART = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_LONG_KEYS = re.compile(
    rf"""\"{{3}}(?:\\.|[^\\])*?\"{{3}}|'{{3}}.*?'{{3}}|\#[^\n]*|"""
    rf"""(?P<deep>{_PART}(?:[ \t]*\.[ \t]*{_PART}){{{MOST_DOTS + 1}}})|{_PART}""",
    re.DOTALL,
)
"""Texts and comments, which may have any number of dots, keys that have too many, and other words."""


def loads(text: str) -> dict[str, Any]:
    """A TOML text as a dictionary."""
    too_deep = TOMLDecodeError("found tables in tables that are too deep to read")
    if text.count(".") > MOST_DOTS and any(found["deep"] for found in _LONG_KEYS.finditer(text)):
        raise too_deep
    try:
        return _toml.loads(text)
    except RecursionError:
        raise too_deep from None


def decoded(content: bytes, name: str) -> str:
    """The text of a scenario that was read from `name`."""
    if _is_utf16(content):
        expected = "text in UTF-8: `iconv -f UTF-16 -t UTF-8` makes it of this"
        raise ScenarioError(f"{name}: found text in UTF-16, expected {expected}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(
            f"{name}: found bytes that are not UTF-8 at offset {error.start}, expected a scenario (TOML)"
        ) from None


def _is_utf16(content: bytes) -> bool:
    """Whether bytes begin with the mark of UTF-16, or every other one of the first is zero."""
    letters = [byte != 0 for byte in content[:4]]
    marked = content[:2] in (b"\xff\xfe", b"\xfe\xff") and len(letters) > 2
    return marked or letters in ([True, False] * 2, [False, True] * 2)


def toml_value(value: object) -> str:
    """A value as it would stand to the right of `=` in TOML, on one line."""
    if value is None:
        raise UsageError("found None as a value, expected one that TOML has: a text, number, flag, list or table")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_text(str(key))} = {toml_value(item)}" for key, item in value.items())
        return "{ " + inner + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return _text(str(value))


def toml_key(key: str) -> str:
    """A key as it stands in TOML: bare, or in quotes."""
    return key if _BARE_KEY.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
