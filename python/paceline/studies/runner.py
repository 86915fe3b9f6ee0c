"""Work spread over processes of this machine, or over a Dask cluster: results come back as they are finished."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, Generic, TypeVar

from paceline import guests
from paceline.errors import UsageError, WorkerDied, expect_count
from paceline.version import __version__, sources

Context = TypeVar("Context")
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

AHEAD = 4
"""Items per worker that are handed out before the first of them is finished."""
IDLE_S = 0.25
"""Seconds without a finished item after which `idle` is called."""
BATCH_S = 0.5
"""Seconds that a batch of items takes on a cluster, about."""
LARGEST_BATCH = 64
DEATHS_IN_A_ROW = 3
"""If this many items in a row end their worker process, the fault is the machine's, not theirs."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Runner(Generic[Context, Item, Outcome]):
    """Where the work of a study is done: here, in processes of this machine, or on a Dask cluster."""

    def __init__(
        self,
        function: Callable[[Context, Item], Outcome],
        context: Context,
        died: Callable[[Item], Outcome],
        *,
        workers: int | None = None,
        dask: str | None = None,
        most: int | None = None,
    ) -> None:
        """One process per core unless `workers` says how many, and none more than there are items (`most`).

        `died` gives the outcome of an item whose worker process died both times that it was tried.
        """
        expect_count("workers", workers)
        self._work = (function, context, died)
        self._dask = dask
        self.idle: Callable[[], None] = lambda: None
        """Called now and then while nothing is finished."""
        wanted = workers or cores()
        count = wanted if most is None else min(wanted, max(1, most))
        self._pool = None if dask is not None or count == 1 else _Pool(count, function, context)

    def __enter__(self) -> Runner[Context, Item, Outcome]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            if kind is not None:
                self._pool.kill()
            self._pool.close()

    def run(self, items: Iterable[Item]) -> Iterator[tuple[Item, Outcome]]:
        """Every item with its outcome, in the order in which they are finished.

        When a process of this machine dies, the items that were under way run again, each alone. An item that ends its
        process even so gets the outcome that `died` gives.

        Raises:
            WorkerDied: Too many processes died in a row.
        """
        function, context, died = self._work
        if self._dask is not None:
            return on_dask(function, context, items, self._dask, died)
        if self._pool is not None:
            return self._spread(self._pool, iter(items))
        return ((item, function(context, item)) for item in items)

    def _spread(self, pool: _Pool, rest: Iterator[Item]) -> Iterator[tuple[Item, Outcome]]:
        suspects: deque[Item] = deque()
        deaths = 0
        while True:
            while not suspects and pool.has_room and (item := next(rest, pool)) is not pool:
                pool.submit(item)
            if suspects and not pool.running:
                item = suspects.popleft()
                pool.submit(item)
                [(item, outcome)] = pool.finished(self.idle)
                deaths = deaths + 1 if isinstance(outcome, _Dead) else 0
                if isinstance(outcome, _Dead):
                    pool.renew()
                    if deaths == DEATHS_IN_A_ROW:
                        raise WorkerDied("worker processes die, one after the other: is there memory enough?")
                    outcome = self._work[2](item)
                yield item, outcome
                continue
            if not pool.running:
                return
            for item, outcome in pool.finished(self.idle):
                if isinstance(outcome, _Dead):
                    suspects.append(item)
                else:
                    yield item, outcome
            if suspects and not pool.running:
                pool.renew()


@contextmanager
def _no_program() -> Iterator[None]:
    """Processes started here import our modules, and not the program that calls us: it would call us again in each."""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


class _Dead:
    """In place of the outcome of an item whose process died."""


class _Pool:
    """Processes that can be started anew when one of them dies."""

    def __init__(self, workers: int, function: Callable[..., Any], context: object) -> None:
        self._workers = workers
        self._start = (function, context)
        self.running: dict[Future[Any], Any] = {}
        self._others: set[BaseProcess] = set()
        self._open()

    def _open(self) -> None:
        self._others = set(active_children())
        self._pool = ProcessPoolExecutor(
            self._workers,
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(*self._start, guests.pickled()),
        )

    @property
    def has_room(self) -> bool:
        return len(self.running) < AHEAD * self._workers

    def submit(self, item: Any) -> None:
        try:
            with _no_program():
                self.running[self._pool.submit(_work, item)] = item
        except BrokenProcessPool:
            broken: Future[Any] = Future()
            broken.set_exception(BrokenProcessPool())
            self.running[broken] = item

    def finished(self, idle: Callable[[], None]) -> list[tuple[Any, Any]]:
        """The items that are finished, at least one; when the pool broke, all that were under way."""
        while not (done := wait(self.running, IDLE_S, return_when=FIRST_COMPLETED)[0]):
            idle()
        if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
            done, _ = wait(self.running)
        return [(self.running.pop(future), _outcome(future)) for future in sorted(done, key=self._place)]

    def _place(self, future: Future[Any]) -> int:
        return list(self.running).index(future)

    def renew(self) -> None:
        self.close()
        self._open()

    def kill(self) -> None:
        for process in set(active_children()) - self._others:
            process.terminate()

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        return _Dead()


