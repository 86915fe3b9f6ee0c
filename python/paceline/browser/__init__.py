"""A call with a real browser over a scenario's links: our sender to it, or it to our receiver."""

from __future__ import annotations

from paceline.browser.call import BrowserCall, call

__all__ = ["BrowserCall", "call"]
