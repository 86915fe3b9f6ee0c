"""Smaller SVG files: matplotlib thins lines, but writes every vertex of an area, most of which nobody sees."""

from __future__ import annotations

import re

_PATH = re.compile(r'(?<= d=")[^"]*')
_DIGITS = re.compile(r"(?<=\.\d\d)\d+")

_Point = tuple[float, float]


def slim(svg: str) -> str:
    """The same picture: paths to a hundredth of a point, without vertices inside a horizontal or vertical run."""
    return _PATH.sub(lambda path: _thinned(_DIGITS.sub("", path[0])), svg)


def _thinned(path: str) -> str:
    """The path's commands, one to a line, without lines to where the path comes straight through."""
    commands = path.split("\n")
    if len(commands) < 3:
        return path
    kept: list[str] = []
    ends: list[_Point | None] = []
    for command in commands:
        end = _end(command)
        if end is not None and command[0] == "L":
            while len(kept) > 1 and kept[-1][0] == "L" and _passed(ends[-2], ends[-1], end):
                kept.pop()
                ends.pop()
        kept.append(command)
        ends.append(end)
    return "\n".join(kept)


def _end(command: str) -> _Point | None:
    """Where a move or a line leads; None for curves and the path's end."""
    parts = command.split()
    return (float(parts[1]), float(parts[2])) if len(parts) == 3 and parts[0] in ("M", "L") else None


def _passed(before: _Point | None, middle: _Point | None, after: _Point) -> bool:
    """Whether the line to the middle goes on to `after` along an axis; at the tip of a spike it turns."""
    if before is None or middle is None:
        return False
    (x0, y0), (x1, y1), (x2, y2) = before, middle, after
    flat, upright = y0 == y1 == y2, x0 == x1 == x2
    return (flat and (x1 - x0) * (x2 - x1) >= 0) or (upright and (y1 - y0) * (y2 - y1) >= 0)
