"""Checks that every part of a study's definition shares."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from paceline.errors import StudyError


def expect_table(where: str, found: object, of: str) -> Mapping[str, Any]:
    """The table that was found, or a refusal of what is none; `of` says what should be in it."""
    if not isinstance(found, Mapping):
        raise StudyError(f"{where}: found {found!r}, expected a table with {of}")
    return found


def expect_keys(where: str, table: Mapping[str, object], keys: tuple[str, ...]) -> None:
    """Refuses a table with a key that nothing reads; `where` is empty for the definition itself."""
    for key in table:
        if key not in keys:
            raise StudyError(f"{where + ': ' if where else ''}found key {key!r}, expected one of {', '.join(keys)}")


def expect_known(where: str, found: object, known: Collection[str]) -> None:
    """Refuses a name that is none of those known."""
    if found not in known:
        raise StudyError(f"{where}: found {found!r}, expected one of {', '.join(known)}")
