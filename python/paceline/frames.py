"""Frame-size files, read for pictures and for what a paper says of its trace. The simulator reads them on its own."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.errors import DataNotFound
from paceline.toml import loads

if TYPE_CHECKING:
    from paceline.result import Result


@dataclass(frozen=True)
class SourceFrames:
    """The frames that one stream's encoder was given."""

    flow: str
    fps: float
    sizes: list[float]


def read_frames(path: Path) -> list[float]:
    """Frame sizes in bytes: the last field of each line that is neither empty nor a remark."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    lines = (line.strip() for line in text.splitlines())
    return [float(line.split()[-1]) for line in lines if line and line[0] not in "%#"]


def find(name: str, folders: Sequence[str]) -> Path:
    """A trace or frame file, or its packed form with .gz, in the first of the folders that holds it."""
    candidates = [Path(folder) / spelled for folder in folders for spelled in (name, f"{name}.gz")]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = ", ".join(str(candidate) for candidate in candidates)
    raise DataNotFound(f"{name}: no such file; looked for {looked}")


def source_frames(result: Result) -> Iterator[SourceFrames]:
    """The frame files that the run's flows encoded, in the order of the scenario; none for generated frames."""
    flows: dict[str, dict[str, Any]] = loads(result.scenario).get("flows", {})
    for name, flow in flows.items():
        streams = [flow, *flow.get("streams", {}).values()]
        for source in (stream.get("source") for stream in streams):
            if isinstance(source, dict) and isinstance(source.get("file"), str):
                sizes = read_frames(find(source["file"], result.folders))
                yield SourceFrames(name, float(source.get("fps", 50)), sizes)
