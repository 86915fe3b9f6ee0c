"""Signals that end a run which has no end of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def terminable() -> Iterator[None]:
    """Treats SIGTERM like Ctrl-C while the block runs: a shell keeps Ctrl-C from what a script starts with `&`."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
