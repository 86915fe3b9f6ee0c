"""Measuring a path: its capacity by a transfer in slow start, then its noise and its loss at half of that.

As Xie, Mehrotra, Li and Hu do ("URCP", 2013, section II): the delays of packets at half the capacity, above the
smallest of them, are the noise that no controller can avoid. The result is a link for a scenario.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paceline import _core
from paceline.errors import DataNotFound, PacelineError, UsageError, one_of
from paceline.overrides import Overrides
from paceline.scenario import LoadedScenario, ScenarioLike, ScenarioText, read
from paceline.simulation import Progress, expect_progress, registry
from paceline.toml import loads, toml_key, toml_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Values: TypeAlias = "npt.NDArray[np.float64]"

QUANTILES = (101, 201, 501, 1001)
"""Quantiles that a link is written with: the first number by which the mean is right to 0.5 %, or the last."""
MEAN_TOLERANCE = 0.005
LEAST_PACKETS = 100
"""Fewest arrivals at half the capacity from which a distribution is told."""
LEAST_CORRELATION = 0.05
"""A correlation of packets that is higher by less than this than holding explains counts as none."""
FILLED = 0.25
"""Part of the transfer that may be under way at once: with more, slow start, which doubles, ended before the path was
full, and the rate that came out is the transfer's own."""
LONGEST_CORRELATION = 0.1
"""Part of the hold, the longest correlation: what looks more alike, as a few stalls do, is of another kind."""
UNSEEN_BUFFER = 64_000
"""Bytes of a buffer that the transfer did not fill: what is written then, at least."""


class ProbeError(PacelineError):
    """A path of which too little came back to say what it is."""


@dataclass(frozen=True)
class Plan:
    """How a path is measured."""

    packet_size: int = 1212
    """Bytes of each packet, transport header in."""
    transfer: int = 1_000_000
    """Bytes that are sent in slow start."""
    hold_s: float = 60.0
    """Time for which packets go at a part of the rate that arrived."""
    part: float = 0.5
    """Part of the rate that arrived."""

    def arguments(self) -> dict[str, Any]:
        return {"packet_size": self.packet_size, "transfer": self.transfer, "hold_s": self.hold_s, "part": self.part}


