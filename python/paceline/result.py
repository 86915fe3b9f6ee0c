"""The result of a run: its summary, its time series and the scenario it can be repeated from."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from paceline.outputs import OutputFolder
from paceline.series import Column, arrow_table, parquet_bytes
from paceline.toml import loads

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.figure import Figure

    from paceline.scenario import LoadedScenario
    from paceline.video.run import Video


class Output(Protocol):
    """The outcome of a run; time series as Arrow tables, or as the extension hands them out."""

    @property
    def summary_json(self) -> str: ...
    @property
    def resolved_toml(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def flows(self) -> pa.Table | list[Column]: ...
    @property
    def links(self) -> pa.Table | list[Column]: ...


class Result:
    """The outcome of one run, simulated or over a real network."""

    simulated: Result | None = None
    """The same scenario in the simulator, beside a call over a line, where it was asked for."""

    def __init__(self, output: Output, loaded: LoadedScenario | None, videos: Sequence[Video] = ()) -> None:
        self._output = output
        self.videos = tuple(videos)
        """The outcome of each stream of real pictures."""
        self._remarks: list[str] = []
        self.loaded = loaded
        """The scenario that was run, with the traces that it names; None where these are not at hand."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Every figure of `summary.json`; one that does not exist is None."""
        summary: dict[str, Any] = json.loads(self._output.summary_json)
        if self.videos:
            from paceline.video.figures import add_video

            add_video(summary, self.videos, self.settings)
        return summary

    @property
    def summary_json(self) -> str:
        """The summary as the JSON document that `--json` prints."""
        return json.dumps(self.summary, indent=2) if self.videos else self._output.summary_json

    @property
    def scenario(self) -> str:
        """The scenario as resolved: every default filled in, every override applied."""
        return self._output.resolved_toml

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The tables of the resolved scenario."""
        return loads(self.scenario)

    @property
    def warnings(self) -> list[str]:
        """Oddities in the scenario's files, and pictures that could not be drawn, which did not stop the run."""
        return [*self._output.warnings, *(told for video in self.videos for told in video.warnings), *self._remarks]

    @cached_property
    def flows_arrow(self) -> pa.Table:
        """The time series of the flows, one row per flow, stream and sample."""
        return arrow_table(self._output.flows)

    @cached_property
    def links_arrow(self) -> pa.Table:
        """The time series of the links, one row per link and sample."""
        return arrow_table(self._output.links)

    @cached_property
    def video_arrow(self) -> pa.Table | None:
        """The frames of all streams of real pictures, one row per frame, stream and size of the de-jitter buffer."""
        if not self.videos:
            return None
        from paceline.video.figures import video_table

        return video_table(self.videos)

    @cached_property
    def video(self) -> pd.DataFrame | None:
        """The same as a data frame."""
        return None if self.video_arrow is None else _frame(self.video_arrow)

    @cached_property
    def flows(self) -> pd.DataFrame:
        """The time series of the flows as a data frame."""
        return _frame(self.flows_arrow)

    @cached_property
    def links(self) -> pd.DataFrame:
        """The time series of the links as a data frame."""
        return _frame(self.links_arrow)

    def plot(self, name: str = "overview", *, style: str | None = None) -> Figure:
        """One picture of the run; `paceline.plots.PLOTS` lists the names, `paceline.plots.STYLES` the styles."""
        from paceline.plots import draw, drawn_as

        with drawn_as(style):
            return draw(name, self)

    def save(
        self,
        out: str | os.PathLike[str],
        *,
        plots: bool | Sequence[str] = False,
        style: str | None = None,
        formats: str | Sequence[str] = (),
    ) -> list[Path]:
        """Writes summary, time series, scenario and, if asked, all or the named plots into a folder, or nothing.

        Args:
            out: The folder.
            plots: Whether pictures are written too, or which.
            style: A name of `paceline.plots.STYLES`; without it pictures are made for a screen.
            formats: The kinds of their files: `pdf`, `png`, `svg`, or several; without them the style's own.
        """
        with OutputFolder(out) as folder:
            if style is None and not formats:
                return self.stage(folder, plots=plots)
            from paceline.plots import drawn_as

            with drawn_as(style, formats):
                return self.stage(folder, plots=plots)

    def stage(self, folder: OutputFolder, *, plots: bool | Sequence[str] = False) -> list[Path]:
        """Writes the files under temporary names; `folder` renames them when it is left."""
        return [folder.stage(name, content) for name, content in self.files(plots=plots).items()]

    def files(self, *, plots: bool | Sequence[str] = False) -> dict[str, bytes]:
        """The files that `save` writes, by the names of the files."""
        files = {
            "summary.json": (self.summary_json.rstrip("\n") + "\n").encode(),
            "flows.parquet": parquet_bytes(self.flows_arrow),
            "links.parquet": parquet_bytes(self.links_arrow),
            "scenario.toml": self.scenario.encode(),
        }
        if self.video_arrow is not None:
            files["video.parquet"] = parquet_bytes(self.video_arrow)
        if plots:
            from paceline.plots import PLOTS
            from paceline.plots import files as plot_files

            drawn = dict(plot_files(self, list(PLOTS) if plots is True else list(plots)))
            if not drawn:
                self._remarks.append(f"no picture was drawn: {self._nothing_to_draw()}")
            files |= drawn
        return files

    def _nothing_to_draw(self) -> str:
        if self.flows_arrow.num_rows == 0:
            end, interval = self.summary.get("duration_s"), self.settings.get("sample")
            return f"in {end:g} s the flows gave no sample (sample = {interval!r})"
        return "none of those asked for fits the run"

    def _repr_html_(self) -> str:
        from paceline.notebook import of_run

        return of_run(self)

    def __repr__(self) -> str:
        return f"<paceline.Result {self.summary.get('name')!r}, {self.summary.get('duration_s')} s>"


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas()
    return frame
