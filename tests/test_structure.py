"""Files of one room do not import each other in circles, by the imports that their text names."""

import ast
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
    """The imports of each module that run, at its head or in a function; imports for types alone do not."""
    files: dict[str, Path] = {}
    for path in (ROOT / "python").rglob("*.py"):
        files[".".join(path.relative_to(ROOT / "python").with_suffix("").parts).removesuffix(".__init__")] = path
    return {name: set(_imported(path, files)) - {name, "paceline"} for name, path in files.items()}


def _imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def test_no_python_files_import_each_other_in_a_circle() -> None:
    assert circles(python_imports()) == []
