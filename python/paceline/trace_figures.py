"""The figures of one recording of rates: how long, how fast, how steady, and when nothing was served."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paceline.fitting.recordings import Segments, Values, evened, read_segments

if TYPE_CHECKING:
    from collections.abc import Mapping

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MAHIMAHI_S = 0.1
"""Rates of the format mahimahi, which tells packets, are means over this long."""
MOST_LAGS = 200_000
"""Values of the series whose autocorrelation is computed, at most."""


@dataclass(frozen=True)
class Outages:
    """The stretches in which nothing was served."""

    count: int
    longest_s: float
    share: float
    """Their part of the whole time."""


@dataclass(frozen=True)
class Trace:
    """A recording, with its figures."""

    file: str
    segments: Segments

    @cached_property
    def _parts(self) -> tuple[Values, Values]:
        """Durations in seconds and rates in Mbit/s; packets of mahimahi are counted over short intervals."""
        durations, mbps = self.segments.durations_s, self.segments.mbps
        if self.segments.format == "mahimahi" and (even := evened(durations, mbps, MAHIMAHI_S)).size:
            return np.full(len(even), MAHIMAHI_S), even
        return durations, mbps

    @property
    def length_s(self) -> float:
        return float(self.segments.durations_s.sum())

    @property
    def mean_mbps(self) -> float:
        return float(self.segments.durations_s @ self.segments.mbps / self.length_s)

    @cached_property
    def quantiles_mbps(self) -> dict[str, float]:
        """Rates that were not exceeded for 5, 25, 50, 75 and 95 % of the time; the least and the largest."""
        durations, mbps = self._parts
        order = np.argsort(mbps, kind="stable")
        up_to = np.cumsum(durations[order]) / durations.sum()
        inner = {
            f"p{100 * part:.0f}": float(mbps[order][min(int(np.searchsorted(up_to, part)), len(mbps) - 1)])
            for part in QUANTILES
        }
        return {"min": float(mbps.min()), **inner, "max": float(mbps.max())}

    @cached_property
    def outages(self) -> Outages:
        """When the rate was 0."""
        durations, mbps = self._parts
        ends = np.flatnonzero(np.diff(np.concatenate([[0], (mbps == 0).astype(int), [0]])))
        times = np.concatenate([[0.0], np.cumsum(durations)])
        lengths = times[ends[1::2]] - times[ends[::2]]
        share = float(lengths.sum() / durations.sum())
        return Outages(len(lengths), float(lengths.max()) if len(lengths) else 0.0, share)

    @cached_property
    def correlation_s(self) -> float | None:
        """The first lag at which the autocorrelation is below 1/e; None where it never is, or the rate is constant."""
        step = float(np.quantile(self._parts[0], 0.1))
        step = min(max(step, self.length_s / MOST_LAGS), self.length_s / 2)
        series = evened(*self._parts, step)
        series = series - series.mean()
        if len(series) < 3 or not series.any():
            return None
        spectrum = np.fft.rfft(series, 2 * len(series))
        correlation = np.fft.irfft(spectrum * spectrum.conj())[: len(series)]
        below = np.flatnonzero(correlation < correlation[0] / np.e)
        return float(below[0] * step) if len(below) else None

    def means(self, count: int) -> Values:
        """The mean rate of each of so many equal parts."""
        return evened(*self._parts, self.length_s / count)[:count]

    def document(self) -> dict[str, Any]:
        """All figures, as plain data."""
        return {
            "file": self.file,
            "format": self.segments.format,
            "read": self.segments.said,
            "length_s": self.length_s,
            "rows": len(self.segments.durations_s),
            "mean_mbps": self.mean_mbps,
            "quantiles_mbps": self.quantiles_mbps,
            "outages": asdict(self.outages),
            "correlation_s": self.correlation_s,
            "warnings": self.segments.warnings,
        }

    def csv(self) -> str:
        """The recording in the format mbps-hold."""
        rows = zip(self.segments.mbps, self.segments.durations_s, strict=True)
        return "mbps,hold_s\n" + "".join(f"{rate:.9g},{hold:.9g}\n" for rate, hold in rows)


def read(file: str, options: Mapping[str, object], data: Path | None = None) -> Trace:
    """A recording of rates; `options` stand beside `trace` in a scenario.

    Raises:
        ScenarioError: The file is no recording of that format, or is not there.
        UsageError: Its header leaves open how it is read.
    """
    return Trace(file, read_segments(file, options, data))
