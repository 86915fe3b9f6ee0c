"""The commands of `paceline`: each reads its arguments and calls what does the work."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from paceline.cli import options
from paceline.cli.signals import terminable
from paceline.cli.speak import plainly, printing, progress_bar, say
from paceline.result import Result
from paceline.scenario import ScenarioText
from paceline.simulation import run_read, simulate
from paceline.toml import loads


def _say_version(wanted: bool) -> None:
    if wanted:
        from paceline import __version__

        with plainly(), printing():
            print(f"paceline {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="paceline",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Congestion control for real-time media: simulate a call, run it over real sockets, repeat a paper's study."""


class Kind(str, Enum):
    """What `paceline list` can list."""

    controllers = "controllers"
    queues = "queues"
    sources = "sources"
    traces = "traces"
    marks = "marks"
    losses = "losses"
    noises = "noises"
    playouts = "playouts"
    transports = "transports"
    studies = "studies"
    designs = "designs"


@app.command()
def run(
    scenario: options.Scenario,
    set_: options.Set = None,
    seed: options.Seed = None,
    out: options.Out = None,
    json: options.Json = False,
    plot: options.Plot = False,
    draw: options.Draw = False,
    data: options.Data = None,
) -> None:
    """Run one scenario in the simulator."""
    with plainly():
        text = options.read(scenario, set_, seed, data)
        if draw:
            return _draw(text, out)
        with progress_bar("simulating") as progress:
            result = run_read(text, simulate, out=out, plots=plot, progress=progress)
        _show(result, out, json)


def _draw(text: ScenarioText, out: Path | None) -> None:
    """The topology as text, and in `out` as pictures."""
    from paceline.outputs import OutputFolder
    from paceline.plots import topology
    from paceline.plots.style import image

    folder = None if out is None else OutputFolder(out)
    drawn = topology.table(loads(text.load().core.resolved_toml))
    with printing():
        print(topology.text(drawn))
    if folder is not None:
        with folder:
            picture = topology.figure(drawn)
            folder.stage("plots/topology.svg", image(picture, "svg"))
            folder.stage("plots/topology.png", image(picture, "png"))
        say(f"written to {folder.path / 'plots'}")


def _show(result: Result, out: Path | None, json: bool) -> None:
    written = "" if out is None else f", written to {out}"
    with plainly(f"the run was complete{written}"):
        for warning in result.warnings:
            say(f"warning: {warning}")
        with printing():
            _print(result, json)
        if out is not None:
            say(f"written to {out}")


def _print(result: Result, json: bool) -> None:
    if json:
        print(result.summary_json.rstrip("\n"))
    else:
        from paceline.cli.tables import print_summary

        print_summary(result)


@app.command("list")
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    json: options.Json = False,
) -> None:
    """Say what there is, with every parameter, its default, unit and source."""
    with plainly(), printing():
        from paceline.cli import listing

        (listing.print_json if json else listing.print_tables)(kind.value)


@app.command()
def study(
    name: options.Study,
    out: options.StudyOut = None,
    workers: options.Workers = None,
    resume: options.Resume = False,
    fresh: options.Fresh = False,
    json: options.Json = False,
    chart: Annotated[bool, typer.Option("--chart", help="End with a picture in the terminal.")] = False,
    write_verdict: Annotated[
        bool, typer.Option("--write-verdict", help="Put the verdict into the study's README.md as well.")
    ] = False,
    data: options.Data = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many experiments, how long and how large; write nothing.")
    ] = False,
    dask: options.Dask = None,
) -> None:
    """Run a study, go on with it, and compare it with what was published."""
    with plainly(options.KEPT), terminable():
        from paceline.cli import studies

        options.expect_one(resume=resume, fresh=fresh)
        if dry_run:
            return studies.dry_run(name, workers, data, json=json)
        well = studies.run(
            name, out, workers, dask=dask, fresh=fresh, data=data, json=json, chart=chart, write_verdict=write_verdict
        )
        if not well:
            raise typer.Exit(1)


