"""The options of the commands: those that several share are declared once, in a class that commands take whole."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from paceline import scenario as scenarios
from paceline.cli.mistaken import expecting
from paceline.cli.speak import plainly, quietly
from paceline.errors import UsageError, one_of
from paceline.scenario import ScenarioText
from paceline.toml import TOMLDecodeError, loads

_PAIR = re.compile(r"""((?:"(?:\\.|[^"\\])*"|'[^']*'|[^="'])+)=(.*)""", re.DOTALL)
"""PATH=VALUE; a key of the path may stand in quotes and hold an equals sign there."""


def _path(what: str) -> Callable[[str], Path]:
    """Reads the path of a folder, or of a file."""

    def read(text: str) -> Path:
        if not text:
            raise typer.BadParameter(f"found an empty name, expected a {what}")
        return Path(text)

    return read


class TransportName(str, Enum):
    """The transports that go over real sockets."""

    rtp = "rtp"
    dccp = "dccp"


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


class CallRole(str, Enum):
    """The part of our end in a call with a browser."""

    send = "send"
    receive = "receive"


class Peer(str, Enum):
    """The program at the other end."""

    standard = "standard"
    ericsson = "ericsson"


class GroupBy(str, Enum):
    """The rule by which flows of several processes find each other."""

    by_name = "name"
    by_destination = "destination"
    by_five_tuple = "5-tuple"


class CapturePlace(str, Enum):
    """Where packets of a simulated run are captured."""

    sender = "sender"
    receiver = "receiver"
    both = "both"


file_path = _path("file")
"""Reads the path of a file."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Latex = Annotated[
    bool, typer.Option("--latex", help="Print the tables for LaTeX, with the rules of the package booktabs.")
]
Data = Annotated[
    Path | None,
    typer.Option(
        parser=_path("folder"),
        metavar="DIR",
        help="Where trace and frame files are looked for after the scenario's own folder [default: PACELINE_DATA].",
    ),
]


Style = Annotated[
    PictureStyle | None,
    typer.Option(help="The look of pictures: for a screen, a column of a paper, a talk, or a dark ground."),
]
"""The look of the pictures that a command draws, which `flat` sets while it runs."""
_FORMAT_HELP = "The kind of picture files; may be repeated [default: pdf for a paper, else svg and png]."
Formats = Annotated[list[PictureFormat] | None, typer.Option("--format", help=_FORMAT_HELP)]
"""The kinds of picture files that a command writes."""

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing of progress: results, warnings and errors alone.")
]
"""Whether a command is silent while it works, which `flat` sees to."""
Out = Annotated[Path, typer.Option(parser=_path("folder"), metavar="DIR", help="Where results and report go.")]
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
            text = scenarios.decoded(sys.stdin.buffer.read(), "standard input")
            return ScenarioText(text, None, scenarios.data_folders(self.data), pairs, self.seed)
        with expecting("scenario", [self.scenario]):
            path = Path(self.scenario)
            found = scenarios.read(path, overrides=pairs, seed=self.seed, data=self.data)
            if Path(found.file or "").suffix != ".toml" or path.name == "study.toml":
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
            parser=_path("folder"),
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
            parser=_path("file"), metavar="FILE", help="Write the connections there instead of to standard output."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SocketOptions(RunOptions):
    """A run of one flow, or of those that are coupled, over real sockets."""

    flow: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The scenario's flow; needed if it has several that are not coupled."),
    ] = None
    transport: Annotated[
        TransportName | None,
        typer.Option(help="Replace the transport of the flow; its controller must go with it."),
    ] = None

    def read(self) -> ScenarioText:
        """The scenario with its changes, and with another transport for the flow if one is asked for."""
        text = super().read()
        if self.transport is None:
            return text
        known = _as_table(text).get("flows")
        names = list(known) if isinstance(known, dict) else []
        name = self.flow if self.flow is not None else names[0] if len(names) == 1 else None
        if name is None or name not in names:
            found = f"found flow {name or 'unnamed'}, expected --flow with one of {', '.join(names)}"
            raise UsageError(f"--transport: {found}")
        changed = (f"flows.{json.dumps(name)}.transport", f'"{self.transport.value}"')
        return replace(text, overrides=[*text.overrides, changed])


Qlog = Annotated[
    Path | None,
    typer.Option(
        parser=file_path,
        metavar="FILE",
        help="Write packets, metrics and inner states there in the format qlog, which qvis shows.",
    ),
]
"""The file of a run's qlog."""


