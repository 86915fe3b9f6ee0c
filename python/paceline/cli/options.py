"""The options that several commands share, declared once in classes that commands take whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from paceline import scenario as scenarios
from paceline.cli.mistaken import expecting, thing
from paceline.errors import UsageError
from paceline.overrides import changes
from paceline.scenario import ScenarioText
from paceline.toml import decoded


def _path(what: str) -> Callable[[str], Path]:
    """Reads the path of a folder, or of a file."""

    def read(text: str) -> Path:
        if not text:
            raise typer.BadParameter(f"found an empty name, expected a {what}")
        return Path(text)

    return read


class PictureStyle(str, Enum):
    """The looks of pictures."""

    screen = "screen"
    paper = "paper"
    talk = "talk"
    dark = "dark"


class PictureFormat(str, Enum):
    """The kinds of picture files."""

    pdf = "pdf"
    png = "png"
    svg = "svg"


class CapturePlace(str, Enum):
    """Where packets of a simulated run are captured."""

    sender = "sender"
    receiver = "receiver"
    both = "both"


file_path = _path("file")
"""Reads the path of a file."""
folder_path = _path("folder")
"""Reads the path of a folder."""

Junit = Annotated[
    Path | None, typer.Option(parser=file_path, metavar="FILE", help="Write the outcome there as JUnit's XML.")
]
Markdown = Annotated[
    Path | None, typer.Option(parser=file_path, metavar="FILE", help="Write the outcome there as Markdown.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Latex = Annotated[
    bool, typer.Option("--latex", help="Print the tables for LaTeX, with the rules of the package booktabs.")
]
Data = Annotated[
    Path | None,
    typer.Option(
        parser=folder_path,
        metavar="DIR",
        help="Where trace and frame files are looked for after the scenario's own folder [default: PACELINE_DATA].",
    ),
]


Style = Annotated[
    PictureStyle | None,
    typer.Option(help="The look of pictures: for a screen, a column of a paper, a talk, or a dark ground."),
]
"""The look of the pictures that a command draws, which `flat` sets while it runs."""
FORMAT_HELP = "The kind of picture files; may be repeated [default: pdf for a paper, else svg and png]."
Formats = Annotated[list[PictureFormat] | None, typer.Option("--format", help=FORMAT_HELP)]
"""The kinds of picture files that a command writes."""

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing of progress: results, warnings and errors alone.")
]
"""Whether a command is silent while it works, which `flat` sees to."""
Out = Annotated[Path, typer.Option(parser=folder_path, metavar="DIR", help="Where results and report go.")]
"""The folder of results that a command has a place for anyhow."""
Guests = Annotated[
    list[str] | None,
    typer.Option(
        "--controller",
        metavar="NAME=WHERE",
        help="A controller of your own: FILE.py:CLASS, MODULE:CLASS, or a command; may be repeated.",
    ),
]
"""Controllers from outside, which `flat` makes known while a command runs."""


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The controllers that are listed beside the project's own."""

    controller: Guests = None


@dataclass(frozen=True, kw_only=True)
class ScenarioOptions:
    """A scenario, and what is changed in it."""

    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A scenario file (TOML), or - to read it from standard input.")
    ]
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Replace a value of the scenario, or with @FILE:NAME those of a set in a file; may be repeated.",
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Replace the scenario's seed.")] = None
    data: Data = None
    controller: Guests = None

    def read(self) -> ScenarioText:
        """The scenario with its changes."""
        pairs = changes(self.set_)
        if self.scenario == "-":
            text = scenarios.expect_text(decoded(sys.stdin.buffer.read(), "standard input"), "standard input")
            return ScenarioText(text, None, scenarios.data_folders(self.data), pairs, self.seed)
        with expecting("scenario", [self.scenario]):
            path = Path(self.scenario)
            found = scenarios.read(path, overrides=pairs, seed=self.seed, data=self.data)
            known = thing(self.scenario)
            if Path(found.file or "").suffix != ".toml" or (known is not None and known.kind != "scenario"):
                # Most likely another thing, which the error is to name.
                found.load()
            return found


class Drawing:
    """Options that ask for pictures, whose fields stand where each command has them."""

    plot: bool
    style: Style
    formats: Any

    @property
    def draws(self) -> bool:
        """Whether pictures are written; whoever asks for a style or a format asks for pictures."""
        return self.plot or self.style is not None or bool(self.formats)

    def expect_folder(self, out: Path | None) -> None:
        """Refuses pictures without a folder that they go to."""
        if self.draws and out is None:
            raise UsageError("--plot: found no output folder to write to, expected one (--out DIR)")


@dataclass(frozen=True, kw_only=True)
class OutputOptions(Drawing):
    """Where results go, and how they are shown."""

    out: Annotated[
        Path | None,
        typer.Option(
            parser=folder_path,
            metavar="DIR",
            help="Write summary.json, flows.parquet, links.parquet and scenario.toml there.",
        ),
    ] = None
    json: Json = False
    latex: Latex = False
    plot: Annotated[bool, typer.Option("--plot", help="Write pictures to DIR/plots as well.")] = False
    style: Style = None
    formats: Formats = None


@dataclass(frozen=True, kw_only=True)
class RunOptions(OutputOptions, ScenarioOptions):
    """A scenario that is run, and where the results go."""

    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class VectorsOptions(ScenarioOptions):
    """A scenario with connection vectors, and where they go."""

    flow: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The flow with the connections; needed if the scenario has several."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            parser=file_path, metavar="FILE", help="Write the connections there instead of to standard output."
        ),
    ] = None


Qlog = Annotated[
    Path | None,
    typer.Option(
        parser=file_path,
        metavar="FILE",
        help="Write packets, metrics and inner states there in the format qlog, which qvis shows.",
    ),
]
"""The file of a run's qlog."""


def one_form(json: bool, latex: bool) -> None:
    """Refuses two forms of output at once."""
    if json and latex:
        raise UsageError("--json and --latex: found both, expected one of them")
