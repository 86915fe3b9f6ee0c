"""What a study's folder says: experiments, metrics, rules and the published figures. Checked whole before any run."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paceline.errors import DataNotFound, StudyError
from paceline.plots import PLOTS
from paceline.scenario import as_pairs
from paceline.studies.checks import expect_known
from paceline.studies.judge import Rule
from paceline.studies.metrics import Metric
from paceline.toml import TOMLDecodeError, loads

PUBLISHED_COLUMNS = (
    "id", "experiment", "where", "kind", "statement", "published", "unit", "metric", "rule", "note"
)  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """One run of the study's scenario."""

    name: str
    title: str
    overrides: list[tuple[str, str]]
    """Replaces values of the study's scenario, by dotted path."""
    substitutes: list[tuple[str, str]]
    """Replaces what the data would have given, where there is none."""
    beside: Mapping[str, str]
    """Experiments that are shown beside this one and not judged, by heading."""
    figures: tuple[str, ...]
    """The plots that the report shows; experiments without any show the overview alone."""
    overview: bool = True
    """Whether the overview is drawn and shown."""


@dataclass(frozen=True)
class Published:
    """One number or claim of the paper."""

    id: str
    experiment: str
    where: str
    kind: str
    statement: str
    published: float | None
    unit: str
    metric: str | None
    rule: str
    note: str


@dataclass(frozen=True)
class Study:
    """A study as its folder defines it."""

    name: str
    title: str
    paper: str
    folder: Path
    scenario_file: Path
    data_files: tuple[str, ...]
    experiments: dict[str, Experiment]
    groups: dict[str, tuple[str, ...]]
    """The experiments of the definition, each with the names of its runs, whose figures are averaged."""
    metrics: dict[str, Metric]
    rules: dict[str, Rule]
    published: list[Published]

    @property
    def fingerprint(self) -> str:
        """Changes when an experiment or a metric could come out otherwise."""
        digest = hashlib.sha256()
        for path in (self.folder / "study.toml", self.scenario_file):
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def runs_of(self, name: str) -> list[Experiment]:
        """The runs of an experiment: one, or one for each value of its `over`."""
        return [self.experiments[run] for run in self.groups[name]]


def load(name: str | os.PathLike[str]) -> Study:
    """The study of that name, or in that folder."""
    folder = find(name)
    path = folder / "study.toml"
    try:
        text = loads(path.read_text(encoding="utf-8"))
    except TOMLDecodeError as error:
        raise StudyError(f"{path}: {error}") from None
    if "searches" in text:
        raise StudyError(f"{path}: found searches, expected experiments or designs; `paceline tune` runs this one")
    try:
        study = _study(folder, text)
    except KeyError as error:
        raise StudyError(f"{path}: found no key {error}, expected one") from None
    _check(study, path)
    return study


def find(name: str | os.PathLike[str]) -> Path:
    """The folder of a study: a path, or a name under one of the folders that hold studies."""
    for candidate in (Path(name), *(folder / name for folder in study_folders())):
        if (candidate / "study.toml").is_file():
            return candidate
    known = ", ".join(path.parent.name for path in _definitions()) or "none here"
    raise DataNotFound(f"study {os.fspath(name)!r}: no such study; there are: {known}")


def study_folders() -> list[Path]:
    """Where studies are looked for: `studies` here, and in the source tree that the package was built from."""
    return [Path("studies"), Path(__file__).resolve().parents[3] / "studies"]


def known_studies() -> list[tuple[str, str]]:
    """Name and title of every study that can be called by its name, of whatever kind it is."""
    return [(path.parent.name, _title(path)) for path in _definitions()]


def _title(path: Path) -> str:
    try:
        return str(loads(path.read_text(encoding="utf-8")).get("title", ""))
    except (OSError, UnicodeDecodeError, TOMLDecodeError) as error:
        raise StudyError(f"{path}: {error}") from None


def _definitions() -> Iterator[Path]:
    seen: set[str] = set()
    for folder in study_folders():
        for path in sorted(folder.glob("*/study.toml")):
            if path.parent.name not in seen:
                seen.add(path.parent.name)
                yield path


