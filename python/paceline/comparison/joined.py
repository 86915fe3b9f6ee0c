"""Results of comparisons that were run apart, put together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from paceline import disk, guests
from paceline.comparison import statistics
from paceline.comparison.conditions import Condition
from paceline.comparison.contenders import Contender
from paceline.comparison.figures import DELAYS, FIGURES, PARTS, quantile_column
from paceline.comparison.result import read_table
from paceline.errors import DataNotFound, StudyError, UsageError

if TYPE_CHECKING:
    import pandas as pd

FILE = "comparison.json"
"""Beside the rows: what was compared."""
_FIGURES = (
    *(one.column for one in FIGURES.values()),
    *(quantile_column(delay, part) for delay in DELAYS for part in PARTS),
)


class _Labelled(msgspec.Struct):
    label: str


class _Named(msgspec.Struct):
    name: str


class _Measured(msgspec.Struct):
    flows: list[str]
    links: list[str]
    warmup_s: float


class _Said(msgspec.Struct):
    """The form of `comparison.json`."""

    version: str
    controllers: list[_Labelled]
    conditions: Annotated[list[_Named], msgspec.Meta(min_length=1)]
    cases: dict[str, tuple[str, str]]
    flows: dict[str, _Measured]


@dataclass(frozen=True)
class Part:
    """The runs of one comparison, in its folder."""

    out: Path
    document: str
    """`comparison.json`."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The controllers that are shown, by their labels in the folder; of all under their own names it is empty."""

    @cached_property
    def said(self) -> dict[str, Any]:
        """The compared runs."""
        found: dict[str, Any] = json.loads(self.document)
        return found

    @property
    def labels(self) -> list[str]:
        """The controllers."""
        return [one["label"] for one in self.said["controllers"]]

    def runs(self) -> pd.DataFrame:
        """A row for each run, with its figures."""
        named = {"factor.condition": "condition", "factor.controller": "controller", "seed": "seed", "error": "error"}
        wanted = {**named, **{f"metric.{name}": name for name in _FIGURES}}
        rows = read_table(self.out / "results.parquet", wanted)
        rows = rows[list(wanted)].rename(columns=wanted).astype({"error": object})
        if not self.renamed:
            return rows
        rows = rows[rows["controller"].isin(list(self.renamed))].reset_index(drop=True)
        return rows.assign(controller=rows["controller"].map(self.renamed))

    def series(self) -> dict[tuple[str, str], Path]:
        """By condition and controller, the folder of time series, where there is one."""
        found = {}
        for name, (condition, controller) in self.said["cases"].items():
            path = disk.within(self.out, f"experiments/{name}/1/flows.parquet").parent
            if (path / "flows.parquet").is_file() and (path / "links.parquet").is_file():
                found[condition, controller] = path
        return found


def read(out: Path) -> Part:
    """The results of a comparison in its folder, to be put beside others.

    Raises:
        DataNotFound: There are none.
        StudyError: They are damaged, or of another version.
    """
    part = _read(out, "--join")
    version = part.said["version"]
    if (other := guests.other(version)) is not None:
        raise StudyError(
            f"--join {out}: found results of another {other} ({version}), which may give other figures than this "
            f"one ({guests.version()}); run that comparison again, or see what changed with --with {out}"
        )
    return part


def read_earlier(
    out: Path, contenders: Sequence[Contender], conditions: Sequence[Condition], seeds: Sequence[int]
) -> Part:
    """The runs of another version of the same controllers, under the same conditions and seeds.

    Raises:
        DataNotFound: There are none.
        StudyError: They are damaged, of this version, or of other controllers, conditions or seeds.
    """
    part, where = _read(out, "--with"), f"--with {out}"
    version = part.said["version"]
    if guests.other(version) is None:
        raise StudyError(
            f"{where}: found results of this same version ({version}), expected another; --join adds these"
        )
    known = [one.label for one in contenders if one.label in part.labels]
    if not known:
        wanted = ", ".join(one.label for one in contenders) or "no controller"
        raise StudyError(f"{where}: found {', '.join(part.labels)} and here {wanted}, expected one that is in both")
    expect_alike([part], contenders, conditions, where)
    here, there = [one.name for one in conditions], [one["name"] for one in part.said["conditions"]]
    if set(here) != set(there):
        raise StudyError(f"{where}: found conditions {', '.join(there)}, expected the same as here: {', '.join(here)}")
    rows = part.runs()
    for (condition, label), own in rows[rows["controller"].isin(known)].groupby(["condition", "controller"]):
        if set(own["seed"]) != set(seeds):
            raise StudyError(
                f"{where}: found {label!r} under {condition} with seeds {_span(list(own['seed']))}, expected the same "
                f"as here: {_span(seeds)}"
            )
    renamed = {label: f"{label}@{named(version)}" for label in known}
    said = part.said
    said["controllers"] = [
        one | {"label": renamed[one["label"]]} for one in said["controllers"] if one["label"] in known
    ]
    said["cases"] = {
        case: [condition, renamed[label]] for case, (condition, label) in said["cases"].items() if label in known
    }
    return Part(out, json.dumps(said), renamed)


