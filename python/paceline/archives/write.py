"""Writing an archive of a result folder, as `run`, `compare` and `study` leave it with `--out`."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import platform
import re
import shlex
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from paceline import disk, guests
from paceline.archives.manifest import FORMAT, NAME, ArchivedRun, Kind, Manifest
from paceline.comparison.conditions import named_files
from paceline.errors import DataNotFound, OutputError, PacelineError, UsageError
from paceline.frames import find
from paceline.library import HOME
from paceline.overrides import changes
from paceline.scenario import ScenarioText, data_folders, read
from paceline.series import read_parquet
from paceline.toml import loads

MOST_RUNS = 10_000
"""Runs of an archive: of each the scenario is kept and, in a replay, run again."""
_TEXTS = (".csv", ".html", ".json", ".md", ".svg", ".toml")
_SERIES = ("summary.json", "flows.parquet", "links.parquet", "video.parquet")


def archive(results: Path, target: Path, data: str | os.PathLike[str] | None = None) -> Manifest:
    """Writes an archive of the results in a folder.

    Raises:
        UsageError: The folder has no results, or too many runs.
        OutputError: The archive cannot be written, or is there already.
    """
    if not disk.is_folder(results):
        raise DataNotFound(f"{results}: no such folder of results")
    if target.exists() or target.is_symlink():
        raise OutputError(f"{target}: there is something already, expected a new name")
    return _Packing(results, data_folders(data)).write(target)


@dataclass
class _Packing:
    """The members of an archive, as they come together."""

    out: Path
    data: list[str]
    members: dict[str, bytes] = field(default_factory=dict)
    recordings: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    """Absolute paths of this machine, and the names that stand for them."""
    firsts: dict[str, Any] = field(default_factory=dict)
    """The first seed of each experiment, whose time series are kept."""

    def write(self, target: Path) -> Manifest:
        for known in (self.out, HOME, Path.cwd(), Path.home(), *map(Path, self.data)):
            self._hide(known)
        kind, name, runs, version, measures = self._read()
        for path in _files(self.out):
            member = f"results/{path.relative_to(self.out).as_posix()}"
            if member not in self.members:
                self.members[member] = self._told(path)
        packages = _packages()
        pinned = "".join(f"{one}=={number}\n" for one, number in packages.items())
        self.members["requirements.txt"] = pinned.encode()
        manifest = Manifest(
            format=FORMAT, kind=kind, name=name, version=version, archived_by=guests.version(),
            python=platform.python_version(),
            system=f"{platform.system()} {platform.machine()}", packages=packages, measures=measures,
            recordings=self.recordings, runs=runs,
            files={one: hashlib.sha256(content).hexdigest() for one, content in sorted(self.members.items())},
        )  # fmt: skip
        _zip(target, {NAME: msgspec.json.format(msgspec.json.encode(manifest), indent=1), **self.members})
        return manifest

    def _read(self) -> tuple[Kind, str, list[ArchivedRun], str | None, dict[str, Any]]:
        """The runs of the folder, of whichever kind."""
        import pyarrow as pa

        try:
            if disk.is_file(self.out / "results.parquet"):
                kind: Kind = "compare" if disk.is_file(self.out / "comparison.json") else "study"
                return kind, *self._rows(kind)
            if disk.is_file(self.out / "summary.json") and disk.is_file(self.out / "scenario.toml"):
                return "run", *self._run()
        except PacelineError:
            raise
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, pa.ArrowException) as error:
            raise _damaged(self.out, error) from None
        expected = "results.parquet, or summary.json and scenario.toml"
        raise UsageError(f"{self.out}: found no results of run, compare or study, expected {expected}")

    def _run(self) -> tuple[str, list[ArchivedRun], str | None, dict[str, Any]]:
        """The one run of a folder that `run --out` wrote."""
        summary = _document(self.out / "summary.json")
        scenario = self._scenario("scenarios/1.toml", read(self.out / "scenario.toml", data=None))
        simulated = not summary.get("sockets")
        run = ArchivedRun(name="run", scenario=scenario, simulated=simulated, files=self._series(self.out))
        return str(summary.get("name")), [run], None, {}

    def _rows(self, kind: Kind) -> tuple[str, list[ArchivedRun], str | None, dict[str, Any]]:
        """The runs of the rows of results.parquet."""
        table = read_parquet(self.out / "results.parquet")
        if table.num_rows > MOST_RUNS:
            raise UsageError(f"{self.out}: found {table.num_rows:,} runs, expected {MOST_RUNS:,} at most")
        rows = table.to_pylist()
        identity = _identity(self.out)
        runs = [self._row(number, row, kind, identity) for number, row in enumerate(rows, 1)]
        self.members["results/results.parquet"] = self._parquet(table, runs)
        said = (table.schema.metadata or {}).get(b"paceline.study", b"").decode()
        measures = {"metrics": identity.get("metrics", {})}
        if kind == "compare":
            comparison = _document(self.out / "comparison.json")
            measures = {"flows": comparison["flows"], "cases": comparison["cases"]}
        version = str(rows[0]["version"]) if rows else None
        return said, runs, version, measures

    def _row(self, number: int, row: dict[str, Any], kind: Kind, identity: dict[str, Any]) -> ArchivedRun:
        words = shlex.split(row["command"])
        file = f"{row['design']}.toml" if kind == "compare" else _file(identity, row["design"])
        self._hide(Path(words[2]).parent)
        scenario = None
        try:
            scenario = self._scenario(f"scenarios/{number}.toml", _of_command(words[2:], self.data))
        except PacelineError as error:
            if row["error"] is None:
                raise UsageError(f"{row['experiment']}: its scenario cannot be read any more: {error}") from None
        return ArchivedRun(
            name=row["experiment"],
            scenario=scenario,
            simulated=words[1] == "run",
            file=file,
            files={} if row["error"] else self._series(self._kept(row)),
            metrics={key[7:]: _number(value) for key, value in row.items() if key.startswith("metric.")},
            error=self._hidden(row["error"]) if row["error"] else None,
        )

    def _kept(self, row: dict[str, Any]) -> Path:
        """The folder of a run's time series; those of a design are of each point's first seed."""
        own = self.out / "experiments" / str(row["experiment"])
        first = self.firsts.setdefault(str(row["experiment"]), row["seed"])
        return own if first == row["seed"] else self.out / "experiments" / ".none"

    def _series(self, folder: Path) -> dict[str, str]:
        return {
            name: f"results/{(folder / name).relative_to(self.out).as_posix()}"
            for name in _SERIES
            if disk.is_file(folder / name)
        }

    def _scenario(self, member: str, text: ScenarioText) -> str:
        """Keeps a scenario as resolved, with its recordings by their names in the folder of data, or their own."""
        loaded = text.load()
        resolved = loaded.core.resolved_toml
        for holder, key in named_files(loads(resolved)):
            name = holder[key]
            path = find(name, loaded.folders)
            self._hide(path.parent)
            known = _in_data(path.with_name(Path(name).name), loaded.folders) if Path(name).is_absolute() else name
            digest = disk.digest(path.resolve())
            if self.recordings.setdefault(known, digest) != digest:
                raise UsageError(f"{path}: found two recordings that are called {known}, expected another name for one")
            if known != name:
                resolved = resolved.replace(json.dumps(name, ensure_ascii=False), json.dumps(known, ensure_ascii=False))
        self.members[member] = resolved.encode()
        return member

    def _parquet(self, table: Any, runs: list[ArchivedRun]) -> bytes:
        """The rows without paths of this machine: the command of each runs its member."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        commands = [f"paceline run {run.scenario}" if run.scenario else "" for run in runs]
        for place, column in enumerate(table.schema):
            if pa.types.is_string(column.type):
                said = commands if column.name == "command" else table.column(place).to_pylist()
                hidden = [None if text is None else self._hidden(text) for text in said]
                table = table.set_column(place, column, pa.array(hidden, column.type))
        about = {key: self._hidden(value.decode()).encode() for key, value in (table.schema.metadata or {}).items()}
        table = table.replace_schema_metadata(about)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        return bytes(sink.getvalue().to_pybytes())

    def _told(self, path: Path) -> bytes:
        content = disk.read(path)
        if path.suffix not in _TEXTS:
            return content
        try:
            return self._hidden(content.decode()).encode()
        except UnicodeDecodeError:
            return content

    def _hide(self, folder: Path) -> None:
        for one in (folder.absolute(), folder.resolve()):
            if one != Path(one.anchor):
                self.folders[str(one)] = one.name

    def _hidden(self, text: str) -> str:
        """A text with names in place of folders of this machine."""
        for folder in sorted(self.folders, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.]){re.escape(folder)}(?![\w.-])", self.folders[folder].replace("\\", r"\\"), text)
        return text