@dataclass(frozen=True)
class Measured:
    """The findings of a probe on a path."""

    path: str
    """The measured path: a network, a link, or an address."""
    packet_size: int
    receiving_rate_bps: float
    """Of the transfer, from its first arrival to its last: what the paper takes for the capacity."""
    capacity_bps: float
    """Of the transfer without its first quarter, in which slow start may not fill the path."""
    hold_rate_bps: float
    """At which noise and loss were measured."""
    min_delay_s: float
    """Smallest one-way delay, or half the smallest round trip where the clocks are of two machines."""
    one_clock: bool
    """Whether both ends have one clock, so that one-way delays are known."""
    noise_s: Values
    """One-way delays above the smallest, in the order of sending."""
    quantiles_s: Values
    """Quantiles, at even steps, of what packets meet that are not held behind others: a link holds them by itself."""
    correlation_s: float
    """Time over which the correlation of the normal scores falls to 1/e on a link that shows this noise; 0: none."""
    loss: float
    """Part of the packets at the hold rate that never arrived."""
    burst: float
    """Mean number of packets that were lost in a row."""
    buffer_bytes: int | None
    """Bytes in the queue when the transfer overflowed it; None if it did not."""
    drift_ppm: float | None
    """How fast the smallest delays grow where there are two clocks; None with one clock, and within the noise."""
    warnings: list[str] = field(default_factory=list)

    @property
    def link(self) -> dict[str, Any]:
        """The keys of `[links.NAME]`."""
        own_s = self.packet_size * 8 / self.capacity_bps
        queue = self.buffer_bytes if self.buffer_bytes is not None else UNSEEN_BUFFER
        link: dict[str, Any] = {
            "rate": f"{round(self.capacity_bps)}bps",
            "delay": _micros(max(self.min_delay_s - own_s, 0.0)),
            "queue": {"kind": "droptail", "bytes": f"{max(queue, 1)}B"},
        }
        if self.loss > 0:
            link["loss"] = self._loss()
        if len(self.noise_s) and self.noise_s.max() >= 1e-6:
            link["noise"] = {
                "kind": "empirical",
                "quantiles": [_micros(value) for value in self.quantiles_s],
                "correlation": _micros(self.correlation_s),
            }
        return link

    def _loss(self) -> dict[str, Any]:
        if self.burst < 1.1 or self.loss >= 1:
            return {"kind": "bernoulli", "ratio": round(self.loss, 6)}
        leave = 1 / self.burst
        return {
            "kind": "gilbert-elliott",
            "p": round(min(1.0, leave * self.loss / (1 - self.loss)), 8),
            "r": round(leave, 6),
        }

    def toml(self, name: str = "probed") -> str:
        """A link that can be pasted into a scenario, with what it rests on as comments."""
        from paceline.fitting.report import as_toml

        buffer = "seen full" if self.buffer_bytes is not None else "assumed: the transfer did not fill the buffer"
        clock = "" if self.one_clock else ", half the shortest round trip: the clocks are of two machines"
        notes = [
            f"# {self.path}, measured with {self.packet_size} B packets at {self.hold_rate_bps / 1e3:.1f} kbit/s,",
            f"# a part of the {self.receiving_rate_bps / 1e3:.1f} kbit/s at which a transfer arrived;",
            f"# queue {buffer}{clock}.",
            *(f"# {line}" for line in self.lines()),
        ]
        keys = [
            as_toml(key, value) if isinstance(value, dict) else f"{key} = {toml_value(value)}"
            for key, value in self.link.items()
        ]
        return "\n".join([*notes, f"[links.{toml_key(name)}]", *keys]) + "\n"

    def lines(self) -> list[str]:
        """The findings, in lines for people."""
        figures = self.document()["noise_ms"]
        noise = ", ".join(f"{name} {value:.2f}" for name, value in figures.items())
        buffer = "not seen" if self.buffer_bytes is None else f"{self.buffer_bytes / 1e3:.1f} kB"
        return [
            f"capacity {self.capacity_bps / 1e3:.1f} kbit/s",
            f"smallest delay {self.min_delay_s * 1e3:.2f} ms, buffer {buffer}",
            f"noise in ms: {noise}; correlated over {self.correlation_s * 1e3:.0f} ms",
            f"loss {self.loss:.4f}, {self.burst:.1f} packets in a row",
        ]

    def document(self) -> dict[str, Any]:
        """Every figure, for JSON."""
        noise = self.noise_s * 1e3
        at = {f"p{part}": float(np.percentile(noise, part)) for part in (50, 90, 99)}
        return {
            "path": self.path,
            "packet_size_bytes": self.packet_size,
            "receiving_rate_kbps": self.receiving_rate_bps / 1e3,
            "capacity_kbps": self.capacity_bps / 1e3,
            "hold_rate_kbps": self.hold_rate_bps / 1e3,
            "min_delay_ms": self.min_delay_s * 1e3,
            "one_clock": self.one_clock,
            "noise_ms": {"mean": float(noise.mean()), **at, "max": float(noise.max())},
            "correlation_ms": self.correlation_s * 1e3,
            "loss_ratio": self.loss,
            "loss_burst_packets": self.burst,
            "buffer_bytes": self.buffer_bytes,
            "drift_ppm": self.drift_ppm,
            "packets": len(noise),
            "warnings": self.warnings,
            "link": self.link,
        }

    def distance(self, other: Measured) -> float:
        """The largest difference of the two distributions of noise (Kolmogorov and Smirnov)."""
        values = np.sort(np.concatenate([self.noise_s, other.noise_s]))
        mine, others = (
            np.searchsorted(np.sort(one.noise_s), values, side="right") / len(one.noise_s) for one in (self, other)
        )
        return float(np.abs(mine - others).max())

    def figure(self) -> Figure:
        """The distribution of the noise, as in the paper's Figure 1."""
        from paceline.plots.noise import figure

        return figure(self.noise_s, self.path)


