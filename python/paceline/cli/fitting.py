"""`paceline fit`: fits a generator to recordings and says how far it is from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paceline import _core
from paceline.cli.mistaken import expecting
from paceline.cli.recording_options import FitOptions, column_of
from paceline.cli.speak import note, printing, say
from paceline.errors import UsageError
from paceline.fitting.recordings import Frames, Rates
from paceline.fitting.report import Comparison, aligned, as_toml, states_table
from paceline.fitting.run import FramesResult, RatesResult, fit_frame_sizes, fit_rates
from paceline.outputs import OutputFolder
from paceline.plots.style import stage_pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    "Kolmogorov-Smirnov / 1-Wasserstein over the mean; of an autocorrelation the difference; several: median (range)"
)


@dataclass(frozen=True)
class _Fitted:
    """A fit as it is printed and drawn."""

    result: RatesResult | FramesResult
    key: str
    """The key of a scenario that has the parameters."""
    parameters: Mapping[str, object]
    picture: Callable[[], Figure]
    states: Sequence[str] = ()
    """A table of the states, in lines."""
    more: Mapping[str, object] = field(default_factory=dict)
    """Further parts of the JSON document."""


def fit(options: FitOptions) -> None:
    """Fits rates or frame sizes, prints the parameters as TOML or JSON, and writes them with a picture."""
    if options.out is None and (options.style is not None or options.formats):
        raise UsageError("--style, --picture-format: found no output folder to write to, expected one (--out DIR)")
    folder = None if options.out is None else OutputFolder(options.out)
    with expecting("recording", options.recordings):
        found = _frames(options) if options.frames else _rates(options)
    lines = [*_heading(found.result, options.preset), *found.states, "", *_distances(found.result.comparison)]
    # Lines that TOML passes over, so that the output as a whole can stand in a scenario.
    remarks = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    toml = remarks + ("" if options.preset else as_toml(found.key, found.parameters))
    for warning in found.result.warnings:
        say(f"warning: {warning}")
    with printing():
        print(_json(found) if options.json else toml)
    if folder is not None:
        with folder:
            folder.stage("fit.toml", toml + "\n")
            stage_pictures(folder, lambda: [("fit", found.picture())], reported=False)
        note(f"written to {folder.path}")


def _rates(options: FitOptions) -> _Fitted:
    from paceline.plots.fitting import rates_figure

    beside = {
        "format": options.format_,
        "interval": options.interval if options.format_ == "mbps" else None,
        "column": column_of(options.column),
        "time_column": column_of(options.time_column),
    }
    result = fit_rates(
        options.recordings,
        options.against or [],
        {key: value for key, value in beside.items() if value is not None},
        interval_s=_seconds(options.interval),
        states=options.states,
        bounds=_bounds(options.bounds),
        split=options.split,
        seed=options.seed,
        data=options.data,
        preset=options.preset,
    )
    states = [
        "",
        *(["states, fitted to the recordings:"] if options.preset else []),
        *aligned(states_table(result.fit)),
    ]
    title = "Recordings and generator: rates and blockages"
    more = {"bounds_mbps": result.fit.bounds}
    return _Fitted(result, "rate", result.fit.rate, lambda: rates_figure(result, title), states, more)


def _frames(options: FitOptions) -> _Fitted:
    from paceline.plots.fitting import frames_figure

    for name in ("interval", "column", "time_column", "bounds", "states"):
        if getattr(options, name) != getattr(FitOptions, name):
            raise UsageError(f"--{name.replace('_', '-')}: found with --frames, expected with rates only")
    result = fit_frame_sizes(
        options.recordings,
        options.against or [],
        options.format_,
        split=options.split,
        seed=options.seed,
        data=options.data,
        preset=options.preset,
    )
    title = "Recordings and generator: frame sizes"
    return _Fitted(result, "generator", result.fit.generator, lambda: frames_figure(result, title))


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


def _json(found: _Fitted) -> str:
    document = {
        "fitted_to": [one.name for one in found.result.fitted],
        "left_out": [one.name for one in found.result.held_out],
        "parameters": found.parameters,
        **found.more,
        "distances": found.result.comparison.document(),
    }
    return json.dumps(document, indent=2)


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
