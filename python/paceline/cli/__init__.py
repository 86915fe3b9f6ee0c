"""The command line. Exit status: 0; 2 for a scenario or arguments that are wrong; 1 for anything else."""

import sys

_INTERRUPTED_OUTSIDE_A_COMMAND = 130
"""The exception that typer makes of Ctrl-C while it reads arguments."""


def main() -> None:
    """The program `paceline` of the command line; imports happen here, so that Ctrl-C during them ends plainly too."""
    try:
        from paceline.cli.commands import app

        app(prog_name="paceline")
    except KeyboardInterrupt:
        _end_interrupted()
    except SystemExit as end:
        if end.code != _INTERRUPTED_OUTSIDE_A_COMMAND:
            raise
        _end_interrupted()


def _end_interrupted() -> None:
    print("paceline: interrupted: nothing was written", file=sys.stderr)
    sys.exit(1)
