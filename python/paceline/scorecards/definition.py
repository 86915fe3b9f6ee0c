"""A scorecard as a study: a design for each controller in each case that is for its kind."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from paceline.comparison import definition
from paceline.comparison.conditions import Condition, conditions
from paceline.comparison.contenders import Contender
from paceline.errors import PacelineError, ScenarioError, StudyError, UsageError
from paceline.scenario import ScenarioText
from paceline.scorecards.cases import Case
from paceline.scorecards.figures import ByCase, Kind
from paceline.studies.cells import Cells
from paceline.studies.definition import Study
from paceline.studies.metrics import Metric
from paceline.studies.spec import DefinitionError, line_of

PATIENCE_S = 60.0
"""Seconds of the wall's clock after which a run of a controller from outside is given up."""


_OF_READER = re.compile(r"^scenario(?::\d+)?: ")


@dataclass(frozen=True)
class Entry:
    """A controller in a case."""

    case: Case
    contender: Contender
    condition: Condition

    @property
    def run(self) -> definition.Case:
        """The pair as it runs."""
        return definition.Case(self.contender, self.condition)

    @property
    def kind(self) -> Kind:
        """The controller's kind."""
        return kind_of(self.contender)


def kind_of(contender: Contender) -> Kind:
    """The kind of a controller: over TCP and SCTP windows are tested with files, all else with media."""
    return "bytes" if contender.transport in ("tcp", "sctp") else "media"


def entries(cases: Sequence[Case], contenders: Sequence[Contender], data: Sequence[str]) -> list[Entry]:
    """Every controller in every case that is for its kind; a case's scenario is read and checked for each kind.

    Raises:
        StudyError: A scenario, or a figure of a rule, is wrong.
        UsageError: A controller has no case.
    """
    kinds = {kind_of(one) for one in contenders}
    found = {
        (case.name, kind): _condition(case, kind, data) for case in cases for kind in case.file.kinds if kind in kinds
    }
    for one in contenders:
        if not any((case.name, kind_of(one)) in found for case in cases):
            raise UsageError(f"controller {one.label}: found no case for controllers of {kind_of(one)}, expected one")
    return [
        Entry(case, one, _heard(found[case.name, kind_of(one)], one, data))
        for one in contenders
        for case in cases
        if (case.name, kind_of(one)) in found
    ]


def _condition(case: Case, kind: Kind, data: Sequence[str]) -> Condition:
    """The case's scenario for controllers of a kind."""
    try:
        for name, spec in case.figures.items():
            spec.read(f"figures.{name}.metric", name)
        table = case.table(kind)
        [found] = conditions([table], flows=case.under_test, data=data)
    except DefinitionError as error:
        raise wrong(case, error) from None
    except ScenarioError as error:
        # The reader of scenarios names a key of the scenario, which the file has below `scenario`.
        said = _OF_READER.sub("", str(error).removeprefix(f"over {case.name}: "))
        raise wrong(case, DefinitionError(f"scenario.{said.partition(': ')[0]}", said.partition(": ")[2])) from None
    return found


def wrong(case: Case, error: DefinitionError) -> StudyError:
    """An error about a case, with the file and the line."""
    line = line_of(case.path.read_text(encoding="utf-8"), error.where)
    return StudyError(f"{case.path}{f':{line}' if line else ''}: {error}")


def _heard(condition: Condition, contender: Contender, data: Sequence[str]) -> Condition:
    """The condition, with packets that cannot be marked where the controller ignores marks."""
    marked = [name for name in condition.flows if condition.table["flows"][name].get("ecn", "off") != "off"]
    if not marked or "ecn" in contender.flow:
        return condition
    try:
        ScenarioText(condition.text(contender), None, list(data)).load()
    except PacelineError as error:
        if "ignores marks" not in str(error):
            return condition
        flows = condition.table["flows"]
        silent = {name: {**flow, "ecn": "off"} if name in marked else flow for name, flow in flows.items()}
        return replace(condition, table={**condition.table, "flows": silent})
    return condition


def study(found: Sequence[Entry], out: Path) -> Study:
    """The study that runs these entries."""
    names = dict.fromkeys(name for one in found for name in one.case.figures)
    metrics: dict[str, Metric] = {
        name: ByCase(
            name=name,
            of={
                one.run.file: one.case.figures[name].read(f"figures.{name}.metric", name)
                for one in found
                if name in one.case.figures
            },
        )
        for name in names
    }
    runs = [one.run for one in found]
    seeds = {one.run.name: one.case.seeds for one in found}
    whole = definition.study_of("scorecard", "scorecard", runs, metrics, seeds, out)
    known = whole.identity["designs"]
    designs = {
        one.run.name: {**known[one.run.name], "seeds": len(one.case.seeds), "figures": _digest(one.case)}
        for one in found
    }
    return replace(
        whole,
        identity={**whole.identity, "designs": designs},
        parameters=False,
        cells=Cells(of="controller", bad={}),
        patience_s=PATIENCE_S,
    )


def _digest(case: Case) -> str:
    """A digest of how the figures of a case are taken: another one gives other rows."""
    specs = {name: msgspec.to_builtins(spec) for name, spec in case.figures.items()}
    return hashlib.sha256(msgspec.json.encode(specs, order="sorted")).hexdigest()[:16]
