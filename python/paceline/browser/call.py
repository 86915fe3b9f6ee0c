"""One call: the page, the browser, our end and the links between."""

from __future__ import annotations

import json
import os
import queue
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline.browser.chromium import BrowserError, Chromium, Congestion, field_trials, needed
from paceline.browser.sdp import Offer, OfferError, answer, read_offer, repair
from paceline.browser.seen import COLUMNS, Row, table
from paceline.browser.server import PageServer
from paceline.network import plain_errors
from paceline.outputs import OutputFolder
from paceline.result import Result
from paceline.scenario import LoadedScenario
from paceline.series import parquet_bytes
from paceline.toml import loads

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.figure import Figure

Agreed = tuple[str, int, int, "tuple[int, int, int] | None"]
"""The browser's fragment, payload type, transport-wide element, and how packets are sent again (`sdp.repair`)."""
OFFER_S = 30.0
"""How long a browser that we start may take to offer."""
PERSON_S = 600.0
"""How long a person may take to open the page."""
SILENT_S = 3.0
"""A browser that says nothing for so long before the end of a call was not there any more."""
LOOK_S = 0.2
"""How often the browser is looked at."""
PICTURE = {"width": 640, "height": 360, "fps": 30}
"""The picture size and rate that the browser encodes, where it sends."""


class BrowserCall:
    """The outcome of a call with a browser."""

    def __init__(self, endpoint: Result, link: Result, rows: Sequence[Row], zero: float | None, role: str) -> None:
        self.endpoint = endpoint
        """The result of our sender or receiver."""
        self.link = link
        """The result of the links between, in the direction of the media and back."""
        self.role = role
        """Ours: send or receive."""
        self.browser_arrow: pa.Table = table(rows, float("inf") if zero is None else zero)
        """The browser's figures, one row per look."""

    @cached_property
    def browser(self) -> pd.DataFrame:
        """The same as a data frame."""
        seen: pd.DataFrame = self.browser_arrow.to_pandas()
        return seen

    @cached_property
    def summary(self) -> dict[str, float | None]:
        """The mean of each figure of the browser after the scenario's warm-up, of what is counted the last."""
        warmup, _ = _core.quantity(loads(self.endpoint.scenario)["warmup"]) or (0.0, "s")
        seen = self.browser[self.browser["time_s"] >= warmup]
        figures = {}
        for column in COLUMNS:
            values = seen[column.name].dropna()
            counted = "so far" in column.definition
            figures[column.name] = None if values.empty else float(values.iloc[-1] if counted else values.mean())
        return figures

    @property
    def warnings(self) -> list[str]:
        """Oddities that did not end the call."""
        own, side = self.endpoint.warnings, "our sender" if self.role == "send" else "our receiver"
        return [
            *(f"{side}: {said}" for said in own),
            *(f"the links: {said}" for said in self.link.warnings if said not in own),
            *self._silence(),
        ]

    def _silence(self) -> list[str]:
        """The warning that the browser itself told nothing, or no more."""
        if not len(self.browser):
            return ["the browser said nothing of the call"]
        last = float(self.browser["time_s"].iloc[-1])
        silent = self.link.summary["wall_s"] - last > SILENT_S
        return [f"the browser said nothing from {last:.1f} s on"] if silent else []

    def plot(self) -> Figure:
        """The views of both ends and of the links, in one picture."""
        from paceline.plots.browser import draw

        return draw(self)

    def files(self, *, plots: bool = False) -> dict[str, bytes]:
        """The functions that write, by the names of their files."""
        files = {"browser.parquet": parquet_bytes(self.browser_arrow)}
        files["browser.json"] = (json.dumps(self.summary, indent=2) + "\n").encode()
        for folder, result in (("endpoint", self.endpoint), ("link", self.link)):
            files |= {f"{folder}/{name}": content for name, content in result.files().items()}
        if plots:
            from paceline.plots.browser import pictures

            files |= pictures(self)
        return files

    def save(self, out: str | os.PathLike[str], *, plots: bool = False) -> list[Path]:
        """Writes everything into a folder, or nothing."""
        with OutputFolder(out) as folder:
            return [folder.stage(name, content) for name, content in self.files(plots=plots).items()]


