"""The same endpoints over real sockets: sender, receiver, and a relay that applies a scenario's link in real time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paceline import _core
from paceline.errors import PacelineError, UsageError
from paceline.result import Result
from paceline.scenario import LoadedScenario
from paceline.simulation import Progress

Runner = Callable[[LoadedScenario, "Progress | None"], Result]
"""What turns a scenario into a result: the simulator's, or one of these."""


class NetworkError(PacelineError):
    """A socket could not be opened or used."""


def sender(to: str, flow: str | None = None, capture: Path | None = None) -> Runner:
    """Sends the scenario's media to a receiver or relay at HOST:PORT; of DCCP it may write a capture file."""
    return _runner(_core.send, to=to, flow=flow, capture=capture)


def receiver(listen: str, duration_s: float | None, flow: str | None = None, capture: Path | None = None) -> Runner:
    """Receives media at HOST:PORT and sends feedback; of DCCP it may write a capture file."""
    return _runner(_core.receive, listen=listen, duration_s=duration_s, flow=flow, capture=capture)


def relay(listen: str, forward: str, flow: str | None = None) -> Runner:
    """Passes packets from HOST:PORT on to another, through the scenario's link."""
    return _runner(_core.link, listen=listen, forward=forward, flow=flow)


def _runner(call: Callable[..., _core.RunOutput], **settings: Any) -> Runner:
    def run(scenario: LoadedScenario, progress: Progress | None) -> Result:
        try:
            return Result(call(scenario.core, **settings, progress=progress), scenario)
        except ValueError as error:
            raise UsageError(str(error)) from None
        except OSError as error:
            raise NetworkError(str(error)) from None

    return run
