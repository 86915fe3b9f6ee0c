"""The options of the commands that send over real sockets."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from paceline.cli.options import Qlog, RunOptions, file_path
from paceline.errors import UsageError
from paceline.scenario import ScenarioText
from paceline.toml import loads


class TransportName(str, Enum):
    """The transports that go over real sockets."""

    rtp = "rtp"
    dccp = "dccp"


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


def _as_table(text: ScenarioText) -> dict[str, object]:
    """The scenario's keys, unchecked; the extension says what is wrong with a text that is no TOML."""
    try:
        return loads(text.text)
    except ValueError:
        text.load()
        raise
