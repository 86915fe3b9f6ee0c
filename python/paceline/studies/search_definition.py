"""A study's searches: conditions, objectives, judgement. Checked before any run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from paceline.studies.designs import Seed
from paceline.studies.factors import Factor, Point
from paceline.studies.spec import DefinitionError, Named, Settings, Spec, expect_known, read_all

MARGIN = "margin"
"""Stands for an objective: a set's smallest mean lead over any baseline in any judged objective. A large lead under one
condition does not make up for being behind under others."""
_MEASURED = ("name", "scenario", "factors", "metrics", "training", "objectives", "sensitivity")
"""Keys that the measurements of a search depend on; its own definition and its conditions come to them."""
_UNMEASURED_OF_SEARCH = ("title", "like", "picks", "trials")

Count = Annotated[int, Meta(ge=1)]
Several = Annotated[int, Meta(ge=2)]


class Objective(Named, frozen=True, kw_only=True):
    """Whether more or less of a metric is wanted, and how it is averaged over conditions."""

    want: Literal["more", "less"]
    mean: Literal["geometric", "arithmetic"] = "geometric"
    """Geometric: a factor counts the same on a slow link as on a fast one."""
    floor: float = 0.0
    """Below this, differences are of no interest: it is added before a logarithm is taken."""

    @property
    def maximise(self) -> bool:
        """Whether more is better."""
        return self.want == "more"

    @property
    def geometric(self) -> bool:
        """Whether logarithms are averaged and compared."""
        return self.mean == "geometric"

    def scores(self, values: Any) -> Any:
        """The values that are averaged and compared: logarithms where the mean is geometric."""
        import numpy as np

        return np.log(np.asarray(values, dtype=float) + self.floor) if self.geometric else np.asarray(values, float)

    def of(self, values: Any) -> float:
        """The mean of the metric over conditions."""
        import numpy as np

        mean = float(np.mean(self.scores(values)))
        return float(np.exp(mean) - self.floor) if self.geometric else mean


class Pick(Named, frozen=True, kw_only=True):
    """A rule that chooses one of the sets that were tried."""

    best: str
    """The objective in which it is best, or `margin`."""
    beside: str | None = None
    """The baseline that it must keep up with."""
    keeps: dict[str, float] = {}
    """By objective, the part of the baseline's value that is good enough."""

    def __post_init__(self) -> None:
        if (self.beside is None) != (not self.keeps):
            raise ValueError("found one of beside and keeps, expected both or neither")


class Judgement(Spec, frozen=True, kw_only=True):
    """When a set beats another."""

    objectives: Annotated[tuple[str, ...], Meta(min_length=1)]
    """The set must be ahead in all of these."""
    confidence: Annotated[float, Meta(ge=0.5, lt=1)] = 0.95
    """Confidence of the interval of the paired difference, which must exclude zero."""


class Sensitivity(Spec, frozen=True, kw_only=True):
    """How the parameters are ranked."""

    trajectories: Several = 20
    """Number of trajectories of Morris' screening."""
    keep: Count = 8
    """How many of the highest-ranked parameters get Sobol indices."""
    samples: Several = 64
    """Size of the base sample for Sobol's indices, a power of two."""
    seed: Seed = 1


class Search(Named, frozen=True, kw_only=True):
    """One search: the factors that it varies, what it optimises, and the baselines that its finds are judged by."""

    title: str = ""
    like: str | None = None
    """Another search whose definition holds where this one says nothing."""
    set: Settings = {}
    leave: tuple[str, ...] = ()
    """Factors that it does not vary."""
    objectives: tuple[str, ...] = ()
    """The objectives that it optimises, or `margin`; all unless given."""
    algorithm: Literal["nsga2", "tpe", "cma-es"] = "nsga2"
    trials: Count = 1000
    population: Several = 50
    seed: Seed = 1
    baselines: dict[str, Point] = {}
    starts: tuple[Point, ...] = ()
    """Sets that it tries right after the baselines."""
    step: Annotated[float, Meta(gt=0, le=1)] = 1 / 6
    """How far CMA-ES first looks, as a part of each range."""
    picks: dict[str, Settings] = {}


class TuningSpec(Spec, frozen=True, kw_only=True):
    """The keys of study.toml that are about searches."""

    conditions: dict[str, Settings] = {}
    training: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()
    confirmation: tuple[str, ...] = ()
    """Held out as well, and judged apart: for conditions that nobody looks at until the sets are final."""
    objectives: Settings = {}
    judgement: Judgement | None = None
    searches: dict[str, Settings] = {}
    sensitivity: Sensitivity = Sensitivity()