@dataclass(frozen=True, kw_only=True)
class EndOptions(SocketOptions):
    """The sending or the receiving end of a flow."""

    pcap: Annotated[
        Path | None,
        typer.Option(
            parser=file_path,
            metavar="FILE",
            help="Write what a flow sends and receives there, DCCP without UDP: tshark and Wireshark read it.",
        ),
    ] = None
    qlog: Qlog = None
    peer: Annotated[
        Peer,
        typer.Option(help="The program at the other end: one that does as RFC 8888 says, or Ericsson's SCReAM."),
    ] = Peer.standard


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
    packet_size: Annotated[str | None, typer.Option(metavar="SIZE", help="Size of each packet [default: 1212B].")] = (
        None
    )
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
        typer.Option(parser=_path("folder"), metavar="DIR", help="Write link.toml and probe.json there."),
    ] = None
    json: Json = False
    plot: Annotated[bool, typer.Option("--plot", help="Write the distribution to DIR/plots as well.")] = False
    style: Style = None
    formats: Formats = None
    data: Data = None
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Where the results of many experiments go, and where they run."""

    out: Annotated[
        Path | None,
        typer.Option(parser=_path("folder"), metavar="DIR", help="Where results and report go [default: out/NAME]."),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="Experiments that run at a time [default: one per core].")
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what an earlier run in DIR finished; this is the default.")
    ] = False
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete what an earlier run left in DIR, and begin anew.")] = (
        False
    )
    dask: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Run the experiments on the Dask cluster of this scheduler."),
    ] = None
    json: Json = False
    style: Style = None
    formats: Formats = None
    quiet: Quiet = False
    data: Data = None
    controller: Guests = None

    def work(self, name: str) -> dict[str, Any]:
        """The arguments of an engine; the results go to `out/name` unless a folder is named."""
        if self.resume and self.fresh:
            raise UsageError("--resume and --fresh: found both, expected one of them")
        out = self.out or Path("out") / name
        return {"out": out, "workers": self.workers, "dask": self.dask, "fresh": self.fresh, "data": self.data}


@dataclass(frozen=True, kw_only=True)
class StudyOptions(SweepOptions):
    """A study, where its results go, and where its experiments run."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="A study of `paceline list studies`, or its folder.")]

    def arguments(self, suffix: str = "") -> dict[str, Any]:
        """The arguments of the engine; the results go to `out/NAME`, with the suffix, unless a folder is named."""
        from paceline.studies.definition import find

        with expecting("study", [self.name]):
            folder = find(self.name)
        return self.work(f"{folder.name}{suffix}")


@dataclass(frozen=True, kw_only=True)
class CompareOptions(SweepOptions):
    """Controllers, what they are compared over, and how they are weighed."""

    controllers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LABEL=]KIND[:PROFILE][,NAME=VALUE]...",
            help="Controllers of `paceline list controllers`, at least two; others are compared with the first.",
        ),
    ] = None
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[LABEL=]WHAT[,NAME=VALUE]...",
            help="Scenario files (.toml), recordings of rates, or named networks: all words up to the next option.",
        ),
    ] = None
    seeds: Annotated[
        str, typer.Option(metavar="SEEDS", help="How many, such as 10, or which, such as 11-20: the same for all.")
    ] = "5"
    flow: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="The flow whose controller is replaced, of a scenario with several."),
    ] = None
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long each run is, in place of the scenarios' own.")
    ] = None
    warmup: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="The start, which only its own figures count [default: the scenarios' own, or 10 s, at most a sixth].",
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(metavar="NAME=WEIGHT,...", help="The ranking's weights [default: throughput=1,delay=1]."),
    ] = None
    latex: Latex = False
    join: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR", help="Results of another comparison that are put beside; may be repeated."),
    ] = None
    with_: Annotated[
        Path | None,
        typer.Option(
            "--with",
            parser=_path("folder"),
            metavar="DIR",
            help="Compare each controller with its runs there, of another build or version of it.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class TraceOptions(Drawing):
    """A recording of rates, and how it is read."""

    file: Annotated[str, typer.Argument(metavar="FILE", help="A recording of rates, packed with gzip or not.")]
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="How the file is written [default: as its header or lines say]."),
    ] = None
    column: Annotated[str | None, typer.Option(metavar="NAME", help="Heading, or number from 0, of the rate.")] = None
    time_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Heading, or number from 0, of the time or hold.")
    ] = None
    scale: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Mbit/s of the unit of rates, such as 0.001 for kbit/s.")
    ] = None
    interval: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long each rate holds, of a file without times.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(parser=_path("folder"), metavar="DIR", help="Write trace.json and trace.csv there."),
    ] = None
    json: Json = False
    plot: Annotated[bool, typer.Option("--plot", help="Write a picture to DIR/plots as well.")] = False
    style: Style = None
    formats: Annotated[list[PictureFormat] | None, typer.Option("--picture-format", help=_FORMAT_HELP)] = None
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
    column: Annotated[str | None, typer.Option(metavar="NAME", help="Heading, or number from 0, of the rate.")] = None
    time_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Heading, or number from 0, of the time or hold.")
    ] = None
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
        typer.Option(parser=_path("folder"), metavar="DIR", help="Write fit.toml and plots/fit.svg and .png there."),
    ] = None
    style: Style = None
    formats: Annotated[list[PictureFormat] | None, typer.Option("--picture-format", help=_FORMAT_HELP)] = None
    json: Json = False
    quiet: Quiet = False
    data: Data = None


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """A check, the earlier figures, and where its outcome goes."""

    file: Annotated[
        Path | None,
        typer.Argument(parser=file_path, metavar="FILE", help="The check (TOML); without it --against repeats a run."),
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(
            parser=_path("folder"),
            metavar="DIR",
            help="Earlier figures: of --record, or without FILE the run that `paceline run --out` wrote.",
        ),
    ] = None
    within: Annotated[
        str | None,
        typer.Option(metavar="PART", help="Without FILE: how far figures may be from the earlier ones [default: 5%]."),
    ] = None
    record: Annotated[
        Path | None,
        typer.Option(parser=_path("folder"), metavar="DIR", help="Write the figures there, for a later --against."),
    ] = None
    junit: Annotated[
        Path | None, typer.Option(parser=file_path, metavar="FILE", help="Write the outcome there as JUnit's XML.")
    ] = None
    markdown: Annotated[
        Path | None, typer.Option(parser=file_path, metavar="FILE", help="Write the outcome there as Markdown.")
    ] = None
    json: Json = False
    data: Data = None
    controller: Guests = None


