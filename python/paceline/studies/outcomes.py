"""The results of studies, of their searches and of rankings, with the files that hold them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.studies import markdown, nearest, results
from paceline.studies.definition import Study
from paceline.studies.duels import Duel
from paceline.studies.experiment import Parameter
from paceline.studies.judge import ON_GENERATED, Comparison
from paceline.studies.markdown import Cells
from paceline.studies.nearest import Near
from paceline.studies.progress import State
from paceline.studies.search import Found
from paceline.studies.search_definition import Search, Tuning
from paceline.studies.trials import Measured

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Judged:
    """The result of a search, and its worth where it was not trained."""

    found: Found
    sets: dict[str, Measured]
    """Baselines and picks on the held-out conditions and those of the confirmation."""
    duels: list[Duel]
    """Each pick beside each baseline on the held-out conditions."""
    confirmation: list[Duel]
    """The same on the conditions of the confirmation."""

    def beats_all(self, pick: str) -> bool:
        """Whether the pick beats every baseline."""
        own = [one for one in self.duels if one.one == pick]
        return bool(own) and all(one.beats for one in own)


@dataclass(frozen=True)
class TuningResult:
    """The results of a study's searches."""

    study: Study
    tuning: Tuning
    out: Path
    judged: dict[str, Judged]
    """By search, what it found."""

    @property
    def report(self) -> Path:
        """The report, a page that needs nothing else."""
        return self.out / "report.html"

    @property
    def trials_file(self) -> Path:
        """One row per trial: every factor, every objective, whether it is on the front, the error."""
        return self.out / "trials.parquet"


@dataclass(frozen=True)
class Estimate:
    """A figure with half the width of its 95 % interval."""

    value: float
    half: float


@dataclass(frozen=True)
class Effect:
    """A parameter's elementary effects on each objective, in parts of the objective's standard deviation."""

    factor: str
    effects: dict[str, Estimate]

    @property
    def mean(self) -> float:
        """The mean effect over the objectives, by which the parameters are ranked."""
        return sum(effect.value for effect in self.effects.values()) / len(self.effects)


@dataclass(frozen=True)
class Indices:
    """Which part of each objective's variance is due to a parameter."""

    factor: str
    first: dict[str, Estimate]
    """By objective, the part that the parameter explains by itself."""
    total: dict[str, Estimate]
    """By objective, the part that it explains together with its interactions."""


@dataclass(frozen=True)
class SensitivityResult:
    """The ranking of a search's parameters."""

    study: Study
    search: Search
    out: Path
    ranking: list[Effect]
    """All parameters, that of the largest effect first."""
    sobol: list[Indices]
    """Sobol's indices of the first of them."""
    failed: int
    """Sets that could not be run; each objective counts as the worst that was seen."""

    @property
    def report(self) -> Path:
        """The report, a page that needs nothing else."""
        return self.out / "report.html"


@dataclass(frozen=True)
class StudyResult:
    """The results of a study."""

    study: Study
    out: Path
    state: State
    missing: str | None = None
    """Which data was not there, so that generated traces were used; figures that depend on it are not judged."""
    comparison: list[Comparison] = field(default_factory=list)
    """The published figures beside ours."""
    tables: dict[str, Cells] = field(default_factory=dict)
    """The tables that the definition asks for, or each metric by each factor; `str` of one is Markdown."""
    nearest: list[Near] = field(default_factory=list)
    """The points that come nearest to published figures, in a study that looks for them."""
    error: str | None = None
    """The first experiment that failed, and why."""
    remade: tuple[str, ...] = ()
    """Files that an earlier run had finished and that were not as it wrote them: they were made again."""
    searches: TuningResult | None = None
    """The results of its searches, if it has any."""

    @property
    def results_file(self) -> Path:
        """One row per experiment: every factor, every metric, the parameters that differ, the seed, the error."""
        return self.out / results.FILE

    @cached_property
    def results(self) -> pd.DataFrame:
        """The rows as a data frame."""
        import pandas as pd

        return pd.read_parquet(self.results_file)

    @cached_property
    def constants(self) -> dict[str, Parameter]:
        """The parameters that are the same in all rows, each with its unit."""
        return results.constants(self.results_file)

    @property
    def report(self) -> Path:
        """The report, a page that needs nothing else."""
        return self.out / "report.html"

    @property
    def verdicts(self) -> dict[str, int]:
        """How many published figures got which verdict."""
        return dict(Counter(row.verdict for row in self.comparison))

    def _repr_html_(self) -> str:
        from paceline.notebook import of_many

        about = [f"{self.state.finished:,} experiments, {self.state.failed:,} failed"]
        about += ["; ".join(f"{verdict}: {count}" for verdict, count in self.verdicts.items())]
        about += [] if self.missing is None else [f"On generated traces: {self.missing}"]
        heading = ("figure or claim", "published", "ours", "unit", "verdict")
        rows = [
            (line.published.statement, line.published.published, line.ours, line.published.unit, line.verdict)
            for line in self.comparison
            if line.ours is not None
        ]
        return of_many(self.study.title, about, heading, rows, self.report)

    @property
    def judged_without_data(self) -> int:
        """How many figures were judged on generated traces: the verdict says so."""
        return sum(row.verdict.endswith(ON_GENERATED) for row in self.comparison)

    @property
    def verdict_markdown(self) -> str:
        """The verdict as a README has it: published figures beside ours, and the nearest set-ups."""
        parts = [markdown.verdict_markdown(self.comparison)] if self.comparison else []
        if self.study.nearest:
            parts.append(nearest.markdown(self.nearest))
        return "\n".join(parts)
