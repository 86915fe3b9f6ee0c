"""The program as a whole: its answer to an option that a command does not have."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from paceline.simulation import registry

_PLACES = {"scenario": "", "link": "links.NAME.", "flow": "flows.NAME."}
"""The paths of the tables whose keys people take for options."""


class Program(TyperGroup):
    """The commands; an option that is none but a key of the scenario is said as `--set` takes it."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that was named."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            _explain(error)
            raise


def _explain(error: Any) -> None:
    """Says the way of `--set` in an error about an unknown option, of a command that has `--set`."""
    option, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if not isinstance(option, str) or not hasattr(error, "possibilities") or context is None:
        return
    if all(one.name != "set_" for one in context.command.params):
        return
    key = option.strip("-").replace("-", "_")
    tables = {one["kind"]: {key["name"] for key in one["parameters"]} for one in registry()["tables"]}
    paths = [place + key for table, place in _PLACES.items() if key in tables[table]]
    if paths:
        error.message += f"; this key of the scenario is set by --set {paths[0]}=VALUE"
        error.possibilities = None