@dataclass(frozen=True)
class Tuning:
    """The searches of a study, and what they are judged by."""

    conditions: dict[str, Settings]
    """The settings of each of them in the scenario."""
    roles: dict[str, tuple[str, ...]]
    """The definition's training, held-out and confirmation: conditions, and designs that stand for theirs."""
    training: tuple[str, ...]
    held_out: tuple[str, ...]
    confirmation: tuple[str, ...]
    objectives: dict[str, Objective]
    judgement: Judgement
    searches: dict[str, Search]
    factors: dict[str, tuple[Factor, ...]]
    """By search, the factors that it varies."""
    picks: dict[str, dict[str, Pick]]
    """By search, its picks by name."""
    sensitivity: Sensitivity
    measured: dict[str, dict[str, Any]]
    """The facts that the runs of each search depend on besides their conditions, as plain data."""

    @property
    def untrained(self) -> tuple[str, ...]:
        """The conditions that no search sees."""
        return (*self.held_out, *self.confirmation)

    def search(self, name: str) -> Search:
        """The search of that name."""
        expect_known("searches", name, self.searches)
        return self.searches[name]

    def objective(self, name: str) -> Objective:
        """The objective of that name, or the margin."""
        return Objective(name=MARGIN, want="more", mean="arithmetic") if name == MARGIN else self.objectives[name]


ROLES = ("training", "held_out", "confirmation")


def tuning_of(
    said: Any, factors: Mapping[str, Factor], metrics: Mapping[str, object], designs: Mapping[str, dict[str, Settings]]
) -> Tuning | None:
    """The searches that a definition says; None if it has none.

    `designs` are those that it names among its conditions, with what each of their experiments sets in the scenario.
    """
    if not said.searches:
        return None
    known = {**said.conditions, **designs}
    for role in ROLES:
        names = getattr(said, role)
        if not names and role != "confirmation":
            raise DefinitionError(role, "found none, expected conditions")
        for name in names:
            expect_known(role, name, known)
            if role != "training" and name in said.training:
                raise DefinitionError(role, f"found {name!r}, which is also trained on")
    objectives = read_all("objectives", said.objectives, Objective)
    for name in objectives:
        expect_known("objectives", name, metrics)
    if not objectives or said.judgement is None:
        raise DefinitionError("", "found no objectives or no judgement, expected them beside searches")
    for name in said.judgement.objectives:
        expect_known("judgement.objectives", name, objectives)
    likened = {name: _likened(name, table, said.searches) for name, table in said.searches.items()}
    searches = read_all("searches", likened, Search)
    picks = {name: read_all(f"searches.{name}.picks", one.picks, Pick) for name, one in searches.items()}
    varied = {
        name: tuple(factor for factor in factors.values() if factor.range is not None and factor.name not in one.leave)
        for name, one in searches.items()
    }
    for name, search in searches.items():
        _check_search(search, picks[name], varied[name], factors, objectives)
    roles: dict[str, tuple[str, ...]] = {role: getattr(said, role) for role in ROLES}
    training, held_out, confirmation = (
        tuple(one for name in names for one in designs.get(name, (name,))) for names in roles.values()
    )
    return Tuning(
        {**said.conditions, **{name: one for design in designs.values() for name, one in design.items()}},
        roles,
        training,
        held_out,
        confirmation,
        objectives,
        said.judgement,
        searches,
        varied,
        picks,
        said.sensitivity,
        {name: _measured(said, likened[name]) for name in searches},
    )


def _likened(name: str, table: Mapping[str, Any], searches: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The definition, completed by that of the search that it is like; but for its picks, which are that one's own."""
    if "like" not in table:
        return dict(table)
    expect_known(f"searches.{name}.like", table["like"], searches)
    other = {key: value for key, value in searches[table["like"]].items() if key != "picks"}
    return {**other, **table}


def _measured(said: Any, search: Mapping[str, Any]) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(said)
    own = {key: value for key, value in search.items() if key not in _UNMEASURED_OF_SEARCH}
    if MARGIN in search.get("objectives", ()):
        own["margin"] = list(said.judgement.objectives)
    return {**{key: plain[key] for key in _MEASURED}, "search": own}


def _check_search(
    search: Search,
    picks: Mapping[str, Pick],
    varied: Sequence[Factor],
    factors: Mapping[str, Factor],
    objectives: Mapping[str, Objective],
) -> None:
    where = f"searches.{search.name}"
    if not varied:
        raise DefinitionError(where, "found no factor with a range, expected at least one")
    points = [(f"baselines.{title}", point) for title, point in search.baselines.items()]
    points += [(f"starts.{number}", point) for number, point in enumerate(search.starts, 1)]
    for key, names in [("leave", search.leave), *points]:
        for factor in names:
            expect_known(f"{where}.{key}", factor, factors)
    for objective in search.objectives:
        expect_known(f"{where}.objectives", objective, (*objectives, MARGIN))
    if search.algorithm == "cma-es" and len(search.objectives or objectives) > 1:
        count = len(search.objectives or objectives)
        raise DefinitionError(f"{where}.objectives", f"found {count}, expected one: CMA-ES optimises a single one")
    if not search.baselines:
        raise DefinitionError(f"{where}.baselines", "found none, expected sets to judge the finds beside")
    if search.population < len(search.baselines):
        said = f"found {search.population}, expected room for {len(search.baselines)} baselines"
        raise DefinitionError(f"{where}.population", said)
    for name, pick in picks.items():
        expect_known(f"{where}.picks.{name}.best", pick.best, (*objectives, MARGIN))
        if pick.beside is not None:
            expect_known(f"{where}.picks.{name}.beside", pick.beside, search.baselines)
        for objective in pick.keeps:
            expect_known(f"{where}.picks.{name}.keeps", objective, objectives)
