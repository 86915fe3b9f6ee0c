"""The digest of a class: of its code, and of its author's functions, classes and values that the code uses.

Comments, line numbers and the file where it stands do not matter. Code is compiled: another release of Python gives
another digest.
"""

from __future__ import annotations

import builtins
import hashlib
import pickle
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

_INSTALLED = tuple(sysconfig.get_paths()[place] for place in ("stdlib", "platstdlib", "purelib", "platlib"))
_UNTOLD = {"__dict__", "__doc__", "__firstlineno__", "__module__", "__static_attributes__", "__weakref__"}
"""Attributes of a class that say nothing of what it does."""


def digest_of(class_: type) -> str:
    """The digest of a class, in twelve letters."""
    digest = hashlib.sha256()
    for part in _parts(class_, {}):
        digest.update(b"%d " % len(part) + part)
    return digest.hexdigest()[:12]


def _parts(value: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    """All that a value consists of, each part once; `seen` keeps the parts, by identity."""
    yield type(value).__qualname__.encode()
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        yield repr(value).encode()
        return
    if isinstance(value, ModuleType):
        yield value.__name__.encode()
        file = value.__file__ if _is_own(value.__name__) else None
        yield Path(file).read_bytes() if file is not None and Path(file).is_file() else b""
        return
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, (tuple, list)):
        for one in value:
            yield from _parts(one, seen)
    elif isinstance(value, (set, frozenset)):
        yield b"".join(sorted(b"".join(_parts(one, seen)) for one in value))
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from (*_parts(key, seen), *_parts(one, seen))
    elif isinstance(value, CodeType):
        yield value.co_code
        yield from _parts((value.co_consts, value.co_names, value.co_varnames), seen)
    elif isinstance(value, (FunctionType, type)):
        # Code that was executed without a module's name is taken for Python's own.
        is_loose = value.__module__ == "builtins" and getattr(builtins, value.__name__, None) is not value
        if not is_loose and not _is_own(value.__module__ or ""):
            yield f"{value.__module__}.{value.__qualname__}".encode()
        else:
            yield value.__name__.encode()
            yield from _of_class(value, seen) if isinstance(value, type) else _of_function(value, seen)
    else:
        yield from _of_object(value, seen)


def _is_own(module: str) -> bool:
    """Whether a module is the author's own, and part of no package that is installed."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module.partition(".")[0] not in sys.stdlib_module_names and not file.startswith(_INSTALLED)


def _of_class(class_: type, seen: dict[int, Any]) -> Iterator[bytes]:
    for base in class_.__bases__:
        yield from _parts(base, seen)
    for name in sorted(vars(class_).keys() - _UNTOLD):
        yield name.encode()
        yield from _parts(vars(class_)[name], seen)


def _of_function(function: FunctionType, seen: dict[int, Any]) -> Iterator[bytes]:
    yield from _parts(function.__code__, seen)
    yield from _parts((function.__defaults__, function.__kwdefaults__), seen)
    for cell in function.__closure__ or ():
        try:
            yield from _parts(cell.cell_contents, seen)
        except ValueError:
            continue
    for name in sorted(_names(function.__code__) & function.__globals__.keys()):
        yield name.encode()
        yield from _parts(function.__globals__[name], seen)


def _names(code: CodeType) -> set[str]:
    """The names that code and the functions within it look up."""
    within = (one for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*(_names(one) for one in within))


def _of_object(value: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    """A wrapped function, or any other object by its pickle; by its kind alone where there is none."""
    wrapped = [getattr(value, name, None) for name in ("__func__", "fget", "fset", "func", "__wrapped__")]
    if any(callable(one) for one in wrapped):
        yield from _parts([one for one in wrapped if callable(one)], seen)
        return
    try:
        yield pickle.dumps(value, 5)
    except Exception:
        return
