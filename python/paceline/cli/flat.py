"""Commands whose options are classes: each option stands on the command line as if it were the command's own."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TextIO, get_type_hints

from paceline.cli.mistaken import expecting
from paceline.cli.options import PictureFormat, PictureStyle
from paceline.cli.speak import plainly, quietly, say
from paceline.errors import UsageError

_LACKING = re.compile(r"Glyph (?P<letter>\d+) |Matplotlib currently does not support \w+ natively")


@contextmanager
def _guests(named: list[str] | None) -> Iterator[None]:
    """The controllers from outside that a command names are known while it runs."""
    if not named:
        yield
        return
    from paceline import guests

    with ExitStack() as known:
        with plainly():
            with expecting("controller of your own", named):
                found = [guests.read(text) for text in named]
            if len(dict(found)) < len(found):
                raise UsageError("--controller: found a name twice, expected a name for each")
            known.enter_context(guests.using(dict(found)))
        yield


@contextmanager
def _pictures(style: PictureStyle | None, formats: list[PictureFormat] | None) -> Iterator[None]:
    """The style and the formats of pictures hold while a command runs."""
    if style is None and not formats:
        yield
        return
    from paceline.plots.styles import drawn_as

    with drawn_as(None if style is None else style.value, [one.value for one in formats or []]):
        yield


@contextmanager
def _lacking_letters() -> Iterator[None]:
    """Says once that the font of pictures lacks letters, of which matplotlib warns at each letter of each picture."""
    with warnings.catch_warnings():
        shown, said = warnings.showwarning, False

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            nonlocal said
            if not (found := _LACKING.match(str(message))):
                shown(message, category, filename, lineno, file, line)
            elif found["letter"] and not said:
                said = True
                letter = chr(int(found["letter"]))
                lacks = f"the font of the pictures lacks letters of the names, such as {letter!r}"
                say(f"warning: {lacks}: boxes stand there")

        warnings.showwarning = show
        warnings.filterwarnings("always", _LACKING.pattern)
        yield


def flat(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose options of a class stand beside its own, as typer reads them."""
    hints = get_type_hints(function, include_extras=True)
    classes: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    own, shared = [], []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in classes:
            own.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))
            continue
        types = get_type_hints(classes[name], include_extras=True)
        for field in fields(classes[name]):
            kept = parameter.replace(name=field.name, annotation=types[field.name], kind=parameter.KEYWORD_ONLY)
            shared.append(kept if field.default is MISSING else kept.replace(default=field.default))

    def command(**values: Any) -> None:
        with (
            _guests(values.get("controller")),
            _pictures(values.get("style"), values.get("formats")),
            quietly(bool(values.get("quiet"))),
            _lacking_letters(),
        ):
            for name, kind in classes.items():
                values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            function(**values)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    return command
