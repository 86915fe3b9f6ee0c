"""TOML, from the standard library where it has it."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib as _toml
else:
    import tomli as _toml

TOMLDecodeError = _toml.TOMLDecodeError


def loads(text: str) -> dict[str, Any]:
    """A TOML text as a dictionary."""
    try:
        return _toml.loads(text)
    except RecursionError:
        raise TOMLDecodeError("found tables in tables that are too deep to read") from None
