"""The worlds of experiments: the simulator, or real time on this machine, alone or with the programs of others."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from paceline import _core, disk, simulation
from paceline.errors import StudyError
from paceline.network import live, tunnel
from paceline.toml import loads

if TYPE_CHECKING:
    from paceline.result import Result
    from paceline.scenario import LoadedScenario

WorldName = Literal[
    "simulator", "line", "kernel-tcp", "call-beside-kernel", "to-chromium", "from-chromium", "from-chromium-scream"
]

CONGESTION = {"sack": "reno", "newreno": "reno", "cubic": "cubic", "bbr": "bbr"}
"""The kernel's name of each of our controllers that it has."""
_CLIENT, _SERVER = "sleep 0.3; iperf3 -c $PACELINE_PEER", "iperf3 -s -1"
SETTLED_S = 1.5
"""How long before the scenario's end iperf3 stops, so that it can still say what it saw."""
START_S = 4.0
"""How much later than the links a call may begin, until two interpreters have started, and be written down."""
EARLY_S = 3.0
"""A run that ended longer than this before its time was interrupted."""


@dataclass(frozen=True)
class World:
    """How experiments run, and the command that runs one alone."""

    run: Callable[[LoadedScenario], Result]
    command: tuple[str, ...]
    real_time: bool = True
    """Whether it takes as long as the scenario says, and the machine for itself."""


def run(world: WorldName, scenario: LoadedScenario) -> Result:
    """Runs a scenario.

    Raises:
        PacelineError: The world cannot run it, or something that it needs is not installed.
        KeyboardInterrupt: It was ended before its time.
    """
    result = WORLDS[world].run(scenario)
    if WORLDS[world].real_time:
        wanted, _ = _core.quantity(loads(scenario.core.resolved_toml)["duration"]) or (0.0, "s")
        if float(result.summary["duration_s"]) < wanted - EARLY_S:
            raise KeyboardInterrupt
    return result


def _line(scenario: LoadedScenario) -> Result:
    return live()(scenario, None)


def _kernel_tcp(scenario: LoadedScenario) -> Result:
    """The kernel's TCP between two networks of their own, by iperf3, under the controller of the scenario's flow."""
    table = loads(scenario.core.resolved_toml)
    [flow] = table["flows"]
    with _Iperf3(table, flow) as iperf3:
        result = tunnel(iperf3.client, iperf3.server)(scenario, None)
        iperf3.add_sender(result)
    return result


def _call_beside_kernel(scenario: LoadedScenario) -> Result:
    """The same beside the scenario's call, which our sender and receiver hold from network to network."""
    table = loads(scenario.core.resolved_toml)
    transports = {name: spec["transport"] for name, spec in table["flows"].items()}
    if sorted(transports.values()) != ["rtp", "tcp"]:
        found = ", ".join(f"{name} ({transport})" for name, transport in transports.items())
        raise StudyError(f"world call-beside-kernel: found the flows {found}, expected one of rtp and one of tcp")
    call, rival = sorted(transports, key=transports.__getitem__)
    with _Iperf3(table, rival) as iperf3:
        Path(iperf3.folder, "scenario.toml").write_text(scenario.core.resolved_toml, encoding="utf-8")
        sends, receives = _ends(iperf3, call)
        left, right = f"{iperf3.client} & {sends} & wait", f"{iperf3.server} & {receives} & wait"
        result = tunnel(left, right, call)(scenario, None)
        # The links' figures are of both flows; the call's own figures are its receiver's.
        result.summary["flows"] = {call: _heard(iperf3.folder)["flows"][call], rival: {"srtt_ms": {}}}
        iperf3.add_sender(result)
    return result


def _ends(iperf3: _Iperf3, call: str) -> tuple[str, str]:
    """The commands of our sender and our receiver."""
    folder = shlex.quote(iperf3.folder)
    quiet = f">/dev/null 2>>{folder}/said.txt"
    send, receive = (
        f"{shlex.quote(sys.executable)} -m paceline {command} {folder}/scenario.toml --flow {shlex.quote(call)}"
        for command in ("send", "receive")
    )
    until = iperf3.seconds - START_S - SETTLED_S
    return (
        f"{send} --to $PACELINE_PEER:5004 {quiet}",
        f"{receive} --listen $PACELINE_ADDRESS:5004 --duration {until:g} --out {folder}/receiver {quiet}",
    )


