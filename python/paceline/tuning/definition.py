"""What a tuning study's folder says: factors with ranges, conditions, objectives, searches. Checked before any run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.errors import DataNotFound, ScenarioError, StudyError
from paceline.frames import find as find_file
from paceline.quantity import base_units
from paceline.scenario import ScenarioText, as_pairs, data_folders, decoded
from paceline.studies.checks import expect_keys, expect_known
from paceline.studies.definition import find
from paceline.studies.metrics import Metric
from paceline.sweeps.factors import Factor, Value
from paceline.toml import TOMLDecodeError, loads

Point = dict[str, Value]
"""A value for each factor that is not left at its default."""

KEYS = (
    "name", "title", "paper", "scenario", "factors", "metrics", "conditions", "training", "held_out", "confirmation",
    "objectives", "judgement", "searches", "sensitivity",
)  # fmt: skip
SEARCH_KEYS = (
    "title", "like", "set", "leave", "objectives", "algorithm", "trials", "population", "seed", "baselines", "starts",
    "step", "picks",
)  # fmt: skip
MARGIN = "margin"
"""In place of an objective: the least mean by which a set is ahead of a baseline in what is judged, where a large lead
under one condition does not make up for being behind under others."""
ALGORITHMS = ("nsga2", "tpe", "cma-es")
UNMEASURED = ("title", "paper", "searches", "held_out", "confirmation", "judgement")
"""Keys that change no measurement of a search; each search has a digest of its own."""
UNMEASURED_OF_SEARCH = ("title", "like", "picks", "trials")
MEANS = ("geometric", "arithmetic")


@dataclass(frozen=True)
class Objective:
    """What is wanted of a metric, taken together over conditions."""

    metric: str
    maximise: bool
    geometric: bool
    """Mean of the logarithms: a factor counts the same on a slow link as on a fast one."""
    floor: float
    """Below this, differences are of no interest: it is added before a logarithm is taken."""

    def scores(self, values: Any) -> Any:
        """What is averaged and compared: logarithms where the mean is geometric."""
        import numpy as np

        return np.log(np.asarray(values, dtype=float) + self.floor) if self.geometric else np.asarray(values, float)

    def of(self, values: Any) -> float:
        """The metric taken together."""
        import numpy as np

        mean = float(np.mean(self.scores(values)))
        return float(np.exp(mean) - self.floor) if self.geometric else mean


@dataclass(frozen=True)
class Pick:
    """Which set of the front becomes a profile."""

    name: str
    best: str
    """The objective in which it is best, or `margin`."""
    beside: str | None
    """The baseline that it must keep up with."""
    keeps: dict[str, float]
    """In which objectives, and to which part."""


@dataclass(frozen=True)
class Judgement:
    """When a set beats another."""

    objectives: tuple[str, ...]
    """In all of these."""
    confidence: float
    """Of the interval of the paired difference that must exclude zero."""


@dataclass(frozen=True)
class Search:
    """One search: what it varies under which circumstances, and beside whom its finds are judged."""

    name: str
    title: str
    overrides: tuple[tuple[str, str], ...]
    factors: tuple[Factor, ...]
    objectives: tuple[str, ...]
    """Those it goes by, or the margin."""
    algorithm: str
    trials: int
    population: int
    seed: int
    baselines: dict[str, Point]
    starts: tuple[Point, ...]
    """Sets that it tries right after the baselines."""
    step: float
    """How far CMA-ES first looks, as a part of each range."""
    picks: dict[str, Pick]


@dataclass(frozen=True)
class Sensitivity:
    """How the parameters are ranked."""

    trajectories: int
    """Of Morris' screening."""
    keep: int
    """The highest-ranked that get Sobol indices."""
    samples: int
    """Base sample of Sobol's indices, a power of two."""
    seed: int


