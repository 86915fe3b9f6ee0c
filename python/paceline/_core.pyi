"""The compiled half of Paceline: the simulator and the network driver."""

from collections.abc import Callable
from typing import final

__all__ = ["RunOutput", "ScenarioError", "__version__", "link", "receive", "registry_json", "resolve", "run", "send"]

__version__: str

class ScenarioError(ValueError): ...

@final
class RunOutput:
    @property
    def summary_json(self) -> str: ...
    @property
    def resolved_toml(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def flows(self) -> dict[str, bytes | list[str]]: ...
    @property
    def links(self) -> dict[str, bytes | list[str]]: ...

def run(
    text: str,
    *,
    file: str | None = None,
    data: list[str] = ...,
    overrides: list[tuple[str, str]] = ...,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> RunOutput: ...
def resolve(
    text: str,
    *,
    file: str | None = None,
    data: list[str] = ...,
    overrides: list[tuple[str, str]] = ...,
    seed: int | None = None,
) -> str: ...
def registry_json() -> str: ...
def send(
    text: str,
    *,
    file: str | None = None,
    data: list[str] = ...,
    overrides: list[tuple[str, str]] = ...,
    seed: int | None = None,
    flow: str | None,
    to: str,
    progress: Callable[[float], None] | None = None,
) -> RunOutput: ...
def receive(
    text: str,
    *,
    file: str | None = None,
    data: list[str] = ...,
    overrides: list[tuple[str, str]] = ...,
    seed: int | None = None,
    flow: str | None,
    listen: str,
    duration_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> RunOutput: ...
def link(
    text: str,
    *,
    file: str | None = None,
    data: list[str] = ...,
    overrides: list[tuple[str, str]] = ...,
    seed: int | None = None,
    flow: str | None,
    listen: str,
    forward: str,
    progress: Callable[[float], None] | None = None,
) -> RunOutput: ...
