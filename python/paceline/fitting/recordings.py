"""Recordings and draws as even series, read by the same code that reads them for a run."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paceline import trace_files
from paceline.errors import DataNotFound, ScenarioError, UsageError
from paceline.frames import find
from paceline.scenario import ScenarioText, data_folders
from paceline.toml import toml_value

if TYPE_CHECKING:
    from typing_extensions import Self

Values: TypeAlias = "npt.NDArray[np.float64]"
Flags: TypeAlias = "npt.NDArray[np.bool_]"

LONGEST_S = 1e6
"""Longest draw in seconds: the longest duration of a scenario."""

_QUIET_FLOW = '[flows.none]\ntransport = "udp"\nsource = { kind = "cbr" }\npath = ["recording"]\n'
_QUIET_LINK = '[links.recording]\nrate = "1Mbps"\nqueue = { packets = 1 }\n'
_PLACE = re.compile(r"^scenario:\d+: (links\.recording\.rate|flows\.recording\.source)\.")
_WARNED = re.compile(r"^links\.recording\.rate\.trace: .*?: (?=line )")
_OF_UNITS = "times are read as seconds"
"""Part of a warning about rows far apart, which dates give no reason for."""
_SHORT = 'duration = "1s"\nsample = "1s"\n'


@dataclass(frozen=True)
class _Series:
    """Values one after the other, under a name."""

    name: str

    def __len__(self) -> int:
        return len(next(iter(self._arrays().values())))

    def _arrays(self) -> dict[str, np.ndarray]:
        """Its arrays by their names: they have one length."""
        return {key: value for key, value in vars(self).items() if isinstance(value, np.ndarray)}

    def part(self, which: slice, name: str) -> Self:
        """Some of its values, under another name."""
        parts = {key: value[which] for key, value in self._arrays().items()}
        return replace(self, name=name, **parts)

    def split(self, part: float) -> tuple[Self, Self]:
        """The first part of it and the rest."""
        at = round(part * len(self))
        first = self.part(slice(at), f"{self.name}, first {part:.0%}")
        return first, self.part(slice(at, None), f"{self.name}, the rest")

    def pieces(self, length: int) -> list[Self]:
        """Cut to pieces of this many values; what is left over is dropped."""
        return [self.part(slice(at, at + length), self.name) for at in range(0, len(self) - length + 1, length)]


@dataclass(frozen=True)
class Rates(_Series):
    """A rate over time: its mean over each interval, in Mbit/s."""

    mbps: Values
    interval_s: float


@dataclass(frozen=True)
class Frames(_Series):
    """Frame sizes in bytes, and which of the frames are said to be key frames."""

    sizes: Values
    keys: Flags


@dataclass(frozen=True)
class Segments:
    """A recording as a link follows it: rates one after the other, each for a time."""

    durations_s: Values
    mbps: Values
    format: str
    said: str
    """The part of the file's header that was used, in words; empty without a header."""
    warnings: list[str]


def read_segments(file: str, options: Mapping[str, object], data: Path | None = None) -> Segments:
    """A recording of rates by the reader of links; `options` stand beside `trace` in a scenario.

    Raises:
        ScenarioError: The file is no recording of that format, or is not there.
        UsageError: Its header leaves open how it is read.
    """
    folders = data_folders(data)
    try:
        path = find(file, [".", *folders])
    except DataNotFound:
        if "format" not in options:
            raise
        # The reader says where it looked.
        return _segments(file, file, trace_files.Reading(dict(options)), folders)
    found = trace_files.reading(path, options)
    if found.is_direct:
        return _segments(file, file, found, folders)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "trace.csv"
        written.write_text(trace_files.seconds_and_mbps(path, found), encoding="utf-8")
        read = _segments(file, str(written), trace_files.Reading({"format": "time-mbps"}, found.said), folders)
    return replace(read, warnings=[one for one in read.warnings if _OF_UNITS not in one])


def _segments(name: str, file: str, found: trace_files.Reading, folders: Sequence[str]) -> Segments:
    core = _load(_link({"trace": file, **found.keys}), name, folders)
    durations, mbps = (_floats(content) for content in core.link_trace)
    scale = float(found.keys.get("scale", 1.0))
    warnings = [_WARNED.sub(f"{name}: ", one) for one in core.warnings]
    return Segments(durations, mbps * scale, str(found.keys.get("format", "")), found.said, warnings)


