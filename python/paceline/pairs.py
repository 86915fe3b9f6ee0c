"""Available bandwidth by pairs of packets, which hardly load the path (Spruce; Strauss, Katabi and Kaashoek 2003).

The packets of a pair are sent as far apart as the bottleneck takes for one of them. Packets of others that come
meanwhile leave between them, so that they arrive further apart: the capacity less that is available.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from paceline import _core
from paceline.errors import UsageError
from paceline.overrides import Overrides
from paceline.probing import ProbeError, asked, link_name, read_path
from paceline.scenario import ScenarioLike
from paceline.simulation import Progress, expect_progress

LEAST_PAIRS = 10
"""Fewest pairs that have to arrive whole."""


@dataclass(frozen=True)
class PairPlan:
    """How available bandwidth is measured."""

    capacity_bps: float
    """Capacity of the bottleneck, which pairs do not tell: from `paceline probe`, or known."""
    packet_size: int = 1500
    """Bytes of each packet, transport header in."""
    pairs: int = 100
    """Pairs whose samples are averaged."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.capacity_bps) and self.capacity_bps > 0):
            raise UsageError(f"capacity: found {self.capacity_bps} bit/s, expected a rate above 0")

    def arguments(self, seed: int) -> dict[str, Any]:
        return {
            "capacity_bps": self.capacity_bps,
            "packet_size": self.packet_size,
            "pairs": self.pairs,
            "seed": seed,
        }

    @property
    def gap_s(self) -> float:
        """Time between the packets of a pair: that of one at the bottleneck."""
        return self.packet_size * 8 / self.capacity_bps


@dataclass(frozen=True)
class Available:
    """The available bandwidth that pairs found."""

    path: str
    capacity_bps: float
    """As it was given."""
    available_bps: float
    """Mean of the samples, between 0 and the capacity."""
    error_bps: float
    """Standard error of that mean."""
    pairs: int
    """Pairs that arrived whole."""
    sent: int
    """Pairs that were sent."""
    rate_bps: float
    """Mean rate of the probe."""

    def document(self) -> dict[str, Any]:
        """Every figure, for JSON."""
        return {
            "path": self.path,
            "method": "pairs",
            "capacity_kbps": self.capacity_bps / 1e3,
            "available_kbps": self.available_bps / 1e3,
            "standard_error_kbps": self.error_bps / 1e3,
            "pairs": self.pairs,
            "pairs_sent": self.sent,
            "probe_rate_kbps": self.rate_bps / 1e3,
        }

    def lines(self) -> list[str]:
        """The findings, in lines for people."""
        return [
            f"available {self.available_bps / 1e3:.1f} kbit/s of {self.capacity_bps / 1e3:.1f}",
            f"standard error {self.error_bps / 1e3:.1f} kbit/s",
            f"{self.pairs} of {self.sent} pairs, sent at {self.rate_bps / 1e3:.1f} kbit/s",
        ]


def available(
    what: ScenarioLike,
    plan: PairPlan,
    *,
    link: str | None = None,
    cross_bps: float = 0.0,
    overrides: Overrides | None = None,
    seed: int | None = None,
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Available:
    """Measures a link in the simulator, beside other traffic.

    Args:
        what: The name of a network (`paceline list networks`), or a scenario as for `paceline.run`.
        plan: How it is measured.
        link: The scenario's link; needed if it has several.
        cross_bps: Mean rate of other traffic on the link, in packets of 1500 B at random times. The scenario's own
            flows do not run.
        overrides: Values that replace the scenario's.
        seed: Replaces the scenario's seed.
        data: Where relative trace files are looked for.
        progress: Called now and then with the part that is done.

    Raises:
        ScenarioError: The scenario is wrong.
        UsageError: There is no such link, or a number is out of range.
        ProbeError: Too few pairs arrived.
    """
    expect_progress(progress)
    if not (math.isfinite(cross_bps) and cross_bps >= 0):
        raise UsageError(f"cross: found {cross_bps} bit/s, expected a rate of 0 or more")
    text, path = read_path(what, overrides=overrides, seed=seed, data=data)
    loaded = text.load()
    name, path = link_name(loaded, path, link)
    arguments = plan.arguments(seed if seed is not None else 1)
    times = asked(lambda: _core.pair_link(loaded.core, name, **arguments, cross_bps=cross_bps, progress=progress))
    return found(path, plan, times)


def available_path(to: str, plan: PairPlan, *, seed: int = 1, progress: Progress | None = None) -> Available:
    """Measures the path to a reflector at HOST:PORT (`paceline probe --receive`), or through a relay.

    Raises:
        NetworkError: Nothing answers, or a socket fails.
        ProbeError: Too few pairs arrived.
    """
    return found(to, plan, asked(lambda: _core.pair_path(to, **plan.arguments(seed), progress=progress)))


def found(path: str, plan: PairPlan, times: tuple[bytes, bytes]) -> Available:
    """The mean of C (1 - (gap out - gap in) / gap in) over the pairs of which both packets arrived.

    The gap in is what the sender kept: an operating system may send the second packet late.
    """
    sent, arrived = (np.frombuffer(each, "<f8").reshape(-1, 2) for each in times)
    whole = ~np.isnan(arrived).any(axis=1)
    count = int(np.count_nonzero(whole))
    if count < LEAST_PAIRS:
        raise ProbeError(
            f"probe of {path}: found {count} of {len(sent)} pairs arrived whole, expected at least {LEAST_PAIRS}: "
            "send more --pairs, or over a path that loses less"
        )
    gaps_in, gaps_out = (np.diff(each[whole], axis=1)[:, 0] for each in (sent, arrived))
    samples = plan.capacity_bps * (1 - (gaps_out - gaps_in) / plan.gap_s)
    error = float(samples.std(ddof=1)) / math.sqrt(count)
    span = float(sent[-1, 1] - sent[0, 0])
    return Available(
        path=path,
        capacity_bps=plan.capacity_bps,
        available_bps=float(np.clip(samples.mean(), 0.0, plan.capacity_bps)),
        error_bps=error,
        pairs=count,
        sent=len(sent),
        rate_bps=sent.size * plan.packet_size * 8 / span if span > 0 else 0.0,
    )
