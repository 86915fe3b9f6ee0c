"""Means with their intervals, and figures with few digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimate:
    """A mean with half the width of its 95 % interval by Student's t."""

    mean: float
    half: float | None
    """Half the width of the interval; None of a single run."""
    count: int

    def __str__(self) -> str:
        mean = three(self.mean)
        return mean if self.half is None else f"{mean} ± {three(self.half)}, n={self.count}"


def estimate(rows: pd.DataFrame, metric: str) -> Estimate | None:
    """A metric over these rows: its mean, and the interval over their seeds if they have several."""
    values = rows[metric].dropna()
    if values.empty:
        return None
    by_seed = values.groupby(rows["seed"]).mean()
    return Estimate(float(values.mean()), half_interval(list(by_seed)), max(1, len(by_seed)))


def half_interval(values: Sequence[float], confidence: float = 0.95) -> float | None:
    """Half the width of the interval of a mean by Student's t; None of a single value."""
    import numpy as np

    if len(values) < 2:
        return None
    return _quantile((1 + confidence) / 2, len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))


@lru_cache(maxsize=1024)
def _quantile(part: float, freedom: int) -> float:
    """The quantile of Student's t."""
    from scipy import stats

    return float(stats.t.ppf(part, freedom))


def three(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def short(value: float | None) -> str:
    """A figure in words: four significant digits."""
    return "" if value is None else f"{value:.4g}"
