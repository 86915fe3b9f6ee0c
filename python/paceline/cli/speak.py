"""Output for people besides results: progress, and errors in one line with the right exit status."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import typer

from paceline.errors import OutputError, PacelineError, of_controller, printable
from paceline.simulation import Progress

_PACKAGE = Path(__file__).parents[1]

FAULTS_SAID = 5
"""More than these are counted."""


@contextmanager
def plainly(interrupted: str = "nothing was written") -> Iterator[None]:
    """Turns an error of ours, or Ctrl-C, into a message on standard error and an exit status."""
    try:
        with _with_own_traceback():
            yield
    except PacelineError as error:
        say(f"paceline: {error}")
        raise typer.Exit(error.exit_status) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        say(f"paceline: {where}{error.strerror or error}")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        say(f"paceline: interrupted: {interrupted}")
        raise typer.Exit(1) from None


@contextmanager
def _with_own_traceback() -> Iterator[None]:
    """Shows an exception that a controller from outside raised as Python would, from the controller's first line on."""
    try:
        yield
    except Exception as error:
        if (note := of_controller(error)) is None:
            raise
        own = error.__traceback__
        while own is not None and Path(own.tb_frame.f_code.co_filename).is_relative_to(_PACKAGE):
            own = own.tb_next
        say("".join(traceback.format_exception(type(error), error, own)).rstrip())
        if not hasattr(error, "__notes__"):
            say(note)
        raise typer.Exit(1) from None


def say(text: str) -> None:
    """A line for people, kept out of standard output."""
    typer.echo(printable(text), err=True)


def say_remade(faults: Sequence[str]) -> None:
    """Says which files were not as an earlier run had written them, and were made again."""
    for fault in faults[:FAULTS_SAID]:
        say(f"paceline: {fault}; made again")
    if len(faults) > FAULTS_SAID:
        say(f"paceline: {len(faults) - FAULTS_SAID:,} more of the kind were made again")


@contextmanager
def printing() -> Iterator[None]:
    """A block that prints results: if standard output does not take them, that is an error like any other.

    A reader that went away, such as `head`, is none: the command line ends quietly then.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_what_is_left()
        raise OutputError(f"standard output: cannot be written: {error.strerror}") from None


def _drop_what_is_left() -> None:
    """Drops what could not be written: the interpreter would try again at its end, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


_quiet = ContextVar("quiet", default=False)


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """A block in which nothing is said of progress, if `quiet`; warnings and errors are."""
    before = _quiet.set(quiet)
    try:
        yield
    finally:
        _quiet.reset(before)


def is_quiet() -> bool:
    """Whether nothing is said of progress."""
    return _quiet.get()


def note(text: str) -> None:
    """A remark for people, which --quiet leaves out."""
    if not is_quiet():
        say(text)


LINE_EVERY_S = 10.0
"""Where nobody watches a bar, a line says this often how far a command is."""


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, hours = seconds / 60, seconds / 3600
    return f"{minutes:.0f} min" if minutes < 120 else f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"


def _lines(title: str) -> Progress:
    """Says now and then which part is done, and how long the rest takes at this pace."""
    begin = last = time.monotonic()

    def progress(done: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LINE_EVERY_S and 0 < done < 1:
            last = now
            say(f"{title}: {done:.0%}, {duration((now - begin) * (1 - done) / done)} left")

    return progress


@contextmanager
def progress_bar(title: str) -> Iterator[Progress | None]:
    """A bar on standard error while the block runs; where nobody watches, a line now and then."""
    if is_quiet():
        yield None
        return
    if not sys.stderr.isatty():
        yield _lines(title)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda done: bar.update(task, completed=done)
