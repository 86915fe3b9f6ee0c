"""Searching parameters for several objectives at once, judging what was found elsewhere, and ranking parameters."""
