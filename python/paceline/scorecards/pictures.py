"""A small picture of each case: the rates of all controllers over time with the capacity, and the waits in queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.plots.style import shortened
from paceline.plots.styles import SCREEN, drawn_as
from paceline.plots.vocabulary import Look, looks
from paceline.scorecards.definition import Entry
from paceline.scorecards.figures import gathered

if TYPE_CHECKING:
    import numpy as np

POINTS = 120
"""Points of a line."""
WIDTH, HEIGHT, GAP, LEFT, BOTTOM = 420, 92, 14, 44, 18
"""Sizes in pixels: of a panel with its axis, between both panels, left of them for numbers, and below for times."""
_DASHES = {"-": "", "--": "6 3", ":": "1.5 2.5", "-.": "6 2 1.5 2"}


@dataclass(frozen=True)
class Lines:
    """The series of a controller in a case: means over even spans of the run."""

    label: str
    time_s: list[float]
    rate_mbps: list[float]
    """Of all flows under test together."""
    queue_ms: list[float]
    """The mean of their waits in queues of links."""
    capacity_mbps: list[float]
    """The least of the links on their way."""


def lines(entry: Entry, out: Path) -> Lines | None:
    """The series of the first seed of a controller in a case; None of a run that failed."""
    import numpy as np
    import pyarrow.parquet as pq

    folder = out / "experiments" / entry.run.name / "1"
    if not (folder / "flows.parquet").is_file():
        return None
    flows = pq.read_table(folder / "flows.parquet", columns=["time_s", "flow", "throughput_mbps", "queue_delay_ms"])
    links = pq.read_table(folder / "links.parquet", columns=["time_s", "link", "capacity_mbps"])
    own = np.isin(flows["flow"].to_numpy(zero_copy_only=False), entry.condition.measured)
    on_way = np.isin(links["link"].to_numpy(zero_copy_only=False), entry.condition.links)
    times = flows["time_s"].to_numpy()
    ends = np.linspace(0.0, float(times[-1]), POINTS + 1)[1:]
    count = max(1, len(np.unique(times)) / POINTS)

    def spans(times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.minimum(np.searchsorted(ends + 1e-9, times, side="right"), POINTS - 1)

    def of_flows(column: str) -> np.ndarray[Any, Any]:
        values = flows[column].to_numpy()[own].astype(float)
        return gathered(column, values, spans(times[own]), POINTS)

    rates, waits = of_flows("throughput_mbps") / count, of_flows("queue_delay_ms")
    capacity = np.full(POINTS, np.nan)
    np.fmin.at(capacity, spans(links["time_s"].to_numpy()[on_way]), links["capacity_mbps"].to_numpy()[on_way])
    return Lines(entry.contender.label, list(ends), list(rates), list(waits), list(capacity))


def looks_of(entries: Sequence[Entry]) -> dict[str, Look]:
    """The look of each controller."""
    with drawn_as(SCREEN.name):
        return looks({one.contender.label: str(one.contender.controller["kind"]) for one in entries})


def draw(found: Sequence[Lines], looked: Mapping[str, Look], colours: Mapping[str, str]) -> str:
    """The picture as SVG: rates above, waits below, on the same times."""
    if not found:
        return ""
    end = found[0].time_s[-1]
    top = max([*_present(found[0].capacity_mbps), *(value for one in found for value in _present(one.rate_mbps))])
    most = max(10.0, *(value for one in found for value in _present(one.queue_ms)), 0.0)
    # A capacity far above all rates would press the lines to the ground.
    rates = max([1e-9, *(value for one in found for value in _present(one.rate_mbps))])
    top = min(top, 1.6 * rates)
    total = 2 * HEIGHT + GAP + BOTTOM
    parts = [f'<svg viewBox="0 0 {WIDTH} {total}" role="img" aria-label="rates and waits over time">']
    area = _points(found[0].time_s, found[0].capacity_mbps, end, top, 0)
    if area:
        parts.append(
            f'<polygon points="{LEFT},{HEIGHT} {area} {area.split()[-1].split(",")[0]},{HEIGHT}" fill="#e8e8e8"/>'
        )
    for place, (highest, unit) in enumerate(((top, "Mbit/s"), (most, "ms"))):
        parts += _axes(place, highest, unit, end)
    for one in found:
        look = looked[one.label]
        for place, (values, highest) in enumerate(((one.rate_mbps, top), (one.queue_ms, most))):
            points = _points(one.time_s, values, end, highest, place)
            dashes = f' stroke-dasharray="{_DASHES[look.dashes]}"' if _DASHES.get(look.dashes) else ""
            title = f"<title>{escape(shortened(one.label))}</title>"
            parts.append(
                f'<polyline points="{points}" fill="none" stroke="{colours[one.label]}" stroke-width="1.3"{dashes}>'
                f"{title}</polyline>"
            )
    return "".join([*parts, "</svg>"])


def _present(values: Sequence[float]) -> list[float]:
    return [value for value in values if value == value]


def _points(times: Sequence[float], values: Sequence[float], end: float, highest: float, place: int) -> str:
    """Points of a line in the panel, values above it cut off."""
    bottom = HEIGHT + place * (HEIGHT + GAP)
    scaled = (
        (LEFT + (WIDTH - LEFT - 6) * time / end, bottom - (HEIGHT - 10) * min(1.0, value / highest))
        for time, value in zip(times, values, strict=True)
        if value == value
    )
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in scaled)


def _axes(place: int, highest: float, unit: str, end: float) -> list[str]:
    """The axes of a panel, with the largest value, zero and times."""
    bottom = HEIGHT + place * (HEIGHT + GAP)
    top = bottom - (HEIGHT - 10)
    text = 'font-size="10" fill="#444"'
    found = [
        f'<path d="M{LEFT},{top} V{bottom} H{WIDTH - 6}" fill="none" stroke="#888"/>',
        f'<text x="{LEFT - 4}" y="{top + 4}" text-anchor="end" {text}>{highest:.3g}</text>',
        f'<text x="{LEFT - 4}" y="{bottom}" text-anchor="end" {text}>0</text>',
        f'<text x="{LEFT + 4}" y="{top + 2}" {text}>{unit}</text>',
    ]
    if place:
        found += [
            f'<text x="{LEFT + (WIDTH - LEFT - 6) * part:.0f}" y="{bottom + 13}" text-anchor="{anchor}" {text}>'
            f"{end * part:g}{' s' if part == 1 else ''}</text>"
            for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
        ]
    return found