def read_rates(
    file: str, options: Mapping[str, object], interval_s: float, data: Path | None = None
) -> tuple[Rates, list[str]]:
    """A recording of rates, and remarks on it; `options` stand beside `trace` in a scenario.

    Raises:
        ScenarioError: The file is no recording of that format, or is not there.
        UsageError: It is shorter than an interval, or its header leaves open how it is read.
    """
    found = read_segments(file, options, data)
    rates = Rates(_stem(file), evened(found.durations_s, found.mbps, interval_s), interval_s)
    if not len(rates.mbps):
        raise UsageError(f"{file}: found less than one interval of {interval_s:g} s, expected a longer recording")
    return rates, [*([f"{file}: {found.said}"] if found.said else []), *found.warnings]


def rate_samples(trace: Mapping[str, object], folders: Sequence[str]) -> Values:
    """The rates of a recording as its file has them, in Mbit/s; `trace` is a rate of a scenario."""
    known = {key: value for key, value in trace.items() if key in ("trace", "format", "column", "interval")}
    segments = ScenarioText(_link(known), None, list(folders)).load().core.link_trace
    return _floats(segments[1] if segments else b"")


def peak_mbps(rate: Mapping[str, object], folders: Sequence[str]) -> float:
    """The most that a recording carries in a second, in Mbit/s; `rate` is a rate of a scenario."""
    once = {key: value for key, value in rate.items() if key != "repeat"}
    segments = _load(_link(once), str(rate["trace"]), folders).link_trace
    even = _evened(segments, 1.0)
    return float((even if len(even) else _floats(segments[1])).max()) * float(str(rate.get("scale", 1.0)))


def draw_rates(rate: Mapping[str, object], count: int, interval_s: float, seed: int) -> Rates:
    """The rates that a generator draws in `count` intervals."""
    core = _load(_link({**rate, "length": f"{min(count * interval_s, LONGEST_S):.6f}s", "seed": seed}), "generator")
    return Rates("generator", _evened(core.link_trace, interval_s), interval_s)


def read_frames(file: str, format_: str | None, data: Path | None = None) -> tuple[Frames, list[str]]:
    """A recording of frame sizes, and warnings about it."""
    source = {"kind": "trace-encoder", "file": file}
    core = _load(_encoder({**source, "format": format_} if format_ else source), file, data_folders(data))
    return _frames(_stem(file), core.frame_trace()), core.warnings


def draw_frames(generator: Mapping[str, object], count: int, seed: int) -> Frames:
    """The frame sizes that a generator draws."""
    source = {"kind": "trace-encoder", "generator": {**generator, "count": count, "seed": seed}}
    return _frames("generator", _load(_encoder(source), "generator").frame_trace())


def _stem(file: str) -> str:
    name = Path(file).name
    return name[: -len(".gz")] if name.endswith(".gz") else name


def _link(rate: Mapping[str, object]) -> str:
    return f"{_SHORT}[links.recording]\nrate = {toml_value(rate)}\nqueue = {{ packets = 1 }}\n{_QUIET_FLOW}"


def _encoder(source: Mapping[str, object]) -> str:
    flow = f'[flows.recording]\ncontroller = "fixed"\nsource = {toml_value(source)}\npath = ["recording"]\n'
    return _SHORT + _QUIET_LINK + flow


def _load(text: str, name: str, folders: Sequence[str] = ()) -> Any:
    try:
        return ScenarioText(text, None, list(folders)).load().core
    except ScenarioError as error:
        # The user did not write this scenario, so the message names the file and the key, without its lines.
        raise ScenarioError(f"{name}: {_PLACE.sub('', str(error))}") from None


def _floats(content: bytes) -> Values:
    return np.frombuffer(content, dtype="<f8")


def _evened(segments: tuple[bytes, bytes], interval_s: float) -> Values:
    """The mean over each whole interval of a piecewise-constant rate."""
    durations, mbps = segments
    return evened(_floats(durations), _floats(mbps), interval_s)


def evened(durations: Values, mbps: Values, interval_s: float) -> Values:
    """The mean over each whole interval of a rate in segments."""
    times = np.concatenate([[0.0], np.cumsum(durations)])
    megabits = np.concatenate([[0.0], np.cumsum(durations * mbps)])
    # An interval that is too short by rounding alone counts as whole.
    whole = int(times[-1] / interval_s * (1 + 1e-9) + 1e-6)
    edges = np.arange(whole + 1) * interval_s
    # Rounding errors of large sums would leave some 1e-10 where nothing was served.
    even: Values = np.round(np.diff(np.interp(edges, times, megabits)) / interval_s, 6)
    return even


def _frames(name: str, trace: tuple[bytes, bytes]) -> Frames:
    sizes, keys = (_floats(content) for content in trace)
    return Frames(name, sizes, keys > 0)


def joined(parts: Sequence[Values]) -> Values:
    """Several series in one array, for statistics of single values."""
    return np.concatenate(parts) if parts else np.empty(0)
