"""SQL of a study, answered in a process of its own: a study may come from a stranger.

The process opens no file, a text can be one expression alone, and each figure has a limit of time and of memory. DuckDB
cannot keep these limits by itself: it counts only a part of its memory, and cannot interrupt all of its functions.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import time
from multiprocessing import Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, finalize

from paceline.errors import WorkerDied
from paceline.series import stream_bytes

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_S = 60.0
"""Seconds that a figure may take. The figures of the studies beside this package take milliseconds."""
TOGETHER_S = 600.0
"""Seconds that all figures of a study may take."""
PREPARED_S = 600.0
"""Seconds that the process may take until it has begun, or has taken in rows."""
MEMORY = 1 << 30
"""Bytes that figures may take besides the rows."""


class QueryError(Exception):
    """A text that is no expression over the rows, or that asks for too much."""


class Queries:
    """A database of rows."""

    def __init__(self, columns: dict[str, str], rows_bytes: int = 0) -> None:
        """An empty table `rows` of these columns, by their types, and memory for so many bytes of rows."""
        self._process = _spare.pop() if _spare else _Process()
        finalize(self, _returned, self._process)
        self._left_s = TOGETHER_S
        self._prepare({"do": "open", "columns": columns, "memory": MEMORY + 4 * rows_bytes})

    def fill(self, table: pa.Table) -> None:
        """Takes in rows, by the names of the columns."""
        self._prepare({"do": "fill"}, stream_bytes(table))

    def _prepare(self, asked: dict[str, Any], content: bytes | None = None) -> None:
        """Asks for something that needs nothing of a study's own."""
        try:
            self._process.ask(asked, content, PREPARED_S)
        except QueryError as error:
            raise WorkerDied(f"figures cannot be computed: {error}") from None

    def ask(self, do: str, **said: Any) -> Any:
        """The process's answer to texts of a study.

        Raises:
            QueryError: It refuses, takes too long, or ended.
        """
        begun = time.monotonic()
        if self._left_s <= 0:
            raise QueryError(f"the figures before it took {TOGETHER_S:g} s, expected less of all together")
        answer = self._process.ask({"do": do, **said}, None, min(LONGEST_S, self._left_s))
        self._left_s -= time.monotonic() - begun
        return answer


class _Process:
    """The process, and what is said to it."""

    def __init__(self) -> None:
        self._channel, other = Pipe()
        script = Path(__file__).with_name("query_process.py")
        command = [sys.executable, str(script), str(other.fileno()), str(LONGEST_S), json.dumps(sys.path)]
        none = subprocess.DEVNULL
        with other:
            self._process = subprocess.Popen(command, pass_fds=[other.fileno()], stdin=none, stdout=none, stderr=none)
        self._owner = os.getpid()
        self.answers = True
        _all.add(self)

    def ask(self, asked: dict[str, Any], content: bytes | None, limit_s: float) -> Any:
        if not self.answers:
            raise QueryError("the process that computes figures has ended")
        try:
            return self._answer(asked, content, limit_s)
        except (OSError, EOFError):
            self.end()
            raise QueryError("the process that computes figures ended over it: is it too large, or too deep?") from None
        except QueryError:
            raise
        except BaseException:
            # Ctrl-C: the process goes on with what nobody waits for.
            self.end()
            raise

    def _answer(self, asked: dict[str, Any], content: bytes | None, limit_s: float) -> Any:
        self._channel.send_bytes(json.dumps({**asked, "follows": content is not None}).encode())
        if content is not None:
            self._channel.send_bytes(content)
        if not self._channel.poll(limit_s):
            self.end()
            raise QueryError(f"takes longer than {limit_s:.0f} s, expected less")
        answer = json.loads(self._channel.recv_bytes())
        if "error" in answer:
            # The database's message, without the picture of where.
            raise QueryError(" ".join(line.strip() for line in answer["error"].split("\n\n")[0].splitlines()))
        return self._channel.recv_bytes() if answer["follows"] else answer["value"]

    def end(self) -> None:
        """Ends it, whatever it does."""
        self.answers = False
        self._channel.close()
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()


_spare: list[_Process] = []
"""A process that is free for the next study: another one takes a third of a second until it has begun."""


def _returned(process: _Process) -> None:
    if process.answers and not _spare:
        _spare.append(process)
    elif process.answers:
        process.end()


_all: WeakSet[_Process] = WeakSet()


@atexit.register
def _end_all() -> None:
    for process in list(_all):
        if process.answers:
            process.end()
