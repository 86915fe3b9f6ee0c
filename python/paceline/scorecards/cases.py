"""The cases of a scorecard: files of TOML, each with a scenario, rules for its figures, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import filter as matching
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from paceline import disk, library
from paceline.comparison import grammar
from paceline.errors import DataNotFound, StudyError, UsageError, one_of
from paceline.scorecards.figures import FigureSpec, Kind, figures_of
from paceline.scorecards.questions import ALL, Document, Known, documents_of, sections
from paceline.studies.spec import DefinitionError, Named, Settings, Spec, expect_known, read, told_with_line
from paceline.toml import decoded, loads

SEEDS = 20
"""Seeds of a case that does not say why fewer are enough."""
UNDER_TEST = "call*"
"""The flows whose controller is tested: all that are called so."""
STAND_INS: dict[Kind, str] = {"media": "scream", "bytes": "cubic"}
"""Controllers with which a case's scenario is checked before any run."""


class Rule(Spec, frozen=True, kw_only=True):
    """The band of a figure, and who set it."""

    min: float | None = None
    max: float | None = None
    source: str = ""
    """The sentence of a document that says so; empty: this project chose it, and `chosen` of the case says when."""
    kinds: tuple[Kind, ...] = ("media", "bytes")
    """Controllers for which it holds."""

    def __post_init__(self) -> None:
        if self.min is None and self.max is None:
            raise ValueError("found neither `min` nor `max`, expected one or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f".min: found {self.min:g}, expected at most max, which is {self.max:g}")

    @property
    def expected(self) -> str:
        """The band in words."""
        if self.min is not None and self.max is not None:
            return f"{self.min:g} to {self.max:g}"
        return f"at least {self.min:g}" if self.min is not None else f"at most {self.max:g}"


class Variant(Spec, frozen=True, kw_only=True):
    """A case that changes another one a little."""

    set: Settings = {}
    """Values of the scenario by their dotted paths."""
    rules: dict[str, Rule] = {}
    """Rules in place of those of the whole file, or besides."""


class CaseFile(Named, frozen=True, kw_only=True):
    """A file of cases: one, or one for each of its variants."""

    title: str
    source: str
    """The document and section that ask for it, and how much of it was read."""
    chosen: str = ""
    """The reason of bands that no document names, who set them, and when."""
    answers: tuple[str, ...]
    """Questions that it answers: a document and a section, such as `RFC 9743 5.1.2`."""
    seeds: Annotated[int, Meta(ge=1, le=1000)] = SEEDS
    few: str = ""
    """The reason why fewer than 20 seeds are enough."""
    kinds: tuple[Kind, ...] = ("media", "bytes")
    """Kinds of controllers that it is for."""
    scenario: dict[str, Any]
    media: Settings = {}
    """Changes of the scenario for controllers of media."""
    bytes: Settings = {}
    """Changes of the scenario for controllers of byte streams."""
    variants: dict[str, Variant] = {}
    figures: dict[str, FigureSpec] = {}
    """Figures of this file alone, besides those of figures.toml."""
    rules: dict[str, Rule] = {}

    def __post_init__(self) -> None:
        if self.seeds < SEEDS and not self.few:
            raise ValueError(f".seeds: found {self.seeds} and no `few`, expected the reason why {SEEDS} are not needed")


@dataclass(frozen=True)
class Case:
    """A case as it runs: a variant of a file."""

    name: str
    title: str
    file: CaseFile
    path: Path
    settings: Settings
    rules: Mapping[str, Rule]
    figures: Mapping[str, FigureSpec]
    """The figures that its rules are about."""

    @property
    def answers(self) -> tuple[str, ...]:
        """The questions that it answers."""
        return self.file.answers

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that it runs with."""
        return tuple(range(1, self.file.seeds + 1))

    def rules_of(self, kind: Kind) -> dict[str, Rule]:
        """The rules for controllers of a kind."""
        return {name: rule for name, rule in self.rules.items() if kind in rule.kinds}

    def table(self, kind: Kind) -> dict[str, Any]:
        """The scenario for controllers of a kind, with a controller that stands in for them.

        Raises:
            DefinitionError: A setting is about a flow or a link that there is not.
        """
        table = deepcopy(self.file.scenario)
        table["name"] = self.name
        for where, settings in (("variants", self.settings), (kind, getattr(self.file, kind))):
            for path, value in settings.items():
                for one in _spread(f"{where}.{path}", table, path):
                    grammar.put(table, one, deepcopy(value))
        for name in self.under_test:
            flow = table["flows"][name]
            flow["controller"] = STAND_INS[kind]
            if kind == "bytes":
                flow["transport"] = "tcp"
                flow["source"] = self.file.bytes.get(f"flows.{name}.source", {"kind": "bulk"})
                for key in ("bitrate", "feedback", "rtp", "playout"):
                    flow.pop(key, None)
        return table

    @property
    def under_test(self) -> tuple[str, ...]:
        """The flows whose controller is tested."""
        return tuple(matching(self.file.scenario.get("flows", {}), UNDER_TEST))


def _spread(where: str, table: Mapping[str, Any], path: str) -> Iterator[str]:
    """The paths that one with `*` stands for."""
    head, dot, rest = path.partition(".")
    if not dot or "*" not in path:
        yield path
        return
    if "*" not in head:
        inner = table.get(head)
        yield from (f"{head}.{one}" for one in _spread(where, inner if isinstance(inner, Mapping) else {}, rest))
        return
    found = matching(table, head)
    if not found:
        raise DefinitionError(where, f"found nothing that {head!r} stands for, {one_of(head, list(table))}")
    for name in found:
        yield from (f"{name}.{one}" for one in _spread(where, table[name], rest))


@dataclass(frozen=True)
class Deck:
    """All cases, and the documents whose questions they answer."""

    cases: tuple[Case, ...]
    documents: tuple[Document, ...]

    @cached_property
    def sections(self) -> dict[str, list[Case]]:
        """The cases of each grade by its name: `all`, documents, and their sections."""
        return {
            name: [case for case in self.cases if name == ALL or asked & {*case.answers}]
            for name, asked in sections(self.documents).items()
        }


def load(folders: Sequence[Path] = (), only: Sequence[str] = ()) -> Deck:
    """The cases that come along and those of further folders; of all of them those that `only` names.

    Raises:
        DataNotFound: A folder is not there, or has no case.
        StudyError: A file is wrong: the message names file, line, key, what was found and what was expected.
        UsageError: `only` names no case.
    """
    home = library.HOME / "scorecard"
    known = Known(documents())
    common = figures_of(home / "figures.toml")
    found: dict[str, Case] = {}
    for folder in (home / "cases", *folders):
        paths = sorted(folder.glob("*.toml")) if disk.is_folder(folder) else []
        if not paths:
            raise DataNotFound(f"{folder}: found no case (*.toml) there, expected a folder of some")
        for path in paths:
            for case in _read(path, common, known):
                if case.name in found:
                    raise StudyError(f"{path}: found case {case.name!r}, which {found[case.name].path} has, too")
                found[case.name] = case
    wanted = {name for pattern in only for name in _matching(pattern, found)} if only else set(found)
    return Deck(tuple(case for name, case in found.items() if name in wanted), tuple(known.documents))


def documents() -> tuple[Document, ...]:
    """The documents whose questions cases may answer, in their order."""
    return documents_of(library.HOME / "scorecard" / "questions")


def _matching(pattern: str, found: Mapping[str, Case]) -> list[str]:
    """The names of the cases that a pattern means: a name, a file, or either with `*`."""
    names = [name for name, case in found.items() if matching([name, case.file.name], pattern)]
    if not names:
        beginning = sum(name.startswith(pattern) for name in found)
        expected = one_of(pattern, list(found))
        if beginning:
            expected = f"expected {pattern}* for the {beginning} that begin so"
        raise UsageError(f"--only {pattern}: found no case called so, {expected}")
    return names


def _read(path: Path, common: Mapping[str, FigureSpec], known: Known) -> list[Case]:
    """The cases of a file, each checked."""
    text = decoded(path.read_bytes(), str(path))
    with told_with_line(path, text):
        table = loads(text)
        if "name" in table:
            raise DefinitionError("name", f"found {table['name']!r}, expected no such key: the file's own is its name")
        file = read("", {**table, "name": path.stem}, CaseFile)
        for answer in file.answers:
            known.expect("answers", answer)
        if not matching(file.scenario.get("flows", {}), UNDER_TEST):
            raise DefinitionError("scenario.flows", f"found no flow called {UNDER_TEST}, expected those under test")
        variants = file.variants or {"": Variant()}
        return [_case(path, file, name, variant, common) for name, variant in variants.items()]


def _case(path: Path, file: CaseFile, name: str, variant: Variant, common: Mapping[str, FigureSpec]) -> Case:
    rules = {**file.rules, **variant.rules}
    where = f"variants.{name}.rules" if variant.rules else "rules"
    if not rules:
        raise DefinitionError("rules", f"found none for {name or file.name}, expected one or more")
    figures = {**common, **file.figures}
    for rule in rules:
        expect_known(f"{where}.{rule}" if rule in variant.rules else f"rules.{rule}", rule, figures)
    own = {rule: figures[rule] for rule in rules}
    title = f"{file.title}: {name}" if name else file.title
    whole = f"{file.name} {name}" if name else file.name
    return Case(whole, title, file, path, variant.set, rules, own)
