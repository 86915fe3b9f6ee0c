"""Words and options that a command does not take: its error says what was most likely meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from paceline import disk
from paceline.cli.mistaken import thing
from paceline.errors import LONGEST_FOUND, printable
from paceline.overrides import keys_of_tables

_PLACES = {"scenario": "", "link": "links.NAME.", "flow": "flows.NAME."}
"""The paths of the tables whose keys people take for options."""
_ELSEWHERE = {
    "--address": "--listen",
    "--dir": "--out",
    "--directory": "--out",
    "--duration": "--hold",
    "--host": "--listen",
    "--output": "--out",
    "--port": "--listen",
    "-o": "--out",
    "--repeat": "--seeds",
    "--runs": "--seeds",
    "--scenario": "--over",
    "--trace": "--over",
    "--unit": "--scale",
    "--units": "--scale",
    "--jobs": "--workers",
    "-j": "--workers",
    "--plots": "--plot",
    "--silent": "--quiet",
    "-s": "--set",
}
"""Options by the names that they have in other programs."""
_COMMANDS = {
    "version": "--version",
    "simulate": "run SCENARIO",
    "sim": "run SCENARIO",
    "plot": "run SCENARIO --plot --out DIR",
    "draw": "run SCENARIO --draw",
    "init": "new KIND",
    "create": "new KIND",
    "start": "demo",
    "ls": "list",
    "show": "list",
    "describe": "help WORD",
    "explain": "help WORD",
    "bench": "compare",
    "test": "check FILE",
    "replay": "archive --replay FILE",
}
"""Commands by other names."""


_KEYS = {
    "algorithm": "controller",
    "bandwidth": "rate",
    "bw": "rate",
    "cc": "controller",
    "latency": "delay",
    "length": "duration",
    "rtt": "delay",
    "time": "duration",
}
"""Keys of a scenario by other names."""
_EXPECTED = (
    (re.compile(r"valid integer"), "a whole number"),
    (re.compile(r"valid number"), "a number"),
    (re.compile(r"greater than or equal to (\S+)"), "{} or more"),
    (re.compile(r"less than or equal to (\S+)"), "{} or less"),
    (re.compile(r"is not one of (.+?)\.?$"), "one of {}"),
)
"""Parts of the messages about a value, and the value that each expects."""
_NEAR = 0.66
"""Options and commands are proposed if they are at least so much alike."""
_ADDRESS = re.compile(r".+:\d+")


def explain(error: Any, words: Sequence[str]) -> None:
    """Completes the message of an error about arguments; `words` are all that stand behind the program's name."""
    context = getattr(error, "ctx", None)
    if context is None or getattr(error, "is_explained", False):
        return
    error.is_explained = True
    if hasattr(error, "possibilities"):
        _option(error, context)
    elif hasattr(error, "param_type"):
        error.message = f"Expected: {error.param.help}" if getattr(error.param, "help", None) else error.message
    elif getattr(error, "param", None) is not None:
        _value(error, words)
    elif error.message.startswith("Got unexpected extra argument"):
        _stray(error, context, words)
    elif error.message.startswith("No such command"):
        _command(error, list(context.command.commands))


def _value(error: Any, words: Sequence[str]) -> None:
    """A value that an option does not take."""
    for pattern, expected in _EXPECTED:
        match = pattern.search(error.message)
        if match:
            given = next((one for one in map(partial(_given, words), error.param.opts) if one is not None), None)
            found = f"found {printable(given)!r}, " if given is not None else ""
            unit = f" ({error.param.metavar.lower()})" if error.param.metavar in ("SECONDS",) else ""
            error.message = f"{found}expected {expected.format(*match.groups())}{unit}"
            return


def _given(words: Sequence[str], option: str) -> str | None:
    """The last value that stands behind an option."""
    found = None
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word == option:
            found = following
        elif word.startswith(f"{option}="):
            found = word.partition("=")[2]
    return found


def _option(error: Any, context: Any) -> None:
    """An option that is a key of the scenario, that is called otherwise here, or that another command has."""
    option, known = error.option_name, _options(context.command)
    hint = _of_here(option, known, context)
    names = [name.strip("-") for name in (*known, "--help")]
    near = [f"--{name}" for name in get_close_matches(option.strip("-"), names, 2, _NEAR) if len(name) > 1]
    hint = hint or (f"did you mean {' or '.join(near)}?" if near else _of_others(option, context))
    if hint:
        error.message += f"; {hint}"
    error.possibilities = None