_here: tuple[Callable[..., Any], object] | None = None
"""In a worker process: what it does, and with which context."""


def _leave_with_parent() -> None:
    """A parent that is killed cannot end its workers, and the queue that they wait at stays open: they hold it too."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _begin(function: Callable[..., Any], context: object, of_outside: bytes | None) -> None:
    global _here
    # Ctrl-C reaches every process of a terminal; the parent ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    guests.enter(of_outside)
    _here = (function, context)


def _work(item: object) -> Any:
    if _here is None:
        raise RuntimeError("a worker was asked before it was told what to do")
    function, context = _here
    return function(context, item)


def on_dask(
    function: Callable[[Context, Item], Outcome],
    context: Context,
    items: Iterable[Item],
    address: str,
    died: Callable[[Item], Outcome],
) -> Iterator[tuple[Item, Outcome]]:
    """Every item on a worker of the Dask cluster whose scheduler listens at `address`.

    Dask itself runs again what was under way on a worker that died. If that happens to a batch again and again, each of
    its items goes alone. An item that ends its worker even so gets the outcome that `died` gives.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise UsageError("--dask: Dask is not installed; get it with: pip install 'paceline[dask]'") from None
    try:
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"--dask {address}: no scheduler answers there ({error}), expected host:port") from None
    with client:
        rest = iter(items)
        alone: deque[Item] = deque()
        suspects: set[Any] = set()
        under_way: dict[Any, list[Item]] = {}
        pending = distributed.as_completed(loop=client.loop)
        pace = _Pace()
        of_outside = guests.pickled()

        def hand_out() -> None:
            for _ in range(AHEAD * max(1, sum(client.nthreads().values())) - len(under_way)):
                # One suspect at a time: Dask blames all that wait at a worker for its death.
                is_suspect = bool(alone) and not suspects
                batch = [alone.popleft()] if is_suspect else list(islice(rest, pace.batch))
                if not batch:
                    return
                # The context goes with every batch: data that a cluster keeps is lost with the worker that has it.
                future = client.submit(_batch, __version__, of_outside, function, context, batch, pure=False)
                under_way[future] = batch
                if is_suspect:
                    suspects.add(future)
                pending.add(future)

        hand_out()
        for future in pending:
            batch = under_way.pop(future)
            try:
                outcomes, seconds = future.result()
                pace.took(len(batch), seconds)
            except distributed.KilledWorker:
                outcomes = [died(item) for item in batch if future in suspects]
                if not outcomes:
                    alone.extend(batch)
            suspects.discard(future)
            hand_out()
            yield from zip(batch, outcomes, strict=False)


class _Pace:
    """How many items make a batch: the scheduler has a few milliseconds of work with each, however short its items."""

    def __init__(self) -> None:
        self._items = 0
        self._seconds = 0.0

    def took(self, items: int, seconds: float) -> None:
        self._items += items
        self._seconds += seconds

    @property
    def batch(self) -> int:
        if not self._items:
            return 1
        return max(1, min(LARGEST_BATCH, int(BATCH_S * self._items / max(self._seconds, 1e-6))))


def _batch(
    version: str,
    of_outside: bytes | None,
    function: Callable[[Context, Item], Outcome],
    context: Context,
    items: list[Item],
) -> tuple[list[Outcome], float]:
    """The result of each item, and how long they took together, on a worker whose build gives the same figures."""
    if sources(version) != sources(__version__):
        raise UsageError(
            f"--dask: found a worker of another build ({__version__}), expected {version}: install that there"
        )
    start = time.monotonic()
    with guests.entered(of_outside):
        return [function(context, item) for item in items], time.monotonic() - start
