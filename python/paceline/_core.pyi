"""The compiled half of Paceline: the simulator and the network driver."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

from typing_extensions import Buffer

__all__ = [
    "Controller",
    "Coupling",
    "FlowFacts",
    "MediaArrival",
    "MediaDatagram",
    "MediaEvent",
    "MediaReceiver",
    "MediaSender",
    "PacketResult",
    "ReceiverHalf",
    "RunOutput",
    "Scenario",
    "ScenarioError",
    "SentPacket",
    "bitrate_names",
    "browser",
    "build",
    "exchange",
    "figures_json",
    "heading_units",
    "link",
    "live",
    "pair_link",
    "pair_path",
    "probe_link",
    "probe_path",
    "quantity",
    "receive",
    "reflect",
    "register_class",
    "register_program",
    "registered_guests",
    "registry_families",
    "registry_json",
    "run",
    "send",
    "tunnel",
    "version",
    "withdraw_guest",
]
version: str
build: str

class ScenarioError(ValueError): ...

@final
class FlowFacts:
    largest_packet: int
    l4s: bool
    priorities: list[float]
    initial_window: int

@final
class SentPacket:
    stream: int
    sequence: int
    size: int
    app_limited: bool
    probe: int | None

@final
class PacketResult:
    stream: int
    sequence: int
    size: int
    sent_s: float
    arrived_s: float | None
    arrived: bool
    marked: bool
    ambiguous: bool

def register_class(
    kind: str,
    class_: type,
    help: str,
    version: str,
    steers: str,
    hears: list[str],
    parameters: list[tuple[str, str, str]],
) -> None: ...
def register_program(kind: str, command: list[str], version: str) -> None: ...
def registered_guests() -> list[tuple[str, str]]: ...
def withdraw_guest(kind: str) -> None: ...

@final
class Controller:
    def __new__(
        cls, kind: str = ..., *, profile: str | None = None, **params: str | float | bool | list[float]
    ) -> Controller: ...
    def on_offered(
        self,
        now_s: float,
        size: int,
        *,
        stream: int = 0,
        frame_end: bool = True,
        queued: int | None = None,
        oldest_s: float = 0.0,
    ) -> None: ...
    def on_send_queue(
        self, now_s: float, queued: int, *, stream: int = 0, oldest_s: float = 0.0, newest_frame: int = 0
    ) -> None: ...
    def on_sent(
        self,
        now_s: float,
        sequence: int,
        size: int,
        *,
        stream: int = 0,
        app_limited: bool = False,
        probe: int | None = None,
    ) -> None: ...
    def on_feedback(
        self,
        now_s: float,
        packets: Sequence[tuple[int, float | None]],
        *,
        stream: int = 0,
        marked: Sequence[int] = ...,
        clock_step_s: float = ...,
    ) -> None: ...
    def on_timeout(self, now_s: float) -> None: ...
    def annotation(self, now_s: float, *, stream: int = 0) -> float | int | None: ...
    def on_message(
        self, now_s: float, loss_event_rate: float, receive_mbps: float, newest_sent_s: float, delay_s: float
    ) -> None: ...
    def set_limits(self, now_s: float, min_mbps: float, max_mbps: float, *, stream: int = 0) -> None: ...
    def take_discard(self) -> tuple[int, float | None, bool] | None: ...
    def take_probe(self) -> tuple[int, float, int] | None: ...
    def state(self) -> dict[str, float | None]: ...
    @property
    def kind(self) -> str: ...
    @property
    def next_timeout_s(self) -> float | None: ...
    @property
    def allowed_bytes(self) -> int | None: ...
    @property
    def allowed_packets(self) -> int | None: ...
    @property
    def pacing_mbps(self) -> float | None: ...
    @property
    def pacing_gap_s(self) -> float | None: ...
    @property
    def pacing_burst_s(self) -> float: ...
    @property
    def target_mbps(self) -> float | None: ...
    @property
    def window_bytes(self) -> int | None: ...
    @property
    def in_flight_bytes(self) -> int | None: ...
    @property
    def srtt_s(self) -> float | None: ...
    @property
    def queue_delay_s(self) -> float | None: ...

@final
class Coupling:
    def __new__(
        cls, kind: str = ..., *, profile: str | None = None, **params: str | float | bool | list[float]
    ) -> Coupling: ...
    def join(self, now_s: float, controller: Controller, *, priority: float = 1.0) -> None: ...
    def leave(self, now_s: float, controller: Controller) -> None: ...
    def set_priority(self, now_s: float, controller: Controller, priority: float) -> None: ...
    def set_desired(self, now_s: float, controller: Controller, desired_mbps: float | None) -> None: ...
    def share(self, controller: Controller) -> dict[str, float | None]: ...
    @property
    def kind(self) -> str: ...

@final
class MediaSender:
    def __new__(cls, kind: str = ..., *, profile: str | None = None, **settings: str | float | bool) -> MediaSender: ...
    def add_stream(self, now_s: float, **settings: str | float | bool) -> int: ...
    def remove_stream(self, now_s: float, stream: int) -> None: ...
    def set_priority(self, now_s: float, stream: int, priority: float) -> None: ...
    def set_limits(self, now_s: float, stream: int, min_mbps: float, max_mbps: float) -> None: ...
    def start(self, now_s: float) -> None: ...
    def stop(self, now_s: float) -> None: ...
    def push(
        self,
        now_s: float,
        stream: int,
        data: Buffer,
        *,
        frame: int,
        timestamp: int = 0,
        payload_type: int = 96,
        marker: bool = False,
        frame_end: bool | None = None,
        whole: bool = False,
    ) -> None: ...
    def poll(self, now_s: float) -> MediaDatagram | None: ...
    def receive(self, now_s: float, data: Buffer, *, ecn: int = 0) -> None: ...
    def poll_event(self) -> MediaEvent | None: ...
    def target_mbps(self, stream: int) -> float | None: ...
    def statistics(self) -> dict[str, float | None]: ...
    @property
    def next_timeout_s(self) -> float | None: ...

@final
class MediaDatagram:
    @property
    def data(self) -> bytes: ...
    @property
    def stream(self) -> int | None: ...
    @property
    def sequence(self) -> int | None: ...
    @property
    def ecn(self) -> int: ...

@final
class MediaEvent:
    @property
    def kind(self) -> str: ...
    @property
    def stream(self) -> int | None: ...
    @property
    def frame(self) -> int | None: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def ssrc(self) -> int | None: ...
    @property
    def new_ssrc(self) -> int | None: ...

@final
class MediaReceiver:
    def __new__(cls, **settings: str | float | bool) -> MediaReceiver: ...
    def add_stream(self, **settings: str | float | bool) -> None: ...
    def remove_stream(self, ssrc: int) -> None: ...
    def receive(self, now_s: float, data: Buffer, *, ecn: int = 0) -> MediaArrival | None: ...
    def poll(self, now_s: float) -> bytes | None: ...
    def ask_for_picture(self, now_s: float, ssrc: int, *, full: bool = False) -> bool: ...
    def leave(self) -> None: ...
    def poll_event(self) -> MediaEvent | None: ...
    def reception(self, ssrc: int) -> tuple[float, int] | None: ...
    def statistics(self) -> dict[str, int]: ...
    @property
    def next_timeout_s(self) -> float | None: ...
    @property
    def ssrc(self) -> int: ...

@final
class MediaArrival:
    @property
    def ssrc(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def payload_type(self) -> int: ...
    @property
    def marker(self) -> bool: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def first(self) -> bool: ...
    @property
    def repaired(self) -> bool: ...

@final
class ReceiverHalf:
    def __new__(
        cls, kind: str, *, profile: str | None = None, **params: str | float | bool | list[float]
    ) -> ReceiverHalf: ...
    def on_arrival(
        self,
        now_s: float,
        sequence: int,
        size: int,
        sent_s: float,
        *,
        annotation: float | int | None = None,
        stream: int = 0,
        ecn: int = 0,
    ) -> bool: ...
    def report(self, now_s: float) -> tuple[float, float, float, float] | None: ...
    @property
    def next_timeout_s(self) -> float | None: ...

@final
class Scenario:
    def __new__(
        cls,
        text: str,
        *,
        file: str | None = None,
        data: list[str] = ...,
        overrides: list[tuple[str, str]] = ...,
        seed: int | None = None,
    ) -> Scenario: ...
    @property
    def resolved_toml(self) -> str: ...
    @property
    def parameters(self) -> dict[str, tuple[bool | int | float | str, str | None]]: ...
    @property
    def link_trace(self) -> tuple[bytes, bytes] | None: ...
    def frame_trace(self, flow: int = 0) -> tuple[bytes, bytes] | None: ...
    @property
    def vector_flows(self) -> list[str]: ...
    def connection_vectors(self, flow: str) -> tuple[str, int, int, int] | None: ...
    @property
    def codecs(self) -> list[dict[str, Any]]: ...
    @property
    def warnings(self) -> list[str]: ...

@final
class RunOutput:
    @property
    def summary_json(self) -> str: ...
    @property
    def resolved_toml(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def flows(self) -> list[tuple[str, str, str, bytes | list[str] | None, bytes]]: ...
    @property
    def links(self) -> list[tuple[str, str, str, bytes | list[str] | None, bytes]]: ...

def bitrate_names(kind: str) -> list[str | None]: ...
def heading_units(heading: str) -> tuple[float | None, float | None]: ...
def quantity(text: str) -> tuple[float, str] | None: ...
def run(
    scenario: Scenario,
    *,
    encoders: Sequence[Callable[[int, int, int, bool], tuple[int, bool]]] = ...,
    progress: Callable[[float], None] | None = None,
    threads: int | None = None,
    capture: Path | None = None,
    capture_at: str = "sender",
) -> tuple[RunOutput, list[dict[str, bytes]]]: ...
def registry_families() -> list[str]: ...
def registry_json() -> str: ...
def figures_json() -> str: ...
def send(
    scenario: Scenario,
    *,
    to: str,
    flow: str | None = None,
    capture: Path | None = None,
    peer: str = "standard",
    exchange: Path | None = None,
    group_by: str = "name",
    group: str | None = None,
    group_kind: str | None = None,
    progress: Callable[[float], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> RunOutput: ...
def receive(
    scenario: Scenario,
    *,
    listen: str,
    duration_s: float | None = None,
    silence_s: float | None = None,
    flow: str | None = None,
    capture: Path | None = None,
    peer: str = "standard",
    progress: Callable[[float], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> RunOutput: ...
def link(
    scenario: Scenario,
    *,
    listen: str,
    forward: str,
    flow: str | None = None,
    opaque: bool = False,
    progress: Callable[[float], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> RunOutput: ...
def live(
    scenario: Scenario,
    *,
    flow: str | None = None,
    sender_capture: Path | None = None,
    receiver_capture: Path | None = None,
    progress: Callable[[float], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> tuple[RunOutput, RunOutput, RunOutput]: ...
def tunnel(
    scenario: Scenario,
    *,
    left: str,
    right: str,
    flow: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> RunOutput: ...
def browser(
    scenario: Scenario,
    *,
    role: str,
    answer: Callable[[int, str, str, int], tuple[str, int, int, tuple[int, int, int] | None]],
    flow: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[RunOutput, RunOutput, float | None]: ...
def probe_link(
    scenario: Scenario,
    link: str,
    *,
    packet_size: int,
    transfer: int,
    hold_s: float,
    part: float,
    progress: Callable[[float], None] | None = None,
) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes], float | None, float | None]: ...
def probe_path(
    to: str,
    *,
    packet_size: int,
    transfer: int,
    hold_s: float,
    part: float,
    progress: Callable[[float], None] | None = None,
) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes], float | None, float | None]: ...
def pair_link(
    scenario: Scenario,
    link: str,
    *,
    capacity_bps: float,
    packet_size: int,
    pairs: int,
    cross_bps: float,
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[bytes, bytes]: ...
def pair_path(
    to: str,
    *,
    capacity_bps: float,
    packet_size: int,
    pairs: int,
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[bytes, bytes]: ...
def reflect(listen: str, *, patience_s: float | None = None) -> int: ...
def exchange(
    socket: Path,
    *,
    expiry_s: float | None = None,
    say: Callable[[str], None] | None = None,
) -> list[tuple[str, int]]: ...
