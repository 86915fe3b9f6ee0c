"""The same endpoints over real sockets: sender, receiver, and a relay that applies a scenario's link in real time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from paceline import _core, disk
from paceline.errors import PacelineError, UsageError, of_controller
from paceline.merging import ENDS, Merged
from paceline.qlog import logged_call, logged_end
from paceline.result import Result
from paceline.scenario import LoadedScenario
from paceline.simulation import Progress, simulate

LAST_PORT = 65_535
"""The largest number of a port."""

Runner = Callable[[LoadedScenario, "Progress | None"], Result]
"""A function that turns a scenario into a result: the simulator's, or one of these."""

Say = Callable[[str], None]
"""Told a line at once that whoever waits for a run should see: the other end is silent, or there again."""


class NetworkError(PacelineError):
    """A socket could not be opened or used."""


def sender(
    to: str,
    flow: str | None = None,
    capture: Path | None = None,
    exchange: Path | None = None,
    group_by: str = "name",
    group: str | None = None,
    group_kind: str | None = None,
    peer: str = "standard",
    qlog: Path | None = None,
    say: Say | None = None,
) -> Runner:
    """Sends the scenario's media to a receiver or relay at HOST:PORT; of one flow it may write a capture and a qlog.

    With the socket of an exchange, its flows share with those of other processes: by the name of their coupling, by the
    address that they go to (`destination`), or by their `5-tuple`. `group` is another name than the coupling's,
    `group_kind` the kind of coupling of a flow that is in none. `peer` names the program at the other end, if it does
    otherwise than the texts say.
    """
    sharing = {"exchange": exchange, "group_by": group_by, "group": group, "group_kind": group_kind}
    run = partial(_runner, _core.send, to=to, flow=flow, peer=peer, say=say, **sharing)
    return _logging("client", qlog, capture, run)


def receiver(
    listen: str,
    duration_s: float | None,
    flow: str | None = None,
    capture: Path | None = None,
    peer: str = "standard",
    qlog: Path | None = None,
    silence_s: float | None = None,
    say: Say | None = None,
) -> Runner:
    """Receives media at HOST:PORT and sends feedback; of one flow it may write a capture and a qlog.

    The run ends after `duration_s`, or else the scenario's duration, or before that when packets have stayed away for
    `silence_s` longer than the scenario plans.
    """
    times = {"duration_s": duration_s, "silence_s": silence_s}
    call = partial(_runner, _core.receive, listen=listen, flow=flow, peer=peer, say=say, **times)
    return _logging("server", qlog, capture, call)


def relay(
    listen: str, forward: str, flow: str | None = None, *, opaque: bool = False, say: Say | None = None
) -> Runner:
    """Passes packets from HOST:PORT on to another, through the scenario's link: the flow's, or any UDP if `opaque`."""
    return _runner(_core.link, listen=listen, forward=forward, flow=flow, opaque=opaque, say=say)


def tunnel(left: str, right: str, flow: str | None = None) -> Runner:
    """Runs two commands of the shell, each in a network of its own, joined by nothing but the scenario's links.

    Packets of the left one (198.18.0.1) go over the flow's path, those of the right one (198.18.0.2) over its return
    path. The run ends a second after one of both has ended, or with the scenario's duration. It needs root, or
    `unshare --user --map-root-user`.
    """
    return _runner(_core.tunnel, left=left, right=right, flow=flow)


def exchange(socket: Path, expiry_s: float | None = None, say: Say | None = None) -> dict[str, int]:
    """Keeps the groups of coupled flows for the processes of this machine, until Ctrl-C; what it counted.

    A folder of the socket that is not there is made for this user alone, which is said, and goes at the end if it is
    empty.
    """
    made = None if disk.is_folder(socket.parent) else socket.parent
    unsaid = [] if made is None else [f"made the folder {made}, which was not there, for this user alone"]

    def told(line: str) -> None:
        for one in (*unsaid, line):
            if say is not None:
                say(one)
        unsaid.clear()

    try:
        with plain_errors():
            return dict(_core.exchange(socket, expiry_s=expiry_s, say=told))
    finally:
        if made is not None:
            with suppress(OSError):
                made.rmdir()


def live(
    flow: str | None = None, *, simulated: bool = False, qlog: Path | None = None, say: Say | None = None
) -> Runner:
    """Runs sender, links and receiver of a flow on this machine in real time, and merges what they know.

    They are one process: they speak over ports that the system chooses, and end together. `simulated`: the scenario is
    run in the simulator as well, to lay both side by side. `qlog`: a file for what both ends and the links saw.
    """

    def run(scenario: LoadedScenario, progress: Progress | None) -> Result:
        def call(sender: Path | None = None, receiver: Path | None = None) -> tuple[Result, Result, Result]:
            captures = {"sender_capture": sender, "receiver_capture": receiver}
            with plain_errors():
                outputs = _core.live(scenario.core, flow=flow, progress=progress, say=say, **captures)
            first, second, third = (Result(output, scenario) for output in outputs)
            return first, second, third

        results = call() if qlog is None else logged_call(qlog, call)
        ends = dict(zip(ENDS, results, strict=True))
        return Merged(ends, simulate(scenario) if simulated else None, keeps_ends=True)

    return run


def _logging(kind: str, qlog: Path | None, capture: Path | None, made: Callable[..., Runner]) -> Runner:
    """A function that runs an end with a capture, and writes a qlog of it where one is asked for."""
    if qlog is None:
        return made(capture=capture)

    def run(scenario: LoadedScenario, progress: Progress | None) -> Result:
        return logged_end(qlog, kind, lambda captured: made(capture=captured)(scenario, progress), capture)

    return run


def _runner(call: Callable[..., _core.RunOutput], **settings: Any) -> Runner:
    def run(scenario: LoadedScenario, progress: Progress | None) -> Result:
        with plain_errors():
            return Result(call(scenario.core, **settings, progress=progress), scenario)

    return run


@contextmanager
def plain_errors() -> Iterator[None]:
    """Errors of the extension as this package's."""
    try:
        yield
    except (ValueError, OSError) as error:
        if of_controller(error):
            raise
        said = str(error)
        port = re.search(r'found "[^"]*:(\d+)", expected HOST:PORT', said)
        if port and int(port[1]) > LAST_PORT:
            said += f"; ports go up to {LAST_PORT}"
        if "Cannot assign requested address" in said:
            said += "; expected an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all that it has"
        raise (UsageError if isinstance(error, ValueError) else NetworkError)(said) from None
