"""`paceline help`: a word, explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from paceline.cli.meanings import meanings
from paceline.cli.tables import wrapped
from paceline.errors import printable

if TYPE_CHECKING:
    from paceline.cli.meanings import Meaning


def explain(context: typer.Context, words: str) -> None:
    """Prints all meanings of a word; without one, how the program is used."""
    top = context.parent or context
    program = top.command
    if not words.strip():
        print(program.get_help(top))
        return
    commands = getattr(program, "commands", {})
    for number, one in enumerate(meanings(words, commands)):
        if number:
            print()
        if one.thing == "command":
            command = commands[one.word]
            print(command.get_help(type(top)(command, info_name=one.word, parent=top)))
        else:
            _print(one)


def _print(one: Meaning) -> None:
    print(wrapped("", printable(f"{one.word}: {one.thing}"), 4))
    for line in one.lines:
        print(wrapped("  ", printable(line), 4))
