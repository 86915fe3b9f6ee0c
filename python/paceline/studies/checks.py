"""Checks that every part of a study's definition shares."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from paceline.errors import StudyError


def expect_keys(where: str, table: Mapping[str, object], keys: tuple[str, ...]) -> None:
    """Refuses a table with a key that nothing reads; `where` is empty for the definition itself."""
    for key in table:
        if key not in keys:
            raise StudyError(f"{where + ': ' if where else ''}found key {key!r}, expected one of {', '.join(keys)}")


def expect_known(where: str, found: object, known: Collection[str]) -> None:
    """Refuses a name that is none of those known."""
    if found not in known:
        raise StudyError(f"{where}: found {found!r}, expected one of {', '.join(known)}")
