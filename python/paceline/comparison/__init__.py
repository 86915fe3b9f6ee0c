"""Comparisons: controllers over scenarios, traces and named networks, judged on the same seeds."""
