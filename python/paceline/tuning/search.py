"""A search: Optuna proposes sets in batches, each is measured on the training conditions, the best are kept as a front.

The batches have one size whatever the number of processes, and Optuna is told of them in the order of their numbers:
the same definition gives the same search on every machine. A search that is resumed asks again and is answered from the
journal.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from paceline.errors import StudyError, UsageError
from paceline.sweeps.factors import Factor
from paceline.tuning.definition import MARGIN, Pick, Point, Search, Tuning
from paceline.tuning.judge import score
from paceline.tuning.runs import Journal, Measured, Runner

Told = Callable[[int, int], None]
"""Told how many trials are finished, and how many of them failed."""


@dataclass(frozen=True)
class Trial:
    """A set that was tried."""

    number: int
    measured: Measured
    objectives: dict[str, float]
    """On the training conditions; empty where it failed."""


@dataclass(frozen=True)
class Found:
    """What a search found."""

    search: Search
    trials: list[Trial]
    front: list[int]
    """The numbers of the trials that no other beats in all objectives of the search."""
    baselines: dict[str, Trial]
    picks: dict[str, Trial | None]
    """None where no set of the front keeps what it must."""

    @property
    def named(self) -> dict[str, Trial]:
        """Baselines and picks."""
        return {**self.baselines, **{name: trial for name, trial in self.picks.items() if trial is not None}}


def explore(tuning: Tuning, search: Search, runner: Runner, journal: Journal, total: int, told: Told) -> Found:
    """Runs the search, or what is left of it."""
    optuna = library("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    directions = ["maximize" if tuning.objectives[name].maximise else "minimize" for name in search.objectives]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study(directions=directions, sampler=_sampler(optuna, search))
    known = tuning.defaults(search)
    for point in (*search.baselines.values(), *search.starts):
        study.enqueue_trial(_within(search.factors, {**known, **point}))
    trials: list[Trial] = []
    while len(trials) < total:
        asked = [study.ask() for _ in range(min(search.population, total - len(trials)))]
        points = {trial.number: {factor.name: _suggest(trial, factor) for factor in search.factors} for trial in asked}
        journal.measure(runner, search, points, tuning.training, lambda: _tell(journal, told))
        for trial in asked:
            measured = journal.kept[trial.number]
            objectives = {} if measured.error else measured.objectives(tuning, tuning.training)
            trials.append(Trial(trial.number, measured, objectives))
            if measured.error:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, [objectives[name] for name in search.objectives])
    if not any(trial.objectives for trial in trials):
        raise StudyError(f"searches.{search.name}: every trial failed; the first: {trials[0].measured.error}")
    front = sorted(trial.number for trial in study.best_trials)
    baselines = {name: trials[number] for number, name in enumerate(search.baselines) if number < len(trials)}
    for name, trial in baselines.items():
        if trial.measured.error:
            raise StudyError(f"searches.{search.name}.baselines.{name!r}: {trial.measured.error}")
    picks = {
        name: _choose(tuning, pick, [trials[number] for number in front], baselines)
        for name, pick in search.picks.items()
    }
    return Found(search, trials, front, baselines, picks)


def _tell(journal: Journal, told: Told) -> None:
    told(len(journal.kept), sum(one.error is not None for one in journal.kept.values()))


def _sampler(optuna: Any, search: Search) -> Any:
    if search.algorithm == "nsga2":
        return optuna.samplers.NSGAIISampler(population_size=search.population, seed=search.seed)
    return optuna.samplers.TPESampler(seed=search.seed, n_startup_trials=search.population)


def _suggest(trial: Any, factor: Factor) -> Any:
    low, high = factor.range or (0.0, 1.0)
    if factor.integer:
        return trial.suggest_int(factor.name, round(low), round(high), log=factor.log)
    return factor.near(trial.suggest_float(factor.name, low, high, log=factor.log))


def _within(factors: Sequence[Factor], point: Point) -> Point:
    return {factor.name: factor.near(float(point[factor.name])) for factor in factors}


def _choose(tuning: Tuning, pick: Pick, front: Sequence[Trial], baselines: dict[str, Trial]) -> Trial | None:
    """The set of the front that the pick asks for; the earliest of equals."""
    if pick.beside is not None:
        front = [trial for trial in front if _keeps(tuning, pick, trial, baselines[pick.beside])]
    if not front:
        return None
    if pick.best == MARGIN:
        return max(front, key=lambda trial: _margin(tuning, trial, baselines))
    sign = 1 if tuning.objectives[pick.best].maximise else -1
    return max(front, key=lambda trial: sign * trial.objectives[pick.best])


def _keeps(tuning: Tuning, pick: Pick, trial: Trial, beside: Trial) -> bool:
    for name, part in pick.keeps.items():
        own, other = trial.objectives[name], beside.objectives[name]
        if own < part * other if tuning.objectives[name].maximise else own * part > other:
            return False
    return True


def _margin(tuning: Tuning, trial: Trial, baselines: dict[str, Trial]) -> float:
    """The least by which the set is ahead of any baseline in any objective that it is judged by."""
    return min(
        float(score(tuning.objectives[name], trial.measured.runs, other.measured.runs, name, tuning.training).mean())
        for name in tuning.judgement.objectives
        for other in baselines.values()
    )


def library(name: str) -> Any:
    """A module of an optional library."""
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"{name.split('.')[0]} is not installed; get it with: pip install 'paceline[tune]'") from None
