"""The options of the commands that run many experiments, or hold their figures against bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.cli.mistaken import expecting
from paceline.cli.options import (
    Data,
    Formats,
    Guests,
    Json,
    Junit,
    Latex,
    Markdown,
    Quiet,
    Style,
    file_path,
    folder_path,
)
from paceline.errors import UsageError

if TYPE_CHECKING:
    from paceline.studies.definition import Study


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Where the results of many experiments go, and where they run."""

    out: Annotated[
        Path | None,
        typer.Option(parser=folder_path, metavar="DIR", help="Where results and report go [default: out/NAME]."),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="Experiments that run at a time [default: one per core].")
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what an earlier run in DIR finished; this is the default.")
    ] = False
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete what an earlier run left in DIR, and begin anew.")] = (
        False
    )
    dask: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Run the experiments on the Dask cluster of this scheduler."),
    ] = None
    json: Json = False
    style: Style = None
    formats: Formats = None
    quiet: Quiet = False
    data: Data = None
    controller: Guests = None

    def work(self, name: str) -> dict[str, Any]:
        """The arguments of an engine; the results go to `out/name` unless a folder is named."""
        if self.resume and self.fresh:
            raise UsageError("--resume and --fresh: found both, expected one of them")
        out = self.out or Path("out") / name
        return {"out": out, "workers": self.workers, "dask": self.dask, "fresh": self.fresh, "data": self.data}


@dataclass(frozen=True, kw_only=True)
class StudyOptions(SweepOptions):
    """A study, where its results go, and where its experiments run."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="A study of `paceline list studies`, or its folder.")]

    @cached_property
    def study(self) -> Study:
        """The study as its folder defines it."""
        from paceline.studies.definition import load

        with expecting("study", [self.name]):
            return load(self.name)

    def arguments(self, suffix: str = "") -> dict[str, Any]:
        """The arguments of the engine; the results go to `out/NAME`, with the suffix, unless a folder is named."""
        return self.work(f"{self.study.folder.name}{suffix}")


@dataclass(frozen=True, kw_only=True)
class PartOptions(StudyOptions):
    """A study or a part of it, and what it compares besides."""

    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,...",
            help="Run a part: levels of a factor, of `design` designs, of `half` a half of the cells; may be repeated.",
        ),
    ] = None
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[LABEL=]KIND[:PROFILE][,NAME=VALUE]...",
            help="Compare this controller as well, in a study that compares controllers; may be repeated.",
        ),
    ] = None

    @cached_property
    def study(self) -> Study:
        """The study as its folder defines it, or the part of it that is wanted."""
        from paceline.comparison import grammar
        from paceline.studies.definition import load
        from paceline.studies.parts import part

        wanted: dict[str, list[str]] = {}
        for text in self.only or ():
            name, equals, values = text.partition("=")
            if not equals or not values:
                raise UsageError(f"--only {text}: expected NAME=VALUE, such as half=search")
            levels = [str(grammar.value_of(value.strip())) for value in grammar.split(values)]
            wanted.setdefault(name.strip(), []).extend(levels)
        with expecting("study", [self.name]):
            return part(load(self.name, also=self.also or ()), wanted)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(SweepOptions):
    """Controllers, what they are compared over, and how they are weighed."""

    controllers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LABEL=]KIND[:PROFILE][,NAME=VALUE]...",
            help="Controllers of `paceline list controllers`, at least two; others are compared with the first.",
        ),
    ] = None
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[LABEL=]WHAT[,NAME=VALUE]...",
            help="Scenario files (.toml), recordings of rates, or named networks: all words up to the next option.",
        ),
    ] = None
    seeds: Annotated[
        str, typer.Option(metavar="SEEDS", help="How many, such as 10, or which, such as 11-20: the same for all.")
    ] = "5"
    flow: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="The flow whose controller is replaced, of a scenario with several."),
    ] = None
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="How long each run is, in place of the scenarios' own.")
    ] = None
    warmup: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="The start, which only its own figures count [default: the scenarios' own, or 10 s, at most a sixth].",
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(metavar="NAME=WEIGHT,...", help="The ranking's weights [default: throughput=1,delay=1]."),
    ] = None
    latex: Latex = False
    join: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR", help="Results of another comparison that are put beside; may be repeated."),
    ] = None
    with_: Annotated[
        Path | None,
        typer.Option(
            "--with",
            parser=folder_path,
            metavar="DIR",
            help="Compare each controller with its runs there, of another build or version of it.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ScorecardOptions(SweepOptions):
    """Controllers that are graded, the cases, and what their grades are held against."""

    controllers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LABEL=]KIND[:PROFILE][,NAME=VALUE]...",
            help="Controllers of `paceline list controllers`, one or more; several stand side by side.",
        ),
    ] = None
    cases: Annotated[
        list[Path] | None,
        typer.Option(parser=folder_path, metavar="DIR", help="A folder of further cases; may be repeated."),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="CASE", help="Run this case alone, or those that a name with * means; may be repeated."),
    ] = None
    text: Annotated[
        Path | None,
        typer.Option(parser=file_path, metavar="FILE", help="Write the report as plain text, in RFC 9743's order."),
    ] = None
    require: Annotated[
        Path | None,
        typer.Option(parser=file_path, metavar="FILE", help="The least grades (TOML); status 1 if one is missed."),
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(parser=folder_path, metavar="DIR", help="An earlier scorecard; status 1 if a case fell."),
    ] = None
    junit: Junit = None
    markdown: Markdown = None


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """A check, the earlier figures, and where its outcome goes."""

    file: Annotated[
        Path | None,
        typer.Argument(parser=file_path, metavar="FILE", help="The check (TOML); without it --against repeats a run."),
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(
            parser=folder_path,
            metavar="DIR",
            help="Earlier figures: of --record, or without FILE the run that `paceline run --out` wrote.",
        ),
    ] = None
    within: Annotated[
        str | None,
        typer.Option(metavar="PART", help="Without FILE: how far figures may be from the earlier ones [default: 5%]."),
    ] = None
    record: Annotated[
        Path | None,
        typer.Option(parser=folder_path, metavar="DIR", help="Write the figures there, for a later --against."),
    ] = None
    junit: Junit = None
    markdown: Markdown = None
    json: Json = False
    data: Data = None
    controller: Guests = None
