"""A version names what was built, and rows of another build are not taken for those of this one."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import paceline
from conftest import ROOT, Run
from paceline import _core
from paceline.errors import StudyError, UsageError
from paceline.studies import runner
from paceline.studies.store import Store
from paceline.version import AFTERWARDS, __version__, sources

OTHER = "0.1.0+g0123456789.s0000000000000000.p000000000000"


def identity(version: str) -> dict[str, str]:
    return {"definition": "one", "version": version}


def test_the_version_names_release_commit_and_both_sources() -> None:
    release, _, build = __version__.partition("+")
    commit, *changed, compiled, python = build.split(".")
    assert release == "0.1.0"
    assert commit == "archive" or commit.startswith("g")
    assert changed in ([], ["changed"])
    assert (compiled[0], len(compiled), python[0], len(python)) == ("s", 17, "p", 13)


def test_it_is_the_same_everywhere(cli: Run, call: paceline.Result) -> None:
    assert cli("--version").stdout == f"paceline {__version__}\n"
    assert paceline.__version__ == __version__
    assert __version__.startswith(f"{call.summary['version']}.p")
    assert call.summary["version"] == _core.version


def test_builds_of_the_same_sources_are_one_whatever_the_commit() -> None:
    assert sources("0.1.0+gaaaaaaaaaa.changed.s01.p23") == sources("0.1.0+gbbbbbbbbbb.s01.p23") == "01.p23"
    assert sources("0.1.0+archive.s01.p24") != "01.p23"
    assert sources("0.1.0") == "0.1.0"


def test_what_looks_at_rows_is_no_part_of_what_makes_them() -> None:
    """A module that an experiment imports has to be in the digest."""
    code = (
        "import sys; from paceline.studies import experiment; "
        "print(*(m.__file__ for n, m in list(sys.modules.items()) if n.startswith('paceline') and m.__file__))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    package = Path(paceline.__file__).parent
    imported = {Path(file).relative_to(package).as_posix() for file in done.stdout.split()}
    assert "studies/experiment.py" in imported
    assert [name for name in imported if name.startswith(AFTERWARDS)] == []


def test_another_python_source_is_another_build(tmp_path: Path) -> None:
    package = tmp_path / "paceline"
    shutil.copytree(Path(paceline.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def version() -> str:
        code = "from paceline.version import __version__; print(__version__)"
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert version() == __version__
    (package / "plots" / "new.py").write_text("COLOUR = 'red'\n")
    assert version() == __version__, "a picture makes no rows"
    with (package / "scenario.py").open("a") as file:
        file.write("# Changed.\n")
    assert sources(version()) != sources(__version__)


def test_rows_of_the_same_sources_at_another_commit_are_taken_over(tmp_path: Path) -> None:
    with Store(tmp_path / "out", fresh=False) as store:
        store.table("rows", {"definition": "one"}, 1)
    manifest = next((tmp_path / "out").rglob("study.json"))
    said = json.loads(manifest.read_text())
    said["tables"]["rows"]["version"] = f"0.1.0+g0123456789.s{sources(__version__)}"
    manifest.write_text(json.dumps(said))
    with Store(tmp_path / "out", fresh=False) as store:
        store.table("rows", {"definition": "one"}, 1)
    assert json.loads(manifest.read_text()) == said, "what is there already says the same"


@pytest.mark.parametrize("version", [OTHER, "0.1.0", None])
def test_rows_of_another_build_are_refused_and_stay(tmp_path: Path, version: str | None) -> None:
    with Store(tmp_path / "out", fresh=False) as store:
        store.table("rows", {"definition": "one"}, 1)
    manifest = next((tmp_path / "out").rglob("study.json"))
    said = json.loads(manifest.read_text())
    said["tables"]["rows"]["version"] = version
    manifest.write_text(json.dumps(said))
    before = manifest.read_bytes()
    with (
        Store(tmp_path / "out", fresh=False) as store,
        pytest.raises(StudyError, match=r"found results of another build .* --fresh runs all again"),
    ):
        store.table("rows", {"definition": "one"}, 1)
    assert manifest.read_bytes() == before


def test_a_comparison_of_another_build_is_not_joined(tmp_path: Path, cli: Run, call_file: Path) -> None:
    compare = ("compare", "scream", "gcc", "--over", call_file, "--seeds", "1")
    done = cli(*compare, "--out", tmp_path / "one")
    assert done.returncode == 0, done.stderr
    [document] = [path for path in (tmp_path / "one").glob("*.json") if "conditions" in path.read_text()]
    document.write_text(document.read_text().replace(__version__, OTHER))
    done = cli(*compare, "--out", tmp_path / "two", "--join", tmp_path / "one")
    assert done.returncode != 0
    assert f"found results of another build ({OTHER})" in done.stderr
    assert __version__ in done.stderr


def _square(_: None, item: int) -> int:
    return item * item


def test_a_worker_of_another_build_gives_nothing() -> None:
    assert runner._batch(__version__, None, _square, None, [3])[0] == [9]
    with pytest.raises(UsageError, match="found a worker of another build"):
        runner._batch(OTHER, None, _square, None, [3])


@pytest.mark.parametrize("git", [True, False])
def test_the_script_of_the_build_says_where_the_sources_are_from(tmp_path: Path, git: bool) -> None:
    """The build script alone, over a tree of one file: in a checkout, changed there, and in an archive."""
    rustc = shutil.which("rustc")
    if rustc is None:
        pytest.skip("no rustc here")
    tree = tmp_path / "tree"
    for name, content in [
        ("Cargo.toml", ""),
        ("Cargo.lock", ""),
        ("crates/py/Cargo.toml", ""),
        ("crates/cc/src/lib.rs", "one"),
    ]:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)
    script = tmp_path / "script"
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(tree / "crates/py"), "CARGO_PKG_VERSION": "1.2.3"}
    build = [rustc, "--edition", "2024", str(ROOT / "crates/py/build.rs"), "-o", str(script)]
    subprocess.run(build, env=environment, check=True)

    def version() -> str:
        done = subprocess.run([script], capture_output=True, text=True, check=True)
        return done.stdout.rpartition("PACELINE_VERSION=")[2].strip()

    def commit() -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", tree, "add", "."], check=True)
        subprocess.run(["git", "-C", tree, *who, "commit", "-qm", "one"], check=True)

    if git:
        subprocess.run(["git", "init", "-q", tree], check=True)
        assert version().startswith("1.2.3+uncommitted.s")
        commit()
    first = version()
    (tree / "crates/cc/src/lib.rs").write_text("two")
    second = version()
    where = r"g[0-9a-f]{10}" if git else "archive"
    changed = r"\.changed" if git else ""
    assert re.fullmatch(rf"1\.2\.3\+{where}\.s[0-9a-f]{{16}}", first)
    assert re.fullmatch(rf"1\.2\.3\+{where}{changed}\.s[0-9a-f]{{16}}", second)
    assert sources(first) != sources(second)
    if git:
        commit()
        assert ".changed" not in version()
        assert sources(version()) == sources(second)
    # The checks of controllers are compiled into tests alone.
    before = version()
    (tree / "crates/conformance/src").mkdir(parents=True)
    (tree / "crates/conformance/src/lib.rs").write_text("checks")
    assert version() == before
