"""The options that several commands share, and what becomes of them."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from enum import Enum
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


def capture_file(text: str) -> Path:
    """A capture file that an option names."""
    if not text:
        raise typer.BadParameter("found an empty name, expected a file")
    return Path(text)


class TransportName(str, Enum):
    """What goes over real sockets."""

    rtp = "rtp"
    dccp = "dccp"


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
Transport = Annotated[
    Optional[TransportName],  # noqa: UP045
    typer.Option("--transport", help="Replace the transport of the flow; its controller must go with it."),
]
Pcap = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--pcap",
        parser=capture_file,
        metavar="FILE",
        help="Write what a DCCP flow sends and receives there, as DCCP without UDP: tshark and Wireshark read it.",
    ),
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


KEPT = "what is finished is kept: run the same command again to go on"
"""What is said when a study is interrupted."""
Study = Annotated[str, typer.Argument(metavar="NAME", help="A study of `paceline list studies`, or its folder.")]
StudyOut = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(parser=folder, metavar="DIR", help="Where results and report go [default: out/NAME]."),
]
Workers = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=1, help="Experiments that run at a time [default: one per core]."),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with what an earlier run in DIR finished; so it is without, too.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Delete what an earlier run left in DIR, and begin anew.")]
Dask = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="HOST:PORT", help="Run the experiments on the Dask cluster of this scheduler."),
]


def read(scenario: str, overrides: list[str] | None, seed: int | None, data: Path | None) -> ScenarioText:
    """The scenario that a command line names."""
    pairs = [pair(text) for text in overrides or []]
    if scenario == "-":
        text = scenarios.decoded(sys.stdin.buffer.read(), "standard input")
        return ScenarioText(text, None, scenarios.data_folders(data), pairs, seed)
    return scenarios.read(Path(scenario), overrides=pairs, seed=seed, data=data)


def over(text: ScenarioText, transport: TransportName | None, flow: str | None) -> ScenarioText:
    """The scenario with another transport for the flow that is meant."""
    if transport is None:
        return text
    table = as_table(text)
    known = table.get("flows")
    names = list(known) if isinstance(known, dict) else []
    name = flow if flow is not None else names[0] if len(names) == 1 else None
    if name is None or name not in names:
        raise UsageError(f"--transport: found flow {name or 'unnamed'}, expected --flow with one of {', '.join(names)}")
    return replace(text, overrides=[*text.overrides, (f"flows.{json.dumps(name)}.transport", f'"{transport.value}"')])


def as_table(text: ScenarioText) -> dict[str, object]:
    """The scenario's keys, unchecked; the extension says what is wrong with a text that is no TOML."""
    from paceline.toml import loads

    try:
        return loads(text.text)
    except ValueError:
        text.load()
        raise


def pair(text: str) -> tuple[str, str]:
    """PATH=VALUE taken apart."""
    match = _PAIR.fullmatch(text)
    if match is None or not match[1].strip():
        raise UsageError(f"--set {text}: expected PATH=VALUE, such as links.bottleneck.delay=20ms")
    return match[1].strip(), match[2].strip()


def expect_one(**flags: bool) -> None:
    """Refuses flags that contradict each other."""
    given = [f"--{name}" for name, value in flags.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: found both, expected one of them")
