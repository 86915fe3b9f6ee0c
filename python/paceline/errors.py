"""The errors, as one small hierarchy; every message is complete and meant for people."""

import re
import unicodedata
from collections.abc import Collection

from paceline._core import ScenarioError as _CoreScenarioError


class PacelineError(Exception):
    """Anything Paceline says about what it was asked to do."""

    exit_status = 1


class ScenarioError(PacelineError, ValueError):
    """The scenario is wrong: names file, line, key, what was found and what was expected."""

    exit_status = 2


class UsageError(PacelineError, ValueError):
    """An argument is wrong, or two of them contradict each other."""

    exit_status = 2


class DataNotFound(PacelineError, FileNotFoundError):  # noqa: N818
    """A scenario, a data folder or a study is not where it was looked for."""

    exit_status = 2


class ControllerError(PacelineError, RuntimeError):
    """A controller from outside answered wrongly, late or not at all: names it, and the time of the run."""


def of_controller(error: BaseException) -> str | None:
    """Which controller from outside raised this exception of its own, when, and in which call; None for any other."""
    return getattr(error, "of_controller", None)


class OutputError(PacelineError, OSError):
    """An output folder cannot be written."""


class StudyError(PacelineError):
    """A study's definition is wrong, or a folder holds results of another one."""

    exit_status = 2


class ExperimentError(PacelineError):
    """Experiments without which a study cannot go on failed."""


class WorkerDied(PacelineError):  # noqa: N818
    """A process that ran experiments ended before they did."""


CORE_SCENARIO_ERROR = _CoreScenarioError
"""The error that the extension raises for a wrong scenario; the package turns it into `ScenarioError`."""


_UNUSUAL = re.compile("[^\n\t -~\u200c\u200d]")
"""Letters to look up; both joiners belong to names in Persian, and to pictures of several letters."""
_COMMANDS = {"Cc", "Cf", "Zl", "Zp"}
"""Categories of Unicode: control characters, invisible ones that turn or join letters, and ends of lines."""


def printable(text: str) -> str:
    """A text without what a terminal takes for a command: names and titles may come from a stranger."""
    return _UNUSUAL.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    letter, number = found[0], ord(found[0])
    if unicodedata.category(letter) not in _COMMANDS:
        return letter
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65_536 else f"\\U{number:08x}"


MOST_AT_A_TIME = 65_536
"""The most threads, and the most processes, that a caller may ask for."""


def expect_count(name: str, found: object) -> None:
    """Refuses an argument that says how many threads or processes there are, and is no such number; None is one."""
    if found is not None and not (
        isinstance(found, int) and not isinstance(found, bool) and 1 <= found <= MOST_AT_A_TIME
    ):
        raise UsageError(f"{name}: found {str(found)[:40]}, expected 1 or more, a whole number up to {MOST_AT_A_TIME}")


def expect_function(name: str, found: object, told: str) -> None:
    """Refuses an argument that would be called and cannot be; None is no function, and allowed."""
    if found is not None and not callable(found):
        raise UsageError(f"{name}: found {str(found)[:40]}, expected a function that is told {told}, such as `print`")


LONGEST_FOUND = 200
"""Letters of a name that others are compared with: that takes time with the square of them."""
MOST_NAMED = 60
"""An error lists so many known names; of more it lists `FEW_NAMED`."""
FEW_NAMED = 12


def one_of(found: object, known: Collection[str]) -> str:
    """The expected values instead of a name that is not known: all names or the first of many, and the nearest."""
    from difflib import get_close_matches

    near = get_close_matches(str(found), list(known), 1, 0.7) if len(str(found)) <= LONGEST_FOUND else []
    if not known:
        return "expected none: there is nothing to name"
    names = list(known) if len(known) <= MOST_NAMED else list(known)[:FEW_NAMED]
    more = f" and {len(known) - len(names)} more" if len(names) < len(known) else ""
    return f"expected one of {', '.join(names)}{more}" + (f"; did you mean {near[0]!r}?" if near else "")