def call(
    scenario: LoadedScenario,
    role: str,
    *,
    congestion: Congestion = Congestion.gcc,
    rate_bps: float = 5e6,
    flow: str | None = None,
    program: str | None = None,
    wait: Callable[[str, list[str]], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> BrowserCall:
    """Holds a call of the scenario's duration with Chromium, or with the browser of whoever is told where the page is.

    Args:
        scenario: Whose flow and links the call goes by.
        role: `send`: our sender to the browser; `receive`: the browser to our receiver.
        congestion: The browser's congestion control, where it sends and we start it.
        rate_bps: The most that the browser's encoder makes.
        flow: The flow; needed if the scenario has several.
        program: The browser to start, in place of the first Chromium that is installed.
        wait: Told the address of the page, and what options the browser needs, in place of starting one.
        progress: Called now and then with the part of the run that is done.

    Raises:
        BrowserError: No browser, or one that ended or did not come.
        OfferError: An offer that cannot be answered.
        NetworkError: A socket failed, or no media came.
        UsageError: A scenario that no browser can have an end of.
    """
    feedback = _feedback(scenario, flow)
    settings = {"role": role, "rate": rate_bps, "interval": LOOK_S, **PICTURE}
    with PageServer(settings) as server:
        browser = _browser(server.url, field_trials(feedback, congestion), program, wait)
        with browser:
            check = browser.check if isinstance(browser, Chromium) else lambda: None
            meeting = _Meeting(server, role, feedback, check, PERSON_S if wait else OFFER_S)

            def look(done: float) -> None:
                meeting.look()
                if progress is not None:
                    progress(done)

            try:
                endpoint, link, zero = _run(scenario, role, flow, meeting.answer, look)
            finally:
                meeting.ended()
    return BrowserCall(Result(endpoint, scenario), Result(link, scenario), server.rows, zero, role)


def _browser(
    url: str, trials: str, program: str | None, wait: Callable[[str, list[str]], None] | None
) -> Chromium | AbstractContextManager[None]:
    if wait is None:
        return Chromium(url, trials, program)
    wait(url, needed(trials))
    return nullcontext()


def _run(
    scenario: LoadedScenario, role: str, flow: str | None, answer: Callable[..., Any], look: Callable[[float], None]
) -> tuple[_core.RunOutput, _core.RunOutput, float | None]:
    with plain_errors():
        return _core.browser(scenario.core, role=role, answer=answer, flow=flow, progress=look)


def _feedback(scenario: LoadedScenario, flow: str | None) -> str:
    """The format of the flow's reports."""
    flows = loads(scenario.core.resolved_toml)["flows"]
    chosen = flows.get(flow) if flow is not None else next(iter(flows.values()))
    return str((chosen or {}).get("feedback", {}).get("format", "rfc8888"))


class _Meeting:
    """Waits for the browser's offer, answers it, and looks whether the browser is still there."""

    def __init__(
        self, server: PageServer, role: str, feedback: str, check: Callable[[], None], patience: float
    ) -> None:
        self._server, self._role, self._feedback = server, role, feedback
        self._check, self._patience = check, patience
        self._failure: BrowserError | None = None

    def look(self) -> None:
        """Raises what `check` does, for a run that ends with its figures so far; `ended` raises it again."""
        try:
            self.check()
        except BrowserError as error:
            self._failure = self._failure or error
            raise

    def ended(self) -> None:
        """Raises why the run was ended, if the browser was the reason."""
        if self._failure is not None:
            raise self._failure

    def check(self) -> None:
        """Raises `BrowserError` if the browser has ended, or its page gave up."""
        self._check()
        if self._server.failure is not None:
            raise BrowserError(f"the browser's page failed: {self._server.failure}")

    def answer(self, port: int, ufrag: str, password: str, ssrc: int) -> Agreed:
        """Answers the offer that comes."""
        text = self._offered()
        try:
            offer = read_offer(text, self._feedback)
        except OfferError as error:
            self._server.answer(400, str(error))
            raise
        sends = self._role == "send"
        said = answer(offer, self._feedback, sends=sends, port=port, ufrag=ufrag, password=password, ssrc=ssrc)
        self._server.answer(200, said)
        return _agreed(offer, repair(offer, sends=sends, ssrc=ssrc))

    def _offered(self) -> str:
        begun = time.monotonic()
        while True:
            try:
                return self._server.offers.get(timeout=0.1)
            except queue.Empty:
                self.check()
            if time.monotonic() - begun > self._patience:
                raise BrowserError(f"no browser offered a call within {self._patience:g} s")


def _agreed(offer: Offer, repaired: tuple[int, int, int] | None) -> Agreed:
    """The terms that our end is told; without a transport-wide number its identifier does not matter."""
    return offer.ufrag, offer.payload_type, offer.transport_wide or 1, repaired
