"""`paceline sensitivity`: ranks parameters over their whole ranges, by Morris' screening, then by Sobol's indices."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

from paceline.errors import ExperimentError, UsageError
from paceline.outputs import OutputFolder
from paceline.plots.style import stage_pictures
from paceline.studies.bench import Bench
from paceline.studies.definition import Study, load
from paceline.studies.factors import Factor, Point
from paceline.studies.outcomes import Effect, Estimate, Indices, SensitivityResult
from paceline.studies.progress import Progress
from paceline.studies.runner import Runner
from paceline.studies.search import library
from paceline.studies.search_definition import MARGIN, Search
from paceline.studies.store import Store
from paceline.studies.trials import Measured, Measurements, TaskRunner, died, run
from paceline.studies.tune import bench_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


LEVELS = 4
"""Number of levels of the grid that Morris' trajectories move on."""


def sensitivity(
    name: str | os.PathLike[str] | Study,
    *,
    out: str | os.PathLike[str],
    search: str | None = None,
    workers: int | None = None,
    dask: str | None = None,
    fresh: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> SensitivityResult:
    """Ranks the parameters of a search by what they do to its objectives on the training conditions.

    Args:
        name: A study with searches, or its folder.
        out: Where the results go; what an earlier ranking measured there is taken over.
        search: Which of its searches; the first unless given.
        workers: Runs at a time; one per core unless given.
        dask: The address (`host:port`) of the scheduler of a Dask cluster that runs them instead.
        fresh: Whether what an earlier run left in `out` is deleted.
        data: Where traces are looked for.
        progress: Called after every set with the state of the method.

    Raises:
        StudyError: The definition is wrong, or `out` holds results of another one.
        DataNotFound: A recording is not there.
        OutputError: `out` cannot be written, or another process does; what is finished is kept.
    """
    bench = bench_of(load(name), data)
    chosen = bench.tuning.search(next(iter(bench.tuning.searches)) if search is None else search)
    folder = OutputFolder(out)
    with Store(folder.path, fresh=fresh) as store, folder:
        with Runner(run, bench, died, workers=workers, dask=dask) as runner:
            ranking = _Ranking(bench, chosen, runner, store, progress)
            effects = ranking.morris()
            kept = [effect.factor for effect in effects[: bench.tuning.sensitivity.keep]]
            indices = ranking.sobol(kept)
        result = SensitivityResult(bench.study, chosen, folder.path, effects, indices, ranking.failed)
        _stage(folder, result)
    return result


class _Ranking:
    """The samples of both methods, measured."""

    def __init__(
        self, bench: Bench, search: Search, runner: TaskRunner, store: Store, progress: Progress | None
    ) -> None:
        self._bench, self._search, self._runner, self._store, self._progress = bench, search, runner, store, progress
        self._factors = bench.tuning.factors[search.name]
        self._known = bench.defaults(search)
        self.failed = 0

    def morris(self) -> list[Effect]:
        """All parameters, ranked."""
        sample, analyze = library("SALib.sample.morris"), library("SALib.analyze.morris")
        spec, factors = self._bench.tuning.sensitivity, self._factors
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
        spec = self._bench.tuning.sensitivity
        factors = [factor for name in names for factor in self._factors if factor.name == name]
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
        training = self._bench.tuning.training
        identity = self._bench.identity(self._search, training)
        with closing(self._store.table(f"{method} {self._search.name}", identity)) as table:
            measurements = Measurements(method, self._bench, self._search, training, self._runner, table)
            measurements.measure(points, len(points), self._progress)
        return self._scores([measurements.kept[number] for number in points])

    def _scores(self, measured: list[Measured]) -> dict[str, np.ndarray[Any, Any]]:
        import numpy as np

        tuning = self._bench.tuning
        errors = [one.error for one in measured if one.error]
        self.failed += len(errors)
        if len(errors) == len(measured):
            raise ExperimentError(f"every set failed; the first: {errors[0]}")
        whole = [None if one.error else one.objectives(tuning, tuning.training) for one in measured]
        scores = {}
        by = [name for name in self._bench.objectives(self._search) if name != MARGIN] or tuning.judgement.objectives
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
    from paceline.plots.search import draw_sensitivity
    from paceline.studies.report import render_sensitivity

    folder.stage("sensitivity.csv", sensitivity_frame(result).to_csv(index=False))
    svgs = stage_pictures(folder, lambda: draw_sensitivity(result).items())
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
