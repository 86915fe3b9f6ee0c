"""The options that several commands share, and what becomes of them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from paceline import scenario as scenarios
from paceline.errors import UsageError
from paceline.scenario import ScenarioText

_PAIR = re.compile(r"""((?:"(?:\\.|[^"\\])*"|'[^']*'|[^="'])+)=(.*)""", re.DOTALL)
"""PATH=VALUE; a key of the path may stand in quotes and hold an equals sign there."""


def folder(text: str) -> Path:
    """A folder that an option names."""
    if not text:
        raise typer.BadParameter("found an empty name, expected a folder")
    return Path(text)


Scenario = Annotated[
    str,
    typer.Argument(metavar="SCENARIO", help="A scenario file (TOML), or - to read it from standard input."),
]
Set = Annotated[
    Optional[list[str]],  # noqa: UP045 - typer reads this annotation at run time, on Python 3.10 too
    typer.Option("--set", metavar="PATH=VALUE", help="Replace a value of the scenario; may be repeated."),
]
Seed = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=0, help="Replace the scenario's seed."),
]
Flow = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="NAME", help="The scenario's flow; needed if it has several."),
]
Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=folder,
        metavar="DIR",
        help="Write summary.json, flows.parquet, links.parquet and scenario.toml there.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Plot = Annotated[bool, typer.Option("--plot", help="Write pictures to DIR/plots as well.")]
Draw = Annotated[
    bool,
    typer.Option("--draw", help="Draw the topology instead of running: here as text, with --out to DIR/plots."),
]
Data = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=folder,
        metavar="DIR",
        help="Where trace and frame files are looked for after the scenario's own folder [default: PACELINE_DATA].",
    ),
]


def read(scenario: str, overrides: list[str] | None, seed: int | None, data: Path | None) -> ScenarioText:
    """The scenario that a command line names."""
    pairs = [pair(text) for text in overrides or []]
    if scenario == "-":
        text = scenarios.decoded(sys.stdin.buffer.read(), "standard input")
        return ScenarioText(text, None, scenarios.data_folders(data), pairs, seed)
    return scenarios.read(Path(scenario), overrides=pairs, seed=seed, data=data)


def pair(text: str) -> tuple[str, str]:
    """PATH=VALUE taken apart."""
    match = _PAIR.fullmatch(text)
    if match is None or not match[1].strip():
        raise UsageError(f"--set {text}: expected PATH=VALUE, such as links.bottleneck.delay=20ms")
    return match[1].strip(), match[2].strip()


def expect_unset(what: str, **flags: object) -> None:
    """Options that go with other kinds of study."""
    for name, value in flags.items():
        if value:
            raise UsageError(f"--{name.replace('_', '-')}: found with {what}, which has none")
