"""Published figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paceline.studies.definition import Published, Study
from paceline.studies.experiment import Row
from paceline.studies.judge import NO_DATA, NOT_JUDGED


@dataclass(frozen=True)
class Comparison:
    """One line of comparison.csv."""

    published: Published
    ours: float | None
    beside: dict[str, float | None]
    """The same figure of the experiments that are shown beside, by heading."""
    verdict: str

    @property
    def difference(self) -> float | None:
        """Ours less the published number, in its unit."""
        if self.ours is None or self.published.published is None:
            return None
        return self.ours - self.published.published

    @property
    def difference_percent(self) -> float | None:
        """The difference as a part of the published number."""
        if self.difference is None or not self.published.published:
            return None
        return 100.0 * self.difference / abs(self.published.published)


def compare(study: Study, rows: Mapping[str, Row], *, judged: bool) -> list[Comparison]:
    """Every published figure with ours and the verdict by its rule."""
    return [_line(study, rows, published, judged) for published in study.published]


def _line(study: Study, rows: Mapping[str, Row], published: Published, judged: bool) -> Comparison:
    def figure(experiment: str) -> float | None:
        return _mean([rows[run.name].get(f"metric.{published.metric}") for run in study.runs_of(experiment)])

    ours = figure(published.experiment)
    verdict = study.rules[published.rule].verdict(published.published, ours)
    if not judged and verdict != NOT_JUDGED:
        verdict = NO_DATA
    beside = study.runs_of(published.experiment)[0].beside
    return Comparison(published, ours, {title: figure(name) for title, name in beside.items()}, verdict)


def _mean(values: list[float | None]) -> float | None:
    """The mean over the repetitions of an experiment; of a single run its very figure, none if any has none."""
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return None
    return present[0] if len(present) == 1 else sum(present) / len(present)
