"""`paceline sensitivity`: ranks parameters over their whole ranges, by Morris' screening, then by Sobol's indices."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.errors import StudyError, UsageError
from paceline.outputs import OutputFolder
from paceline.plots.style import stage_pictures
from paceline.sweeps.factors import Factor
from paceline.tuning.definition import MARGIN, Point, Search, Tuning, load
from paceline.tuning.runs import Journal, Measured, Runner, Told
from paceline.tuning.search import library

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

LEVELS = 4
"""Of the grid on which Morris' trajectories walk."""


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
        """Over the objectives: by this the parameters are ranked."""
        return sum(effect.value for effect in self.effects.values()) / len(self.effects)


@dataclass(frozen=True)
class Indices:
    """Which part of each objective's variance is due to a parameter."""

    factor: str
    first: dict[str, Estimate]
    """Alone."""
    total: dict[str, Estimate]
    """Alone and in company."""


@dataclass(frozen=True)
class SensitivityResult:
    """What matters."""

    tuning: Tuning
    search: Search
    out: Path
    ranking: list[Effect]
    """All parameters, that of the largest effect first."""
    sobol: list[Indices]
    """Of the first of them."""
    failed: int
    """Sets that could not be run; each objective counts as the worst that was seen."""

    @property
    def report(self) -> Path:
        """The report, a page that needs nothing else."""
        return self.out / "report.html"


def sensitivity(
    name: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    search: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    data: str | os.PathLike[str] | None = None,
    told: Told | None = None,
) -> SensitivityResult:
    """Ranks the parameters of a search by what they do to its objectives on the training conditions.

    Args:
        name: A study that can be tuned, or its folder.
        out: Where the results go.
        search: Which of its searches; the first unless given.
        workers: Runs at a time; one per core unless given.
        resume: Takes over what an earlier ranking in `out` measured.
        data: Where traces are looked for.
        told: Told after every set how far it is.

    Raises:
        StudyError: The definition is wrong, or what `resume` found is of another study or damaged.
        DataNotFound: A recording is not there.
        OutputError: `out` cannot be written; what is finished is kept.
    """
    tuning = load(name, data)
    chosen = tuning.search(next(iter(tuning.searches)) if search is None else search)
    with OutputFolder(out) as folder, Runner(tuning, workers) as runner:
        ranking = _Ranking(tuning, chosen, runner, folder.path, resume, told)
        effects = ranking.morris()
        kept = [effect.factor for effect in effects[: tuning.sensitivity.keep]]
        indices = ranking.sobol(kept)
        result = SensitivityResult(tuning, chosen, folder.path, effects, indices, ranking.failed)
        _stage(folder, result)
    return result


