"""How far a study is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class State:
    """How far a part of a study is."""

    what: str
    """The study, one of its searches, or a method."""
    total: int
    finished: int
    failed: int
    taken_over: int
    """Of those finished, how many an earlier run had."""


Progress = Callable[[State], None]
"""Called after each finished experiment with the state of its part of the study."""