def _of_command(words: list[str], data: list[str]) -> ScenarioText:
    """The scenario that the command of a row runs: a file, `--set`, `--seed` and `--data`."""
    path, rest = words[0], words[1:]
    said = [(rest[place], rest[place + 1]) for place in range(0, len(rest) - 1) if rest[place].startswith("--")]
    pairs = changes([value for option, value in said if option == "--set"])
    seed = next((int(value) for option, value in said if option == "--seed"), None)
    named = next((value for option, value in said if option == "--data"), None)
    return read(Path(path), overrides=pairs, seed=seed, data=named or (data[0] if data else None))


def _in_data(path: Path, folders: list[str]) -> str:
    """The name of a recording in the folder of data that has it; its own name if none has."""
    named = (Path(folder).absolute() for folder in folders)
    inside = [path.absolute().relative_to(folder) for folder in named if path.absolute().is_relative_to(folder)]
    return min(inside, key=lambda one: len(one.parts), default=Path(path.name)).as_posix()


def _damaged(where: Path, error: Exception) -> UsageError:
    return UsageError(f"{where}: found damaged results, expected them as they were written: {error}")


def _document(path: Path) -> Any:
    """The content of a JSON file of the results."""
    try:
        return json.loads(disk.read(path))
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from None


def _identity(out: Path) -> dict[str, Any]:
    """The definition of a study's rows, as its folder keeps it."""
    try:
        found: dict[str, Any] = _document(out / ".study" / "study.json")["tables"]["rows"]
    except (OSError, KeyError, TypeError):
        raise UsageError(f"{out}: found no .study/study.json that says whose results these are") from None
    return found


