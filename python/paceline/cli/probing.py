"""`paceline probe`: measures a link of a scenario, a named network, or the path to another machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from paceline import _core
from paceline.cli.mistaken import expecting
from paceline.cli.recording_options import ProbeMethod, ProbeOptions
from paceline.cli.speak import note, printing, progress_bar, say
from paceline.errors import UsageError
from paceline.outputs import OutputFolder
from paceline.overrides import changes
from paceline.pairs import PairPlan, available, available_path
from paceline.plots.style import stage_pictures
from paceline.probing import Measured, Plan, networks, probe, probe_path, reflect


def measure(options: ProbeOptions) -> None:
    """Measures, or answers who measures; prints what was found, and writes it."""
    if sum(given is not None for given in (options.what, options.send, options.receive)) != 1:
        raise UsageError(
            "probe: expected one of a scenario or network to simulate, --send HOST:PORT, and --receive HOST:PORT"
        )
    if options.receive is not None:
        return _answer(options, options.receive)
    if options.method is ProbeMethod.pairs:
        return _measure_pairs(options)
    for name in ("capacity", "pairs", "cross"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name}: found with --method fill, expected with --method pairs")
    options.expect_folder(options.out)
    folder = None if options.out is None else OutputFolder(options.out)
    with progress_bar("probing") as progress:
        if options.send is not None:
            _expect_unused(options, "--send")
            measured = probe_path(options.send, plan=_plan(options, Plan()), progress=progress)
        else:
            with expecting("scenario or network", [str(options.what)]):
                measured = probe(
                    _named(str(options.what)),
                    link=options.link,
                    plan=_plan(options, Plan(hold_s=300.0)),
                    overrides=changes(options.set_),
                    seed=options.seed,
                    data=options.data,
                    progress=progress,
                )
    _show(measured, options, folder)


def _measure_pairs(options: ProbeOptions) -> None:
    """Available bandwidth by pairs of packets."""
    for name in ("transfer", "hold", "part", "out"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name}: found with --method pairs, expected with --method fill")
    if options.capacity is None:
        raise UsageError("--capacity: found none, expected the bottleneck's with --method pairs, such as 10Mbps")
    plan = PairPlan(_quantity("capacity", options.capacity, "bit/s"))
    if options.packet_size is not None:
        plan = replace(plan, packet_size=int(_quantity("packet_size", options.packet_size, "B")))
    if options.pairs is not None:
        plan = replace(plan, pairs=options.pairs)
    with progress_bar("probing") as progress:
        if options.send is not None:
            _expect_unused(options, "--send")
            if options.cross is not None:
                raise UsageError("--cross: found with --send, expected with a scenario or a network")
            result = available_path(options.send, plan, progress=progress)
        else:
            with expecting("scenario or network", [str(options.what)]):
                result = available(
                    _named(str(options.what)),
                    plan,
                    link=options.link,
                    cross_bps=0.0 if options.cross is None else _quantity("cross", options.cross, "bit/s"),
                    overrides=changes(options.set_),
                    seed=options.seed,
                    data=options.data,
                    progress=progress,
                )
    with printing():
        print(
            json.dumps(result.document(), indent=2, ensure_ascii=False) if options.json else "\n".join(result.lines())
        )


def _named(what: str) -> str | Path:
    """A network's name as it is, anything else as a file."""
    return what if what in networks() and not Path(what).exists() else Path(what)


def _show(measured: Measured, options: ProbeOptions, folder: OutputFolder | None) -> None:
    for warning in measured.warnings:
        say(f"warning: {warning}")
    toml = measured.toml(options.name)
    document = json.dumps(measured.document(), indent=2, ensure_ascii=False)
    with printing():
        print(document if options.json else toml.rstrip("\n"))
    if folder is not None:
        with folder:
            folder.stage("link.toml", toml)
            folder.stage("probe.json", document + "\n")
            if options.draws:
                stage_pictures(folder, lambda: [("noise", measured.figure())], reported=False)
        note(f"written to {folder.path}")


def _answer(options: ProbeOptions, listen: str) -> None:
    _expect_unused(options, "--receive")
    for name in ("send", "transfer", "hold", "part", "packet_size", "out", "capacity", "pairs", "cross"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')}: found with --receive, expected with the end that sends")
    say(f"answering probes at {listen} until Ctrl-C")
    answered = reflect(listen)
    with printing():
        print(json.dumps({"answered": answered}) if options.json else f"answered {answered} packets")


def _expect_unused(options: ProbeOptions, beside: str) -> None:
    for name in ("link", "set_", "seed", "data"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name.rstrip('_')}: found with {beside}, expected with a scenario or a network")


def _plan(options: ProbeOptions, usual: Plan) -> Plan:
    """The plan with what the options say of it."""
    changed: dict[str, int | float] = {}
    for name, unit, key in (
        ("packet_size", "B", "packet_size"),
        ("transfer", "B", "transfer"),
        ("hold", "s", "hold_s"),
    ):
        text = getattr(options, name)
        if text is not None:
            value = _quantity(name, text, unit)
            changed[key] = value if unit == "s" else int(value)
    if options.part is not None:
        changed["part"] = options.part
    return replace(usual, **changed)  # type: ignore[arg-type]


def _quantity(name: str, text: str, unit: str) -> float:
    found = _core.quantity(text)
    if found is None or found[1] != unit:
        example = {"B": "a size such as 1MB", "s": "a time such as 60s", "bit/s": "a rate such as 10Mbps"}[unit]
        raise UsageError(f'--{name.replace("_", "-")}: found "{text}", expected {example}')
    return found[0]
