"""A command one of whose options takes all words up to the next option, so that a shell may expand a pattern there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.core import TyperCommand

MANY = "--over"


class TakesMany(TyperCommand):
    """A command whose option `--over` takes several words."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the words with the option before each of its own."""
        return super().parse_args(ctx, list(_repeated(args)))


def _repeated(words: list[str]) -> Iterator[str]:
    is_many = first = False
    for word in words:
        if is_many and not first and not word.startswith("-"):
            yield MANY
        elif word.startswith("-"):
            is_many = word == MANY or word.startswith(f"{MANY}=")
            first = word == MANY
            yield word
            continue
        first = False
        yield word