def _heard(folder: str) -> dict[str, Any]:
    """The record of our receiver."""
    try:
        heard: dict[str, Any] = json.loads(Path(folder, "receiver", "summary.json").read_text())
    except OSError:
        said = Path(folder, "said.txt").read_text("utf-8", "replace").strip() or "it said nothing"
        raise StudyError(f"world call-beside-kernel: our receiver left no summary: {said[-500:]}") from None
    return heard


class _Iperf3:
    """The commands of iperf3 for a flow of a scenario, and what its sender says after a run."""

    def __init__(self, table: Mapping[str, Any], flow: str) -> None:
        kind = table["flows"][flow]["controller"]["kind"]
        if kind not in CONGESTION:
            raise StudyError(f"flow {flow} has controller {kind}, expected one of {', '.join(CONGESTION)}")
        if shutil.which("iperf3") is None:
            raise StudyError("found no iperf3, expected it to be installed (apt install iperf3)")
        self.seconds, _ = _core.quantity(table["duration"]) or (0.0, "s")
        self._flow = flow
        self._gone = ExitStack()
        temporary = disk.temporary_folder(Path(tempfile.gettempdir()), "paceline-iperf3-")
        self.folder = str(self._gone.enter_context(temporary))
        self._said = Path(self.folder, "client.json")
        self.client = f"{_CLIENT} -C {CONGESTION[kind]} -t {self.seconds - SETTLED_S:g} -J > '{self._said}'"
        self.server = f"{_SERVER} > '{self.folder}/server.txt'"

    def __enter__(self) -> _Iperf3:
        return self

    def __exit__(self, *_: object) -> None:
        self._gone.close()

    def add_sender(self, result: Result) -> None:
        """Adds what only the kernel's sender knows of the flow to the summary.

        Raises:
            StudyError: iperf3 failed.
        """
        try:
            said = json.loads(self._said.read_text())
            sender = said["end"]["streams"][0]["sender"]
        except (OSError, ValueError, LookupError):
            raise StudyError(f"iperf3 failed: {self._complaint()}") from None
        flow = result.summary["flows"][self._flow]
        flow["srtt_ms"]["mean"] = sender["mean_rtt"] / 1000
        flow.setdefault("throughput_mbps", sender["bits_per_second"] / 1e6)
        flow["kernel"] = {"retransmits": sender["retransmits"], "max_cwnd": sender["max_snd_cwnd"]}

    def _complaint(self) -> str:
        try:
            return str(json.loads(self._said.read_text()).get("error", "it was ended before it said anything"))
        except (OSError, ValueError):
            return "it said nothing"


def _chromium(role: str, congestion: str) -> Callable[[LoadedScenario], Result]:
    def run(scenario: LoadedScenario) -> Result:
        from paceline.browser.call import call
        from paceline.browser.chromium import Congestion

        held = call(scenario, role, congestion=Congestion(congestion))
        held.link.summary["browser"] = held.summary
        return held.link

    return run


WORLDS: dict[WorldName, World] = {
    "simulator": World(lambda scenario: simulation.simulate(scenario), ("run",), real_time=False),
    "line": World(_line, ("live",)),
    "kernel-tcp": World(_kernel_tcp, ("link", "--tun", "--left", _CLIENT, "--right", _SERVER)),
    "call-beside-kernel": World(_call_beside_kernel, ("link", "--tun", "--left", _CLIENT, "--right", _SERVER)),
    "to-chromium": World(_chromium("send", "gcc"), ("browser", "--role", "send")),
    "from-chromium": World(_chromium("receive", "gcc"), ("browser", "--role", "receive")),
    "from-chromium-scream": World(
        _chromium("receive", "scream"), ("browser", "--role", "receive", "--congestion", "scream")
    ),
}