@dataclass(frozen=True)
class Tuning:
    """A tuning study as its folder defines it, with where its data is."""

    name: str
    title: str
    folder: Path
    scenario_file: Path
    scenario_text: str
    data: tuple[str, ...]
    """Where traces are looked for after the study's own folder."""
    factors: dict[str, Factor]
    metrics: dict[str, Metric]
    conditions: dict[str, tuple[tuple[str, str], ...]]
    training: tuple[str, ...]
    held_out: tuple[str, ...]
    confirmation: tuple[str, ...]
    """Held out as well, and shown beside: for conditions that nobody looks at until the sets are final."""
    objectives: dict[str, Objective]
    judgement: Judgement
    searches: dict[str, Search]
    sensitivity: Sensitivity
    digests: dict[str, str]
    """Of each search: changes when one of its measurements could come out otherwise, by the definition or by a byte of
    a trace; not when other sets are picked or they are judged otherwise."""

    def identity(self, search: Search) -> dict[str, str]:
        """What a journal of measurements for that search belongs to."""
        return {"study": self.name, "definition": self.digests[search.name], "search": search.name}

    def defaults(self, search: Search) -> Point:
        """What the scenario itself says, of every factor that the search varies."""
        resolved = loads(self.scenario(search, self.training[0], {}).load().core.resolved_toml)
        return {factor.name: _found(resolved, factor) for factor in search.factors}

    def search(self, name: str) -> Search:
        """The search of that name."""
        if name not in self.searches:
            raise StudyError(f"found no search {name!r} in {self.name}, expected one of {', '.join(self.searches)}")
        return self.searches[name]

    def objective(self, name: str) -> Objective:
        """The objective of that name, or the margin."""
        return Objective(MARGIN, True, False, 0.0) if name == MARGIN else self.objectives[name]

    def scenario(self, search: Search, condition: str, point: Mapping[str, Value]) -> ScenarioText:
        """The scenario of a set of parameters under a condition."""
        pairs: list[tuple[str, str]] = []
        for name, factor in self.factors.items():
            value = point.get(name, factor.default)
            if value is not None:
                pairs += factor.override(value)
        overrides = [*self.conditions[condition], *search.overrides, *pairs]
        return ScenarioText(self.scenario_text, str(self.scenario_file), list(self.data), overrides, None)


def load(name: str | os.PathLike[str], data: str | os.PathLike[str] | None = None) -> Tuning:
    """The tuning study of that name, or in that folder.

    Raises:
        StudyError: The definition is wrong.
        DataNotFound: A trace that it names is not there: a search over other data would be another search.
    """
    folder = find(name)
    path = folder / "study.toml"
    try:
        text = loads(decoded(path.read_bytes(), str(path)))
    except TOMLDecodeError as error:
        raise StudyError(f"{path}: {error}") from None
    if "searches" not in text:
        raise StudyError(f"{path}: found no searches, expected a study that can be tuned, such as scream-tune")
    folders = tuple(data_folders(data))
    try:
        tuning = _tuning(folder, text, folders)
        _check(tuning)
    except DataNotFound as error:
        hint = "" if folders else "; --data or PACELINE_DATA says where recordings are"
        raise DataNotFound(f"{path}: {error}{hint}") from None
    except KeyError as error:
        raise StudyError(f"{path}: found no key {error}, expected one") from None
    except (StudyError, ScenarioError) as error:
        raise StudyError(f"{path}: {error}") from None
    return tuning


def _tuning(folder: Path, text: Mapping[str, Any], folders: tuple[str, ...]) -> Tuning:
    expect_keys("", text, KEYS)
    factors = {name: Factor.read(name, spec) for name, spec in text["factors"].items()}
    metrics = {name: Metric(name, spec) for name, spec in text["metrics"].items()}
    conditions = {name: tuple(as_pairs(spec)) for name, spec in text["conditions"].items()}
    objectives = {name: _objective(name, spec, metrics) for name, spec in text["objectives"].items()}
    for role in ("training", "held_out", "confirmation"):
        if not text.get(role) and role != "confirmation":
            raise StudyError(f"{role}: found none, expected conditions")
        for name in text.get(role, ()):
            expect_known(role, name, conditions)
            if role != "training" and name in text["training"]:
                raise StudyError(f"{role}: found {name!r}, which is also trained on")
    scenario_file = folder / text["scenario"]
    scenario = scenario_file.read_bytes()
    likened = {name: _likened(name, spec, text["searches"]) for name, spec in text["searches"].items()}
    searches = {name: _search(name, spec, factors, objectives) for name, spec in likened.items()}
    if not searches or not objectives:
        raise StudyError("found no searches or no objectives, expected at least one of each")
    rank = text.get("sensitivity", {})
    expect_keys("sensitivity", rank, ("trajectories", "keep", "samples", "seed"))
    return Tuning(
        name=text["name"],
        title=text["title"],
        folder=folder,
        scenario_file=scenario_file,
        scenario_text=decoded(scenario, str(scenario_file)),
        data=folders,
        factors=factors,
        metrics=metrics,
        conditions=conditions,
        training=tuple(text["training"]),
        held_out=tuple(text["held_out"]),
        confirmation=tuple(text.get("confirmation", ())),
        objectives=objectives,
        judgement=_judgement(text["judgement"], objectives),
        searches=searches,
        sensitivity=Sensitivity(
            _count("sensitivity.trajectories", rank.get("trajectories", 20), 2),
            _count("sensitivity.keep", rank.get("keep", 8), 1),
            _count("sensitivity.samples", rank.get("samples", 64), 2),
            _count("sensitivity.seed", rank.get("seed", 1), 0),
        ),
        digests=_digests(text, likened, scenario, [str(folder), *folders]),
    )


