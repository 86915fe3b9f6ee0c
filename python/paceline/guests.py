"""Controllers from outside: classes of Python, and programs that answer over a pipe.

While a block of `using` lasts, their names are kinds of controllers like any other, in this process and in its workers.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module, util
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, TypeAlias

from paceline import _core
from paceline.errors import UsageError

METHODS = ("start", "sent", "report", "timeout", "recovery", "assigned")
"""The calls that a class may hear; `report` it must."""


@dataclass(frozen=True)
class Program:
    """A controller in another process: the words of its command."""

    command: tuple[str, ...]

    def __init__(self, command: Sequence[str]) -> None:
        words = (command,) if isinstance(command, str) else tuple(map(str, command))
        if not any(words):
            raise UsageError(f"Program: found {command!r}, expected the words of a command")
        object.__setattr__(self, "command", words)


Guest: TypeAlias = "type[Any] | Program"
Controllers: TypeAlias = "Mapping[str, Guest | Sequence[str]]"


@dataclass(frozen=True)
class _Active:
    guest: Guest
    version: str
    blocks: int = 1
    """How many blocks use it."""


_active: dict[str, _Active] = {}
"""The guests of this process by name."""
_lock = RLock()


@contextmanager
def using(controllers: Controllers | None) -> Iterator[None]:
    """The names of these controllers are known while the block lasts.

    Raises:
        UsageError: A name is taken, or a controller is none.
    """
    if controllers is not None and not isinstance(controllers, Mapping):
        expected = 'a dictionary such as {"mine": Mine}'
        raise UsageError(f"controllers: found {controllers!r}, expected {expected}")
    with ExitStack() as leaving:
        for name, guest in (controllers or {}).items():
            _enter(name, guest)
            leaving.callback(_leave, name)
        yield


def enter(sent: bytes | None) -> list[str]:
    """Makes the controllers of another process known, with the versions that it gave them."""
    if sent is None:
        return []
    import pickle

    of_other = pickle.loads(sent)
    for name, (guest, version) in of_other.items():
        _enter(name, guest, version)
    return list(of_other)


@contextmanager
def entered(sent: bytes | None) -> Iterator[None]:
    """The controllers of another process are known while the block lasts."""
    names = enter(sent)
    try:
        yield
    finally:
        for name in names:
            _leave(name)


def pickled() -> bytes | None:
    """The controllers of this process for another one, classes that it cannot import whole; None without any.

    Raises:
        UsageError: A class holds a value that cannot be sent.
    """
    if not _active:
        return None
    import cloudpickle

    try:
        whole: bytes = cloudpickle.dumps({name: (one.guest, one.version) for name, one in _active.items()})
    except Exception as error:
        expected = "classes that can be sent to other processes, or one worker"
        raise UsageError(f"controllers: found {', '.join(_active)}: {error}; expected {expected}") from error
    return whole


def version() -> str:
    """The version of this build, behind which stand those of the controllers from outside."""
    from paceline.version import __version__

    return __version__ + "".join(f"~{kind}-{of_guest}" for kind, of_guest in sorted(_core.registered_guests()))


def other(found: str) -> str | None:
    """The part in which the version of some rows is another than this process's: the build, or a controller of its own.

    None if they give the same figures.
    """
    from paceline.version import sources

    own = version()
    if sources(found) == sources(own):
        return None
    (build, *theirs), (own_build, *_) = found.split("~"), own.split("~")
    changed = [kind for kind, of_guest in _core.registered_guests() if f"{kind}-{of_guest}" not in theirs]
    return f"controller {changed[0]}" if changed and sources(build) == sources(own_build) else "build"


def _enter(name: str, given: Guest | Sequence[str], version: str | None = None) -> None:
    guest = given if isinstance(given, (type, Program)) or not isinstance(given, Sequence) else Program(given)
    with _lock:
        known = _active.get(name)
        if known is None:
            _active[name] = _Active(guest, _register(name, guest, version))
        elif known.guest == guest:
            _active[name] = replace(known, blocks=known.blocks + 1)
        else:
            raise UsageError(f"controllers: found another {name!r} while one is running, expected one at a time")


def _leave(name: str) -> None:
    with _lock:
        known = _active.pop(name)
        if known.blocks > 1:
            _active[name] = replace(known, blocks=known.blocks - 1)
        else:
            _core.withdraw_guest(name)


def _register(name: str, guest: Guest, version: str | None) -> str:
    """Makes a kind known, and says of which version it is, unless that is given."""
    from paceline.code_digest import digest_of

    if not isinstance(name, str):
        raise UsageError(f"controllers: found the name {name!r}, expected a text")
    if isinstance(guest, Program):
        version = version or _digest_of_program(guest)
        _core.register_program(name, list(guest.command), version)
        return version
    if not isinstance(guest, type) or not callable(getattr(guest, "report", None)):
        expected = "a class with a method report(now_s, packets), or the command of a program"
        raise UsageError(f"controllers: {name!r}: found {guest!r}, expected {expected}")
    hears = [method for method in METHODS if callable(getattr(guest, method, None))]
    help_ = (inspect.getdoc(guest) or "").partition("\n")[0].rstrip(".") or f"The class {guest.__qualname__} of Python"
    parameters = _parameters(name, getattr(guest, "parameters", {}))
    version = version or _printable(str(getattr(guest, "version", None) or digest_of(guest)))
    _core.register_class(name, guest, help_, version, getattr(guest, "steers", "datagrams"), hears, parameters)
    return version


def _parameters(kind: str, declared: object) -> list[tuple[str, str, str]]:
    """Name, usual value and help of each parameter that a class declares."""
    found = f"controllers: {kind!r}: parameters: found"
    if not isinstance(declared, Mapping):
        raise UsageError(f'{found} {declared!r}, expected a dictionary such as {{"gain": 0.9, "hold": "20ms"}}')
    parameters = []
    for name, value in declared.items():
        usual, help_ = value if isinstance(value, tuple) and len(value) == 2 else (value, "")
        if not isinstance(name, str) or not name.isidentifier() or name in ("kind", "profile"):
            raise UsageError(f"{found} {name!r}, expected the name of a keyword argument")
        is_value = isinstance(usual, (bool, int, str)) or (isinstance(usual, float) and math.isfinite(usual))
        if not is_value or not isinstance(help_, str):
            raise UsageError(f"{found} {name} = {value!r}, expected true, a number or a text such as '20ms'")
        text = str(usual).lower() if isinstance(usual, bool) else str(usual)
        parameters.append((name, text, help_))
    return parameters


def _printable(version: str) -> str:
    """A version as it stands in another one."""
    return re.sub(r"[^A-Za-z0-9.+_-]", "-", version)[:40]


def _digest_of_program(program: Program) -> str:
    """A digest of a command and of the files that it names."""
    import shutil

    digest = hashlib.sha256()
    for place, word in enumerate(program.command):
        digest.update(word.encode() + b"\0")
        path = Path(shutil.which(word) or word if place == 0 else word)
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def read(text: str) -> tuple[str, Guest]:
    """A guest as a command line names it: NAME=FILE.py:CLASS, NAME=MODULE:CLASS, or NAME=COMMAND.

    Raises:
        UsageError: There is no such class.
    """
    name, equals, where = text.partition("=")
    if not equals or not where.strip():
        raise UsageError(
            f"--controller: found {text!r}, expected NAME=FILE.py:CLASS, NAME=MODULE:CLASS or NAME=COMMAND"
        )
    if (found := re.fullmatch(r"(.+\.py|[A-Za-z_][\w.]*):([A-Za-z_]\w*)", where)) is None:
        try:
            return name, Program(shlex.split(where))
        except ValueError as error:
            raise UsageError(f"--controller {name}: found {where!r}: {error}, expected a command") from None
    module = _of_file(Path(found[1])) if found[1].endswith(".py") else _of_name(found[1])
    guest = getattr(module, found[2], None)
    if not isinstance(guest, type):
        known = [one for one, value in vars(module).items() if isinstance(value, type) and hasattr(value, "report")]
        expected = f"one of {', '.join(known)}" if known else "a class with a method report(now_s, packets)"
        raise UsageError(f"--controller {name}: found no class {found[2]} in {found[1]}, expected {expected}")
    return name, guest


def _of_file(path: Path) -> ModuleType:
    """The module of a file, which workers are sent whole: they need not find it."""
    import cloudpickle

    name = f"paceline_controller_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = util.spec_from_file_location(name, path)
    if spec is None or not path.is_file():
        raise UsageError(f"--controller: found no file {path}, expected the path of a Python file")
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.append(folder)
    try:
        # No bytecode of before: its cache goes by seconds and size, and knows no change within both.
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except Exception as error:
        error.of_controller = f"--controller: {path}"  # type: ignore[attr-defined]
        raise
    cloudpickle.register_pickle_by_value(module)
    return module


def _of_name(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
        raise UsageError(f"--controller: found no module {name}, expected one that can be imported from here") from None
