"""A call with a real browser over a scenario's links, ours to it or its own to us: `paceline.browser.call`."""