def _digests(
    text: Mapping[str, Any], searches: Mapping[str, Mapping[str, Any]], scenario: bytes, folders: list[str]
) -> dict[str, str]:
    measured = {key: value for key, value in text.items() if key not in UNMEASURED}
    measured["conditions"] = {name: text["conditions"][name] for name in text["training"]}
    data = hashlib.sha256()
    for name in sorted({*_files(measured["conditions"]), *_files(loads(scenario.decode()))}):
        data.update(find_file(name, folders).read_bytes())
    digests = {}
    for name, search in searches.items():
        measured["search"] = {key: value for key, value in search.items() if key not in UNMEASURED_OF_SEARCH}
        if MARGIN in search.get("objectives", ()):
            measured["search"]["margin"] = text["judgement"]["objectives"]
        digest = data.copy()
        digest.update(json.dumps(measured, sort_keys=True).encode() + b"\0" + scenario)
        digests[name] = digest.hexdigest()
    return digests


def _files(table: Mapping[str, Any]) -> Iterator[str]:
    """The recordings that a part of a scenario names."""
    for key, value in table.items():
        if key in ("trace", "file") and isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _files(value)


def _found(resolved: Mapping[str, Any], factor: Factor) -> Value:
    value: Any = resolved
    for key in factor.paths[0].split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    number = base_units(value)
    if number is None:
        raise StudyError(f"factors.{factor.name}: found no number at {factor.paths[0]} of the scenario, expected one")
    return factor.near(number / (base_units(f"1{factor.unit}") or 1.0))


def _objective(name: str, spec: Mapping[str, Any], metrics: Mapping[str, Metric]) -> Objective:
    expect_keys(f"objectives.{name}", spec, ("want", "mean", "floor"))
    expect_known("objectives", name, metrics)
    want, mean = spec["want"], spec.get("mean", "geometric")
    if want not in ("more", "less"):
        raise StudyError(f"objectives.{name}.want: found {want!r}, expected more or less")
    expect_known(f"objectives.{name}.mean", mean, MEANS)
    return Objective(name, want == "more", mean == "geometric", float(spec.get("floor", 0.0)))


def _judgement(spec: Mapping[str, Any], objectives: Mapping[str, Objective]) -> Judgement:
    expect_keys("judgement", spec, ("objectives", "confidence"))
    if not spec["objectives"]:
        raise StudyError("judgement.objectives: found none, expected at least one")
    for name in spec["objectives"]:
        expect_known("judgement.objectives", name, objectives)
    confidence = float(spec.get("confidence", 0.95))
    if not 0.5 <= confidence < 1:
        raise StudyError(f"judgement.confidence: found {confidence}, expected at least 0.5 and less than 1")
    return Judgement(tuple(spec["objectives"]), confidence)


def _likened(name: str, spec: Mapping[str, Any], searches: Mapping[str, Any]) -> dict[str, Any]:
    """The definition, completed by that of the search that it is like; but for its picks, which are that one's own."""
    if "like" not in spec:
        return dict(spec)
    expect_known(f"searches.{name}.like", spec["like"], searches)
    other = {key: value for key, value in searches[spec["like"]].items() if key != "picks"}
    return {**other, **spec}


