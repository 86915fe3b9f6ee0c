"""The manifest of an archive: which runs it has, what made them, and the digest of every file."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

NAME = "manifest.json"
FORMAT = 1

Kind = Literal["run", "compare", "study"]


class ArchivedRun(msgspec.Struct, kw_only=True):
    """One run: its scenario as resolved, and the outcome that a replay has to repeat."""

    name: str
    scenario: str | None
    """The member with the scenario; None where it could not be read."""
    simulated: bool
    """Whether the simulator made it: runs in real time cannot be repeated to the bit."""
    file: str = ""
    """The scenario's file as the study calls it: some metrics are of one alone."""
    files: dict[str, str] = {}
    """Members with the time series and the summary, by their names in the run's folder."""
    metrics: dict[str, float | None] = {}
    """Figures of the run's row."""
    error: str | None = None
    """Why the run failed, if it did."""


class Manifest(msgspec.Struct, kw_only=True):
    """The content of `manifest.json`."""

    format: int
    kind: Kind
    name: str
    version: str | None
    """The version that made the results, with its digests; None for a single run, whose files do not say."""
    archived_by: str
    """The version that wrote the archive."""
    python: str
    system: str
    packages: dict[str, str]
    """Versions of the installed packages that Paceline needs."""
    measures: dict[str, Any]
    """The definition of the metrics: of a study its own, of a comparison the flows and links of each scenario."""
    recordings: dict[str, str]
    """SHA-256 of each recording that a scenario names; recordings themselves are not part of an archive."""
    runs: list[ArchivedRun]
    files: dict[str, str]
    """SHA-256 of each member but this one."""
