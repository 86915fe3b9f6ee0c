"""Parts of the tests of controllers from outside: classes, programs, a call and a study that they steer."""

import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import paceline
from paceline import guests
from processes import ROOT

EXAMPLES = ROOT / "examples" / "guests"
sys.path.append(str(EXAMPLES))

ENCODER = {"kind": "trace-encoder", "generator": "frames", "fps": 25}
CALL: dict[str, Any] = {
    "duration": "4s",
    "links": {"link": {"rate": "3Mbps", "delay": "20ms", "queue": {"kind": "droptail", "limit": "200ms"}}},
    "flows": {"video": {"transport": "rtp", "controller": "mine", "source": ENCODER, "path": ["link"]}},
}
FLOW: dict[str, Any] = CALL["flows"]["video"]

STUDY = """\
name = "little"
title = "A little study"
scenario = "call.toml"
seeds = [1, 2]
factors.step = { path = "flows.video.controller.step", unit = "Mbps", levels = [0.5, 2], range = [0.5, 2], default = 1 }
factors.factor = { path = "flows.video.controller.factor", levels = [0.5, 0.9], range = [0.5, 0.9], default = 0.7 }
designs.single = { kind = "one-at-a-time" }
metrics.rate = { kind = "summary", path = "flows.video.throughput_mbps" }
"""
SEARCH = """\
training = ["slow"]
held_out = ["fast"]
conditions.slow = { "links.link.rate" = "2Mbps" }
conditions.fast = { "links.link.rate" = "8Mbps" }
objectives.rate = { want = "more" }
judgement.objectives = ["rate"]
searches.first = { trials = 3, population = 2, seed = 3, picks.best = { best = "rate" }, baselines.defaults = {} }
"""

RAISES = """\
class Own:
    steers = "media"
    def __init__(self, flow):
        pass
    def start(self, now_s):
        return {"target_mbps": 1.0}
    def report(self, now_s, packets):
        return self.divided(packets)
    def divided(self, packets):
        raise ERROR("of the test")  # the line
"""


class Mine:
    """A controller of a test"""

    steers = "media"

    def __init__(self, flow: Any, **parameters: Any) -> None:
        self.flow, self.told = flow, parameters

    def start(self, now_s: float) -> dict[str, Any]:
        return {"target_mbps": 1.0}

    def report(self, now_s: float, packets: list[Any]) -> dict[str, Any]:
        return {}


def made(name: str = "Mine", **members: Any) -> type[Any]:
    return type(name, (Mine,), members)


def call(**changes: Any) -> dict[str, Any]:
    """The call with these keys of its flow, or of the scenario where they are the scenario's."""
    scenario = deepcopy(CALL)
    for key, value in changes.items():
        (scenario if key in ("duration", "links", "coupling") else scenario["flows"]["video"])[key] = value
    return scenario


def run(guest: Any, scenario: dict[str, Any] | None = None, **how: Any) -> dict[str, Any]:
    return paceline.run(scenario or CALL, controllers={"mine": guest}, **how).summary


def program(behaviour: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(ROOT / "tests" / "guest_program.py"), behaviour]


def programs() -> list[str]:
    """The processes of this one that are controllers, and those that have ended and were not waited for."""
    pids = [pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]
    commands = [Path("/proc", pid, "cmdline").read_bytes().decode() for pid in pids]
    return [command for command in commands if not command or "guest_program" in command or "aimd" in command]


def mine_toml(folder: Path) -> Path:
    """The call as a file, and the small study of it."""
    import tomli_w

    (folder / "call.toml").write_text(tomli_w.dumps({"name": "call", **call(controller={"kind": "mine"})}))
    (folder / "study.toml").write_text(STUDY)
    return folder


def without_times(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name not in ("wall_s", "version")}


def written(folder: Path, text: str) -> type[Any]:
    (folder / "own.py").write_text(text)
    guest = guests.read(f"own={folder / 'own.py'}:Own")[1]
    assert isinstance(guest, type)
    return guest