def _search(
    name: str, spec: Mapping[str, Any], factors: Mapping[str, Factor], objectives: Mapping[str, Objective]
) -> Search:
    where = f"searches.{name}"
    expect_keys(where, spec, SEARCH_KEYS)
    left = spec.get("leave", ())
    for factor in left:
        expect_known(f"{where}.leave", factor, factors)
    names = [name for name, factor in factors.items() if factor.range is not None and name not in left]
    if not names:
        raise StudyError(f"{where}: found no factor with a range, expected at least one")
    algorithm = spec.get("algorithm", "nsga2")
    expect_known(f"{where}.algorithm", algorithm, ALGORITHMS)
    baselines = {title: dict(point) for title, point in spec.get("baselines", {}).items()}
    for title, point in baselines.items():
        for factor in point:
            expect_known(f"{where}.baselines.{title!r}", factor, factors)
    starts = tuple(dict(point) for point in spec.get("starts", ()))
    for number, point in enumerate(starts, 1):
        for factor in point:
            expect_known(f"{where}.starts {number}", factor, factors)
    by = tuple(spec.get("objectives", objectives))
    for objective in by:
        expect_known(f"{where}.objectives", objective, (*objectives, MARGIN))
    if algorithm == "cma-es" and len(by) > 1:
        raise StudyError(f"{where}.objectives: found {len(by)}, expected one: CMA-ES goes by a single one")
    population = _count(f"{where}.population", spec.get("population", 50), 2)
    if population < len(baselines):
        raise StudyError(f"{where}.population: found {population}, expected room for {len(baselines)} baselines")
    if not baselines:
        raise StudyError(f"{where}.baselines: found none, expected sets to judge the finds beside")
    return Search(
        name=name,
        title=spec.get("title", name),
        overrides=tuple(as_pairs(spec.get("set", {}))),
        factors=tuple(factors[factor] for factor in names),
        objectives=by,
        algorithm=algorithm,
        trials=_count(f"{where}.trials", spec.get("trials", 1000), 1),
        population=population,
        seed=_count(f"{where}.seed", spec.get("seed", 1), 0),
        baselines=baselines,
        starts=starts,
        step=_part(f"{where}.step", spec.get("step", 1 / 6)),
        picks={
            title: _pick(f"{where}.picks.{title}", title, pick, objectives, baselines)
            for title, pick in spec.get("picks", {}).items()
        },
    )


def _pick(
    where: str, name: str, spec: Mapping[str, Any], objectives: Mapping[str, Objective], baselines: Mapping[str, Point]
) -> Pick:
    expect_keys(where, spec, ("best", "beside", "keeps"))
    best, beside, keeps = spec["best"], spec.get("beside"), dict(spec.get("keeps", {}))
    if best != MARGIN:
        expect_known(f"{where}.best", best, objectives)
    if (beside is None) != (not keeps):
        raise StudyError(f"{where}: found one of beside and keeps, expected both or neither")
    if beside is not None:
        expect_known(f"{where}.beside", beside, baselines)
    for objective in keeps:
        expect_known(f"{where}.keeps", objective, objectives)
    return Pick(name, best, beside, keeps)


def _part(where: str, found: object) -> float:
    if not isinstance(found, float) or not 0 < found <= 1:
        raise StudyError(f"{where}: found {found!r}, expected more than 0.0 and at most 1.0")
    return found


def _count(where: str, found: object, least: int) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or found < least:
        raise StudyError(f"{where}: found {found!r}, expected a whole number of at least {least}")
    return found


def _check(tuning: Tuning) -> None:
    """Reads every scenario that can be told apart before the search: conditions, baselines, both ends of each range."""
    for search, what, condition, point in _probes(tuning):
        try:
            tuning.scenario(search, condition, point).load()
        except DataNotFound:
            raise
        except ScenarioError as error:
            raise StudyError(f"searches.{search.name}: {what}: {error}") from None


def _probes(tuning: Tuning) -> Iterator[tuple[Search, str, str, Point]]:
    for search in tuning.searches.values():
        for condition in (*tuning.training, *tuning.held_out, *tuning.confirmation):
            yield search, f"condition {condition!r}", condition, {}
        for factor in search.factors:
            for part in (0.0, 1.0):
                value = factor.at(part)
                yield search, f"{factor.name} = {value}{factor.unit}", tuning.training[0], {factor.name: value}
        for title, point in search.baselines.items():
            yield search, f"baseline {title!r}", tuning.training[0], point
        for number, point in enumerate(search.starts, 1):
            yield search, f"start {number}", tuning.training[0], point
