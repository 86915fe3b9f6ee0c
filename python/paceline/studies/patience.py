"""A limit on the wall's clock: a controller from outside that never comes back is given up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from paceline.errors import ControllerError


@contextmanager
def given_up_after(seconds: float | None) -> Iterator[None]:
    """A block that ends with an error when it takes longer, as soon as Python code runs in it.

    It needs the main thread of its process, as workers have it; elsewhere nothing is limited.

    Raises:
        ControllerError: It took longer.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(*_: object) -> None:
        raise ControllerError(f"found no end after {seconds:g} s, expected one: does the controller return?")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
