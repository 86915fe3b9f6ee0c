"""Smaller SVG files: matplotlib thins lines, but writes every vertex of an area, most of which nobody sees."""

from __future__ import annotations

import re

_PATH = re.compile(r'(?<= d=")[^"]*')
_DIGITS = re.compile(r"(\.\d\d)\d+")
_VERTEX = re.compile(r"[ML] ([-.\d]+) ([-.\d]+) ?")

_Point = tuple[float, float]


def slim(svg: str) -> str:
    """The same picture: paths to a hundredth of a point, without vertices inside a horizontal or vertical run."""
    return _PATH.sub(lambda path: _thinned(_DIGITS.sub(r"\1", path[0])), svg)


def _thinned(path: str) -> str:
    """The path's commands, one to a line, without lines to where the path comes straight through."""
    kept: list[tuple[str, _Point | None]] = []
    for command in path.split("\n"):
        point = _end(command)
        while command.startswith("L") and len(kept) > 1 and _passed(kept[-2][1], *kept[-1], point):
            kept.pop()
        kept.append((command, point))
    return "\n".join(command for command, _ in kept)


def _end(command: str) -> _Point | None:
    """Where a move or a line leads; None for curves and the path's end."""
    match = _VERTEX.fullmatch(command)
    return (float(match[1]), float(match[2])) if match else None


def _passed(before: _Point | None, command: str, middle: _Point | None, after: _Point | None) -> bool:
    """Whether the line to the middle goes on to `after` along an axis; at the tip of a spike it turns."""
    if before is None or middle is None or after is None or not command.startswith("L"):
        return False
    (x0, y0), (x1, y1), (x2, y2) = before, middle, after
    flat, upright = y0 == y1 == y2, x0 == x1 == x2
    return (flat and (x1 - x0) * (x2 - x1) >= 0) or (upright and (y1 - y0) * (y2 - y1) >= 0)
