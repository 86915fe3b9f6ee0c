"""Rust dependencies have licences and sources that deny.toml allows, and are used. No network is needed."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

tomllib: Any = pytest.importorskip("tomllib")

ROOT = Path(__file__).parent.parent
DENY = tomllib.loads((ROOT / "deny.toml").read_text())
ALLOWED = set(DENY["licenses"]["allow"])
EXCEPTIONS = {exception["crate"]: exception["allow"] for exception in DENY["licenses"]["exceptions"]}
MANIFESTS = [path for path in ROOT.rglob("Cargo.toml") if not {"target", ".venv", "out"} & set(path.parts)]
# Dependencies that net names for their features alone.
FOR_FEATURES = {"tracing", "syn"}
# The sources that may use a kind of dependency, in a crate's folder.
USERS = {
    "dependencies": ("src/**/*.rs", "fuzz_targets/*.rs"),
    "dev-dependencies": ("src/**/*.rs", "tests/**/*.rs", "examples/*.rs"),
    "build-dependencies": ("build.rs",),
}


def allows(expression: str, besides: Sequence[str] = ()) -> bool:
    """Whether an SPDX expression is met by allowed licences and those `besides`; a slash is an old way to write OR."""
    words = re.findall(r"\(|\)|[^\s()/]+|/", expression.replace("/", " OR "))

    def either() -> bool:
        met = both()
        while words and words[0] == "OR":
            words.pop(0)
            met = both() or met
        return met

    def both() -> bool:
        met = one()
        while words and words[0] == "AND":
            words.pop(0)
            met = one() and met
        return met

    def one() -> bool:
        word = words.pop(0)
        if word == "(":
            met = either()
            words.pop(0)
            return met
        if words and words[0] == "WITH":
            words.pop(0)
            word = f"{word} WITH {words.pop(0)}"
        return word in ALLOWED or word in besides

    return either()


def packages(folder: Path) -> list[dict[str, Any]]:
    """The crates of a workspace's lock file, its own out."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the crates of {folder} are not all at hand: {done.stderr.strip()[-200:]}")
    return [package for package in json.loads(done.stdout)["packages"] if package["source"] is not None]


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("MIT OR GPL-3.0", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("MIT AND GPL-3.0", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0 OR (BSL-1.0 AND MIT)", False),
    ],
)
def test_an_expression_is_met_by_allowed_licences_alone(expression: str, met: bool) -> None:
    assert allows(expression) is met


def test_every_dependency_has_an_allowed_licence() -> None:
    found = packages(ROOT)
    assert len(found) > 20
    checked = [package for package in found if package["name"] not in EXCEPTIONS]
    assert [f"{p['name']}: {p['license']}" for p in checked if not (p["license"] and allows(p["license"]))] == []


def test_every_exception_is_of_a_dependency_that_needs_it() -> None:
    licences = {p["name"]: p["license"] for p in packages(ROOT) if p["license"] or p["license_file"]}
    needed = {crate: licences[crate] for crate in EXCEPTIONS}
    assert [crate for crate, licence in needed.items() if licence and not allows(licence, EXCEPTIONS[crate])] == []
    assert [crate for crate, licence in needed.items() if licence and allows(licence)] == []


def test_every_dependency_comes_from_an_allowed_registry() -> None:
    sources = {f"registry+{address}" for address in DENY["sources"]["allow-registry"]}
    assert [p["name"] for p in packages(ROOT) if p["source"] not in sources] == []


def test_the_extension_is_compiled_with_the_features_that_the_tests_have() -> None:
    """Else a crate whose features differ, and all that use it, are compiled once more for the tests."""

    def compiled(*selected: str) -> set[str]:
        command = ["cargo", "tree", *selected, "--prefix", "none", "--format", "{p} {f}", "--locked", "--offline"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"the crates are not all at hand: {done.stderr.strip()[-200:]}")
        return {line.removesuffix(" (*)") for line in done.stdout.splitlines()}

    extension = compiled("--package", "paceline-extension", "--edges", "normal,build")
    assert len(extension) > 50
    assert extension - compiled("--workspace", "--edges", "normal,build,dev") == set()


def included(source: Path) -> list[Path]:
    """The files, and those beside them, that a source takes from another folder as modules."""
    named = re.findall(r'#\[path = "(\.\.[^"]+)"\]', source.read_text(encoding="utf-8"))
    return [beside for one in named for beside in (source.parent / one).parent.glob("*.rs")]


def test_every_dependency_is_used_where_it_is_named() -> None:
    inherited: set[str] = set()
    unused: list[str] = []
    for path in MANIFESTS:
        manifest = tomllib.loads(path.read_text())
        for kind, places in USERS.items():
            found = [source for place in places for source in path.parent.glob(place)]
            found += [named for source in found for named in included(source)]
            text = re.sub("//.*", "", "".join(source.read_text(encoding="utf-8") for source in found))
            named = manifest.get(kind, {})
            inherited |= {name for name, given in named.items() if "workspace" in given}
            used = FOR_FEATURES | {name for name in named if re.search(rf"\b{name.replace('-', '_')}\b", text)}
            unused += [f"{path.relative_to(ROOT)}: {kind}: {name}" for name in named if name not in used]
    assert unused == []
    assert set(tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]) - inherited == set()


def test_unsafe_code_is_denied_but_where_security_says() -> None:
    crates = {path: found for path in MANIFESTS if "package" in (found := tomllib.loads(path.read_text()))}
    assert len(crates) > 12
    whole = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["lints"]["rust"]
    for path, found in crates.items():
        lints = whole if found["lints"].get("workspace") else found["lints"]["rust"]
        assert lints["unsafe_code"] == "deny", path
    sources = (source for path in crates for source in path.parent.rglob("*.rs") if "target" not in source.parts)
    allowed = {source for source in sources if re.search(r"(allow|expect|warn)\s*\(\s*unsafe_code", source.read_text())}
    said = re.findall(r"`([\w/]+\.rs)`", (ROOT / "SECURITY.md").read_text().partition("`unsafe_code` is denied")[2])
    assert {str(source.relative_to(ROOT)) for source in allowed} == {name for name in said if "/" in name}
