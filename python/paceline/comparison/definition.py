"""A comparison as a study: a design for each controller under each condition, with the same seeds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paceline import disk
from paceline.comparison import figures
from paceline.comparison.conditions import Condition
from paceline.comparison.contenders import Contender
from paceline.studies.definition import Study
from paceline.studies.designs import Design, Listed
from paceline.studies.factors import Factor, Point
from paceline.studies.metrics import Metric
from paceline.studies.store import writing

SCENARIOS = "scenarios"
"""The folder in the results with the scenario of each pair."""


LONGEST = 100
"""Letters of a case's name, which is the name of its files."""


@dataclass(frozen=True)
class Case:
    """A controller under a condition."""

    contender: Contender
    condition: Condition

    @property
    def name(self) -> str:
        """Its name, which files can have."""
        name = f"{self.contender.label}@{self.condition.name}"
        safe = re.sub(r"[^\w.,=:@+-]", "_", name)[:LONGEST]
        return safe if safe == name else f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"

    @property
    def file(self) -> str:
        """The file of its scenario."""
        return f"{self.name}.toml"


def cases(contenders: Sequence[Contender], conditions: Sequence[Condition]) -> list[Case]:
    """Every controller under every condition; a further controller comes after all others."""
    return [Case(contender, condition) for contender in contenders for condition in conditions]


def study(cases: Sequence[Case], seeds: tuple[int, ...], out: Path) -> Study:
    """The study that runs these cases."""
    metrics = figures.metrics(
        {case.file: case.condition.measured for case in cases},
        {case.file: case.condition.links for case in cases},
        {case.file: case.condition.start_up for case in cases},
    )
    whole = study_of("compare", "comparison", cases, metrics, {case.name: seeds for case in cases}, out)
    return replace(whole, identity={"seeds": list(seeds), "metrics": sorted(metrics), **whole.identity})


def study_of(
    name: str,
    title: str,
    cases: Sequence[Case],
    metrics: dict[str, Metric],
    seeds: Mapping[str, tuple[int, ...]],
    out: Path,
) -> Study:
    """The study of a design for each case, which runs with the seeds under its name; its identity has no seeds yet."""
    scenarios = {case.file: case.condition.text(case.contender) for case in cases}
    designs = {case.name: _design(case, seeds[case.name]) for case in cases}
    identity: dict[str, Any] = {
        "designs": {
            case.name: {
                "scenario": hashlib.sha256(scenarios[case.file].encode()).hexdigest()[:16],
                "condition": case.condition.digest,
            }
            for case in cases
        },
        "order of designs": list(designs),
    }
    return Study(
        name=name,
        title=title,
        paper="",
        folder=out / SCENARIOS,
        text="",
        scenario=cases[0].file,
        scenarios=scenarios,
        data_files=(),
        factors={name: _names(name, [str(_of(case)[name]) for case in cases]) for name in ("controller", "condition")},
        designs=designs,
        metrics=metrics,
        published=[],
        rules={},
        pictures={},
        recorded={},
        tables={},
        nearest={},
        macros={},
        tuning=None,
        identity=identity,
    )


def _of(case: Case) -> Point:
    return {"controller": case.contender.label, "condition": case.condition.name}


def _names(factor: str, levels: Sequence[str]) -> Factor:
    """A factor whose levels only name what the scenarios say."""
    return Factor(name=factor, sets={level: {} for level in levels})


def _design(case: Case, seeds: tuple[int, ...]) -> Design:
    spec = Listed(name=case.name, points=(_of(case),), keep=True)
    return Design(case.name, spec, (), {}, seeds, case.file, case.condition.settings)


def write_scenarios(study: Study) -> None:
    """Writes the scenario of each case: the command of a row runs it alone."""
    for file, text in study.scenarios.items():
        content = text.encode()
        with writing(study.folder / file):
            path = disk.within(study.folder.parent, f"{SCENARIOS}/{file}")
            if not path.is_file() or path.read_bytes() != content:
                disk.write(path, content)