_BUILD = re.compile(r"[^+]*\+g?([0-9a-f]{7}|archive)[0-9a-f]*(?:\.(changed))?\.s([0-9a-f]{6})")


def named(version: str) -> str:
    """A short name of a version that is not this one: its commit, and a digest if its sources were changed since.

    Where only a controller of one's own is another, the name is the digest of that.
    """
    build, *theirs = version.split("~")
    own = set(guests.version().split("~")[1:])
    changed = [one for one in theirs if one not in own]
    if changed and guests.other("~".join([build, *own])) is None:
        return changed[0].rpartition("-")[2][:7]
    found = _BUILD.match(build)
    if found is None:
        return build[:20]
    return f"{found[1]}.{found[3]}" if found[2] else found[1]


def _read(out: Path, option: str) -> Part:
    path = out / FILE
    if not disk.is_file(path) or not disk.is_file(out / "results.parquet"):
        raise DataNotFound(f"{option} {out}: found no finished comparison there ({FILE} and results.parquet)")
    try:
        part = Part(out, disk.read(path).decode())
        said = msgspec.json.decode(part.document, type=_Said)
        for case in said.cases:
            disk.within(out / "experiments", case)
        known = said.controllers and said.cases and {one.name for one in said.conditions} <= said.flows.keys()
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError, RecursionError):
        known = False
    if not known:
        raise StudyError(f"{option} {path}: found a damaged file, expected one that paceline compare wrote")
    return part


def expect_two(labels: Sequence[str]) -> None:
    """Refuses a comparison of fewer than two controllers."""
    if len(set(labels)) < 2:
        found = f"one controller ({labels[0]})" if labels else "no controller"
        raise UsageError(
            f"compare: found {found}, expected at least two, such as: paceline compare scream newreno --over call.toml"
        )


def expect_other_folder(out: Path, others: Sequence[Path], option: str) -> None:
    """Refuses to write where what is joined stands."""
    for other in others:
        if other.resolve() == out.resolve():
            raise UsageError(f"{option} {other}: found the folder of --out, expected another one")


def expect_alike(
    parts: Sequence[Part], contenders: Sequence[Contender], conditions: Sequence[Condition], told: str = ""
) -> None:
    """Refuses to put together what only has the same name: another scenario, or another controller.

    Raises:
        StudyError: A name stands for two things.
    """
    known: dict[tuple[str, str], tuple[str, Any]] = {}
    own = ("here", [one.document for one in contenders], [one.document for one in conditions])
    for where, controllers, others in (
        own,
        *((str(p.out), p.said["controllers"], p.said["conditions"]) for p in parts),
    ):
        named = [(("controller", one["label"]), one) for one in controllers]
        named += [(("condition", one["name"]), one) for one in others]
        for name, said in named:
            plain = json.loads(json.dumps(said, default=str))
            first, before = known.setdefault(name, (where, plain))
            if before != plain:
                kind, label = name
                raise StudyError(
                    f"{told or f'--join {where}'}: found {kind} {label!r} that is another one than {first} has, "
                    "expected the same under the same name; say a label, such as other=..., to tell them apart"
                )


def runs(parts: Sequence[Part]) -> pd.DataFrame:
    """All runs; of a run that several parts have the first part's.

    Raises:
        StudyError: A controller of another part than the baseline's has no condition and seed in common with it.
    """
    import pandas as pd

    found = pd.concat([part.runs() for part in parts], ignore_index=True)
    found = found.drop_duplicates(["condition", "controller", "seed"], ignore_index=True)
    if len(parts) > 1:
        _expect_common(found)
    return found


def _expect_common(found: pd.DataFrame) -> None:
    labels = list(dict.fromkeys(found["controller"]))
    baseline = labels[0]
    for label, count in statistics.common_seeds(found, labels, baseline).items():
        if not count:
            raise StudyError(
                f"--join: found no seed in common: {baseline!r} ran {_told(found, baseline)}, {label!r} "
                f"{_told(found, label)}; differences are of pairs, expected runs under the same condition and seed"
            )


def _told(found: pd.DataFrame, label: str) -> str:
    """Under which conditions and seeds a controller ran."""
    own = found[found["controller"] == label]
    seeds = [f"{condition} with seeds {_span(list(rows))}" for condition, rows in own.groupby("condition")["seed"]]
    return "; ".join(seeds)


def _span(seeds: Sequence[int]) -> str:
    found = sorted(seeds)
    whole = found == list(range(found[0], found[-1] + 1)) and len(found) > 2
    return f"{found[0]} to {found[-1]}" if whole else ", ".join(map(str, found))
