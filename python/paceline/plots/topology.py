"""The topology of a scenario: links as boxes in the order in which paths cross them, flows as lines through them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from paceline.plots.style import BLACK, GREY, SHADE, heading, new_figure, settings, shortened
from paceline.plots.vocabulary import looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Box:
    """A link and its position: columns count from the senders, rows the links of one column."""

    name: str
    lines: tuple[str, ...]
    """Label of the link: rate and delay, queue, losses and failures."""
    column: int
    row: int


@dataclass(frozen=True)
class Group:
    """Flows that are alike: the same transport, controller and paths."""

    flows: tuple[str, ...]
    kind: str
    path: tuple[str, ...]
    back: tuple[str, ...]
    back_delay: str

    @property
    def label(self) -> str:
        """The flows and what they are, in a line."""
        first, count = self.flows[0], len(self.flows)
        names = first if count == 1 else f"{count} flows, {first} to {self.flows[-1]}"
        return f"{names}: {self.kind}"


@dataclass(frozen=True)
class Topology:
    """Links and flows as they are drawn."""

    name: str
    boxes: dict[str, Box]
    groups: tuple[Group, ...]


def table(scenario: dict[str, Any]) -> Topology:
    """The topology of a scenario as resolved."""
    groups = _groups(scenario["flows"])
    columns = _columns([list(group.path) for group in groups] + [list(group.back)[::-1] for group in groups])
    forward = {name for group in groups for name in group.path}
    links = scenario.get("links", {})
    # Links that only lead back stand below the others.
    floor = max(Counter(columns.get(name, 0) for name in links if name in forward).values(), default=0)
    rows: Counter[tuple[int, bool]] = Counter()
    boxes = {}
    for name, link in links.items():
        place = (columns.get(name, 0), name in forward)
        row = rows[place] if name in forward else floor + rows[place]
        boxes[name] = Box(name, _said(link), place[0], row)
        rows[place] += 1
    return Topology(scenario["name"], boxes, groups)


def _groups(flows: dict[str, dict[str, Any]]) -> tuple[Group, ...]:
    groups: dict[tuple[Any, ...], list[str]] = {}
    for name, flow in flows.items():
        kind = f"{flow['controller']['kind']} over {flow['transport']}"
        key = (kind, tuple(flow["path"]), tuple(flow.get("return_path", ())), flow.get("return_delay", ""))
        groups.setdefault(key, []).append(name)
    return tuple(Group(tuple(names), *key) for key, names in groups.items())


def _columns(paths: list[list[str]]) -> dict[str, int]:
    """For each link the longest way to it over any path; paths that cross each other in both orders end somewhere."""
    columns: dict[str, int] = {name: 0 for path in paths for name in path}
    for _ in columns:
        for path in paths:
            for before, after in pairwise(path):
                columns[after] = min(max(columns[after], columns[before] + 1), len(columns) - 1)
    return columns


def _said(link: dict[str, Any]) -> tuple[str, ...]:
    queue = dict(link["queue"])
    limit = next(
        (f"{queue[key]} {key}".removesuffix(" limit") for key in ("limit", "packets", "bytes") if key in queue), ""
    )
    rate, delay = _over_time(link["rate"]), _over_time(link["delay"])
    lines = [f"{rate}, {delay}", f"{queue['kind']}, {limit.replace(' bytes', '')}"]
    troubles = [key for key in ("mark", "loss", "noise", "down") if link.get(key)]
    return (*lines, "with " + ", ".join(troubles)) if troubles else tuple(lines)


def _over_time(quantity: Any) -> str:
    """A rate or a delay, or in a word how it changes."""
    if isinstance(quantity, str):
        return quantity
    word = next((word for word in ("steps", "ramp", "trace") if word in quantity), None)
    return word or str(quantity.get("generator", "changing"))


def text(topology: Topology) -> str:
    """The topology for a terminal."""
    lines = [topology.name, ""]
    for group in topology.groups:
        lines.append(group.label)
        lines.append(
            "  sender " + "".join(f"--[{_inline(topology.boxes[name])}]" for name in group.path) + "--> receiver"
        )
        back = "".join(f"--[{_inline(topology.boxes[name])}]" for name in group.back)
        lines.append("  receiver " + (f"{back}--> sender" if back else f"--({group.back_delay}, unloaded)--> sender"))
        lines.append("")
    return "\n".join(lines).rstrip()


def _inline(box: Box) -> str:
    return f"{box.name}: {'; '.join(box.lines)}"


def figure(topology: Topology) -> Figure:
    """The topology as a picture."""
    import matplotlib as mpl

    columns = max((box.column for box in topology.boxes.values()), default=0) + 1
    rows = max((box.row for box in topology.boxes.values()), default=0) + 1
    with mpl.rc_context(settings()):
        height = 1.5 * rows + 0.35 * len(topology.groups) + 1.6
        picture = new_figure(width=max(8.0, 2.4 * columns + 2.2), height=height, wide=columns > 2)
        axes = picture.subplots()
        axes.set_axis_off()
        heading(picture, topology.name)
        _draw_boxes(axes, topology)
        _draw_groups(axes, topology, columns)
        axes.set_xlim(-1.0, columns)
        axes.set_ylim(-rows + 0.2, 0.8)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2 if len(topology.groups) > 3 else 1)
    return picture


WIDTH, HEIGHT = 0.72, 0.62


def _draw_boxes(axes: Axes, topology: Topology) -> None:
    from matplotlib.patches import FancyBboxPatch

    for box in topology.boxes.values():
        corner = (box.column - WIDTH / 2, -box.row - HEIGHT / 2)
        axes.add_patch(
            FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle="round,pad=0.02", facecolor=SHADE, edgecolor=GREY, zorder=3)
        )
        said = "\n".join((shortened(box.name, 20), *(shortened(line, 26) for line in box.lines)))
        axes.text(box.column, -box.row, said, ha="center", va="center", fontsize="small", color=BLACK, zorder=4)


def _draw_groups(axes: Axes, topology: Topology, columns: int) -> None:
    count = len(topology.groups)
    looked = list(looks({group.label: group.kind.partition(" ")[0] for group in topology.groups}).values())
    bottom = -max((box.row for box in topology.boxes.values()), default=0) - 0.5
    for index, group in enumerate(topology.groups):
        colour = looked[index].colour
        shift = (index - (count - 1) / 2) * min(0.09, 0.5 / max(count, 1))
        links = _through(topology, group.path, columns, shift, 0.5)
        there = [(-0.75, shift), *links, (columns - 0.25, shift)]
        axes.plot(*zip(*there, strict=True), color=colour, linewidth=1.8, label=shortened(group.label, 70), zorder=2)
        (x, y), (end, level) = there[-2:]
        tail = (end - 0.12 * (end - x), level - 0.12 * (level - y))
        axes.annotate("", there[-1], tail, arrowprops={"arrowstyle": "-|>", "color": colour})
        if group.back:
            links = _through(topology, group.back, columns, shift, bottom)[::-1]
            back = [(columns - 0.25, shift), *links, (-0.75, shift)]
            axes.plot(*zip(*back, strict=True), color=colour, linewidth=1.2, linestyle="--", zorder=1)
    axes.text(-0.8, 0.0, "senders", ha="right", va="center", rotation=90)
    axes.text(columns - 0.2, 0.0, "receivers", ha="left", va="center", rotation=90)


def _through(
    topology: Topology, path: tuple[str, ...], columns: int, shift: float, aside: float
) -> list[tuple[float, float]]:
    """From left to right: through the boxes of a path, and past the others at the height `aside`."""
    heights = {topology.boxes[name].column: -float(topology.boxes[name].row) for name in path}
    sides = ((column, column + side) for column in range(columns) for side in (-0.42, 0.42))
    return [(place, heights.get(column, aside) + shift) for column, place in sides]