def probe(
    what: ScenarioLike,
    *,
    link: str | None = None,
    plan: Plan | None = None,
    overrides: Overrides | None = None,
    seed: int | None = None,
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Measures a link in the simulator.

    Args:
        what: The name of a network (`paceline list networks`), or a scenario as for `paceline.run`.
        link: The scenario's link; needed if it has several.
        plan: How it is measured.
        overrides: Values that replace the scenario's, such as `{"links.path.delay": "20ms"}`: a network is the
            link `path`.
        seed: Replaces the scenario's seed.
        data: Where relative trace files are looked for.
        progress: Called now and then with the part that is done.

    Raises:
        ScenarioError: The scenario is wrong.
        UsageError: There is no such link, or the plan is out of range.
        ProbeError: Too little of what was sent arrived.
    """
    expect_progress(progress)
    if plan is not None and not isinstance(plan, Plan):
        raise UsageError(f"plan: found {plan!r}, expected a `paceline.probing.Plan`")
    text, path = read_path(what, overrides=overrides, seed=seed, data=data)
    return probe_read(text, path, link, plan, progress)


def read_path(
    what: ScenarioLike,
    *,
    overrides: Overrides | None,
    seed: int | None,
    data: str | os.PathLike[str] | None,
) -> tuple[ScenarioText, str]:
    """The scenario of a network or of a file, and what the result calls it."""
    if isinstance(what, str) and what in networks():
        return read(network_scenario(what), overrides=overrides, seed=seed, data=data), what
    path = os.fspath(what) if isinstance(what, str | os.PathLike) else "scenario"
    try:
        text = read(what, overrides=overrides, seed=seed, data=data)
    except DataNotFound as error:
        raise DataNotFound(f"{error}; the named networks are {', '.join(networks())}") from None
    return text, path.partition("\n")[0]


def link_name(loaded: LoadedScenario, path: str, link: str | None) -> tuple[str, str]:
    """The link to measure, the only one if none is named; and the name of the measured path."""
    links = list(loads(loaded.core.resolved_toml).get("links", {}))
    name = link if link is not None else links[0] if len(links) == 1 else None
    if name not in links:
        raise UsageError(f"link: found {name or f'{len(links)} links and none named'}, {one_of(name or '', links)}")
    return str(name), path if len(links) == 1 else f"{path}, link {name}"


def probe_read(
    text: ScenarioText, path: str, link: str | None, plan: Plan | None, progress: Progress | None
) -> Measured:
    """Measures a link of a scenario that was read; `path` is what the result calls it."""
    plan = plan or Plan(hold_s=300.0)
    loaded = text.load()
    name, path = link_name(loaded, path, link)
    return _measured(
        path,
        plan,
        lambda: _core.probe_link(loaded.core, name, **plan.arguments(), progress=progress),
    )


def probe_path(to: str, *, plan: Plan | None = None, progress: Progress | None = None) -> Measured:
    """Measures the path to a reflector at HOST:PORT (`paceline probe --receive`), or through a relay.

    Raises:
        NetworkError: Nothing answers, or a socket fails.
        ProbeError: Too little of what was sent arrived.
    """
    plan = plan or Plan()
    return _measured(to, plan, lambda: _core.probe_path(to, **plan.arguments(), progress=progress))


def reflect(listen: str, *, patience_s: float | None = None) -> int:
    """Answers probes at HOST:PORT until Ctrl-C, or until nothing has come for `patience_s` after the first packet.

    Returns how many packets it answered.
    """
    return int(asked(lambda: _core.reflect(listen, patience_s=patience_s)))


def networks() -> list[str]:
    """The names of the networks that there are."""
    return [str(entry["kind"]) for entry in registry()["networks"]]


def network_scenario(name: str) -> str:
    """A scenario of a network alone, as its link `path`."""
    return (
        f'name = "{name}"\nduration = "1000s"\n[links.path]\nnetwork = "{name}"\n'
        '[flows.probe]\ntransport = "udp"\nsource = { kind = "cbr" }\npath = ["path"]\n'
    )


_Seen: TypeAlias = "tuple[tuple[bytes, bytes], tuple[bytes, bytes], float | None, float | None]"


def asked(call: Callable[[], Any]) -> Any:
    """The answer of the extension, with errors of the package."""
    from paceline.network import NetworkError

    try:
        return call()
    except ValueError as error:
        raise UsageError(f"probe: {error}") from None
    except OSError as error:
        raise NetworkError(str(error)) from None


def _measured(path: str, plan: Plan, call: Callable[[], _Seen]) -> Measured:
    transfer, hold, min_rtt_s, rate = asked(call)
    (sent, arrived), (hold_sent, hold_arrived) = _values(transfer), _values(hold)
    heard = ~np.isnan(hold_arrived)
    if rate is None or min_rtt_s is None or np.count_nonzero(heard) < LEAST_PACKETS:
        count, of = int(np.count_nonzero(~np.isnan(arrived))), len(arrived)
        held = f"{int(np.count_nonzero(heard))} of {len(heard)} at half its rate"
        raise ProbeError(
            f"probe of {path}: found {count} of {of} packets of the transfer arrived and {held}, "
            f"expected at least 10 and {LEAST_PACKETS}: send for longer, or over a path that loses less"
        )
    delays = hold_arrived[heard] - hold_sent[heard]
    least = float(min(delays.min(), np.nanmin(arrived - sent)))
    one_clock = 0 <= least <= min_rtt_s
    drift = None if one_clock else _drift_ppm(hold_sent[heard], delays)
    warnings = []
    if drift is not None:
        delays = delays - drift * 1e-6 * (hold_sent[heard] - hold_sent[0])
        warnings.append(f"the clocks drift apart by {drift:.0f} ppm: taken out of the noise as a straight line")
    noise = delays - delays.min()
    loss, burst = _losses(~heard)
    capacity = max(rate, _rate_behind_start(arrived, plan.packet_size))
    if capacity * min_rtt_s / 8 > FILLED * plan.transfer:
        warnings.append(
            f"the transfer was too short to fill the path, which may carry more than {capacity / 1e6:.1f} Mbit/s: "
            f"{capacity * min_rtt_s / 8e3:.0f} kB of its {plan.transfer / 1e3:.0f} kB were under way at once; take a "
            "larger --transfer"
        )
    quantiles = _unheld(hold_sent[heard], noise, plan.packet_size * 8 / capacity).quantiles()
    return Measured(
        path=path,
        packet_size=plan.packet_size,
        receiving_rate_bps=rate,
        capacity_bps=capacity,
        hold_rate_bps=rate * plan.part,
        min_delay_s=least if one_clock else min_rtt_s / 2,
        one_clock=one_clock,
        noise_s=noise,
        quantiles_s=quantiles,
        correlation_s=_correlation_s(hold_sent[heard], noise, quantiles),
        loss=loss,
        burst=burst,
        buffer_bytes=_buffer(sent, arrived, float(delays.min()), float(noise.mean()), capacity, loss),
        drift_ppm=drift,
        warnings=warnings,
    )


def _values(times: tuple[bytes, bytes]) -> tuple[Values, Values]:
    return np.frombuffer(times[0], "<f8"), np.frombuffer(times[1], "<f8")


def _rate_behind_start(arrived: Values, packet_size: int) -> float:
    """The rate of all arrivals but the first quarter, in bit/s."""
    times = np.sort(arrived[~np.isnan(arrived)])
    times = times[len(times) // 4 :]
    return float((len(times) - 1) * packet_size * 8 / max(times[-1] - times[0], 1e-9))


@dataclass(frozen=True)
class _Unheld:
    """Noise that packets met themselves; of those held behind another it is known only that theirs was no larger."""

    noise_s: Values
    """The noise, or what it was at most."""
    seen: npt.NDArray[np.bool_]
    """Whether it is the noise."""

    def quantiles(self) -> Values:
        """Quantiles at even steps, by Kaplan and Meier's estimator with time reversed, as what is unknown is below."""
        order = np.argsort(self.noise_s, kind="stable")
        values, seen = self.noise_s[order], self.seen[order]
        # From the largest down: what is below a value is what is below the next, less its share of those up to there.
        at_most = np.arange(1, len(values) + 1)
        kept = np.where(seen, 1 - 1 / at_most, 1.0)
        below = np.cumprod(kept[::-1])[::-1]
        up_to = np.append(below[1:], 1.0)
        values, up_to = values[seen], up_to[seen]
        if not len(values):
            return np.zeros(1)
        mean = float((values * np.diff(up_to, prepend=0.0)).sum())
        found = np.zeros(1)
        for count in QUANTILES:
            found = np.interp(np.linspace(0, 1, count), up_to, values, left=0.0)
            if abs(float((found[1:] + found[:-1]).mean() / 2) - mean) <= MEAN_TOLERANCE * mean:
                break
        return found


def _unheld(sent: Values, noise: Values, own_s: float) -> _Unheld:
    """Tells packets that came as the path had them from those that came with the one before, as behind a stall."""
    due = sent + noise
    # Held packets leave together, or at the bottleneck's rate.
    bound = np.append(-np.inf, np.maximum.accumulate(due)[:-1] + 1.02 * own_s) - sent
    seen = noise > bound
    return _Unheld(np.where(seen, noise, np.maximum(bound, 0.0)), seen)


def _losses(lost: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The part of the packets that was lost, and how many in a row in the mean."""
    count = int(np.count_nonzero(lost))
    bursts = int(np.count_nonzero(lost[1:] & ~lost[:-1])) + int(lost[0])
    return count / len(lost), count / bursts if bursts else 0.0


def _correlation_s(sent: Values, noise: Values, quantiles: Values) -> float:
    """The correlation of a link with these quantiles that makes the noise as correlated as it was seen; 0: none needed.

    A link holds packets behind late ones, which alone makes the noise of neighbours alike. So what is compared is what
    such a link would show of neighbours.
    """
    from scipy import signal, stats

    gap = float(np.median(np.diff(sent)))
    place = np.round((sent - sent[0]) / gap).astype(int)
    draws = np.random.default_rng(1).standard_normal(place[-1] + 1)

    def shown(seconds: float) -> float:
        kept = math.exp(-gap / seconds) if seconds > 0 else 0.0
        scores = signal.lfilter([math.sqrt(1 - kept * kept)], [1.0, -kept], draws)[place]
        due = sent + np.interp(stats.norm.cdf(scores), np.linspace(0, 1, len(quantiles)), quantiles)
        return _alike(np.maximum.accumulate(due) - sent)

    seen = _alike(noise)
    if seen - max(shown(0.0), 0.0) < LEAST_CORRELATION:
        return 0.0
    low, high = math.log(gap / 10), math.log(float(sent[-1] - sent[0]) * LONGEST_CORRELATION)
    if shown(math.exp(high)) < seen - LEAST_CORRELATION:
        return 0.0
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (middle, high) if shown(math.exp(middle)) < seen else (low, middle)
    return math.exp((low + high) / 2)


def _alike(noise: Values) -> float:
    """The correlation of the normal scores of neighbours; noise below 1 ns is none."""
    from scipy import stats

    scores = stats.norm.ppf(stats.rankdata(np.round(noise, 9), method="average") / (len(noise) + 1))
    before, after = scores[:-1], scores[1:]
    return float(np.corrcoef(before, after)[0, 1]) if min(before.std(), after.std()) > 0 else 0.0


def _buffer(sent: Values, arrived: Values, least: float, mean: float, capacity: float, loss: float) -> int | None:
    """Bytes that waited when packets of the transfer were lost, if more were than noise loses.

    It is the median of what the packets before the losses met.
    """
    lost = np.isnan(arrived)
    usual = loss * len(lost)
    if np.count_nonzero(lost) <= usual + 3 * math.sqrt(usual) + 1:
        return None
    before = [index - 1 for index in np.flatnonzero(lost) if index > 0 and not lost[index - 1]]
    if not before:
        return None
    wait = float(np.median(arrived[before] - sent[before])) - least - mean
    return max(round(wait * capacity / 8), 1)


def _drift_ppm(sent: Values, delays: Values) -> float | None:
    """The slope of the smallest delays of ten stretches of time, in 1e-6; None if it is within four standard errors."""
    stretches = np.array_split(np.arange(len(sent)), 10)
    least = np.array([delays[stretch].min() for stretch in stretches])
    middle = np.array([sent[stretch].mean() for stretch in stretches])
    middle -= middle.mean()
    slope = float((middle * least).sum() / (middle * middle).sum())
    rest = least - least.mean() - slope * middle
    error = math.sqrt(float((rest * rest).sum()) / 8 / float((middle * middle).sum()))
    return slope * 1e6 if abs(slope) > 4 * error else None


def _micros(seconds: float) -> str:
    return f"{round(seconds * 1e6)}us"
