"""Results as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from paceline.result import Result

_FLOW_ROWS = (
    ("throughput", "throughput_mbps", "Mbit/s"),
    ("goodput", "goodput_mbps", "Mbit/s"),
    ("target bitrate", "target_bitrate_mbps", "Mbit/s"),
    ("wait in link queues", "queue_delay_ms", "ms"),
    ("one-way delay", "one_way_delay_ms", "ms"),
    ("smoothed RTT", "srtt_ms", "ms"),
    ("wait in the send queue", "send_queue_delay_ms", "ms"),
    ("frame, capture to display", "frame_delay_ms", "ms"),
    ("lost", "loss_ratio", "%"),
    ("CE-marked", "ce_ratio", "%"),
)
_STATISTICS = ("mean", "p50", "p95", "p99", "max")


def print_summary(result: Result) -> None:
    """The run's summary: a table for each flow and one for the links."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    summary = result.summary
    figures = (
        f": {summary.get('duration_s'):g} s, seed {summary.get('seed')}; "
        f"{summary.get('packets'):,} packets in {summary.get('wall_s'):.3f} s"
    )
    console.print(Text.assemble((str(summary.get("name")), "bold"), figures))
    for name, flow in summary.get("flows", {}).items():
        console.print(flow_table(name, flow))
    if summary.get("links"):
        console.print(link_table(summary["links"]))


def flow_table(name: str, flow: dict[str, Any]) -> Table:
    """One flow: a row for each figure, a column for each statistic."""
    table = _table(f"flow {name} ({flow.get('controller')})", ("", *_STATISTICS, "unit"))
    for title, key, unit in _FLOW_ROWS:
        value = flow.get(key)
        if isinstance(value, dict):
            table.add_row(title, *(_number(value.get(s)) for s in _STATISTICS), unit)
        elif value is not None:
            shown = value * 100 if unit == "%" else value
            table.add_row(title, _number(shown), "", "", "", "", unit)
    if flow.get("transfers"):
        _add_transfers(table, flow["transfers"])
    return table


def _add_transfers(table: Table, transfers: dict[str, Any]) -> None:
    """How many files were sent whole, and how long each took."""
    counts = f"{transfers['completed']:,} of {transfers['begun']:,}"
    table.add_row("transfers, completed of begun", counts, "", "", "", "", "")
    times = transfers["completion_time_ms"]
    table.add_row("transfer, to its last ACK", *(_number(times.get(s)) for s in _STATISTICS), "ms")


def link_table(links: dict[str, dict[str, Any]]) -> Table:
    """All links: a row for each."""
    from rich.text import Text

    table = _table("links", ("", "used", "mean wait", "max wait", "dropped", "lost", "marked", "offered"))
    for name, link in links.items():
        wait = link.get("queue_delay_ms") or {}
        used = link.get("utilisation")
        counts = (link.get(key) for key in ("dropped", "lost", "marked", "offered"))
        table.add_row(
            Text(name),
            "-" if used is None else f"{100 * used:.1f} %",
            f"{_number(wait.get('mean'))} ms",
            f"{_number(wait.get('max'))} ms",
            *("-" if count is None else f"{count:,}" for count in counts),
        )
    return table


def _table(title: str, columns: tuple[str, ...]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # As Text, because a name may hold what rich takes for markup in a plain string.
    table = Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 or column == "unit" else "right")
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
