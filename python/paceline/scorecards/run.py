"""Running a scorecard: its cases run like those of any study, and each controller is graded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from msgspec import structs

from paceline.comparison.contenders import ContenderLike, contenders
from paceline.comparison.definition import write_scenarios
from paceline.errors import UsageError
from paceline.outputs import OutputFolder
from paceline.scenario import data_folders
from paceline.scorecards import cases, definition, gate, grades, report, twice
from paceline.scorecards.grades import Card, Graded
from paceline.scorecards.text import text
from paceline.studies import experiment, results
from paceline.studies.engine import run_rows
from paceline.studies.experiment import Context
from paceline.studies.progress import Progress, State
from paceline.studies.spec import DefinitionError
from paceline.studies.store import FOLDER, Store


@dataclass(frozen=True)
class Scorecard:
    """The result of a scorecard."""

    out: Path
    card: Card
    state: State
    remade: tuple[str, ...] = ()

    def __getitem__(self, controller: str) -> Graded:
        """One controller's grades by section and outcomes by case."""
        return self.card.of(controller)

    @property
    def controllers(self) -> list[str]:
        """The controllers by their labels."""
        return list(self.card.controllers)

    @property
    def verdicts(self) -> pd.DataFrame:
        """A row for each figure of each controller in each case."""
        return gate.verdicts(self.card)

    @property
    def report(self) -> Path:
        """The report, a page that needs nothing else."""
        return self.out / "report.html"

    @property
    def text(self) -> str:
        """The report as plain text."""
        return text(self.card, self.state)


def scorecard(
    controllers: Sequence[ContenderLike],
    *,
    out: str | os.PathLike[str],
    folders: Sequence[Path] = (),
    only: Sequence[str] = (),
    workers: int | None = None,
    dask: str | None = None,
    fresh: bool = False,
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Scorecard:
    """Runs what is not finished of the cases, grades the controllers, and writes all outputs."""
    if not controllers:
        raise UsageError("scorecard: found no controller, expected one or more, such as scream:robust")
    data_in = data_folders(data)
    deck = cases.load(folders, only)
    entries = definition.entries(deck.cases, contenders(controllers, data_in), data_in)
    twice.expect_alike(entries, data_in)
    folder = OutputFolder(out)
    study = definition.study(entries, folder.path)
    context = Context(study, tuple(data_in), True)
    if fresh or not (folder.path / FOLDER).exists():
        try_figures(context, entries)
    with Store(folder.path, fresh=fresh) as store:
        ran = run_rows(context, store, study.identity, workers=workers, dask=dask, progress=progress)
        write_scenarios(study)
        result = Scorecard(folder.path, _card(deck, entries, folder.path), ran.state, ran.remade)
        with folder:
            _report(result, folder)
    return result


def try_figures(context: Context, entries: Sequence[definition.Entry]) -> None:
    """Takes the figures of each case from a second of it: a figure that there is not is said before anything runs.

    Raises:
        StudyError: A rule is about a figure that the case's runs do not have.
    """
    study = context.study
    seen = set[tuple[str, str]]()
    for first, entry in zip(study.firsts(), entries, strict=True):
        if (entry.case.name, entry.kind) in seen or entry.contender.transport not in ("rtp", "tcp", "sctp"):
            continue
        seen.add((entry.case.name, entry.kind))
        try:
            experiment.measured(_shortened(context), first)
        except DefinitionError as error:
            name = error.where.partition(".")[2]
            where = f"figures.{name}" if name in entry.case.file.figures else f"rules.{name}"
            raise definition.wrong(entry.case, DefinitionError(where, str(error).partition(": ")[2])) from None
        except Exception:
            # It is said of the run itself, which fails alone.
            continue


def _shortened(context: Context) -> Context:
    """The study with runs of a second alone."""
    designs = {
        name: replace(
            one,
            spec=structs.replace(one.spec, keep=False),
            settings=(*one.settings, ("duration", '"1s"'), ("warmup", '"0s"')),
        )
        for name, one in context.study.designs.items()
    }
    return replace(context, study=replace(context.study, designs=designs))


def _card(deck: cases.Deck, entries: Sequence[definition.Entry], out: Path) -> Card:
    """The outcomes from the rows of the study."""
    frame = pd.read_parquet(out / results.FILE)
    by_design = {str(name): own for name, own in frame.groupby("design", sort=False)}
    outcomes = [grades.outcome(entry, by_design[entry.run.name]) for entry in entries]
    return Card(deck, tuple(entries), tuple(outcomes))


def _report(result: Scorecard, folder: OutputFolder) -> None:
    """Stages all files of the result."""
    folder.stage(
        gate.VERDICTS, gate.verdicts(result.card).to_csv(index=False, lineterminator="\n", float_format="%.6g")
    )
    folder.stage("report.txt", result.text)
    folder.stage("grades.md", str(report.grades(result.card)))
    folder.stage("report.html", report.render(result.card, result.state, result.out))
