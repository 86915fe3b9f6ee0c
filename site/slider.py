"""Prints docs/slider.html: a call under three controllers, over a link whose loss a slider sets.

`python site/slider.py > docs/slider.html`
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import paceline
from paceline.plots import styles, vocabulary

if TYPE_CHECKING:
    import pandas as pd

LOSSES = (0, 0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10)
"""Percent of the packets."""
CONTROLLERS = ("scream", "gcc", "urcp")
SCENARIO = "first-call"
STEP_S = 0.5
"""Samples are averaged over this time."""
MOST = {"mbps": 12, "queue_ms": 400}
"""Tops of the axes."""


def changes(controller: str, percent: float) -> list[str]:
    """The changes of the scenario, as `--set` takes them."""
    of_loss = [f'links.bottleneck.loss={{ kind = "bernoulli", ratio = {percent / 100:g} }}'] if percent else []
    return [f"flows.video.controller={controller}", *of_loss]


def run(controller: str, percent: float) -> dict[str, Any]:
    """The curves and figures of one run."""
    pairs = [(path, value) for path, _, value in (one.partition("=") for one in changes(controller, percent))]
    result = paceline.run(SCENARIO, overrides=pairs)
    flow = result.summary["flows"]["video"]
    frames = flow["frames"]
    return {
        "mbps": _means(result.flows, "throughput_mbps"),
        "queue_ms": _means(result.flows, "queue_delay_ms"),
        "mean_mbps": flow["throughput_mbps"],
        "frame_delay_ms": flow["frame_delay_ms"]["p95"],
        "shown": 100 * frames["displayed"] / frames["captured"],
    }


def _means(flows: pd.DataFrame, column: str) -> list[float | None]:
    """Means of a column over steps of time; None where it has no value."""
    # A sample stands at the end of its time.
    steps = np.ceil(flows["time_s"] / STEP_S - 1e-6).astype(int)
    means = flows.groupby(steps)[column].mean()
    return [None if value != value else round(value, 2) for value in means]


def style() -> str:
    """Colours as in all other pictures, for a light and a dark ground."""

    def colours(palette: tuple[str, ...]) -> str:
        own = (f"--{one}: {palette[styles.place(vocabulary.LOOKS[one].colour)]};" for one in CONTROLLERS)
        return " ".join([*own, f"--ink: {palette[6]}; --line: {palette[-1]};"])

    dark = f":root {{ --ground: #1b1d20; {colours(styles.DARK)} }}"
    light = f":root {{ color-scheme: light dark; --ground: #fff; {colours(styles.LIGHT)} }}"
    return f"{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}"


def page() -> str:
    """The page, whole."""
    runs = {one: [run(one, percent) for percent in LOSSES] for one in CONTROLLERS}
    commands = [
        " ".join(["paceline run", SCENARIO, *(f"--set '{one}'" for one in changes(CONTROLLERS[0], percent))])
        for percent in LOSSES
    ]
    data = {"losses": LOSSES, "step_s": STEP_S, "duration_s": 60, "most": MOST, "commands": commands, "runs": runs}
    template = (Path(__file__).parent / "slider.html").read_text(encoding="utf-8")
    return template.replace("STYLE", style(), 1).replace("RUNS", json.dumps(data, separators=(",", ":")), 1)


if __name__ == "__main__":
    print(page(), end="")
