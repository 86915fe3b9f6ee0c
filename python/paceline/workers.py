"""Work spread over processes of this machine, or over a Dask cluster: results come back as they are finished."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from itertools import islice
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from paceline.errors import UsageError, WorkerDied

Context = TypeVar("Context")
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

AHEAD = 4
"""Items per worker that are handed out before the first of them is finished."""
DEATHS_IN_A_ROW = 3
"""As many items in a row that end their worker are no bad items: something is wrong with the machine."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_turn(
    function: Callable[[Context, Item], Outcome], context: Context, items: Iterable[Item]
) -> Iterator[tuple[Item, Outcome]]:
    """Every item in this process, one after the other."""
    for item in items:
        yield item, function(context, item)


def in_processes(
    function: Callable[[Context, Item], Outcome],
    context: Context,
    items: Iterable[Item],
    workers: int,
    died: Callable[[Item], Outcome] | None = None,
) -> Iterator[tuple[Item, Outcome]]:
    """Every item in one of `workers` processes; see `Processes`."""
    with Processes(function, context, workers, died) as processes:
        yield from processes.run(items)


class Processes(Generic[Context, Item, Outcome]):
    """Processes of this machine that stay until the `with` block ends.

    When one dies, the items that were under way run again, each alone; one that ends its process even so has the
    outcome that `died` says, or, without `died`, ends the work.
    """

    def __init__(
        self,
        function: Callable[[Context, Item], Outcome],
        context: Context,
        workers: int,
        died: Callable[[Item], Outcome] | None = None,
    ) -> None:
        self._pool = _Pool(workers, function, context)
        self._died = died

    def __enter__(self) -> Processes[Context, Item, Outcome]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._pool.kill()
        self._pool.close()

    def run(self, items: Iterable[Item]) -> Iterator[tuple[Item, Outcome]]:
        """Every item with its outcome, in the order in which they are finished.

        Raises:
            WorkerDied: A process died and `died` was not given, or too many did in a row.
        """
        pool = self._pool
        rest = iter(items)
        suspects: deque[Item] = deque()
        deaths = 0
        while True:
            while not suspects and pool.has_room and (item := next(rest, pool)) is not pool:
                pool.submit(item)
            if suspects and not pool.running:
                item = suspects.popleft()
                pool.submit(item)
                [(item, outcome)] = pool.finished()
                deaths = deaths + 1 if isinstance(outcome, _Dead) else 0
                if isinstance(outcome, _Dead):
                    pool.renew()
                    if self._died is None or deaths == DEATHS_IN_A_ROW:
                        raise WorkerDied("worker processes die, one after the other: is there memory enough?")
                    outcome = self._died(item)
                yield item, outcome
                continue
            if not pool.running:
                return
            for item, outcome in pool.finished():
                if isinstance(outcome, _Dead):
                    suspects.append(item)
                else:
                    yield item, outcome
            if suspects and not pool.running:
                if self._died is None:
                    raise WorkerDied("a worker process was killed")
                pool.renew()


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
            self._workers, mp_context=get_context("spawn"), initializer=_begin, initargs=self._start
        )

    @property
    def has_room(self) -> bool:
        return len(self.running) < AHEAD * self._workers

    def submit(self, item: Any) -> None:
        try:
            self.running[self._pool.submit(_work, item)] = item
        except BrokenProcessPool:
            broken: Future[Any] = Future()
            broken.set_exception(BrokenProcessPool())
            self.running[broken] = item

    def finished(self) -> list[tuple[Any, Any]]:
        """The items that are finished, at least one; when the pool broke, all that were under way."""
        done, _ = wait(self.running, return_when=FIRST_COMPLETED)
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


def _begin(function: Callable[..., Any], context: object) -> None:
    global _here
    # Ctrl-C reaches every process of a terminal; the parent ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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

    Dask itself runs again what was under way on a worker that died; an item that does so again and again has the
    outcome that `died` says.
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
        under_way: dict[Any, Item] = {}
        pending = distributed.as_completed(loop=client.loop)

        def hand_out() -> None:
            room = max(0, AHEAD * max(1, sum(client.nthreads().values())) - len(under_way))
            for item in islice(rest, room):
                # The context goes with every item: data that a cluster keeps is lost with the worker that has it.
                future = client.submit(function, context, item, pure=False)
                under_way[future] = item
                pending.add(future)

        hand_out()
        for future in pending:
            item = under_way.pop(future)
            try:
                outcome = future.result()
            except distributed.KilledWorker:
                outcome = died(item)
            hand_out()
            yield item, outcome
