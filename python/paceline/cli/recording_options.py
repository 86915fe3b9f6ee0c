"""The options of the commands that describe, fit and measure links."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from paceline.cli.options import (
    FORMAT_HELP,
    Data,
    Drawing,
    Formats,
    Json,
    PictureFormat,
    Quiet,
    Style,
    folder_path,
)

Column = Annotated[str | None, typer.Option(metavar="NAME", help="Heading, or number from 0, of the rate.")]
TimeColumn = Annotated[str | None, typer.Option(metavar="NAME", help="Heading, or number from 0, of the time or hold.")]
"""Where a recording has its rates and their times."""
PictureFormats = Annotated[list[PictureFormat] | None, typer.Option("--picture-format", help=FORMAT_HELP)]
"""The kinds of picture files of a command whose `--format` is that of recordings."""


class ProbeMethod(str, Enum):
    """The ways to measure a path."""

    fill = "fill"
    pairs = "pairs"


@dataclass(frozen=True, kw_only=True)
class ProbeOptions(Drawing):
    """A path that is measured, and how."""

    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCENARIO|NETWORK]", help="A scenario file, or a network of `paceline list networks`, to simulate."
        ),
    ] = None
    link: Annotated[str | None, typer.Option(metavar="NAME", help="The scenario's link; needed if it has several.")] = (
        None
    )
    send: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Measure the path to there instead, where --receive answers."),
    ] = None
    receive: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Answer the probes that arrive there, until Ctrl-C.")
    ] = None
    method: Annotated[
        ProbeMethod,
        typer.Option(
            help="`fill` fills the path once and finds its link; `pairs` finds what others leave, and hardly loads it."
        ),
    ] = ProbeMethod.fill
    capacity: Annotated[
        str | None, typer.Option(metavar="RATE", help="With `pairs`: the capacity of the bottleneck, such as 10Mbps.")
    ] = None
    pairs: Annotated[
        int | None, typer.Option(min=1, metavar="COUNT", help="With `pairs`: how many are sent [default: 100].")
    ] = None
    cross: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="With `pairs`, in the simulator: other traffic on the link [default: none]."),
    ] = None
    transfer: Annotated[str | None, typer.Option(metavar="SIZE", help="Bytes sent in slow start [default: 1MB].")] = (
        None
    )
    hold: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long packets go at a part of the rate that arrived [default: 60s; in the simulator 300s].",
        ),
    ] = None
    part: Annotated[float | None, typer.Option(metavar="PART", help="Part of the capacity [default: 0.5].")] = None
    packet_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Size of each packet [default: 1212B; of pairs 1500B].")
    ] = None
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the printed link.")] = "probed"
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Replace a value of the scenario; may be repeated. A network's link is links.path.",
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Replace the scenario's seed.")] = None
    out: Annotated[
        Path | None,
        typer.Option(parser=folder_path, metavar="DIR", help="Write link.toml and probe.json there."),
    ] = None
    json: Json = False
    plot: Annotated[bool, typer.Option("--plot", help="Write the distribution to DIR/plots as well.")] = False
    style: Style = None
    formats: Formats = None
    data: Data = None
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class TraceOptions(Drawing):
    """A recording of rates, and how it is read."""

    file: Annotated[str, typer.Argument(metavar="FILE", help="A recording of rates, packed with gzip or not.")]
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="How the file is written [default: as its header or lines say]."),
    ] = None
    column: Column = None
    time_column: TimeColumn = None
    scale: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Mbit/s of the unit of rates, such as 0.001 for kbit/s.")
    ] = None
    interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long each rate holds, of a file without times.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(parser=folder_path, metavar="DIR", help="Write trace.json and trace.csv there."),
    ] = None
    json: Json = False
    plot: Annotated[bool, typer.Option("--plot", help="Write a picture to DIR/plots as well.")] = False
    style: Style = None
    formats: PictureFormats = None
    quiet: Quiet = False
    data: Data = None

    def beside(self) -> dict[str, object]:
        """The keys that stand beside `trace`."""
        given = {
            "format": self.format_,
            "column": column_of(self.column),
            "time_column": column_of(self.time_column),
            "scale": self.scale,
            "interval": self.interval,
        }
        return {key: value for key, value in given.items() if value is not None}


def column_of(text: str | None) -> str | int | None:
    """A column as an option says it: a heading, or a number from 0."""
    return int(text) if text is not None and text.isdecimal() else text


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Recordings, how they are read and fitted, and what the fit is compared with."""

    recordings: Annotated[
        list[str],
        typer.Argument(
            metavar="RECORDING...", help="Files of rates, or with --frames of frame sizes, fitted together."
        ),
    ]
    frames: Annotated[bool, typer.Option("--frames", help="Fit frame sizes instead of rates.")] = False
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="How the files are written, as beside `trace` or `file`."),
    ] = None
    interval: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Rates are averaged over intervals of this length; in the format mbps it is also the file's own.",
        ),
    ] = "1s"
    column: Column = None
    time_column: TimeColumn = None
    states: Annotated[int, typer.Option(min=2, max=20, help="How many states; their bounds are found.")] = 4
    bounds: Annotated[
        str | None,
        typer.Option(metavar="RATES", help="Rates between the states, such as 20Mbps,165Mbps,700Mbps."),
    ] = None
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A recording that is left out and compared; may be repeated."),
    ] = None
    split: Annotated[
        float | None,
        typer.Option(metavar="PART", help="Fit this part of each recording, such as 0.5, and compare with the rest."),
    ] = None
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare this preset instead of what was fitted.")
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generator that is compared.")] = 1
    out: Annotated[
        Path | None,
        typer.Option(parser=folder_path, metavar="DIR", help="Write fit.toml and plots/fit.svg and .png there."),
    ] = None
    style: Style = None
    formats: PictureFormats = None
    json: Json = False
    quiet: Quiet = False
    data: Data = None