@contextmanager
def _guests(named: list[str] | None) -> Iterator[None]:
    """The controllers from outside that a command names are known while it runs."""
    if not named:
        yield
        return
    from paceline import guests

    with ExitStack() as known:
        with plainly():
            with expecting("controller of your own", named):
                found = [guests.read(text) for text in named]
            if len(dict(found)) < len(found):
                raise UsageError("--controller: found a name twice, expected a name for each")
            known.enter_context(guests.using(dict(found)))
        yield


@contextmanager
def _pictures(style: PictureStyle | None, formats: list[PictureFormat] | None) -> Iterator[None]:
    """The style and the formats of pictures hold while a command runs."""
    if style is None and not formats:
        yield
        return
    from paceline.plots.styles import drawn_as

    with drawn_as(None if style is None else style.value, [one.value for one in formats or []]):
        yield


def one_form(json: bool, latex: bool) -> None:
    """Refuses two forms of output at once."""
    if json and latex:
        raise UsageError("--json and --latex: found both, expected one of them")


def flat(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose options of a class stand beside its own, as typer reads them."""
    hints = get_type_hints(function, include_extras=True)
    classes: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    own, shared = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in classes:
            own.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))
            continue
        types = get_type_hints(classes[name], include_extras=True)
        for field in fields(classes[name]):
            kept = parameter.replace(name=field.name, annotation=types[field.name], kind=parameter.KEYWORD_ONLY)
            shared.append(kept if field.default is MISSING else kept.replace(default=field.default))

    def command(**values: Any) -> None:
        with (
            _guests(values.get("controller")),
            _pictures(values.get("style"), values.get("formats")),
            quietly(bool(values.get("quiet"))),
        ):
            for name, kind in classes.items():
                values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            function(**values)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    return command


def _as_table(text: ScenarioText) -> dict[str, object]:
    """The scenario's keys, unchecked; the extension says what is wrong with a text that is no TOML."""
    from paceline.toml import loads

    try:
        return loads(text.text)
    except ValueError:
        text.load()
        raise


def changes(texts: list[str] | None) -> list[tuple[str, str]]:
    """The changes that all `--set` ask for, in their order."""
    return [one for text in texts or [] for one in (_set_of(text) if text.startswith("@") else [_pair(text)])]


def _set_of(text: str) -> list[tuple[str, str]]:
    """@FILE:NAME, a table of paths and values in a file as `paceline tune` writes it."""
    file, _, name = text[1:].rpartition(":")
    try:
        found = loads(scenarios.decoded(Path(file).read_bytes(), file))
    except (OSError, TOMLDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"--set {text}: {file or 'no file'}: {said}, expected @FILE:NAME, the file with a table for each set"
        ) from None
    sets = {name: table for name, table in found.items() if isinstance(table, dict)}
    if name not in sets:
        raise UsageError(f"--set {text}: found no set {name!r} in {file}, {one_of(name, list(sets))}")
    return scenarios.as_pairs(sets[name])


def _pair(text: str) -> tuple[str, str]:
    """PATH=VALUE taken apart."""
    match = _PAIR.fullmatch(text)
    if match is None or not match[1].strip():
        raise UsageError(f"--set {text}: expected PATH=VALUE, such as links.bottleneck.delay=20ms")
    return match[1].strip(), match[2].strip()
