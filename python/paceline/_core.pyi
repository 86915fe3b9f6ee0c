"""The compiled half of Paceline: the simulator and the network driver."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

__all__ = [
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