@app.command()
def fit(
    recordings: Annotated[
        list[str],
        typer.Argument(
            metavar="RECORDING...", help="Files of rates, or with --frames of frame sizes, fitted together."
        ),
    ],
    frames: Annotated[bool, typer.Option("--frames", help="Fit frame sizes instead of rates.")] = False,
    format_: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--format", metavar="NAME", help="How the files are written, as beside `trace` or `file`."),
    ] = None,
    interval: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Rates are looked at as means over so long; of the format mbps also its own."
        ),
    ] = "1s",
    column: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Heading, or number from 0, of the rate."),
    ] = None,
    time_column: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Heading, or number from 0, of the time or hold."),
    ] = None,
    states: Annotated[int, typer.Option(min=2, max=20, help="How many states; their bounds are found.")] = 4,
    bounds: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="RATES", help="Rates between the states, such as 20Mbps,165Mbps,700Mbps."),
    ] = None,
    against: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="FILE", help="A recording that is left out and compared; may be repeated."),
    ] = None,
    split: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="PART", help="Fit so much of each recording, such as 0.5, and compare with the rest."),
    ] = None,
    preset: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Compare this preset instead of what was fitted."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the generator that is compared.")] = 1,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(parser=options.folder, metavar="DIR", help="Write fit.toml and plots/fit.svg and .png there."),
    ] = None,
    json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Fit a generator to recordings: print its parameters and how far it is from them."""
    with plainly():
        from paceline.cli import fitting

        if frames:
            fitting.expect_rates_only(
                interval=interval != "1s", column=column, time_column=time_column, bounds=bounds, states=states != 4
            )
            return fitting.frames(
                recordings, against or [], format_, split=split, preset=preset, seed=seed, out=out, json=json, data=data
            )
        fitting.rates(
            recordings,
            against or [],
            fitting.trace_options(format_, interval, column, time_column),
            interval=interval,
            states=states,
            bounds=bounds,
            split=split,
            preset=preset,
            seed=seed,
            out=out,
            json=json,
            data=data,
        )


@app.command()
def tune(
    name: options.Study,
    out: options.StudyOut = None,
    search: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NAME", help="Only this of its searches; may be repeated."),
    ] = None,
    trials: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="How many sets each search tries, in place of the definition's."),
    ] = None,
    workers: options.Workers = None,
    resume: options.Resume = False,
    fresh: options.Fresh = False,
    dask: options.Dask = None,
    json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Search a controller's parameters for several objectives; judge what is found on recordings held out."""
    with plainly(options.KEPT), terminable():
        from paceline.cli import studies

        options.expect_one(resume=resume, fresh=fresh)
        studies.search(name, out, workers, searches=search, trials=trials, dask=dask, fresh=fresh, data=data, json=json)


@app.command()
def sensitivity(
    name: options.Study,
    out: options.StudyOut = None,
    search: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Whose parameters [default: those of its first search]."),
    ] = None,
    workers: options.Workers = None,
    resume: options.Resume = False,
    fresh: options.Fresh = False,
    dask: options.Dask = None,
    json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Rank a controller's parameters by what they do: Morris' screening, then Sobol's indices."""
    with plainly(options.KEPT), terminable():
        from paceline.cli import studies

        options.expect_one(resume=resume, fresh=fresh)
        studies.rank(name, out, workers, search=search, dask=dask, fresh=fresh, data=data, json=json)


@app.command()
def receive(
    scenario: options.Scenario,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where media arrives.")] = "127.0.0.1:5004",
    duration: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(min=0.001, metavar="SECONDS", help="How long to listen [default: the scenario's duration]."),
    ] = None,
    flow: options.Flow = None,
    transport: options.Transport = None,
    pcap: options.Pcap = None,
    set_: options.Set = None,
    seed: options.Seed = None,
    out: options.Out = None,
    json: options.Json = False,
    plot: options.Plot = False,
    data: options.Data = None,
) -> None:
    """Receive over a real socket: RTP, answered with RFC 8888 feedback, or DCCP in UDP."""
    with plainly(), terminable():
        from paceline.network import receiver

        text = options.over(options.read(scenario, set_, seed, data), transport, flow)
        with progress_bar("receiving") as progress:
            result = run_read(text, receiver(listen, duration, flow, pcap), out=out, plots=plot, progress=progress)
        _show(result, out, json)


@app.command()
def send(
    scenario: options.Scenario,
    to: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the receiver or the relay listens.")],
    flow: options.Flow = None,
    transport: options.Transport = None,
    pcap: options.Pcap = None,
    set_: options.Set = None,
    seed: options.Seed = None,
    out: options.Out = None,
    json: options.Json = False,
    plot: options.Plot = False,
    data: options.Data = None,
) -> None:
    """Send a scenario's media over a real socket: RTP or DCCP in UDP."""
    with plainly(), terminable():
        from paceline.network import sender

        text = options.over(options.read(scenario, set_, seed, data), transport, flow)
        with progress_bar("sending") as progress:
            result = run_read(text, sender(to, flow, pcap), out=out, plots=plot, progress=progress)
        _show(result, out, json)


@app.command()
def link(
    scenario: options.Scenario,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the sender sends to.")],
    forward: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the receiver listens.")],
    flow: options.Flow = None,
    transport: options.Transport = None,
    set_: options.Set = None,
    seed: options.Seed = None,
    out: options.Out = None,
    json: options.Json = False,
    plot: options.Plot = False,
    data: options.Data = None,
) -> None:
    """Relay packets through the scenario's link, in real time."""
    with plainly(), terminable():
        from paceline.network import relay

        text = options.over(options.read(scenario, set_, seed, data), transport, flow)
        with progress_bar("relaying") as progress:
            result = run_read(text, relay(listen, forward, flow), out=out, plots=plot, progress=progress)
        _show(result, out, json)
