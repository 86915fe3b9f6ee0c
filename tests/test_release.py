"""The script that releases, with other programs in the place of builds and uploads, and the files that it needs."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import ROOT

tomllib: Any = pytest.importorskip("tomllib")

WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
CRATES = sorted(path.parent for path in ROOT.glob("crates/*/Cargo.toml"))
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
CHANGES = """\
# Changelog

## [Unreleased]

## [0.1.0] - 2026-12-31

### Added

- All of it.
- #1: a line that begins like a comment.

## [0.0.9] - 2026-11-30

- An older line.
"""


def git(folder: Path, *arguments: str) -> str:
    own = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run([*own, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository whose version 0.1.0 is ready: CI has passed; `make`, `cargo` and `maturin` note their calls."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    git(tmp_path, "init", "--bare", str(origin))
    git(tmp_path, "clone", str(origin), str(clone))
    for name in ("Cargo.toml", "pyproject.toml", "CITATION.cff", ".ci/release"):
        text = (ROOT / name).read_text().replace(f'"{WORKSPACE["package"]["version"]}"', '"0.1.0"')
        target = clone / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(re.sub("^version: .*", "version: 0.1.0", text, flags=re.MULTILINE))
        target.chmod((ROOT / name).stat().st_mode)
    (clone / "CHANGELOG.md").write_text(CHANGES)
    (clone / ".gitignore").write_text("/.venv/\n/target/\n/dist/\n/bin/\n")
    for program in ("bin/make", "bin/cargo", ".venv/bin/maturin"):
        path = clone / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#!/bin/sh\nmkdir -p dist && touch dist/a.whl\necho "$(basename "$0") $*" >>target/calls\n')
        path.chmod(0o755)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "a version")
    (clone / "target").mkdir()
    (clone / "target/.green").write_text(git(clone, "rev-parse", "HEAD"))
    return clone


def release(clone: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    names = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    env = os.environ | names | environment | {"PATH": f"{clone}/bin:{os.environ['PATH']}"}
    return subprocess.run([".ci/release", *arguments], cwd=clone, env=env, capture_output=True, text=True, check=False)


def calls(clone: Path) -> list[str]:
    path = clone / "target/calls"
    return path.read_text().splitlines() if path.exists() else []


BUILDS = [
    "make wheel",
    "make check-wheel",
    "make wheel FOR=aarch64-unknown-linux-gnu",
    "cargo publish --workspace --locked --dry-run",
]


def test_a_dry_run_builds_and_keeps_all_to_itself(clone: Path) -> None:
    done = release(clone, "0.1.0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing left this machine" in done.stdout
    assert calls(clone) == BUILDS
    assert (
        clone / "dist/notes-0.1.0.md"
    ).read_text() == "### Added\n\n- All of it.\n- #1: a line that begins like a comment.\n"
    assert git(clone, "tag") == ""


def test_publishing_tags_and_uploads(clone: Path) -> None:
    done = release(clone, "0.1.0", PUBLISH="1")
    assert done.returncode == 0, done.stderr
    assert calls(clone) == [*BUILDS, "cargo publish --workspace --locked", "maturin upload dist/a.whl"]
    assert "- #1: a line" in git(clone, "tag", "--list", "--format=%(contents)", "v0.1.0")
    assert "refs/tags/v0.1.0" in git(clone, "ls-remote", "origin")
    assert "the tag v0.1.0 exists" in release(clone, "0.1.0").stderr


def test_a_commit_that_ci_has_not_passed_is_checked_first(clone: Path) -> None:
    (clone / ".ci/run").write_text("#!/bin/sh\necho a test fails; exit 3\n")
    (clone / ".ci/run").chmod(0o755)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "later")
    done = release(clone, "0.1.0", PUBLISH="1")
    assert (done.returncode, calls(clone)) == (3, [])
    assert "a test fails" in done.stdout


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "pyproject.toml",
            '\nversion = "0.1.0"',
            '\nversion = "0.1.1"',
            "pyproject.toml says version 0.1.1, and Cargo.toml 0.1.0",
        ),
        ("CITATION.cff", "version: 0.1.0", "version: 0.0.9", "CITATION.cff says version 0.0.9, and Cargo.toml 0.1.0"),
        ("Cargo.toml", 'crates/cc", version = "0.1.0"', 'crates/cc", version = "0.1.1"', "paceline-cc ="),
        ("CHANGELOG.md", "## [0.1.0] - 2026-12-31", "## [0.1.0]", "has no date"),
        ("CHANGELOG.md", "## [0.1.0] - 2026-12-31", "", "has no section [0.1.0]"),
        (
            "CHANGELOG.md",
            "## [0.1.0] - 2026-12-31",
            "## [0.1.0] - 2026-12-31\n\n## [0.0.9] - 2026-12-01",
            "nothing in it",
        ),
        ("CHANGELOG.md", "- All of it.", "- All.", "files are changed or new"),
    ],
)
def test_a_release_that_is_not_ready_says_why(clone: Path, name: str, old: str, new: str, message: str) -> None:
    text = (clone / name).read_text()
    assert old in text
    (clone / name).write_text(text.replace(old, new))
    done = release(clone, "0.1.0", PUBLISH="1")
    assert (done.returncode, calls(clone), git(clone, "tag")) == (1, [], "")
    assert message in done.stderr


def test_another_version_is_refused(clone: Path) -> None:
    assert "the version to release is 0.2.0, and Cargo.toml says 0.1.0" in release(clone, "0.2.0").stderr


def test_this_repository_agrees_on_its_version() -> None:
    done = subprocess.run([ROOT / ".ci/release"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_changelog_has_the_sections_of_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert [
        heading for heading in headings[1:] if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading)
    ] == []
    assert set(re.findall(r"^### (.*)", text, re.MULTILINE)) <= set(KINDS)


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_a_crate_says_what_a_registry_shows(crate: Path) -> None:
    package = tomllib.loads((crate / "Cargo.toml").read_text())["package"]
    shown = {
        name: WORKSPACE["package"][name] if value == {"workspace": True} else value for name, value in package.items()
    }
    for name in ("description", "license", "keywords", "categories", "rust-version"):
        assert shown.get(name), name
    assert len(shown["keywords"]) <= 5
    assert all(re.fullmatch(r"[a-z0-9][\w+-]{0,19}", keyword) for keyword in shown["keywords"])
    assert (crate / "README.md").read_text().startswith(f"# {shown['name']}\n")


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_a_crate_holds_all_its_sources(crate: Path) -> None:
    """A file of another crate, named by its path, is not in the package. A link to it is: cargo packs the content."""
    outside = [
        f"{source.relative_to(ROOT)}: {named}"
        for source in crate.glob("src/**/*.rs")
        if not re.search(r"(^|[/_])tests(/|\.rs$)", source.relative_to(crate).as_posix())
        for named in re.findall(r'(?:#\[path = |include\w*!\()"([^"]+)"', source.read_text(encoding="utf-8"))
        if not Path(os.path.normpath(source.parent / named)).is_relative_to(crate)
    ]
    assert outside == []


def test_a_crate_that_is_tested_by_its_own_users_can_be_published() -> None:
    """Packages leave out dependencies of tests without a version. With one, both would have to come first."""
    manifests = [tomllib.loads((crate / "Cargo.toml").read_text()) for crate in CRATES]
    uses = {found["package"]["name"]: set(found.get("dependencies", {})) for found in manifests}

    def needs(crate: str) -> set[str]:
        return {crate}.union(*(needs(used) for used in uses.get(crate, ())))

    circles = [
        (found["package"]["name"], used, given)
        for found in manifests
        for used, given in found.get("dev-dependencies", {}).items()
        if found["package"]["name"] in needs(used)
    ]
    assert ("paceline-cc", "paceline-conformance") in [circle[:2] for circle in circles]
    assert [circle for circle in circles if set(circle[2]) != {"path"}] == []


def test_the_citation_and_the_issue_forms_are_whole() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert all(citation[name] for name in ("message", "title", "authors"))
    assert citation["license"] == WORKSPACE["package"]["license"].split(" OR ")
    forms = sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml"))
    assert len(forms) >= 3
    for path in forms:
        form = yaml.safe_load(path.read_text())
        assert all(form[name] for name in ("name", "description", "body")), path
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in fields}) == len(fields) > 0, path
        assert all(field["attributes"]["label"] for field in fields), path
