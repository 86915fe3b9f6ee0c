"""`paceline new`: writes a start to change, and says which command runs it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from paceline import starts
from paceline.cli.options import file_path
from paceline.cli.speak import plainly, printing
from paceline.errors import printable


def command(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(starts.KINDS)}.")],
    path: Annotated[
        Path | None,
        typer.Argument(parser=file_path, metavar="PATH", help="The new file or folder [default: a name of its kind]."),
    ] = None,
) -> None:
    """Write a start: a call, a study, a controller or a notebook.

    Nothing that exists is replaced.
    """
    with plainly():
        begun = starts.start(kind, path)
        written = starts.write(begun)
        with printing():
            for one in written:
                print(f"written:  {printable(str(one))}")
            print(f"Try next: {printable(shlex.join(begun.command))}")
