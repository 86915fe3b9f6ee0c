"""The same endpoints over real sockets: sender, receiver, and a relay that applies a scenario's link in real time."""

from __future__ import annotations

from collections.abc import Callable

from paceline import _core
from paceline.errors import CORE_SCENARIO_ERROR, PacelineError, ScenarioError
from paceline.result import Result
from paceline.scenario import ScenarioText
from paceline.simulation import Progress

Runner = Callable[[ScenarioText, "Progress | None"], Result]
"""What turns a scenario into a result: the simulator's, or one of these."""


class NetworkError(PacelineError):
    """A socket could not be opened or used."""


def sender(to: str, flow: str | None = None) -> Runner:
    """Sends the scenario's media to a receiver or relay at HOST:PORT."""
    return lambda scenario, progress: _with_network(
        scenario,
        lambda: _core.send(
            scenario.text,
            file=scenario.file,
            data=scenario.data,
            overrides=scenario.overrides,
            seed=scenario.seed,
            flow=flow,
            to=to,
            progress=progress,
        ),
    )


def receiver(listen: str, duration_s: float | None, flow: str | None = None) -> Runner:
    """Receives media at HOST:PORT and sends feedback."""
    return lambda scenario, progress: _with_network(
        scenario,
        lambda: _core.receive(
            scenario.text,
            file=scenario.file,
            data=scenario.data,
            overrides=scenario.overrides,
            seed=scenario.seed,
            flow=flow,
            listen=listen,
            duration_s=duration_s,
            progress=progress,
        ),
    )


def relay(listen: str, forward: str, flow: str | None = None) -> Runner:
    """Passes packets from HOST:PORT on to another, through the scenario's link."""
    return lambda scenario, progress: _with_network(
        scenario,
        lambda: _core.link(
            scenario.text,
            file=scenario.file,
            data=scenario.data,
            overrides=scenario.overrides,
            seed=scenario.seed,
            flow=flow,
            listen=listen,
            forward=forward,
            progress=progress,
        ),
    )


def _with_network(scenario: ScenarioText, call: Callable[[], _core.RunOutput]) -> Result:
    try:
        return Result(call(), scenario.folders)
    except CORE_SCENARIO_ERROR as error:
        raise ScenarioError(str(error)) from None
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    except OSError as error:
        raise NetworkError(str(error)) from None
