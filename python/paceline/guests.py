"""Controllers from outside: classes of Python, and programs that answer over a pipe.

While a block of `using` lasts, their names are kinds of controllers like any other, in this process and in its workers.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeAlias

from paceline import _core
from paceline.errors import UsageError
from paceline.version import __version__

METHODS = ("start", "sent", "report", "timeout", "recovery", "assigned")
"""The calls that a class may hear; `report` it must."""


@dataclass(frozen=True)
class Program:
    """A controller in another process: the words of its command."""

    command: tuple[str, ...]

    def __init__(self, command: Sequence[str]) -> None:
        words = (command,) if isinstance(command, str) else tuple(map(str, command))
        object.__setattr__(self, "command", words)


Guest: TypeAlias = "type[Any] | Program"
Controllers: TypeAlias = "Mapping[str, Guest | Sequence[str]]"

_active: dict[str, tuple[Guest, int]] = {}
"""The guests of this process by name, each with the number of blocks that it is used in."""


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


def enter(controllers: Mapping[str, Guest]) -> None:
    """The names of these controllers are known from now on: in a process that works for another."""
    for name, guest in controllers.items():
        _enter(name, guest)


def active() -> dict[str, Guest]:
    """The guests that a worker of this process needs."""
    return {name: guest for name, (guest, _) in _active.items()}


def version() -> str:
    """The version of this build, behind which stand those of the controllers from outside."""
    return __version__ + "".join(f"~{kind}-{of_guest}" for kind, of_guest in sorted(_core.registered_guests()))


def _enter(name: str, given: Guest | Sequence[str]) -> None:
    guest = given if isinstance(given, (type, Program)) or not isinstance(given, Sequence) else Program(given)
    known, blocks = _active.get(name, (guest, 0))
    if known != guest:
        raise UsageError(f"controllers: found another {name!r} while one is running, expected one at a time")
    if blocks == 0:
        _register(name, guest)
    _active[name] = (guest, blocks + 1)


def _leave(name: str) -> None:
    guest, blocks = _active.pop(name)
    if blocks > 1:
        _active[name] = (guest, blocks - 1)
    else:
        _core.withdraw_guest(name)


def _register(name: str, guest: Guest) -> None:
    if isinstance(guest, Program):
        _core.register_program(name, list(guest.command), _printable(_digest_of_program(guest)))
        return
    if not isinstance(guest, type) or not callable(getattr(guest, "report", None)):
        expected = "a class with a method report(now_s, packets), or the command of a program"
        raise UsageError(f"controllers: {name!r}: found {guest!r}, expected {expected}")
    hears = [method for method in METHODS if callable(getattr(guest, method, None))]
    help_ = (inspect.getdoc(guest) or "").partition("\n")[0].rstrip(".") or f"The class {guest.__qualname__} of Python"
    parameters = _parameters(name, getattr(guest, "parameters", {}))
    version = _printable(str(getattr(guest, "version", None) or _digest_of_class(guest)))
    _core.register_class(name, guest, help_, version, getattr(guest, "steers", "datagrams"), hears, parameters)


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
        if not isinstance(usual, (bool, int, float, str)) or not isinstance(help_, str):
            raise UsageError(f"{found} {name} = {value!r}, expected true, a number or a text such as '20ms'")
        text = str(usual).lower() if isinstance(usual, bool) else str(usual)
        parameters.append((name, text, help_))
    return parameters


def _printable(version: str) -> str:
    """A version as it stands in another one."""
    return re.sub(r"[^A-Za-z0-9.+_-]", "-", version)[:40]


def _digest_of_class(guest: type) -> str:
    """A digest of the sources of a class and its bases, or of their code where there are none."""
    digest = hashlib.sha256()
    for one in guest.__mro__[:-1]:
        try:
            digest.update(inspect.getsource(one).encode())
        except (OSError, TypeError):
            for name, value in sorted(vars(one).items()):
                code = getattr(value, "__code__", None)
                digest.update(name.encode() + (_code(code) if code is not None else repr(value).encode()))
    return digest.hexdigest()[:12]


def _code(code: CodeType) -> bytes:
    constants = (_code(one) if isinstance(one, CodeType) else repr(one).encode() for one in code.co_consts)
    return code.co_code + b"".join(constants) + repr(code.co_names).encode()


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
        return name, Program(shlex.split(where))
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
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"--controller: found no file {path}, expected the path of a Python file")
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
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
