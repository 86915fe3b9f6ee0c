"""The commands over real sockets: both ends, the relay between them, a call on one machine or with a browser."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.browser.chromium import Congestion
from paceline.cli.flat import flat
from paceline.cli.options import Json, OutputOptions, Qlog, file_path, one_form
from paceline.cli.running import run_by, show
from paceline.cli.signals import terminable
from paceline.cli.socket_options import CallRole, EndOptions, GroupBy, SocketOptions
from paceline.cli.speak import plainly, printing, say
from paceline.errors import UsageError

if TYPE_CHECKING:
    pass


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
        run_by("receiving", options, ends)


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
        run_by("sending", options, ends)


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
        run_by("relaying", options, runner)


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

        run_by("calling", options, live(options.flow, simulated=simulate, qlog=qlog, say=say))


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
        show(result, options)


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


def exchange(
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
        from paceline import network

        counted = network.exchange(socket, expiry, lambda line: say(f"exchange: {line}"))
        with printing():
            if json:
                print(dumps(counted, indent=2))
            else:
                print(", ".join(f"{name} {count}" for name, count in counted.items()))
