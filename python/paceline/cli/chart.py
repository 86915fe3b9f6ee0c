"""A run as a few lines of the terminal: capacity, throughput and waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

BARS = " ▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], top: float) -> str:
    """Each value as a bar of 0 to 8 eighths of `top`; what is higher is full."""
    scale = (len(BARS) - 1) / top if top > 0 else 0.0
    return "".join(BARS[max(0, min(len(BARS) - 1, round(value * scale)))] for value in values)


def chart(flows: pd.DataFrame, links: pd.DataFrame, width: int = 60) -> list[str]:
    """Lines of a chart: capacity and throughput on one scale, the wait of both queues on another."""
    if flows.empty or links.empty:
        return ["  no sample to draw: the run is shorter than its `sample`"]
    end = float(flows["time_s"].max())
    rate = _blocks(flows, "throughput_mbps", width, end, "mean")
    capacity = _blocks(links, "capacity_mbps", width, end, "mean")
    waits = flows.assign(wait=flows["queue_delay_ms"].fillna(0) + flows["send_queue_delay_ms"].fillna(0))
    wait = _blocks(waits, "wait", width, end, "max")
    top = 1.1 * max(rate)
    return [
        f"  link can carry  {sparkline(capacity, top)}  {_shown(max(capacity), top)}",
        f"  video arrives   {sparkline(rate, top)}  up to {max(rate):.1f} Mbit/s",
        f"  longest wait    {sparkline(wait, max(wait))}  up to {max(wait):.0f} ms in queues",
        f"                  0 s{f'{end:.0f} s':>{width - 3}}",
    ]


def _shown(highest: float, top: float) -> str:
    return f"up to {highest:.0f} Mbit/s" + (" (off the scale)" if highest > top else "")


def _blocks(frame: pd.DataFrame, column: str, width: int, end: float, statistic: str) -> list[float]:
    block = (frame["time_s"] / end * width).clip(upper=width - 1e-9).astype(int)
    values = frame[column].groupby(block).agg(statistic).reindex(range(width))
    return [float(value) for value in values.ffill().fillna(0.0)]
