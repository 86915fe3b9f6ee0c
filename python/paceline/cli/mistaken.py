"""The thing that a word names where another was expected, and the command that takes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from paceline import disk
from paceline.errors import LONGEST_FOUND, DataNotFound, PacelineError, UsageError, printable
from paceline.simulation import registry
from paceline.toml import loads

_COMMANDS = {
    "scenario": "`paceline run {word}` runs it, `paceline compare ... --over {word}` compares controllers over it",
    "study": "`paceline study {word}` runs it",
    "recording of rates": "`paceline trace {word}` describes it, `paceline compare ... --over {word}` compares over "
    'it, `rate = {{ trace = "{word}", format = NAME }}` of a link follows it',
    "result of a run": "`paceline run {word}/scenario.toml` repeats it",
    "named network": "`paceline probe {word}` measures it, `paceline compare ... --over {word}` compares over it, "
    '`network = "{word}"` of a link takes it',
    "controller": "`paceline run SCENARIO --set flows.NAME.controller={word}` runs a flow under it, "
    "`paceline compare {word} OTHER --over SCENARIO` compares it",
    "JSON document": "scenarios are TOML; in Python `paceline.run` takes a dictionary as `json.load` gives it",
    "YAML document": "scenarios are TOML; in Python `paceline.run` takes a dictionary as `yaml.safe_load` gives it",
    "check of figures": "`paceline check {word}` runs it",
    "capture of packets": "no command reads it; `paceline run SCENARIO --pcap FILE` writes one",
}
"""The commands that take a thing."""
_KINDS = {
    "networks": "named network",
    "losses": "loss model",
    "noises": "delay noise",
    "traces": "format of recordings",
}
_RECORDED = ('"bandwidth_kbps"', '"trace_pattern"', '"intervals"')
"""Names in recordings that are JSON, one of each format."""
_CAPTURES = (b"\x0a\x0d\x0d\x0a", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4")


@dataclass(frozen=True)
class Thing:
    """The thing that a word names."""

    word: str
    kind: str

    @property
    def said(self) -> str:
        """Its kind and the commands that take it."""
        takes = _COMMANDS.get(self.kind, "`paceline help {word}` explains it").format(word=self.word)
        return f"a {self.kind}: {takes}"


def thing(word: str) -> Thing | None:
    """The thing that a word names; None where nothing is called so."""
    path = Path(word)
    if disk.is_file(path):
        kind = _file(path)
    elif disk.is_folder(path):
        kind = _folder(path)
    else:
        kind = _name(word)
    return None if kind is None else Thing(printable(word), kind)


def _file(path: Path) -> str | None:
    if path.suffix == ".toml":
        return "study" if path.name == "study.toml" else _document(path)
    if path.suffix in (".yaml", ".yml"):
        return "YAML document"
    try:
        with path.open("rb") as opened:
            if opened.read(4) in _CAPTURES:
                return "capture of packets"
        from paceline import trace_files

        lines = list(islice(trace_files.lines(path), trace_files.LINES))
    except (PacelineError, OSError):
        return None
    if path.name.removesuffix(".gz").endswith(".json"):
        is_recording = any(name in line for line in lines for name in _RECORDED)
        return "recording of rates" if is_recording else "JSON document"
    return "recording of rates" if trace_files.are_rows(lines[:50]) else None


def _document(path: Path) -> str | None:
    """The kind of a document of TOML; None for a file that cannot be read as one, whose error says more."""
    try:
        found = loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_check = not {"links", "flows"} & set(found) and bool({"scenario", "scenarios", "bands"} & set(found))
    return "check of figures" if is_check else "scenario"


def _folder(path: Path) -> str | None:
    if disk.is_file(path / "study.toml"):
        return "study"
    return "result of a run" if disk.is_file(path / "scenario.toml") else None


def _name(word: str) -> str | None:
    from paceline import library

    for family, found in registry().items():
        if family != "tables" and any(one["kind"] == word for one in found):
            return _KINDS.get(family, family.removesuffix("s"))
    if any(disk.is_file(folder / word / "study.toml") for folder in library.folders("studies")):
        return "study"
    return None


@contextmanager
def expecting(kind: str, words: Sequence[str]) -> Iterator[None]:
    """A block that takes words for things of a kind: its error says what a word is that names another thing."""
    try:
        yield
    except PacelineError as error:
        for word in words:
            if word not in str(error) or len(word) > LONGEST_FOUND:
                continue
            found = thing(word)
            if found is not None and not any(one in found.kind for one in re.split(", | or ", kind)):
                raise UsageError(f"{found.word}: found {found.said}; expected a {kind}") from None
            if found is None and isinstance(error, DataNotFound) and (near := _near(kind, word)):
                raise DataNotFound(f"{error}; near it: {', '.join(near)}") from None
        raise


def _near(kind: str, word: str) -> list[str]:
    """Scenario files here, and named networks, whose names are near a word."""
    if not kind.startswith("scenario"):
        return []
    names = [one["kind"] for one in registry()["networks"]] if "network" in kind else []
    files = [path for folder in (Path(word).parent, Path("scenarios")) for path in sorted(folder.glob("*.toml"))]
    near = set(get_close_matches(Path(word).stem, [path.stem for path in files], 3, 0.6))
    found = [*get_close_matches(word, names, 3, 0.6), *(str(path) for path in files if path.stem in near)]
    return list(dict.fromkeys(found))[:3]
