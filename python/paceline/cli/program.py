"""The program as a whole: it answers words and options that a command does not take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from paceline.cli.unexpected import explain


class Program(TyperGroup):
    """The commands; errors about arguments say what was most likely meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the options before the command's name."""
        with _explained(args):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that was named."""
        with _explained([*ctx._protected_args, *ctx.args]):
            return super().invoke(ctx)


@contextmanager
def _explained(words: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        explain(error, words)
        raise