def _of_here(option: str, known: Sequence[str], context: Any) -> str:
    """The way in which this command takes an option by another name."""
    if option in ("-v", "-V") and context.parent is None:
        return "did you mean --version?"
    if option in ("-v", "-vv", "--verbose", "--progress") and "--quiet" in known:
        return "progress is shown already, and --quiet leaves it out"
    if _ELSEWHERE.get(option) in known:
        return f"did you mean {_ELSEWHERE[option]}?"
    if "--set" in known and (paths := _paths(option)):
        return f"this key of the scenario is set by --set {paths[0]}=VALUE"
    return ""


def _paths(option: str) -> list[str]:
    """The paths of the keys of a scenario that are called as an option."""
    key = option.strip("-").replace("-", "_")
    key = _KEYS.get(key, key)
    tables = keys_of_tables()
    return [place + key for table, place in _PLACES.items() if key in tables[table]]


def _of_others(option: str, context: Any) -> str:
    """The commands that have an option which this one does not have, or are called as it."""
    commands = context.find_root().command.commands
    if option.removeprefix("--") in commands:
        return f"did you mean `paceline {option.removeprefix('--')}`?"
    having = [name for name, one in commands.items() if option in _options(one)]
    if not having:
        found = thing(option.strip("-"))
        return "" if found is None else f"{found.word} is {found.said}"
    if context.parent is None:
        return f"options stand behind a command, such as `paceline {having[0]} ... {option}`"
    return f"it is an option of {', '.join(f'`paceline {name}`' for name in having)}"


def _options(command: Any) -> list[str]:
    return [name for one in command.params for name in one.opts if name.startswith("-")]


def _stray(error: Any, context: Any, words: Sequence[str]) -> None:
    """A word behind all that a command takes."""
    inner = re.search(r"^Got unexpected extra arguments?(?:\(s\))? \((.*)\)$", error.message, re.DOTALL)
    said = inner[1] if inner else ""
    stray = max((word for word in words if said.startswith(printable(word))), key=len, default="")
    takes = " ".join(str(one.metavar) for one in context.command.params if one.param_type_name == "argument")
    name = context.command_path
    expected = f"{takes} and options" if takes else "options alone"
    shown = stray if len(stray) <= LONGEST_FOUND else f"{stray[:LONGEST_FOUND]}..."
    error.message = f"found {printable(shown)!r} behind all that {name} takes, expected {expected}"
    hint = _meant(stray, words, _options(context.command))
    error.message += f"; {hint}" if hint else ""


def _meant(stray: str, words: Sequence[str], options: Sequence[str]) -> str:
    """The words that a stray one most likely stands for."""
    place = max((at for at, word in enumerate(words) if word == stray), default=0)
    before, last = (words[place - back] if place >= back else "" for back in (2, 1))
    if before == "--set" and "=" not in last:
        return f"did you mean --set {printable(last)}={printable(stray)}?"
    if "=" in stray and "--set" in options:
        return f"did you mean --set {printable(stray)}?"
    if f"--{stray}" in options:
        return f"did you mean --{stray}?"
    if disk.is_file(Path(f"{last} {stray}")):
        return f"did you mean {f'{last} {stray}'!r}, in quotes?"
    found = thing(stray)
    if found is not None:
        return f"{found.word} is {found.said}"
    addressed = next((one for one in ("--to", "--listen") if one in options), None)
    if addressed and _ADDRESS.fullmatch(stray):
        return f"did you mean {addressed} {printable(stray)}?"
    if "--out" in options and ("/" in stray or stray in ("out", "results")):
        return f"did you mean --out {printable(stray)}?"
    return ""


def _command(error: Any, known: Sequence[str]) -> None:
    """A word in the place of a command."""
    word = re.sub(r"^No such command '(.*?)'\..*", r"\1", error.message, flags=re.DOTALL)
    near = get_close_matches(word.lower(), known, 1, _NEAR) if len(word) <= LONGEST_FOUND else []
    hint = "`paceline -h` lists all commands, `paceline demo` is a first step"
    if word in _COMMANDS:
        hint = f"did you mean `paceline {_COMMANDS[word]}`?"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    elif (found := thing(word)) is not None:
        hint = f"{found.word} is {found.said}"
    error.message = f"No such command {word[:LONGEST_FOUND]!r}; {hint}"
