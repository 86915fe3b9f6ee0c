"""The training runs of a profile-guided build: `make wheel` runs it with an instrumented extension.

Every transport and queue discipline and the usual controllers have runs: the compiler makes small, and not fast, what
it saw nothing of. No run is a scenario of `make bench`, which would then measure its own training. Each run has one
thread, since counts of several threads lose some.
"""

from __future__ import annotations

from typing import Any

import paceline

FRAMES = {"kind": "trace-encoder", "generator": "frames", "fps": 30}
BULK = {"kind": "bulk"}
DROPTAIL = {"kind": "droptail", "limit": "150ms"}
MANAGED = ("red", "codel", "fq-codel", "pie", "dualpi2")
TCP = ("newreno", "sack", "cubic", "bbr", "vegas", "dctcp", "ledbat")

Table = dict[str, Any]


def call(kind: str, **keys: Any) -> Table:
    """A video call under a controller; a profile follows a colon."""
    kind, _, profile = kind.partition(":")
    controller = {"kind": kind, **({"profile": profile} if profile else {})}
    return {"transport": "rtp", "controller": controller, "source": FRAMES, **keys}


def bulk(transport: str, kind: str) -> Table:
    """Endless data over TCP or DCCP."""
    return {"transport": transport, "controller": kind, "source": BULK}


def world(flows: list[Table], seconds: int, queue: Table = DROPTAIL, mbps: int = 30, **link: Any) -> Table:
    """These flows over a bottleneck, which loses half its rate for a third of the time, and a wide link, and back."""
    steps = [["0s", f"{mbps}Mbps"], [f"{seconds // 3}s", f"{mbps // 2}Mbps"], [f"{2 * seconds // 3}s", f"{mbps}Mbps"]]
    wide = {"rate": "1Gbps", "delay": "5ms", "queue": DROPTAIL}
    paths = {"path": ["bottleneck", "access"], "return_path": ["back"]}
    return {
        "duration": f"{seconds}s",
        "links": {
            "bottleneck": {"rate": {"steps": steps}, "delay": "10ms", "queue": queue, **link},
            "access": wide,
            "back": wide,
        },
        "flows": {f"flow{number}": {**flow, **paths} for number, flow in enumerate(flows)},
    }


def calls() -> list[Table]:
    """Calls by themselves: controllers of media, and SCReAM with rare and frequent reports, marks, noise and losses."""
    scream = ("scream", "scream:reference-2022", "scream:rfc8298")
    others = ("tempo", "gcc:draft", "gcc:libwebrtc", "urcp", "um", "tfrc")
    alone = [world([call(kind)], 60) for kind in (*scream, *others)]
    reports = [world([call("scream", feedback={"packets": packets})], 60) for packets in (1, 8, 32)]
    ramp = {"kind": "ramp", "low": "2ms", "high": "10ms"}
    noise, loss = {"kind": "exponential", "mean": "2ms"}, {"kind": "bernoulli", "ratio": 0.001}
    return [
        *alone,
        *reports,
        world([call("scream", ecn="l4s")], 60, mark=ramp),
        world([call("scream")], 60, noise=noise, loss=loss),
    ]


def transfers() -> list[Table]:
    """Connections of TCP, DCCP and SCTP by themselves, ones that routers lead, and datagrams at a constant rate."""
    kinds = [("tcp", kind) for kind in TCP] + [("dccp", "ccid2"), ("dccp", "ccid3"), ("sctp", "sctp")]
    led = [world([bulk("tcp", kind)], 30, {"kind": kind}) for kind in ("xcp", "rcp")]
    datagrams = {"transport": "udp", "source": {"kind": "cbr", "rate": "20Mbps"}, "packet_size": "1200B"}
    return [*(world([bulk(*kind)], 30) for kind in kinds), *led, world([datagrams], 60)]


def mixtures() -> list[Table]:
    """Flows that share a bottleneck: of several kinds under each managed queue, and many."""
    rivals = [call("scream"), call("gcc"), bulk("tcp", "newreno"), bulk("dccp", "ccid2")]
    many = [call("scream")] * 20 + [bulk("tcp", "newreno")] * 20
    return [*(world(rivals, 30, {"kind": kind}) for kind in MANAGED), world(many, 15, mbps=200)]


def sweep() -> list[Table]:
    """The most frequent work of studies: short runs, each of which is read and summed up."""
    return [world([call("scream")], 3)] * 200


def main() -> None:
    worlds = [*calls(), *transfers(), *mixtures(), *sweep()]
    packets = sum(paceline.run(scenario, threads=1).summary["packets"] for scenario in worlds)
    print(f"trained on {len(worlds)} runs, {packets:,} packets")


if __name__ == "__main__":
    main()
