"""The work of `paceline fit`: read, fit, draw, compare."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from paceline.errors import UsageError
from paceline.fitting.blockage import BlockageFit, fit_blockage
from paceline.fitting.distances import Distances, among_themselves, frame_distances, rate_distances
from paceline.fitting.frame_sizes import FramesFit, fit_frames, with_keys
from paceline.fitting.recordings import Frames, Rates, draw_frames, draw_rates, read_frames, read_rates
from paceline.fitting.report import Comparison
from paceline.frames import find
from paceline.scenario import data_folders
from paceline.trace_files import says_how_to_read

DRAWN = 200_000
"""Values drawn for the comparison: so many that the draw adds no noticeable chance."""
FORMATS = ("mbps", "time-mbps", "mbps-hold", "mahimahi", "json-ghent", "json")

Recording = TypeVar("Recording", Rates, Frames)
Fit = TypeVar("Fit", BlockageFit, FramesFit)


@dataclass(frozen=True)
class FitResult(Generic[Fit, Recording]):
    """A fit with the recordings that it is of, and how near a draw comes to them."""

    fit: Fit
    fitted: list[Recording]
    held_out: list[Recording]
    drawn: Recording
    comparison: Comparison
    warnings: list[str]


RatesResult = FitResult[BlockageFit, Rates]
FramesResult = FitResult[FramesFit, Frames]


def fit_rates(
    files: Sequence[str],
    against: Sequence[str],
    options: Mapping[str, object],
    *,
    interval_s: float,
    states: int,
    bounds: Sequence[float] | None,
    split: float | None,
    seed: int,
    data: Path | None,
    preset: str | None = None,
) -> RatesResult:
    """Fits recordings of rates; with a preset, only compares that one with them, in the states that were fitted."""
    for file in files:
        _expect_format(file, options, data)
    warnings: list[str] = []

    def read(file: str) -> Rates:
        rates, found = read_rates(file, options, interval_s, data)
        warnings.extend(found)
        return rates

    fitted, held_out = _parts(list(map(read, files)), list(map(read, against)), split)
    fit = fit_blockage(fitted, states=states, bounds=bounds)
    rate = {"generator": "mmwave", "preset": preset, "interval": f"{interval_s:.9g}s"} if preset else fit.rate
    drawn = draw_rates(rate, DRAWN, interval_s, seed)
    compare = partial(rate_distances, bounds=fit.bounds, names=[state.name for state in fit.states])
    return FitResult(fit, fitted, held_out, drawn, _compared(fitted, held_out, drawn, compare), warnings)


def fit_frame_sizes(
    files: Sequence[str],
    against: Sequence[str],
    format_: str | None,
    *,
    split: float | None,
    seed: int,
    data: Path | None,
    preset: str | None = None,
) -> FramesResult:
    """Fits recordings of frame sizes; with a preset, only compares that one with them."""
    warnings: list[str] = []

    def read(file: str) -> Frames:
        frames, found = read_frames(file, format_, data)
        warnings.extend(found)
        return with_keys(frames)

    fitted, held_out = _parts(list(map(read, files)), list(map(read, against)), split)
    fit = fit_frames(fitted)
    generator = {"kind": "frames", "preset": preset} if preset else fit.generator
    drawn = draw_frames(generator, DRAWN, seed)
    if not fit.generator["key_interval"]:
        # The generator calls its first frame a key frame in any case.
        drawn.keys[:] = False
    return FitResult(fit, fitted, held_out, drawn, _compared(fitted, held_out, drawn, frame_distances), warnings)


def _expect_format(file: str, options: Mapping[str, object], data: Path | None) -> None:
    if "format" not in options and not says_how_to_read(find(file, [".", *data_folders(data)])):
        raise UsageError(f"--format: found nothing for {file}, expected one of {', '.join(FORMATS)}")


def _parts(
    files: list[Recording], against: list[Recording], split: float | None
) -> tuple[list[Recording], list[Recording]]:
    """The fitted values, and the ones left out."""
    if split is None:
        return files, against
    if against:
        raise UsageError("--split: found with --against, expected one of them: both say what is left out")
    if not 0 < split < 1:
        raise UsageError(f"--split: found {split:g}, expected a part above 0 and below 1")
    pairs = [one.split(split) for one in files]
    return [first for first, _ in pairs], [rest for _, rest in pairs]


def _compared(
    fitted: list[Recording],
    held_out: list[Recording],
    drawn: Recording,
    compare: Callable[..., Distances],
) -> Comparison:
    """Compares recordings with a draw, cut to pieces as long as the recordings, so ends and means act alike on both."""
    several = [*fitted, *held_out]
    what = "recording, itself: halves" if len(several) == 1 else "recording, recording"
    draws = drawn.pieces(round(statistics.median(map(len, several))))
    left_out = compare(held_out, draws) if held_out else None
    return Comparison(compare(fitted, draws), left_out, among_themselves(several, compare), what)
