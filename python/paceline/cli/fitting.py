"""`paceline fit`: fits a generator to recordings and says how far it is from them."""

from __future__ import annotations

import json as json_
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paceline import _core
from paceline.cli.speak import printing, say
from paceline.errors import UsageError
from paceline.fitting.recordings import Frames, Rates
from paceline.fitting.report import Comparison, aligned, as_toml, states_table
from paceline.fitting.run import FramesResult, RatesResult, fit_frame_sizes, fit_rates
from paceline.outputs import OutputFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    "Kolmogorov-Smirnov / 1-Wasserstein over the mean; of an autocorrelation the difference; several: median (range)"
)


def trace_options(format_: str | None, interval: str, column: str | None, time_column: str | None) -> dict[str, object]:
    """What stands beside `trace` in a scenario."""
    own = {"format": format_, "interval": interval if format_ == "mbps" else None}
    columns = {"column": column, "time_column": time_column}
    numbered = {key: int(name) if name is not None and name.isdecimal() else name for key, name in columns.items()}
    return {key: value for key, value in {**own, **numbered}.items() if value is not None}


def expect_rates_only(**options: object) -> None:
    """Options that frame sizes do not know."""
    for name, value in options.items():
        if value:
            raise UsageError(f"--{name.replace('_', '-')}: found with --frames, expected with rates only")


def rates(
    files: list[str],
    against: list[str],
    options: dict[str, object],
    *,
    interval: str,
    states: int,
    bounds: str | None,
    split: float | None,
    preset: str | None,
    seed: int,
    out: Path | None,
    json: bool,
    data: Path | None,
) -> None:
    """Fits the states of a link."""
    folder = None if out is None else OutputFolder(out)
    result = fit_rates(
        files,
        against,
        options,
        interval_s=_seconds(interval),
        states=states,
        bounds=_bounds(bounds),
        split=split,
        seed=seed,
        data=data,
        preset=preset,
    )
    toml = "" if preset else as_toml("rate", result.fit.rate)
    states_are = ["states, fitted to the recordings:"] if preset else []
    lines = [*_heading(result, preset), "", *states_are, *aligned(states_table(result.fit))]
    lines += ["", *_distances(result.comparison)]
    bounds_mbps = {"bounds_mbps": result.fit.bounds}
    text = _json(result, result.fit.rate, bounds_mbps) if json else _remarks(lines) + toml
    _put(text, toml, lines, result, folder, json=json)


def frames(
    files: list[str],
    against: list[str],
    format_: str | None,
    *,
    split: float | None,
    preset: str | None,
    seed: int,
    out: Path | None,
    json: bool,
    data: Path | None,
) -> None:
    """Fits the frame sizes of an encoder."""
    folder = None if out is None else OutputFolder(out)
    result = fit_frame_sizes(files, against, format_, split=split, seed=seed, data=data, preset=preset)
    toml = "" if preset else as_toml("generator", result.fit.generator)
    lines = [*_heading(result, preset), "", *_distances(result.comparison)]
    text = _json(result, result.fit.generator, {}) if json else _remarks(lines) + toml
    _put(text, toml, lines, result, folder, json=json)


def _put(
    text: str,
    toml: str,
    lines: Sequence[str],
    result: RatesResult | FramesResult,
    folder: OutputFolder | None,
    *,
    json: bool,
) -> None:
    for warning in result.warnings:
        say(f"warning: {warning}")
    with printing():
        print(text)
    if folder is None:
        return
    from paceline.plots.style import image

    with folder:
        picture = _figure(result)
        folder.stage("fit.toml", _remarks(lines) + toml + "\n")
        folder.stage("plots/fit.svg", image(picture, "svg"))
        folder.stage("plots/fit.png", image(picture, "png"))
    say(f"written to {folder.path}")


def _figure(result: RatesResult | FramesResult) -> Figure:
    from paceline.fitting.pictures import frames_figure, rates_figure

    if isinstance(result, RatesResult):
        return rates_figure(result, "Recordings and generator: rates and blockages")
    return frames_figure(result, "Recordings and generator: frame sizes")


def _heading(result: RatesResult | FramesResult, preset: str | None) -> list[str]:
    fitted = f"{_names(result.fitted)} ({_amount(result.fitted)})"
    lines = [f"preset {preset}, compared with {fitted}" if preset else f"fitted to {fitted}"]
    if result.held_out:
        lines.append(f"left out: {_names(result.held_out)} ({_amount(result.held_out)})")
    return lines


def _names(recordings: Sequence[Rates | Frames]) -> str:
    return ", ".join(one.name for one in recordings)


def _amount(recordings: Sequence[Rates | Frames]) -> str:
    if isinstance(recordings[0], Rates):
        count = sum(len(one.mbps) for one in recordings if isinstance(one, Rates))
        return f"{count} values of {recordings[0].interval_s:g} s"
    frames_ = [one for one in recordings if isinstance(one, Frames)]
    return f"{sum(len(one.sizes) for one in frames_)} frames, {sum(int(one.keys.sum()) for one in frames_)} key frames"


def _distances(comparison: Comparison) -> list[str]:
    return [f"two-sample distances ({COLUMNS})", *aligned(comparison.table())]


def _remarks(lines: Sequence[str]) -> str:
    """Lines that TOML passes over, so that the output as a whole can stand in a scenario."""
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _json(result: RatesResult | FramesResult, parameters: Mapping[str, object], more: Mapping[str, object]) -> str:
    document = {
        "fitted_to": [one.name for one in result.fitted],
        "left_out": [one.name for one in result.held_out],
        "parameters": parameters,
        **more,
        "distances": result.comparison.document(),
    }
    return json_.dumps(document, indent=2)


def _seconds(interval: str) -> float:
    found = _core.quantity(interval)
    if found is None or found[1] != "s" or not 1e-3 <= found[0] <= 60:
        raise UsageError(f'--interval: found "{interval}", expected a time from 1ms to 60s, such as 1s')
    return found[0]


def _bounds(text: str | None) -> list[float] | None:
    """Rates between states in Mbit/s."""
    if text is None:
        return None
    found = [_core.quantity(part) for part in text.split(",")]
    mbps = [one[0] / 1e6 for one in found if one is not None and one[1] == "bit/s" and one[0] > 0]
    if len(mbps) < len(found) or mbps != sorted(set(mbps)) or len(mbps) > 20:
        raise UsageError(f'--bounds: found "{text}", expected up to 20 rising rates such as 20Mbps,165Mbps,700Mbps')
    return mbps
