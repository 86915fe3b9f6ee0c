"""`paceline list`: what there is, with every parameter, its default, unit and source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from paceline.simulation import registry

if TYPE_CHECKING:
    from rich.table import Table


def entries(kind: str) -> list[dict[str, Any]]:
    """Everything of one kind."""
    if kind == "studies":
        from paceline.studies.definition import known_studies

        return [{"kind": study.name, "help": study.title} for study in known_studies()]
    found: list[dict[str, Any]] = registry()[kind]
    return found


def print_json(kind: str) -> None:
    """Everything of one kind as one JSON document."""
    print(json.dumps({kind: entries(kind)}, indent=2, ensure_ascii=False))


def print_tables(kind: str) -> None:
    """Everything of one kind as tables for people."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    found = entries(kind)
    if not found:
        console.print(f"no {kind}")
    for entry in found:
        console.print(Text.assemble((entry["kind"], "bold"), f": {entry['help']}"), soft_wrap=True)
        for profile in entry.get("profiles", ()):
            console.print(Text(f"  profile {profile['name']}: {profile['help']}"), soft_wrap=True)
        if entry.get("parameters"):
            console.print(_parameter_table(entry["parameters"], entry.get("profiles", [])))


def _parameter_table(parameters: list[dict[str, Any]], profiles: list[dict[str, str]]) -> Table:
    from rich import box
    from rich.table import Table

    others = [profile["name"] for profile in profiles[1:]]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for column in ("parameter", "default", *others, "range", "unit", "source", "what it does"):
        table.add_column(column, overflow="fold", no_wrap=column == "parameter")
    for parameter in parameters:
        differing = (parameter.get("profiles", {}).get(name, "") for name in others)
        ends = [parameter.get(end) or "" for end in ("min", "max")]
        table.add_row(
            parameter["name"],
            parameter.get("default") or "",
            *differing,
            " to ".join(ends) if any(ends) else "",
            *(parameter[key] for key in ("unit", "source", "help")),
        )
    return table
