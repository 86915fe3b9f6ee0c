"""The reports of studies, searches and rankings: HTML pages that need no other file and no network."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from paceline.errors import StudyError
from paceline.plots import PLOTS
from paceline.studies.designs import Design, Experiments
from paceline.studies.estimates import short
from paceline.studies.judge import VERDICTS, Comparison
from paceline.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

    from paceline.studies.outcomes import SensitivityResult, StudyResult, TuningResult


@dataclass(frozen=True)
class Section:
    """The content under one heading: an experiment with its pictures, or a place in the paper."""

    title: str
    lines: list[Comparison]
    overview: str | None = None
    pictures: list[tuple[str, str]] = field(default_factory=list)
    """Title and drawing of each."""
    beside: list[tuple[str, str]] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    """Of the experiments that are shown beside."""


def page(template: str, **values: object) -> str:
    """A page from a template of this package."""
    return with_contents(_environment().get_template(template).render(version=__version__, **values))


_HEADING = re.compile(r"<h2>(.*?)</h2>", re.DOTALL)


def with_contents(html: str) -> str:
    """The page with a list of its headings before the first of them, if it has several."""
    headings = [re.sub(r"<[^>]*>", "", found).strip() for found in _HEADING.findall(html)]
    if len(headings) < 2:
        return html
    lines = "\n".join(f'<li><a href="#part-{place}">{said}</a></li>' for place, said in enumerate(headings, 1))
    contents = f'<nav class="contents" aria-label="Contents">\n<b>Contents</b>\n<ul>\n{lines}\n</ul>\n</nav>\n'
    place = count(1)
    first = _HEADING.search(html)
    assert first is not None
    html = html[: first.start()] + contents + html[first.start() :]
    return _HEADING.sub(lambda found: f'<h2 id="part-{next(place)}">{found[1]}</h2>', html)


@cache
def _environment() -> Environment:
    """The templates of this package, each compiled once."""
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
    return environment


def render(result: StudyResult, svgs: dict[str, str]) -> str:
    """The page of a study, with the pictures by their names."""
    study = result.study
    return page(
        "study.html",
        study=study,
        missing=result.missing,
        generated=result.judged_without_data,
        state=result.state,
        counts=[(verdict, result.verdicts[verdict]) for verdict in VERDICTS if verdict in result.verdicts],
        total=len(result.comparison),
        nearest=result.nearest,
        sections=[*_experiments(result), *_places(result)],
        tables=result.tables,
        pictures=[(one, inline(svgs[one.name], f"{one.name}-")) for one in study.pictures.values()],
        rows=max((len(factor.values) for factor in study.factors.values()), default=0),
    )


def _experiments(result: StudyResult) -> list[Section]:
    """A section for each named experiment that is judged."""
    judged = {line.published.experiment for line in result.comparison}
    named = result.study.named
    found = []
    for name, design in named.items():
        if name in judged or (not judged and isinstance(design.spec, Experiments) and design.spec.overview):
            spec = design.spec
            assert isinstance(spec, Experiments)
            drawn = [(_title(plot, design), _picture(result.out, design, plot)) for plot in spec.figures]
            others = [(title, _picture(result.out, named[one], "overview")) for title, one in spec.beside.items()]
            section = Section(
                design.title,
                [line for line in result.comparison if line.published.experiment == name],
                _picture(result.out, design, "overview"),
                [(title, svg) for title, svg in drawn if svg is not None],
                [(title, svg) for title, svg in others if svg is not None],
                list(spec.beside),
            )
            found.append(section)
    return found


def _places(result: StudyResult) -> list[Section]:
    """A section for each place of the paper whose figures are of designs."""
    lines = [line for line in result.comparison if line.published.experiment not in result.study.named]
    places: dict[str, list[Comparison]] = {}
    for line in lines:
        places.setdefault(line.published.where, []).append(line)
    return [Section(where, own) for where, own in places.items()]


def _title(plot: str, design: Design) -> str:
    figures = PLOTS[plot].figures
    return f"{PLOTS[plot].title} (the paper's Fig. {figures})" if figures else design.title


def _picture(out: Path, design: Design, plot: str) -> str | None:
    """A drawing of the first run; None if it has none."""
    run = design.name if len(design) == 1 else f"{design.name}/1"
    kind = PLOTS[plot].kind
    path = out / "experiments" / run / "plots" / f"{plot}.{kind}"
    if not path.is_file():
        return None
    if kind == "png":
        return f'<img src="data:image/png;base64,{b64encode(path.read_bytes()).decode()}" alt="{plot}">'
    try:
        svg = path.read_text(encoding="utf-8")
        expect_drawing(svg)
    except (UnicodeDecodeError, ValueError) as error:
        raise StudyError(f"{path}: found another picture than Paceline draws: {error}") from None
    return inline(svg, f"{design.name}-{plot}-")


SHAPES = (
    "svg", "metadata", "RDF", "Work", "type", "date", "format", "creator", "Agent", "title", "defs", "style", "g",
    "path", "use", "clipPath", "rect", "image",
)  # fmt: skip
"""Elements of the pictures that are drawn here."""


def expect_drawing(svg: str) -> None:
    """Refuses an SVG file with anything but shapes: a script of a file that lay in a folder would run in the report.

    Raises:
        ValueError: It has another element, a handler, or asks for another file.
    """
    try:
        root = ElementTree.fromstring(_body(svg))
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from None
    for element in root.iter():
        tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if tag not in SHAPES:
            raise ValueError(f"the element {tag[:40]!r}")
        values = {name.rpartition("}")[2].lower(): value for name, value in element.attrib.items()}
        link = values.get("href", "#")
        if tag != "RDF" and not link.startswith(("#", "data:image/png;base64,")):
            raise ValueError(f"a link to {link[:40]!r}")
        said = "".join([*values.values(), (element.text or "") if tag == "style" else ""]).lower()
        if any(name.startswith("on") for name in values) or "@" in said or re.search(r"url\((?!#)|script:", said):
            raise ValueError(f"an attribute of {tag!r} that no shape has")


def _body(svg: str) -> str:
    """An SVG file without its prologue."""
    return svg[svg.index("<svg") :]


def inline(svg: str, prefix: str) -> str:
    """An SVG file as part of a page: without its prologue, its ids told apart from those of other pictures."""
    prefix = re.sub(r"[^\w-]", "_", prefix)
    body = re.sub(r'\bid="', f'id="{prefix}', _body(svg))
    body = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{prefix}", body)
    return re.sub(r' (width|height)="[0-9.]+pt"', "", body, count=2)


def render_tuning(result: TuningResult, svgs: dict[str, str]) -> str:
    """The page of searches, with the pictures by their names."""
    tuning = result.tuning
    tables = {
        name: [
            (one, judged.found.named[one].objectives, measured.objectives(tuning, tuning.held_out), measured.point)
            for one, measured in judged.sets.items()
        ]
        for name, judged in result.judged.items()
    }
    drawn = {name: inline(svg, f"{name}-") for name, svg in svgs.items()}
    return page("tuning.html", study=result.study, tuning=tuning, judged=result.judged, tables=tables, svgs=drawn)


def render_sensitivity(result: SensitivityResult, svgs: dict[str, str]) -> str:
    """The page of the ranking."""
    return page(
        "sensitivity.html",
        study=result.study,
        search=result.search,
        ranking=result.ranking,
        sobol=result.sobol,
        failed=result.failed,
        svgs={name: inline(svg, f"{name}-") for name, svg in svgs.items()},
    )
