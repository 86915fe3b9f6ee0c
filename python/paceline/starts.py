"""Starts that somebody changes: a call, a study, a controller of one's own with its call, a notebook."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from paceline import disk
from paceline.errors import OutputError, UsageError, one_of
from paceline.library import HOME

KINDS = ("call", "study", "controller", "notebook")
_CONTROLLER = 'controller = { kind = "tempo", target_bitrate_max = "10Mbps" }'
_STUDY = "first-sweep"


@dataclass(frozen=True)
class Start:
    """The files of a start, and the command that runs it."""

    path: Path
    """The file, or the folder of several."""
    files: Mapping[str, str]
    """Texts by the names of the files in the folder; the empty name is the file itself."""
    command: tuple[str, ...]


def start(kind: str, path: Path | None = None) -> Start:
    """The start of a kind at a path, or under a name of its own here.

    Raises:
        UsageError: There is no such kind.
    """
    match kind:
        case "call":
            at = path or Path("call.toml")
            return Start(at, {"": _text("call.toml")}, ("paceline", "run", str(at)))
        case "study":
            at = path or Path("my-study")
            return Start(at, _study(at), ("paceline", "study", _as_path(at), "--out", f"out/{at.name}"))
        case "controller":
            at = path or Path("my-controller")
            return Start(at, _controller(at), ("paceline", "run", str(at / "call.toml"), "--controller", _named(at)))
        case "notebook":
            at = path or Path("first-run.ipynb")
            return Start(at, {"": _text("notebooks/first-run.ipynb")}, ("jupyter", "lab", str(at)))
        case _:
            raise UsageError(f"paceline new: found {kind!r}, {one_of(kind, KINDS)}")


def _text(name: str) -> str:
    return (HOME / name).read_text(encoding="utf-8")


def _study(at: Path) -> dict[str, str]:
    """The study of docs/write-a-study.md, under the name of its folder."""
    import json

    files = {name: _text(f"studies/{_STUDY}/{name}") for name in ("study.toml", "call.toml", "published.csv")}
    named = f"name = {json.dumps(at.resolve().name, ensure_ascii=False)}"
    files["study.toml"] = files["study.toml"].replace(f'name = "{_STUDY}"', named, 1)
    return files


def _controller(at: Path) -> dict[str, str]:
    """A class of Python, and a call that it controls."""
    call = _text("call.toml").replace(_CONTROLLER, 'controller = { kind = "aimd", step = "1Mbps" }', 1)
    first = f"# Run it with: paceline run call.toml --controller {_named(Path())}\n"
    return {"controller.py": _text("guests/aimd.py"), "call.toml": first + call}


def _named(folder: Path) -> str:
    return f"aimd={folder / 'controller.py'}:Aimd"


def _as_path(at: Path) -> str:
    """A path that is taken for no name of a study that comes along."""
    return str(at) if len(at.parts) > 1 else f"./{at}"


def write(begun: Start) -> list[Path]:
    """Writes the files of a start and returns their paths; nothing that exists is replaced.

    Raises:
        OutputError: Something stands there, or nothing can be written.
    """
    at = begun.path
    try:
        if at.is_symlink() or (at.exists() and ("" in begun.files or not at.is_dir() or any(at.iterdir()))):
            raise OutputError(f"{at}: there is something already, expected a new name; nothing was written")
        written = []
        for name, text in begun.files.items():
            target = at / name if name else at
            target.parent.mkdir(parents=True, exist_ok=True)
            disk.write_new(target, text.encode())
            written.append(target)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        if error.errno == errno.EEXIST:
            raise OutputError(f"{error.filename}: there is something already, expected a new name") from None
        raise OutputError(f"{at}: cannot be written: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"found {str(at)!r}, expected the path of a new file or folder: {error}") from None
    return written
