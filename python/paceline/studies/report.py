"""The report of a study: one HTML page that needs no other file and no network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.plots import PLOTS
from paceline.studies.compare import Comparison
from paceline.studies.definition import Experiment
from paceline.studies.judge import VERDICTS
from paceline.studies.tables import short

if TYPE_CHECKING:
    from paceline.studies.engine import StudyResult


@dataclass(frozen=True)
class Picture:
    """A plot in the page."""

    title: str
    svg: str


@dataclass(frozen=True)
class Section:
    """One experiment in the page."""

    experiment: Experiment
    overview: Picture | None
    pictures: list[Picture]
    lines: list[Comparison]
    beside: list[tuple[str, Picture]]


def page(template: str, **values: object) -> str:
    """A page from a template of this package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("paceline.studies", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = short
    environment.filters["percent"] = lambda value: "" if value is None else f"{value:+.1f} %"
    return environment.get_template(template).render(**values)


def render(result: StudyResult) -> str:
    """The page."""
    return page(
        "report.html",
        study=result.study,
        missing=result.missing,
        version=result.rows[0]["version"],
        counts=[(verdict, result.verdicts[verdict]) for verdict in VERDICTS if verdict in result.verdicts],
        total=len(result.comparison),
        sections=_sections(result),
    )


def _sections(result: StudyResult) -> list[Section]:
    judged = {line.published.experiment for line in result.comparison}
    study = result.study
    return [
        Section(
            experiment=experiment,
            overview=_picture(result.out, experiment, "overview") if experiment.overview else None,
            pictures=[_picture(result.out, experiment, name) for name in _drawn(result.out, experiment)],
            lines=[line for line in result.comparison if line.published.experiment == name],
            beside=[
                (title, _picture(result.out, study.runs_of(other)[0], "overview"))
                for title, other in experiment.beside.items()
                if study.runs_of(other)[0].overview
            ],
        )
        for name, experiment in ((name, study.runs_of(name)[0]) for name in study.groups)
        if name in judged
    ]


def _drawn(out: Path, experiment: Experiment) -> list[str]:
    """The plots that the definition asks for and the run has."""
    return [name for name in experiment.figures if _file(out, experiment, name).is_file()]


def _file(out: Path, experiment: Experiment, plot: str) -> Path:
    return out / "experiments" / experiment.name / "plots" / f"{plot}.svg"


def _picture(out: Path, experiment: Experiment, plot: str) -> Picture:
    figures = PLOTS[plot].figures
    title = f"{PLOTS[plot].title} (the paper's Fig. {figures})" if figures else experiment.title
    svg = _file(out, experiment, plot).read_text(encoding="utf-8")
    return Picture(title, inline(svg, f"{experiment.name}-{plot}-"))


def inline(svg: str, prefix: str) -> str:
    """An SVG file as part of a page: without its prologue, its ids told apart from those of other pictures."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'\bid="', f'id="{prefix}', body)
    body = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{prefix}", body)
    return re.sub(r' (width|height)="[0-9.]+pt"', "", body, count=2)
