"""What a signal means to a run that only a person or a script can end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def terminable() -> Iterator[None]:
    """While the block runs, SIGTERM is what Ctrl-C is: a script's shell keeps that from what it starts with `&`."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
