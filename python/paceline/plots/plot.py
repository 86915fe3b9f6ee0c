"""What a plot is: a function that computes a table and a function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paceline.series import moving_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from paceline.result import Result


@dataclass(frozen=True)
class Plot:
    """One kind of picture of a run."""

    name: str
    """Its file is called so."""
    figures: str
    """The figures of paper scream-5g-2022 that it corresponds to."""
    title: str
    """Above the picture."""
    table: Callable[[Result], pd.DataFrame | None]
    """What is drawn; None where the run has no such thing."""
    draw: Callable[[Figure, pd.DataFrame], None]
    """Draws the table into an empty figure."""
    height: float = 3.6
    """In inches."""


def flow_table(result: Result, columns: dict[str, str]) -> pd.DataFrame:
    """Time, who (the flow, with its stream where it has several) and the named columns under their new names."""
    flows = result.flows
    who = flows["flow"]
    streams = flows.groupby("flow")["stream"].nunique()
    several = flows["flow"].map(streams > 1)
    who = who.where(~several, flows["flow"] + "/" + flows["stream"])
    table = flows[["time_s", *columns]].rename(columns=columns)
    table.insert(1, "who", who)
    return table


RATE_MEAN_S = 0.4
"""Rates are drawn as means over so many seconds, as the paper's rateTransmitted is: 8 intervals of 50 ms."""


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
