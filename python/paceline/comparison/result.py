"""The results of a comparison, as data frames."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.comparison.ranking import Ranking
from paceline.errors import StudyError
from paceline.series import read_parquet
from paceline.studies.progress import State

if TYPE_CHECKING:
    import pandas as pd


TEXTS = ("experiment", "factor.condition", "factor.controller", "error", "flow", "stream", "link")
"""Columns of texts; those that are asked for besides are numbers."""


def read_table(path: Path, needed: Collection[str]) -> pd.DataFrame:
    """A table that an earlier run wrote, here or elsewhere, with these columns at least.

    Raises:
        StudyError: It is damaged, or another table.
    """
    import pyarrow as pa

    try:
        table = read_parquet(path)
        for name in needed:
            if name not in table.column_names:
                raise StudyError(f"{path}: found no column {name}, expected the results of a comparison")
            place, kind = table.column_names.index(name), pa.string() if name in TEXTS else pa.float64()
            whole = pa.types.is_integer(table.schema.field(name).type) and kind != pa.string()
            if not whole:
                table = table.set_column(place, name, table.column(name).cast(kind))
        return table.to_pandas()  # type: ignore[no-any-return]
    except (OSError, pa.ArrowException):
        raise StudyError(
            f"{path}: found a damaged file, expected one that paceline compare wrote; run that comparison again with "
            "--fresh"
        ) from None


@dataclass(frozen=True)
class Failure:
    """Runs of a controller under a condition that failed."""

    controller: str
    condition: str
    count: int
    error: str
    """Why the first of them did."""


@dataclass(frozen=True)
class ComparisonResult:
    """The results of a comparison of controllers."""

    out: Path
    state: State
    """How many runs there are, how many failed, and how many were there before: finished earlier, or joined."""
    controllers: list[str]
    """By their labels; the first is the baseline."""
    conditions: list[str]
    """Scenarios, traces and networks, by their names."""
    runs: pd.DataFrame
    """A row for each run: `condition`, `controller`, `seed`, `error`, and the figures."""
    medians: pd.DataFrame
    """A row for each condition and controller: `runs`, `failed`, and the median of each figure."""
    differences: pd.DataFrame
    """A row for each condition, controller and figure: how much more it has than the baseline, with its interval."""
    overall: tuple[pd.DataFrame, pd.DataFrame]
    """The tables `medians` and `differences` over all conditions; empty where there is one."""
    quantiles: pd.DataFrame
    """How delays are distributed: the delay (`ms`) that a `part` of the samples stays below; medians over the seeds."""
    ranking: Ranking
    """The controllers by their utility, and where the order changes."""
    failures: list[Failure]
    series: Mapping[tuple[str, str], Path] = field(default_factory=dict)
    """By condition and controller, the folder with the time series of the first seed."""

    measured: Mapping[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    """By condition, the flows that are compared, and the links of their paths."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of each controller by its label."""
    warmups: Mapping[str, float] = field(default_factory=dict)
    """By condition, the seconds that only the figures of start-up count."""
    earlier: Mapping[str, str] = field(default_factory=dict)
    """By controller, the label of its runs in an earlier version, which it is compared with."""
    remade: tuple[str, ...] = ()
    """Files that an earlier run had finished and that were not as it wrote them: they were made again."""

    @property
    def baseline(self) -> str:
        """The controller that the others are compared with."""
        return self.controllers[0]

    @property
    def report(self) -> Path:
        """The report, a page that needs nothing else."""
        return self.out / "report.html"

    @property
    def results_file(self) -> Path:
        """One row per run with all figures, the seed, the error, and the command that repeats it alone."""
        return self.out / "results.parquet"

    def _repr_html_(self) -> str:
        from paceline.notebook import of_many

        about = f"{self.state.total:,} runs, {self.state.failed:,} failed; compared with {self.baseline}"
        rows = self.medians.itertuples(index=False)
        return of_many("Medians of each controller", [about], list(self.medians.columns), rows, self.report)

    def flows(self, condition: str, controller: str) -> pd.DataFrame:
        """The time series of the flows of the first seed."""
        needed = ("throughput_mbps", "one_way_delay_ms", "queue_delay_ms", "frame_delay_ms")
        return read_table(self.series[condition, controller] / "flows.parquet", ("time_s", "flow", *needed))

    def links(self, condition: str, controller: str) -> pd.DataFrame:
        """The time series of the links of the first seed."""
        path = self.series[condition, controller] / "links.parquet"
        return read_table(path, ("time_s", "link", "capacity_mbps"))
