"""A search: Optuna proposes sets in batches, each is measured on the training conditions, the best are kept as a front.

The batches have one size whatever the number of processes, and Optuna is told of them in the order of their numbers:
the same definition gives the same search on every machine. A search that is resumed asks again and is answered from the
journal.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from paceline.errors import ExperimentError, UsageError
from paceline.studies.bench import Bench
from paceline.studies.duels import differences
from paceline.studies.factors import Factor, Point
from paceline.studies.progress import Progress
from paceline.studies.search_definition import MARGIN, Pick, Search, Tuning
from paceline.studies.trials import Measured, Measurements


@dataclass(frozen=True)
class Trial:
    """A set that was tried."""

    number: int
    measured: Measured
    objectives: dict[str, float]
    """On the training conditions, the margin among them; empty where it failed."""


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    search: Search
    factors: tuple[Factor, ...]
    """The factors that it varied."""
    objectives: tuple[str, ...]
    """The objectives that it optimised, or the margin."""
    trials: list[Trial]
    front: list[int]
    """The numbers of the trials that no other beats in all objectives of the search."""
    baselines: dict[str, Trial]
    picks: dict[str, Trial | None]
    """The chosen sets; None where no set is good enough."""

    @property
    def title(self) -> str:
        """Name of the search."""
        return self.search.title or self.search.name

    @property
    def named(self) -> dict[str, Trial]:
        """Baselines and picks."""
        return {**self.baselines, **{name: trial for name, trial in self.picks.items() if trial is not None}}


def explore(bench: Bench, search: Search, measurements: Measurements, total: int, progress: Progress | None) -> Found:
    """Runs the search, or what is left of it."""
    tuning, factors = bench.tuning, bench.tuning.factors[search.name]
    objectives = bench.objectives(search)
    optuna = library("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    directions = ["maximize" if tuning.objective(name).maximise else "minimize" for name in objectives]
    known = bench.defaults(search)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        # CMA-ES: where it starts goes in Optuna 6, which is not out; pyproject.toml asks for less.
        warnings.simplefilter("ignore", FutureWarning)
        study = optuna.create_study(directions=directions, sampler=_sampler(optuna, search, factors, known))
    for point in (*search.baselines.values(), *search.starts):
        study.enqueue_trial(_within(factors, {**known, **point}))
    trials: list[Trial] = []
    baselines: list[Measured] = []
    while len(trials) < total:
        asked = [study.ask() for _ in range(min(search.population, total - len(trials)))]
        points = {trial.number: {factor.name: _suggest(trial, factor) for factor in factors} for trial in asked}
        measurements.measure(points, total, progress)
        baselines = baselines or _baselines(search, measurements.kept)
        for trial in asked:
            measured = measurements.kept[trial.number]
            if measured.error:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                trials.append(Trial(trial.number, measured, {}))
                continue
            values = measured.objectives(tuning, tuning.training)
            values[MARGIN] = _margin(tuning, measured, baselines)
            trials.append(Trial(trial.number, measured, values))
            study.tell(trial, [values[name] for name in objectives])
    front = sorted(trial.number for trial in study.best_trials)
    named = {name: trials[number] for number, name in enumerate(search.baselines)}
    picks = {name: _choose(tuning, pick, trials, named) for name, pick in tuning.picks[search.name].items()}
    return Found(search, factors, objectives, trials, front, named, picks)


def _baselines(search: Search, kept: dict[int, Measured]) -> list[Measured]:
    """The first trials; without them a search has nothing to compare its sets with."""
    for number, name in enumerate(search.baselines):
        if kept[number].error:
            raise ExperimentError(f"searches.{search.name}.baselines.{name!r}: {kept[number].error}")
    return [kept[number] for number in range(len(search.baselines))]


def _sampler(optuna: Any, search: Search, factors: Sequence[Factor], known: Point) -> Any:
    if search.algorithm == "nsga2":
        return optuna.samplers.NSGAIISampler(population_size=search.population, seed=search.seed)
    if search.algorithm == "cma-es":
        library("cmaes")
        first = _within(factors, {**known, **(search.starts[0] if search.starts else {})})
        return optuna.samplers.CmaEsSampler(x0=first, sigma0=search.step, seed=search.seed, popsize=search.population)
    return optuna.samplers.TPESampler(seed=search.seed, n_startup_trials=search.population)


def _suggest(trial: Any, factor: Factor) -> Any:
    low, high = factor.range or (0.0, 1.0)
    if factor.integer:
        return trial.suggest_int(factor.name, round(low), round(high), log=factor.log)
    return factor.near(trial.suggest_float(factor.name, low, high, log=factor.log))


def _within(factors: Sequence[Factor], point: Point) -> Point:
    return {factor.name: factor.near(float(point[factor.name])) for factor in factors}


def _choose(tuning: Tuning, pick: Pick, trials: Sequence[Trial], baselines: dict[str, Trial]) -> Trial | None:
    """The set that the pick chooses; of equal ones the earliest."""
    able = [trial for trial in trials if trial.objectives]
    if pick.beside is not None:
        able = [trial for trial in able if _keeps(tuning, pick, trial, baselines[pick.beside])]
    sign = 1 if tuning.objective(pick.best).maximise else -1
    return max(able, key=lambda trial: sign * trial.objectives[pick.best], default=None)


def _keeps(tuning: Tuning, pick: Pick, trial: Trial, beside: Trial) -> bool:
    for name, part in pick.keeps.items():
        own, other = trial.objectives[name], beside.objectives[name]
        if own < part * other if tuning.objectives[name].maximise else own * part > other:
            return False
    return True


def _margin(tuning: Tuning, measured: Measured, baselines: Sequence[Measured]) -> float:
    """The least capped mean by which the set is ahead of a baseline in something that is judged."""
    return min(
        difference.capped
        for other in baselines
        for difference in differences(tuning, measured.runs, other.runs, tuning.training)
    )


def library(name: str) -> Any:
    """A module of an optional library."""
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"{name.split('.')[0]} is not installed; get it with: pip install 'paceline[tune]'") from None
