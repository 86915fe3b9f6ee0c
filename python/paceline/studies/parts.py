"""Parts of a study: the experiments alone that somebody wants to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paceline.errors import UsageError, one_of
from paceline.studies.definition import Study
from paceline.studies.factors import Point


def part(study: Study, only: Mapping[str, Sequence[str]]) -> Study:
    """The study with those of its experiments alone that are wanted.

    Raises:
        UsageError: There is no such factor, level, design or half, or no experiment is left.
    """
    if not only:
        return study
    known: dict[str, Sequence[str]] = {
        name: [str(value) for value in factor.values] for name, factor in study.factors.items()
    }
    known["design"] = list(study.designs)
    if study.cells is not None:
        known["half"] = study.cells.halves
    for name, values in only.items():
        if name not in known:
            raise UsageError(f"--only {name}: found {name!r}, {one_of(name, known)}")
        for value in values:
            if value not in known[name] and known[name]:
                raise UsageError(f"--only {name}={value}: found {value!r}, {one_of(value, known[name])}")

    def wanted(design: str, point: Point) -> bool:
        found: dict[str, object] = {"design": design, **point}
        if "half" in only and study.cells is not None:
            found["half"] = study.cells.half(study.cells.cell(design, point, study.factors))
        return all(str(found.get(name)) in values for name, values in only.items())

    designs = {}
    for name, design in study.designs.items():
        numbers = tuple(number for number in range(len(design)) if wanted(name, design.point(number)))
        if numbers:
            designs[name] = replace(design, numbers=numbers)
    if not designs:
        said = " ".join(f"{name}={','.join(values)}" for name, values in only.items())
        raise UsageError(f"--only {said}: found no experiment that is so, expected some")
    pictures = {name: one for name, one in study.pictures.items() if getattr(one, "design", None) in (None, *designs)}
    identity = study.identity | {"only": {name: sorted(values) for name, values in only.items()}}
    return replace(study, designs=designs, pictures=pictures, identity=identity)
