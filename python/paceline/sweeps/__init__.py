"""Sweeps: studies whose experiments a design draws from factors, by the hundred or the million."""
