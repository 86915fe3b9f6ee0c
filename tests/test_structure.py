"""Files of one room do not import each other in circles, by the imports that their text names."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
Graph = dict[str, set[str]]


def circles(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """Sets of at least two names that reach each other."""
    reached = {name: _reached(imports, name) for name in imports}
    found = [{other for other in reached[name] if name in reached[other]} for name in imports]
    return [one for place, one in enumerate(found) if len(one) > 1 and one not in found[:place]]


def _reached(imports: Mapping[str, set[str]], name: str) -> set[str]:
    found, waiting = set[str](), [name]
    while waiting:
        new = imports.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def test_a_circle_is_found_and_a_chain_is_none() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def python_imports() -> Graph:
    """The imports of each module: at its head, in its functions, and for types alone."""
    files: dict[str, Path] = {}
    for path in (ROOT / "python").rglob("*.py"):
        files[".".join(path.relative_to(ROOT / "python").with_suffix("").parts).removesuffix(".__init__")] = path
    return {name: set(_imported(path, files)) - {name, "paceline"} for name, path in files.items()}


def _imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def test_no_python_files_import_each_other_in_a_circle() -> None:
    assert circles(python_imports()) == []


def test_only_the_command_line_imports_the_command_line() -> None:
    ends = {"paceline.__main__"}
    found = {
        name: imports
        for name, found in python_imports().items()
        if not name.startswith("paceline.cli") and name not in ends
        and (imports := {one for one in found if one.startswith("paceline.cli")})
    }  # fmt: skip
    assert found == {}


MOST_CIRCLES_IN_RUST = 6
"""Circles among the files of all crates; it may only fall."""
_USE = re.compile(r"\buse ((?:crate|self|super)::[^;]+);")
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\n]*\s*)*(?:pub(?:\([^)]*\))? )?mod \w+ \{")
_PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def rust_imports(source: Path) -> Graph:
    """The files whose items each file of a crate names; none between a module and the modules inside it."""
    files = [path for path in source.rglob("*.rs") if "test" not in path.relative_to(source).as_posix()]
    modules = {_module(path.relative_to(source)): path for path in files}
    imports: Graph = {}
    for module, path in modules.items():
        text = _TESTS.split(re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8")))[0]
        paths = [way for use in _USE.findall(text) for way in _ways(use)] + _PATH.findall(text)
        found = {_named(module, way.split("::"), modules) for way in paths}
        imports["/".join(module)] = {"/".join(one) for one in found if not _inside(module, one)}
    return imports


def _module(path: Path) -> tuple[str, ...]:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def _inside(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _ways(use: str) -> Iterator[str]:
    """The single paths of `crate::a::{b, c::{d, e}}`."""
    head, brace, rest = "".join(use.split()).partition("{")
    if not brace:
        yield head
        return
    depth, start = 0, 0
    inner = rest.rpartition("}")[0] + ","
    for place, letter in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            if inner[start:place]:
                yield from _ways(head + inner[start:place])
            start = place + 1


def _named(module: tuple[str, ...], way: list[str], modules: Mapping[tuple[str, ...], Path]) -> tuple[str, ...]:
    """The deepest module that a path leads to from within a module."""
    at = () if way[0] == "crate" else module
    for part in way:
        if part == "super":
            at = at[:-1]
        elif part not in ("crate", "self"):
            if (*at, part) not in modules:
                break
            at = (*at, part)
    return at


def test_a_use_is_taken_apart() -> None:
    assert list(_ways("crate::a::{b, c::{d, e}}")) == ["crate::a::b", "crate::a::c::d", "crate::a::c::e"]
    modules = {("a",): ROOT, ("a", "b"): ROOT, ("c",): ROOT}
    assert _named(("a", "b"), ["super", "super", "c", "D"], modules) == ("c",)
    assert _named(("c",), ["crate", "a", "b", "D"], modules) == ("a", "b")


def test_few_rust_files_import_each_other_in_circles() -> None:
    found = [(crate.name, one) for crate in (ROOT / "crates").iterdir() for one in circles(rust_imports(crate / "src"))]
    assert len(found) <= MOST_CIRCLES_IN_RUST, "\n".join(f"{crate}: {', '.join(sorted(one))}" for crate, one in found)
