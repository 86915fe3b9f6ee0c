"""The searches of a study with the folders of its data: the scenario of each set under each condition."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paceline import _core
from paceline.errors import DataNotFound, ScenarioError, StudyError
from paceline.frames import find
from paceline.overrides import as_pairs
from paceline.scenario import ScenarioText
from paceline.studies.definition import Study
from paceline.studies.factors import Factor, Point
from paceline.studies.search_definition import Search, Tuning
from paceline.studies.spec import DefinitionError
from paceline.toml import loads


@dataclass(frozen=True)
class Bench:
    """The searches of a study, and the folders of its data: what every worker needs."""

    study: Study
    tuning: Tuning
    data: tuple[str, ...]
    """Where traces are looked for after the study's own folder."""

    def scenario(self, search: str, condition: str, point: Mapping[str, Any]) -> ScenarioText:
        """The scenario of a set of parameters under a condition."""
        pairs: list[tuple[str, str]] = []
        for name, factor in self.study.factors.items():
            value = point.get(name, factor.default)
            if value is not None:
                pairs += factor.override(value)
        overrides = [*as_pairs(self.tuning.conditions[condition]), *as_pairs(self.tuning.searches[search].set), *pairs]
        file = self.study.scenario
        return ScenarioText(self.study.scenarios[file], str(self.study.folder / file), list(self.data), overrides, None)

    def objectives(self, search: Search) -> tuple[str, ...]:
        """The figure that a search optimises."""
        return search.objectives or tuple(self.tuning.objectives)

    def identity(self, search: Search, conditions: Sequence[str]) -> dict[str, Any]:
        """The identity of a search's runs under these conditions: its definition, its scenario, its recordings."""
        scenario = self.study.scenarios[self.study.scenario]
        settings = {name: self.tuning.conditions[name] for name in conditions}
        data = hashlib.sha256(scenario.encode())
        for name in sorted({*_files(settings), *_files(loads(scenario))}):
            data.update(find(name, [str(self.study.folder), *self.data]).read_bytes())
        return {**self.tuning.measured[search.name], "conditions": settings, "files": data.hexdigest()[:16]}

    def defaults(self, search: Search) -> Point:
        """The scenario's own value of every factor that the search varies."""
        parameters = self.scenario(search.name, self.tuning.training[0], {}).load().core.parameters
        return {factor.name: _default(parameters, factor) for factor in self.tuning.factors[search.name]}

    def check(self) -> None:
        """Reads every scenario that can be told apart before a search: conditions, baselines, both ends of ranges.

        Raises:
            StudyError: One of them is wrong.
            DataNotFound: A recording is not there: a search over other data would be another search.
        """
        path = self.study.folder / "study.toml"
        hint = "" if self.data else "; --data or PACELINE_DATA says where recordings are"
        for one in self.tuning.searches.values():
            try:
                self.identity(one, (*self.tuning.training, *self.tuning.untrained))
            except DataNotFound as error:
                raise DataNotFound(f"{path}: {error}{hint}") from None
        for search, what, condition, point in self._probes():
            try:
                self.scenario(search, condition, point).load()
            except ScenarioError as error:
                raise StudyError(f"{path}: searches.{search}: {what}: {error}") from None

    def _probes(self) -> Iterator[tuple[str, str, str, Point]]:
        tuning = self.tuning
        for name, search in tuning.searches.items():
            for condition in (*tuning.training, *tuning.untrained):
                yield name, f"condition {condition!r}", condition, {}
            for factor in tuning.factors[name]:
                for part in (0.0, 1.0):
                    value = factor.at(part)
                    yield name, f"{factor.name} = {value}{factor.unit}", tuning.training[0], {factor.name: value}
            for title, point in search.baselines.items():
                yield name, f"baseline {title!r}", tuning.training[0], point
            for number, point in enumerate(search.starts, 1):
                yield name, f"start {number}", tuning.training[0], point


def _files(table: Mapping[str, Any]) -> Iterator[str]:
    """The recordings that a part of a scenario names."""
    for key, value in table.items():
        if key in ("trace", "file") and isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _files(value)


def _default(parameters: Mapping[str, tuple[Any, str | None]], factor: Factor) -> Any:
    value, _ = parameters.get(factor.places[0], (None, None))
    if not isinstance(value, (int, float)):
        raise DefinitionError(
            f"factors.{factor.name}", f"found no number at {factor.places[0]} of the scenario, expected one"
        )
    unit = _core.quantity(f"1{factor.unit}")
    return factor.near(value / (unit[0] if factor.unit and unit else 1.0))