def _file(identity: dict[str, Any], design: str) -> str:
    """The scenario's file of a design, its own or that of the experiment that it is based on."""
    named = identity.get("experiments", {})
    one = identity.get("designs", {}).get(design) or named.get(design) or {}
    bases: list[str] = []
    while "scenario" not in one and (base := str(one.get("based_on"))) in named:
        if base in bases:
            raise ValueError(f"the experiment {base!r} is based on itself")
        bases.append(base)
        one = named[base]
    return str(one.get("scenario", identity.get("scenario", "")))


def _number(value: Any) -> float | None:
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else float(value)


def _files(out: Path) -> Iterator[Path]:
    """The files of a result, without links, the store's journals and files that were being written."""
    for folder, folders, names in os.walk(out):
        shown = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in shown if not Path(folder, name).is_symlink()]
        for path in (Path(folder, name) for name in sorted(names) if not name.startswith(".")):
            if path.is_file() and not path.is_symlink():
                yield path


def _packages() -> dict[str, str]:
    """The versions of all installed packages that Paceline needs."""
    found: dict[str, str] = {}
    waiting = ["paceline"]
    while waiting:
        name = waiting.pop()
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if package.name.lower() in found:
            continue
        found[package.name.lower()] = package.version
        waiting += [re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in package.requires or () if "extra ==" not in one]
    found.pop("paceline", None)
    return dict(sorted(found.items()))


def _zip(target: Path, members: dict[str, bytes]) -> None:
    """One file with all members, the same bytes for the same members, that appears whole or not at all."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            about = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(about, content)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        disk.write(target, sink.getvalue())
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror}") from None
