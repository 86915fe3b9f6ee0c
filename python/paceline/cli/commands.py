"""The commands of `paceline`: each reads its arguments and calls what does the work."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.browser.chromium import Congestion
from paceline.cli import archive, demo, listing, new
from paceline.cli.many import TakesMany
from paceline.cli.options import (
    CallRole,
    CapturePlace,
    CheckOptions,
    CompareOptions,
    EndOptions,
    FitOptions,
    GroupBy,
    Json,
    ListOptions,
    OutputOptions,
    ProbeOptions,
    Qlog,
    RunOptions,
    SocketOptions,
    StudyOptions,
    TraceOptions,
    VectorsOptions,
    file_path,
    flat,
    one_form,
)
from paceline.cli.program import Program
from paceline.cli.signals import terminable
from paceline.cli.speak import note, plainly, printing, progress_bar, say
from paceline.errors import UsageError
from paceline.result import Result
from paceline.scenario import ScenarioText
from paceline.simulation import run_read, simulate
from paceline.toml import loads

if TYPE_CHECKING:
    from paceline.network import Runner

KEPT = "what is finished is kept: run the same command again to go on"
"""The message when a study is interrupted."""

FAILURES = ("failed_programs", "failed_captures", "unanswered_flows")
"""Figures of sockets that make the exit status 1."""


def _say_version(wanted: bool) -> None:
    if wanted:
        from paceline import __version__

        with plainly(), printing():
            print(f"paceline {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="paceline",
    cls=Program,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
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


app.command("demo")(demo.command)
app.command("new")(new.command)
app.command("archive")(archive.command)


@app.command()
@flat
def run(
    options: RunOptions,
    draw: Annotated[
        bool,
        typer.Option("--draw", help="Draw the topology instead of running: here as text, with --out to DIR/plots."),
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Threads that a world of many flows runs on [default: one per core]."),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option(
            parser=file_path,
            metavar="FILE",
            help="Write the packets of all flows there as they would be on the wire: tshark and Wireshark read it.",
        ),
    ] = None,
    pcap_at: Annotated[
        CapturePlace, typer.Option("--pcap-at", help="Where they are captured: at the flows' ends, or at both.")
    ] = CapturePlace.sender,
    qlog: Qlog = None,
) -> None:
    """Run one scenario in the simulator."""
    with plainly():
        if draw:
            return _draw(options.read(), options.out)
        _run("simulating", options, partial(simulate, threads=threads, pcap=pcap, pcap_at=pcap_at.value, qlog=qlog))


def _run(doing: str, options: RunOptions, runner: Runner) -> None:
    """Runs a scenario, in the simulator or over sockets, and shows what came out."""
    one_form(options.json, options.latex)
    text, out = options.read(), options.out
    with progress_bar(doing) as progress:
        result = run_read(text, runner, out=out, plots=options.draws, progress=progress)
    written = "" if out is None else f", written to {out}"
    with plainly(f"the run was complete{written}"):
        _show(result, options)
    if any(_failures(result)):
        raise typer.Exit(1)


def _failures(result: Result) -> Iterator[int]:
    """How much of what was asked of each end failed, where a run goes on without it."""
    for sockets in result.summary.get("ends", {"": result.summary["sockets"]}).values():
        yield from ((sockets or {}).get(name, 0) for name in FAILURES)


def _show(result: Result, options: OutputOptions) -> None:
    """Says what was odd, prints the figures, and says where they were written to."""
    for warning in result.warnings:
        say(f"warning: {warning}")
    with printing():
        _print(result, options)
    if options.out is not None:
        note(f"written to {options.out}")


def _draw(text: ScenarioText, out: Path | None) -> None:
    """The topology as text, and in `out` as pictures."""
    from paceline.outputs import OutputFolder
    from paceline.plots import topology
    from paceline.plots.style import stage_pictures

    folder = None if out is None else OutputFolder(out)
    drawn = topology.table(loads(text.load().core.resolved_toml))
    with printing():
        print(topology.text(drawn))
    if folder is not None:
        with folder:
            stage_pictures(folder, lambda: [("topology", topology.figure(drawn))], reported=False)
        note(f"written to {folder.path / 'plots'}")


def _print(result: Result, options: OutputOptions) -> None:
    if options.json:
        print(result.summary_json.rstrip("\n"))
    elif options.latex:
        from paceline.cli.latex import latex
        from paceline.cli.tables import summary_tables

        print(latex(summary_tables(result)))
    else:
        from paceline.cli.tables import print_summary

        print_summary(result)


@app.command("help")
def help_(
    context: typer.Context,
    word: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="A key of a scenario, a parameter, a kind, a figure, a command or a term."),
    ] = None,
) -> None:
    """Explain a key, a parameter, a figure, a command or a term."""
    from paceline.cli import explaining

    with plainly(), printing():
        explaining.explain(context, " ".join(word or ()))


@app.command("list")
@flat
def list_(
    options: ListOptions,
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help=f"One of {', '.join(listing.kinds())}, or one thing of theirs; left out: how many there are of each.",
            autocompletion=listing.kinds,
        ),
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One of that kind, in full.")] = None,
    full: Annotated[bool, typer.Option("--full", help="All of that kind in full.")] = False,
    json: Json = False,
) -> None:
    """List controllers, queues, traces and all else there is.

    With a name, or --full: with every parameter, its default, range, unit and source. `--json` has everything.
    """
    del options
    with plainly(), printing():
        if json:
            listing.print_json(kind, name)
        elif kind is not None and (full or name is not None or kind not in listing.kinds()):
            listing.print_full(kind, name)
        else:
            listing.print_short(kind)


@app.command()
@flat
def study(
    options: StudyOptions,
    chart: Annotated[bool, typer.Option("--chart", help="End with a picture in the terminal.")] = False,
    write_verdict: Annotated[
        bool, typer.Option("--write-verdict", help="Put the verdict into the study's README.md as well.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many experiments, how long and how large; write nothing.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with status 1 if a rule does not hold, or cannot be judged.")
    ] = False,
) -> None:
    """Run a study and compare it with what was published.

    A study that was interrupted goes on where it ended.
    """
    with plainly(KEPT), terminable():
        from paceline.cli import studies

        if dry_run:
            return studies.dry_run(options)
        if not studies.run(options, chart=chart, write_verdict=write_verdict, strict=strict):
            raise typer.Exit(1)


@app.command(cls=TakesMany)
@flat
def compare(options: CompareOptions) -> None:
    """Compare controllers over scenarios, traces and networks.

    All run on the same seeds, and are ranked by weights.

    Ends with status 1 if runs failed; what can be compared is compared.
    """
    with plainly(KEPT), terminable():
        from paceline.cli import comparing

        if not comparing.run(options):
            raise typer.Exit(1)


@app.command("trace")
@flat
def trace_(options: TraceOptions) -> None:
    """Describe a recording of rates that a link can follow.

    Its length, rates, outages and autocorrelation, and a chart.
    """
    with plainly():
        from paceline.cli import tracing

        tracing.describe(options)


@app.command()
@flat
def check(options: CheckOptions) -> None:
    """Hold figures of runs against bands or an earlier result.

    Ends with status 1 if a band does not hold or a run fails, and with 2 if the file is wrong.
    """
    with plainly(), terminable():
        from paceline.cli import checking

        if not checking.run(options):
            raise typer.Exit(1)


@app.command()
@flat
def fit(options: FitOptions) -> None:
    """Fit a generator to recordings.

    Prints its parameters, and how far it is from the recordings.
    """
    with plainly():
        from paceline.cli import fitting

        fitting.fit(options)


@app.command("probe")
@flat
def probe_(options: ProbeOptions) -> None:
    """Measure a path as a link that a scenario can have.

    Finds capacity, delay noise and loss.
    """
    with plainly(), terminable():
        from paceline.cli import probing

        probing.measure(options)


@app.command()
@flat
def tune(
    options: StudyOptions,
    search: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this of its searches; may be repeated.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="How many sets each search tries, in place of the definition's.")
    ] = None,
) -> None:
    """Search a controller's parameters for several objectives.

    Sets that are found are judged on recordings held out.
    """
    with plainly(KEPT), terminable():
        from paceline.cli import studies

        studies.search(options, tuple(search or ()), trials)


@app.command()
@flat
def sensitivity(
    options: StudyOptions,
    search: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The search whose parameters are ranked [default: the study's first]."),
    ] = None,
) -> None:
    """Rank a controller's parameters by what they do.

    First by Morris' screening, then by Sobol's indices.
    """
    with plainly(KEPT), terminable():
        from paceline.cli import studies

        studies.rank(options, search)


@app.command()
@flat
def vectors(options: VectorsOptions) -> None:
    """Write the connections of a `tmix` source for Tmix.

    The connections are drawn, or those of another file.
    """
    with plainly():
        from paceline.cli import vectors as found

        found.write(options)


@app.command()
@flat
def receive(
    options: EndOptions,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where media arrives.")] = "127.0.0.1:5004",
    duration: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=1e6, metavar="SECONDS", help="How long to listen [default: the scenario's duration]."
        ),
    ] = None,
    silence: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=1e6,
            metavar="SECONDS",
            help="End when packets have stayed away for so long beyond what the scenario plans [default: at its end].",
        ),
    ] = None,
) -> None:
    """Receive media over a real socket.

    RTP is answered with RFC 8888 feedback; DCCP comes in UDP.
    """
    with plainly(), terminable():
        from paceline.network import receiver

        ends = receiver(
            listen,
            duration,
            options.flow,
            options.pcap,
            options.peer.value,
            options.qlog,
            silence_s=silence,
            say=say,
        )
        _run("receiving", options, ends)


@app.command()
@flat
def send(
    options: EndOptions,
    to: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where the receiver or the relay listens.")],
    exchange: Annotated[
        Path | None,
        typer.Option(
            parser=file_path,
            metavar="SOCKET",
            help="Share with flows of other processes: where `paceline exchange` listens.",
        ),
    ] = None,
    group_by: Annotated[
        GroupBy,
        typer.Option(
            help="The rule by which flows find their group: the same name of their coupling, the same receiver's "
            "address, or the same protocol, addresses, ports and ECN field."
        ),
    ] = GroupBy.by_name,
    group: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A group with another name than the flow's coupling, or for a flow in none."),
    ] = None,
    group_kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="The kind of coupling of a flow in none [default: active]."),
    ] = None,
) -> None:
    """Send a scenario's media over a real socket.

    RTP, or DCCP in UDP.
    """
    with plainly(), terminable():
        from paceline.network import sender

        sharing = (exchange, group_by.value, group, group_kind)
        ends = sender(to, options.flow, options.pcap, *sharing, peer=options.peer.value, qlog=options.qlog, say=say)
        _run("sending", options, ends)


@app.command()
@flat
def link(
    options: SocketOptions,
    listen: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where the sender sends to.")] = None,
    forward: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where the receiver listens.")] = None,
    opaque: Annotated[
        bool, typer.Option("--opaque", help="Forward whatever UDP comes, of several programs, both ways.")
    ] = False,
    tun: Annotated[
        bool,
        typer.Option("--tun", help="Run two programs in networks of their own that the links join (needs root)."),
    ] = False,
    left: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="With --tun: the program that sends over the path.")
    ] = None,
    right: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="With --tun: the program at the path's end, started first.")
    ] = None,
) -> None:
    """Relay packets through the scenario's link, in real time.

    Packets of a call, any UDP, or all that two programs send.
    """
    with plainly(), terminable():
        from paceline.network import relay, tunnel

        if tun:
            _refuse({"--listen": listen, "--forward": forward, "--opaque": opaque}, "with --tun")
            runner = tunnel(_needed("--left", left, "--tun"), _needed("--right", right, "--tun"), options.flow)
        else:
            _refuse({"--left": left, "--right": right}, "without --tun")
            listen, forward = _needed("--listen", listen, "a relay"), _needed("--forward", forward, "a relay")
            runner = relay(listen, forward, options.flow, opaque=opaque, say=say)
        _run("relaying", options, runner)


@app.command()
@flat
def live(
    options: SocketOptions,
    simulate: Annotated[
        bool,
        typer.Option("--simulate", help="Simulate the scenario too, and lay both side by side: a table and a picture."),
    ] = False,
    qlog: Qlog = None,
) -> None:
    """Run a call on this machine in real time.

    Sender, links and receiver run here; one result has what all of them know.
    """
    with plainly(), terminable():
        from paceline.network import live

        _run("calling", options, live(options.flow, simulated=simulate, qlog=qlog, say=say))


@app.command()
@flat
def merge(
    options: OutputOptions,
    folders: Annotated[
        list[str],
        typer.Argument(metavar="SENDER [LINK] RECEIVER", help="Folders that the ends wrote with --out, in any order."),
    ],
) -> None:
    """Merge the results of `send`, `link` and `receive`.

    The ends may have run on several machines.
    """
    with plainly():
        from paceline.merging import merged
        from paceline.outputs import OutputFolder

        one_form(options.json, options.latex)
        folder = None if options.out is None else OutputFolder(options.out)
        result = merged([Path(name) for name in folders])
        if options.draws and folder is None:
            raise UsageError("plots: found no output folder to write them to, expected one (--out DIR)")
        if folder is not None:
            with folder:
                result.stage(folder, plots=options.draws)
        _show(result, options)


@app.command()
@flat
def browser(
    options: SocketOptions,
    role: Annotated[
        CallRole, typer.Option(help="The part of our end: send to the browser, or receive what it sends.")
    ] = CallRole.receive,
    congestion: Annotated[
        Congestion, typer.Option(help="The congestion control of a browser that sends and is started here.")
    ] = Congestion.gcc,
    rate: Annotated[str, typer.Option(metavar="RATE", help="The most that its encoder makes.")] = "5Mbps",
    chromium: Annotated[
        Path | None,
        typer.Option(parser=file_path, metavar="PATH", help="The browser to start [default: the first that is found]."),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Start none: say which page to open, and wait for a browser of yours.")
    ] = False,
) -> None:
    """Hold a call with a real browser, in real time.

    Packets cross the scenario's links.
    """
    with plainly(), terminable():
        from paceline.cli import browser as calls

        calls.hold(options, role.value, congestion, rate, chromium, wait)


def _needed(option: str, found: str | None, what: str) -> str:
    if not found:
        raise UsageError(f"{option}: found nothing, but {what} needs it; see paceline link --help")
    return found


def _refuse(given: dict[str, object], where: str) -> None:
    for option, value in given.items():
        if value:
            raise UsageError(f"{option}: means nothing {where}; see paceline link --help")


@app.command("exchange")
def exchange_(
    socket: Annotated[Path, typer.Argument(parser=file_path, metavar="SOCKET", help="The socket file to listen at.")],
    expiry: Annotated[
        float | None,
        typer.Option(
            min=0.1, max=3600, metavar="SECONDS", help="A process that is silent for so long has left [default: 2]."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Let coupled flows of several processes share their rates.

    All processes run on this machine (RFC 8699).
    """
    with plainly(), terminable():
        from paceline.network import exchange

        counted = exchange(socket, expiry, lambda line: say(f"exchange: {line}"))
        with printing():
            if json:
                print(dumps(counted, indent=2))
            else:
                print(", ".join(f"{name} {count}" for name, count in counted.items()))
