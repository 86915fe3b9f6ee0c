"""A browser's figures of a call (getStats of WebRTC), as columns beside ours."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[float, dict[str, float]]
"""When the browser was looked at, in seconds since 1970, and its figures as `type.name`."""


@dataclass(frozen=True)
class Column:
    """One figure of the browser."""

    name: str
    unit: str
    definition: str
    source: str
    """The statistic, `type.name`."""
    scale: float = 1.0
    over: str | None = None
    """The divisor of its growth: the growth of this statistic, or of `time`; None: it is shown as it is."""

    def value(self, before: Row, row: Row) -> float | None:
        """The figure at `row`, where the look before it was `before`."""
        if self.over is None:
            value = row[1].get(self.source)
            return None if value is None else value * self.scale
        grown, by = _growth(self.source, before, row), _growth(self.over, before, row)
        return None if grown is None or by is None or by <= 0 else grown / by * self.scale


def _growth(name: str, before: Row, row: Row) -> float | None:
    if name == "time":
        return row[0] - before[0]
    old, new = before[1].get(name), row[1].get(name)
    return None if old is None or new is None else new - old


_OUT, _IN, _FAR, _PAIR = "outbound-rtp.", "inbound-rtp.", "remote-inbound-rtp.", "candidate-pair."

COLUMNS = (
    Column("target_mbps", "Mbit/s", "Bitrate that its congestion control sets", f"{_OUT}targetBitrate", 1e-6),
    Column("available_mbps", "Mbit/s", "Bitrate that it finds available", f"{_PAIR}availableOutgoingBitrate", 1e-6),
    Column("sent_mbps", "Mbit/s", "Payload and padding that it sent", f"{_OUT}bytesSent", 8e-6, "time"),
    Column("received_mbps", "Mbit/s", "Payload and padding that it received", f"{_IN}bytesReceived", 8e-6, "time"),
    Column("round_trip_ms", "ms", "Round trip of its last connectivity check", f"{_PAIR}currentRoundTripTime", 1e3),
    Column("report_round_trip_ms", "ms", "Round trip by RTCP's reports", f"{_FAR}roundTripTime", 1e3),
    Column("reported_lost", "packets", "Lost by RTCP's reports, so far", f"{_FAR}packetsLost"),
    Column("lost", "packets", "Lost on the way to it, so far", f"{_IN}packetsLost"),
    Column("jitter_ms", "ms", "Interarrival jitter of what it received", f"{_IN}jitter", 1e3),
    Column(
        "jitter_buffer_ms",
        "ms",
        "Mean time in its jitter buffer of frames that left that",
        f"{_IN}jitterBufferDelay",
        1e3,
        f"{_IN}jitterBufferEmittedCount",
    ),
    Column("encoded_fps", "1/s", "Frames that it encoded", f"{_OUT}framesEncoded", 1.0, "time"),
    Column("decoded_fps", "1/s", "Frames that it decoded", f"{_IN}framesDecoded", 1.0, "time"),
    Column("frames_decoded", "frames", "Frames that it decoded, so far", f"{_IN}framesDecoded"),
    Column("frames_dropped", "frames", "Frames that it dropped, so far", f"{_IN}framesDropped"),
    Column("freezes", "1", "Freezes that it counted, so far", f"{_IN}freezeCount"),
    Column("frozen_s", "s", "How long those were, so far", f"{_IN}totalFreezesDuration"),
    Column("width", "pixels", "Width of the pictures that it encodes", f"{_OUT}frameWidth"),
    Column("quantiser", "1", "Mean quantiser of what it encoded", f"{_OUT}qpSum", 1.0, f"{_OUT}framesEncoded"),
)


SOURCES = tuple(
    dict.fromkeys(name for column in COLUMNS for name in (column.source, column.over) if name not in (None, "time"))
)
"""The statistics of a look that are kept: those that the columns are made of."""


class Looks(Sequence[Row]):
    """The looks at the browser, with no more of each than the columns are made of."""

    def __init__(self) -> None:
        self._numbers = array("d")
        """The looks one after the other: the time, and each of `SOURCES`; NaN for what was not said."""

    def add(self, time: float, figures: Mapping[str, object]) -> None:
        """Keeps a look."""
        found = (figures.get(name) for name in SOURCES)
        said = (float(value) if isinstance(value, (int, float)) else math.nan for value in found)
        self._numbers.extend([time, *said])

    def __len__(self) -> int:
        return len(self._numbers) // (1 + len(SOURCES))

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        size = 1 + len(SOURCES)
        begun = place % len(self) * size
        time, *figures = self._numbers[begun : begun + size]
        return time, {name: value for name, value in zip(SOURCES, figures, strict=True) if value == value}


def table(rows: Sequence[Row], zero: float) -> pa.Table:
    """The figures over the run's time, whose zero is `zero` seconds since 1970; what no browser says is missing."""
    import numpy as np
    import pyarrow as pa

    order = sorted((place for place, row in enumerate(rows) if row[0] >= zero), key=lambda place: rows[place][0])
    times, values = array("d"), [array("d") for _ in COLUMNS]
    for before, row in pairwise(rows[place] for place in order):
        times.append(row[0] - zero)
        for column, own in zip(COLUMNS, values, strict=True):
            value = column.value(before, row)
            own.append(math.nan if value is None or not math.isfinite(value) else value)
    fields = [pa.field("time_s", pa.float64(), metadata={"unit": "s", "definition": "Time since the run's zero"})]
    for column in COLUMNS:
        about = {"unit": column.unit, "definition": f"{column.definition}: {column.source}"}
        fields.append(pa.field(column.name, pa.float64(), metadata=about))
    arrays = [pa.array(np.array(own), pa.float64(), from_pandas=True) for own in (times, *values)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
