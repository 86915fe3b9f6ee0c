"""Which build this is.

A version such as `0.1.0+gac24356f01.changed.s0f1e2d3c4b5a6978.p1a2b3c4d5e6f` names the release, the commit (`archive`
outside of a git checkout), whether the compiled sources were changed since, and two digests: of the compiled sources
(s), and of the Python sources of which rows come (p). Builds with the same digests give the same figures.
"""

import hashlib
from pathlib import Path

from paceline import _core

AFTERWARDS = (
    "archives",
    "checks",
    "cli",
    "comparison",
    "library/guests",
    "notebook.py",
    "plots",
    "scorecard/gate.py",
    "scorecard/grades.py",
    "scorecard/pictures.py",
    "scorecard/report.py",
    "scorecard/text.py",
    "starts.py",
    "studies/judge.py",
    "studies/queries.py",
    "studies/query_process.py",
    "studies/report.py",
    "studies/templates",
)
"""Modules that look at rows and make none: a picture can be changed without running a study again."""


def _python_digest() -> str:
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not name.startswith(AFTERWARDS):
            content = path.read_bytes()
            digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:12]


def sources(version: str) -> str:
    """The digests in a version, or all of a version that has none."""
    _, found, digests = version.partition(".s")
    return digests if found else version


__version__ = f"{_core.version}.p{_python_digest()}"
"""The version of this build."""