def _study(folder: Path, text: dict[str, Any]) -> Study:
    groups = _experiments(text["experiments"], text.get("without_data", {}))
    return Study(
        name=text["name"],
        title=text["title"],
        paper=text["paper"],
        folder=folder,
        scenario_file=folder / text["scenario"],
        data_files=tuple(text.get("data", ())),
        experiments={run.name: run for runs in groups.values() for run in runs},
        groups={name: tuple(run.name for run in runs) for name, runs in groups.items()},
        metrics={name: Metric(name, spec) for name, spec in text["metrics"].items()},
        rules={name: Rule.read(name, spec) for name, spec in text["rules"].items()},
        published=list(published_rows(folder / text["published"])),
    )


def _experiments(tables: dict[str, Any], without_data: dict[str, Any]) -> dict[str, list[Experiment]]:
    experiments = {}
    for name, table in tables.items():
        lineage = _lineage(name, tables)
        overrides = [pair for one in lineage for pair in as_pairs(tables[one].get("set", {}))]
        substitutes = [pair for one in ("all", *lineage) for pair in as_pairs(without_data.get(one, {}))]
        experiment = Experiment(
            name,
            table["title"],
            overrides,
            substitutes,
            table.get("beside", {}),
            tuple(table.get("figures", ())),
            bool(table.get("overview", True)),
        )
        experiments[name] = list(_runs(experiment, table["over"])) if "over" in table else [experiment]
    return experiments


def _runs(experiment: Experiment, over: Mapping[str, list[Any]]) -> Iterator[Experiment]:
    """One run for each value of the list that `over` names a path for. The report shows the first."""
    if len(over) != 1 or not all(over.values()):
        raise StudyError(f"experiments.{experiment.name}.over: found {dict(over)}, expected one path and its values")
    ((path, values),) = over.items()
    for number, value in enumerate(values, 1):
        overrides = [*experiment.overrides, *as_pairs({path: value})]
        run = replace(experiment, name=f"{experiment.name}@{number}", overrides=overrides)
        yield run if number == 1 else replace(run, title=f"{run.title}, run {number}", beside={}, figures=())


def _lineage(name: str, tables: dict[str, Any]) -> list[str]:
    """The experiment and those it is based on, the furthest first."""
    lineage = [name]
    while base := tables[lineage[0]].get("based_on"):
        if base not in tables or base in lineage:
            raise StudyError(f"experiments.{lineage[0]}.based_on: found {base!r}, expected another experiment")
        lineage.insert(0, base)
    return lineage


def published_rows(path: Path) -> Iterator[Published]:
    """The published figures and claims that a CSV file lists."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != PUBLISHED_COLUMNS:
            raise StudyError(f"{path}: found columns {reader.fieldnames}, expected {list(PUBLISHED_COLUMNS)}")
        for row in reader:
            yield _published_row(path, reader.line_num, row)


def _published_row(path: Path, line: int, row: dict[str, str]) -> Published:
    try:
        number = float(row["published"]) if row["published"] else None
    except ValueError:
        raise StudyError(f"{path}: line {line}: published: found {row['published']!r}, expected a number") from None
    rest = {key: row[key] for key in ("id", "experiment", "where", "kind", "statement", "unit", "rule", "note")}
    return Published(published=number, metric=row["metric"] or None, **rest)


def _check(study: Study, path: Path) -> None:
    file = path.parent / "published.csv"
    for row in study.published:
        expect_known(f"{file}: {row.id}: experiment", row.experiment, study.groups)
        if row.metric is not None:
            expect_known(f"{file}: {row.id}: metric", row.metric, study.metrics)
    check_published(file, study.published, study.rules)
    for experiment in study.experiments.values():
        for figure in experiment.figures:
            expect_known(f"{path}: experiments.{experiment.name}: figures", figure, PLOTS)
        for other in experiment.beside.values():
            expect_known(f"{path}: experiments.{experiment.name}: beside", other, study.groups)


def check_published(path: Path, published: list[Published], rules: Mapping[str, Rule]) -> None:
    """Each figure once, with a rule that there is, and judged or with a note that says why not."""
    seen: set[str] = set()
    for row in published:
        where = f"{path}: {row.id}"
        expect_known(f"{where}: rule", row.rule, rules)
        if row.id in seen:
            raise StudyError(f"{where}: found twice, expected each id once")
        seen.add(row.id)
        if rules[row.rule].judged and row.metric is None:
            raise StudyError(f"{where}: metric: found none, expected one: rule {row.rule!r} judges")
        if not rules[row.rule].judged and not row.note:
            raise StudyError(f"{where}: note: found none, expected why it is not judged")
