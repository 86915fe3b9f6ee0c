"""How far a run of many experiments is: a bar on standard error, or lines where nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from paceline.cli.speak import LINE_EVERY_S, duration, is_quiet, say
from paceline.studies.progress import Progress as StudyProgress
from paceline.studies.progress import State


@contextmanager
def study_progress() -> Iterator[StudyProgress]:
    """How far each part is, how fast, how long it takes: a bar, or where nobody watches now and then a line."""
    if is_quiet():
        yield lambda state: None
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rest]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}
        pace = _Pace()

        def progress(state: State) -> None:
            if state.what not in tasks:
                tasks[state.what] = bar.add_task(state.what, total=state.total, rest="")
            bar.update(tasks[state.what], completed=state.finished, rest=pace.said(state))

        yield progress


class _Pace:
    """How fast each part goes, since it was first heard of."""

    def __init__(self) -> None:
        self._starts: dict[str, tuple[float, int]] = {}

    def said(self, state: State) -> str:
        """How many failed, the rate, and the remaining time."""
        start, before = self._starts.setdefault(state.what, (time.monotonic(), state.finished))
        rate = (state.finished - before) / max(time.monotonic() - start, 1e-3)
        left = f", {duration((state.total - state.finished) / rate)} left" if rate else ""
        return f"{state.failed:,} failed, {rate:.1f}/s{left}"


class _Lines:
    """A line now and then, and one at the end of each part."""

    def __init__(self) -> None:
        self._pace = _Pace()
        self._last = time.monotonic()
        self._ended: set[str] = set()

    def __call__(self, state: State) -> None:
        now, rest = time.monotonic(), self._pace.said(state)
        ends = state.finished >= state.total and state.what not in self._ended
        if ends or (state.finished < state.total and now - self._last >= LINE_EVERY_S):
            self._ended |= {state.what} if ends else set()
            self._last = now
            say(f"{state.what}: {state.finished:,} of {state.total:,}, {rest}")
