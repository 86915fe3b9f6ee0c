"""The outcome of a check for machines that show it beside a change: JUnit's XML, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree as Xml

from paceline.checks.judge import Failed, Judged, Verdict
from paceline.errors import printable
from paceline.studies.markdown import Cells, plain

_NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def junit(result: Judged) -> str:
    """A test suite for each scenario, a test case for each band and for each run that came to no end."""
    name = f"paceline check {_text(result.name)}"
    root = Xml.Element("testsuites", {"name": name, **_counts(result, result.scenarios)})
    for scenario in result.scenarios:
        suite = Xml.SubElement(root, "testsuite", {"name": _text(scenario), **_counts(result, [scenario])})
        for one in (one for one in result.verdicts if one.scenario == scenario):
            case = _case(suite, result, scenario, one.figure)
            if not one.holds:
                failure = Xml.SubElement(case, "failure", message=_text(f"found {one.found}, expected {one.expected}"))
                failure.text = _text("\n".join([*one.details, *_again(result, one)]))
        for run in (one for one in result.failed if one.scenario == scenario):
            case = _case(suite, result, scenario, f"run with seed {run.seed}")
            error = Xml.SubElement(case, "error", message=_text(run.error.splitlines()[0] if run.error else "failed"))
            error.text = _text("\n".join([run.error, *_again(result, run)]))
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _case(suite: Xml.Element, result: Judged, scenario: str, name: str) -> Xml.Element:
    return Xml.SubElement(suite, "testcase", classname=_text(f"{result.name}.{scenario}"), name=_text(name))


def _counts(result: Judged, scenarios: Iterable[str]) -> dict[str, str]:
    own = set(scenarios)
    verdicts = [one for one in result.verdicts if one.scenario in own]
    failed = [one for one in result.failed if one.scenario in own]
    return {
        "tests": str(len(verdicts) + len(failed)),
        "failures": str(sum(not one.holds for one in verdicts)),
        "errors": str(len(failed)),
    }


def _again(result: Judged, one: Verdict | Failed) -> list[str]:
    """The command that repeats a run in question."""
    return [] if one.seed is None else [result.commands[one.scenario, one.seed]]


def _text(text: str) -> str:
    """A text without what XML cannot hold."""
    return _NO_XML.sub("\ufffd", printable(text))


def markdown(result: Judged) -> str:
    """The outcome in one line, and a table: first what does not hold."""
    verdicts = sorted(result.verdicts, key=lambda one: one.holds)
    lines = [
        *(
            ("✗", one.scenario, "run", f"to end, with seed {one.seed}", one.error.partition("\n")[0])
            for one in result.failed
        ),
        *(("✓" if one.holds else "✗", one.scenario, one.figure, one.expected, one.found) for one in verdicts),
    ]
    table = str(Cells(("", "scenario", "figure", "expected", "found"), lines)) if lines else ""
    said = [f"**{plain(result.name)}: {'holds' if result.holds else 'does not hold'}.** {told(result)}"]
    amiss: list[Failed | Verdict] = [*result.failed, *(one for one in verdicts if not one.holds)]
    if amiss and (again := _again(result, amiss[0])):
        said.append(f"The first again:\n\n```sh\n{printable(again[0])}\n```")
    return "\n\n".join([*said[:1], table.rstrip("\n"), *said[1:]]).rstrip("\n") + "\n"


def told(result: Judged) -> str:
    """The counts in a sentence."""
    held = sum(one.holds for one in result.verdicts)
    runs, bad = (f"{count} run{'' if count == 1 else 's'}" for count in (result.runs, len(result.failed)))
    failed = f"; {bad} failed" if result.failed else ""
    against = f", against {result.against}" if result.against else ""
    return f"{held} of {len(result.verdicts)} figures hold in {runs}{failed}{against}."
