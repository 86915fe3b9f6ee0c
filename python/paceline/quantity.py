"""Quantities as scenarios write them, in base units: seconds, bit/s, bytes."""

from __future__ import annotations

import re

_UNITS = {
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9,
    "bps": 1.0, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9,
    "B": 1.0, "kB": 1e3, "MB": 1e6,
}  # fmt: skip
_QUANTITY = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]*)\s*")


def base_units(value: object) -> float | None:
    """A number, a flag or a quantity as a number in base units; None for anything else."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    match = _QUANTITY.fullmatch(value)
    if match is None or (match[2] and match[2] not in _UNITS):
        return None
    # Divided where that is exact in decimal: 5 ms is the float nearest to 0.005.
    factor = _UNITS.get(match[2], 1.0)
    number = float(match[1])
    return number * factor if factor >= 1.0 else number / round(1.0 / factor)
