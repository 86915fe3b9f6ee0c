"""The frames that an encoder was given, and where the files of a scenario are found."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.disk import is_file, is_folder
from paceline.errors import DataNotFound

if TYPE_CHECKING:
    from paceline.plots.plot import Run


@dataclass(frozen=True)
class SourceFrames:
    """The frames that one flow's first encoder was given: their payloads in bytes."""

    fps: float
    sizes: Sequence[float]


def find(name: str, folders: Sequence[str]) -> Path:
    """A trace or frame file, or its packed form with .gz, in the first of the folders that holds it."""
    candidates = [Path(folder) / spelled for folder in folders for spelled in (name, f"{name}.gz")]
    for candidate in candidates:
        if is_file(candidate):
            return candidate
    looked = ", ".join(str(candidate) for candidate in candidates)
    if "://" in name:
        raise DataNotFound(f"{name}: found an address, expected a file of this machine: fetch it first")
    if is_folder(Path(name)):
        raise DataNotFound(f"{name}: no file: found a folder")
    raise DataNotFound(f"{name}: no such file; looked for {looked}")


def source_frames(result: Run) -> SourceFrames | None:
    """The frame file of the first flow that encoded one; None where all frames are generated, or no file is at hand."""
    if result.loaded is None:
        return None
    flows: dict[str, dict[str, Any]] = result.settings.get("flows", {})
    for index, flow in enumerate(flows.values()):
        streams = [flow, *flow.get("streams", {}).values()]
        source: dict[str, Any] = next((stream["source"] for stream in streams if "source" in stream), {})
        frames = result.loaded.core.frame_trace(index)
        if frames is not None and isinstance(source.get("file"), str):
            return SourceFrames(float(source["fps"]), array("d", frames[0]))
    return None
