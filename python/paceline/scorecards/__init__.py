"""Scorecards: the field's own tests of congestion controllers, with rules that were written before any run."""
