"""Checks: figures of runs held against bands, so that a change of code or of a controller can be refused."""
