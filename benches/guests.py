"""Packets per second of processor time under controllers from outside: `python benches/guests.py [COMMAND]...`."""

import resource
import sys
from pathlib import Path
from typing import Any

import paceline

sys.path.append(str(Path(__file__).parents[1] / "examples" / "guests"))
from aimd import Aimd

LINK = {"rate": "100Mbps", "delay": "20ms", "queue": {"kind": "droptail", "limit": "200ms"}}
FLOW = {
    "transport": "rtp",
    "controller": {"kind": "mine", "step": "20Mbps"},
    "source": {"kind": "trace-encoder", "generator": "frames", "fps": 50},
    "bitrate": {"start": "80Mbps"},
    "path": ["link"],
}
TIMES = 3


class HearsAll(Aimd):
    """Hears of each packet that is sent, too"""

    def sent(self, now_s: float, packet: Any) -> dict[str, Any]:
        return {}


def processor_s() -> float:
    """Processor time of this process and of those that it waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def speed(controller: Any, **flow: Any) -> float:
    """The best of a few runs."""
    scenario = {"duration": "20s", "links": {"link": LINK}, "flows": {"call": {**FLOW, **flow}}}
    best = 0.0
    for _ in range(TIMES):
        before = processor_s()
        packets = paceline.run(scenario, controllers={"mine": controller}, threads=1).summary["packets"]
        best = max(best, packets / (processor_s() - before))
    return best


def main() -> None:
    print(f"{speed(HearsAll):12,.0f}  class with sent and report")
    print(f"{speed(Aimd):12,.0f}  class with report")
    print(f"{speed(HearsAll, feedback={'packets': 1}):12,.0f}  class with sent and report, a report for each packet")
    for command in sys.argv[1:]:
        print(f"{speed(command.split()):12,.0f}  {command}")


main()
