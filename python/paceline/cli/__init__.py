"""The command line. Exit status: 0; 2 for a scenario or arguments that are wrong; 1 for anything else."""

from paceline.cli.commands import app


def main() -> None:
    """What `paceline` on the command line runs."""
    app()