class _Ranking:
    """The samples of both methods, measured."""

    def __init__(
        self, tuning: Tuning, search: Search, runner: Runner, folder: Path, resume: bool, told: Told | None
    ) -> None:
        self._tuning, self._search, self._runner = tuning, search, runner
        self._folder, self._resume, self._told = folder / ".tune", resume, told
        self._known = tuning.defaults(search)
        self.failed = 0

    def morris(self) -> list[Effect]:
        """All parameters, ranked."""
        sample, analyze = library("SALib.sample.morris"), library("SALib.analyze.morris")
        spec, factors = self._tuning.sensitivity, self._search.factors
        problem = _problem(factors)
        parts = sample.sample(problem, spec.trajectories, num_levels=LEVELS, seed=spec.seed)
        effects: list[dict[str, Estimate]] = [{} for _ in factors]
        for name, values in self._measured("morris", factors, parts).items():
            spread = float(values.std()) or 1.0
            found = analyze.analyze(problem, parts, values / spread, num_levels=LEVELS, seed=spec.seed)
            for place in range(len(factors)):
                effects[place][name] = Estimate(float(found["mu_star"][place]), float(found["mu_star_conf"][place]))
        ranked = [Effect(factor.name, effects[place]) for place, factor in enumerate(factors)]
        return sorted(ranked, key=lambda effect: -effect.mean)

    def sobol(self, names: list[str]) -> list[Indices]:
        """Indices of these parameters, the others at their defaults."""
        sample, analyze = library("SALib.sample.sobol"), library("SALib.analyze.sobol")
        spec = self._tuning.sensitivity
        factors = [factor for name in names for factor in self._search.factors if factor.name == name]
        problem = _problem(factors)
        parts = sample.sample(problem, spec.samples, calc_second_order=False, seed=spec.seed)
        first: list[dict[str, Estimate]] = [{} for _ in factors]
        total: list[dict[str, Estimate]] = [{} for _ in factors]
        for name, values in self._measured("sobol", factors, parts).items():
            found = analyze.analyze(problem, values, calc_second_order=False, seed=spec.seed)
            for place in range(len(factors)):
                first[place][name] = Estimate(float(found["S1"][place]), float(found["S1_conf"][place]))
                total[place][name] = Estimate(float(found["ST"][place]), float(found["ST_conf"][place]))
        return [Indices(factor.name, first[place], total[place]) for place, factor in enumerate(factors)]

    def _measured(self, method: str, factors: tuple[Factor, ...] | list[Factor], parts: Any) -> dict[str, Any]:
        """Of each objective of the search the score of every sample."""
        points: dict[int, Point] = {
            number: {
                **self._known,
                **{factor.name: factor.at(float(part)) for factor, part in zip(factors, row, strict=True)},
            }
            for number, row in enumerate(parts)
        }
        told = None if self._told is None else partial(self._told, method, len(points))
        path = self._folder / f"{method}-{self._search.name}.jsonl"
        with closing(
            Journal(path, {**self._tuning.identity(self._search), "method": method}, resume=self._resume)
        ) as journal:
            journal.measure(self._runner, self._search, points, self._tuning.training, told)
            return self._scores([journal.kept[number] for number in points])

    def _scores(self, measured: list[Measured]) -> dict[str, np.ndarray[Any, Any]]:
        import numpy as np

        tuning = self._tuning
        errors = [one.error for one in measured if one.error]
        self.failed += len(errors)
        if len(errors) == len(measured):
            raise StudyError(f"every set failed; the first: {errors[0]}")
        whole = [None if one.error else one.objectives(tuning, tuning.training) for one in measured]
        scores = {}
        by = [name for name in self._search.objectives if name != MARGIN] or tuning.judgement.objectives
        for name in by:
            objective = tuning.objectives[name]
            values = [float(objective.scores(one[name])) for one in whole if one is not None]
            worst = min(values) if objective.maximise else max(values)
            scores[name] = np.array([worst if one is None else float(objective.scores(one[name])) for one in whole])
        return scores


def _problem(factors: tuple[Factor, ...] | list[Factor]) -> dict[str, Any]:
    if len(factors) < 2:
        raise UsageError(f"found {len(factors)} parameter(s), expected at least two to rank")
    return {
        "num_vars": len(factors),
        "names": [factor.name for factor in factors],
        "bounds": [[0.0, 1.0]] * len(factors),
    }


def _stage(folder: OutputFolder, result: SensitivityResult) -> None:
    from paceline.tuning import pictures
    from paceline.tuning.report import render_sensitivity

    folder.stage("sensitivity.csv", sensitivity_frame(result).to_csv(index=False))
    svgs = stage_pictures(folder, pictures.draw_sensitivity(result).items())
    folder.stage("report.html", render_sensitivity(result, svgs))


def sensitivity_frame(result: SensitivityResult) -> pd.DataFrame:
    """One row per parameter, objective and measure: `mu_star`, `first`, `total`."""
    import pandas as pd

    rows = [(one.factor, name, "mu_star", effect) for one in result.ranking for name, effect in one.effects.items()]
    for line in result.sobol:
        rows += [(line.factor, name, "first", estimate) for name, estimate in line.first.items()]
        rows += [(line.factor, name, "total", estimate) for name, estimate in line.total.items()]
    return pd.DataFrame(
        [
            {"parameter": factor, "objective": name, "measure": measure, "value": one.value, "half_interval": one.half}
            for factor, name, measure, one in rows
        ]
    )
