"""Studies, scenarios and starts that come along with the package: they are found in any folder.

`studies`, `scenarios`, `guests`, `notebooks` and the glossary are links into the repository; a wheel has files in place
of the links (`[tool.maturin]` in pyproject.toml). A name is looked up in the working folder first, and here then.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from paceline import disk
from paceline.toml import TOMLDecodeError, loads

HOME = Path(__file__).parent
"""The folder of everything that comes along."""


def folders(kind: str) -> list[Path]:
    """Where `studies` or `scenarios` are looked up by name: in the working folder, then among those that come along."""
    return [Path(kind), (HOME / kind).resolve()]


def scenario(name: str) -> Path | None:
    """The file of a scenario that is called by its name, such as `first-call`."""
    if not name or Path(name).name != name:
        return None
    return next((path for folder in folders("scenarios") if disk.is_file(path := folder / f"{name}.toml")), None)


def scenarios() -> dict[str, Path]:
    """The files of all scenarios that can be called by their names."""
    return _by_name((path.stem, path) for folder in folders("scenarios") for path in folder.glob("*.toml"))


def studies() -> dict[str, Path]:
    """The definitions of all studies that can be called by their names."""
    return _by_name((path.parent.name, path) for folder in folders("studies") for path in folder.glob("*/study.toml"))


def _by_name(found: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    """Files by their names in the order of these; of a name the first that is found."""
    first: dict[str, Path] = {}
    for name, path in found:
        if disk.is_file(path):
            first.setdefault(name, path)
    return dict(sorted(first.items()))


def titles(kind: str) -> list[tuple[str, str]]:
    """Name and title of each of the `studies` or `scenarios`; in place of the title, why the file cannot be read."""
    key, found = ("title", studies()) if kind == "studies" else ("name", scenarios())
    return [(name, _title(path, key)) for name, path in found.items()]


def _title(path: Path, key: str) -> str:
    try:
        return str(loads(path.read_text(encoding="utf-8")).get(key, ""))
    except (OSError, UnicodeDecodeError, TOMLDecodeError) as error:
        return f"cannot be read: {path}: {error}"
