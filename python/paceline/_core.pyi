"""The compiled half of Paceline: the simulator and the network driver."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

__all__ = [
    "Controller",
    "RunOutput",
    "Scenario",
    "ScenarioError",
    "__version__",
    "exchange",
    "figures_json",
    "link",
    "probe_link",
    "probe_path",
    "quantity",
    "receive",
    "reflect",
    "registry_json",
    "run",
    "send",
]
__version__: str

class ScenarioError(ValueError): ...

@final
class Controller:
    def __new__(
        cls, kind: str, *, profile: str | None = None, **params: str | float | bool | list[float]
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

def quantity(text: str) -> tuple[float, str] | None: ...
def run(
    scenario: Scenario,
    *,
    encoders: Sequence[Callable[[int, int, int, bool], tuple[int, bool]]] = ...,
    progress: Callable[[float], None] | None = None,
) -> tuple[RunOutput, list[dict[str, bytes]]]: ...
def registry_json() -> str: ...
def figures_json() -> str: ...
def send(
    scenario: Scenario,
    *,
    to: str,
    flow: str | None = None,
    capture: Path | None = None,
    exchange: Path | None = None,
    group_by: str = "name",
    group: str | None = None,
    group_kind: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> RunOutput: ...
def receive(
    scenario: Scenario,
    *,
    listen: str,
    duration_s: float | None = None,
    flow: str | None = None,
    capture: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> RunOutput: ...
def link(
    scenario: Scenario,
    *,
    listen: str,
    forward: str,
    flow: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> RunOutput: ...
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
def reflect(listen: str, *, patience_s: float | None = None) -> int: ...
def exchange(
    socket: Path,
    *,
    expiry_s: float | None = None,
    say: Callable[[str], None] | None = None,
) -> list[tuple[str, int]]: ...
