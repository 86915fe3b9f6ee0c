"""A plot: a function that computes a table and a function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from paceline.plots.vocabulary import Look, looks
from paceline.series import moving_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from paceline.scenario import LoadedScenario
    from paceline.video.run import Video


class Run(Protocol):
    """The parts of a result that pictures show; `paceline.Result` says more of each."""

    loaded: LoadedScenario | None
    videos: tuple[Video, ...]

    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def flows(self) -> pd.DataFrame: ...
    @property
    def links(self) -> pd.DataFrame: ...
    @property
    def video(self) -> pd.DataFrame | None: ...
    @property
    def simulated(self) -> Run | None: ...


@dataclass(frozen=True)
class Plot:
    """One kind of picture of a run."""

    name: str
    """Name of the picture's file, without its ending."""
    figures: str
    """The figures of the paper of study scream-5g that the picture corresponds to."""
    title: str
    """Heading of the picture."""
    table: Callable[[Run], pd.DataFrame | None]
    """Computes the table that is drawn; None if the run has no such data."""
    draw: Callable[[Figure, pd.DataFrame], None]
    """Draws the table into an empty figure."""
    height: float = 3.6
    """Height of the picture in inches."""
    kind: str = "svg"
    """Kind of the picture's file: png where it shows photographs."""


def flow_table(result: Run, columns: dict[str, str]) -> pd.DataFrame:
    """Columns time_s, who (the flow, with its stream if it has several), controller, and the named ones, renamed."""
    flows = result.flows
    who = flows["flow"]
    streams = flows.groupby("flow")["stream"].nunique()
    several = flows["flow"].map(streams > 1)
    who = who.where(~several, flows["flow"] + "/" + flows["stream"])
    table = flows[["time_s", *columns]].rename(columns=columns)
    table.insert(1, "who", who)
    kinds = {name: str(flow.get("controller") or "") for name, flow in result.summary.get("flows", {}).items()}
    table.insert(2, "controller", flows["flow"].map(kinds).fillna(""))
    return table


def flow_looks(rows: pd.DataFrame) -> dict[str, Look]:
    """The look of each `who`, by the kind of its controller where the rows have that column."""
    first = rows.drop_duplicates("who")
    kinds = first["controller" if "controller" in rows else "who"]
    found = looks(dict(zip(first["who"].astype(str), kinds, strict=True)))
    # Dashes tell flows apart; one flow alone is solid.
    return found if len(found) > 1 else {who: replace(look, dashes="-") for who, look in found.items()}


RATE_MEAN_S = 0.4
"""Seconds over which drawn rates are averaged: 8 intervals of 50 ms, as the rateTransmitted of that paper."""


def with_mean_rates(rows: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The rows with the named rates averaged over the past `RATE_MEAN_S`, each flow for itself."""
    import pandas as pd

    if rows.empty:
        return rows
    flows = [flow.copy() for _, flow in rows.groupby("who", sort=False)]
    for flow in flows:
        for column in columns:
            flow[column] = moving_mean(flow["time_s"], flow[column], RATE_MEAN_S)
    return pd.concat(flows).sort_index()
