"""`paceline study`, `tune` and `sensitivity`: run, say how far it is, and tell people, or a program, what came out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from paceline import disk
from paceline.cli.progress import study_progress
from paceline.cli.speak import duration, printing, say, say_remade
from paceline.cli.sweep_options import StudyOptions
from paceline.errors import UsageError, printable
from paceline.studies import markdown
from paceline.studies.engine import Plan, plan, prepare, run_study
from paceline.studies.judge import DOES_NOT_HOLD, NO_DATA, NO_FIGURE, ON_GENERATED
from paceline.studies.outcomes import Judged, SensitivityResult, StudyResult, TuningResult
from paceline.studies.sensitivity import sensitivity
from paceline.studies.tune import tune

if TYPE_CHECKING:
    from paceline.studies.duels import Difference, Duel
    from paceline.studies.markdown import Cells

AMISS = (DOES_NOT_HOLD, NO_DATA, NO_FIGURE)
"""Verdicts that `--strict` refuses."""
BESIDE_BARS = 54
"""Letters before and behind the bars of a chart."""
TABLES_PRINTED = 8
"""More tables than these stand in the report alone."""
LINES_PRINTED = 40
"""Longer tables stand there, too."""


def run(options: StudyOptions, *, chart: bool, write_verdict: bool, strict: bool) -> bool:
    """Runs a study and says what came out; whether every experiment went well, and if `strict` every rule holds."""
    if strict:
        _expect_rules(options)
    if write_verdict and (options.style is not None or options.formats):
        raise UsageError("--write-verdict: found --style or --format, expected none: a README has pictures of a screen")
    if write_verdict and "only" in options.study.identity:
        raise UsageError("--write-verdict: found a part of the study (--only), expected all of it")
    with study_progress() as progress:
        result = run_study(options.study, **options.arguments(), progress=progress)
    say_remade(result.remade)
    if result.missing:
        say(f"WARNING: {result.missing}.")
        say("WARNING: generated traces took its place: this is not a comparison with the paper's data.")
        if result.judged_without_data:
            free = f"{result.judged_without_data} figures and claims do not depend on it"
            say(f"{free}: their verdicts end with{ON_GENERATED!r}.")
        if write_verdict:
            raise UsageError(f"--write-verdict: {result.missing}, so there is no verdict; the README stays as it was")
    if write_verdict:
        _write_verdict(result)
    if chart and not options.json:
        with printing():
            print_charts(result)
    _put(options, _document(result), lambda: _print(result))
    if result.error is not None:
        say(
            f"paceline: {result.state.failed:,} of {result.state.total:,} experiments failed; the first: {result.error}"
        )
    amiss = [line for line in result.comparison if line.verdict in AMISS] if strict else []
    for line in amiss:
        ours = "none" if line.ours is None else f"{line.ours:.6g}"
        expected = result.study.rules[line.published.rule].expected(line.published.published)
        unit = f" {line.published.unit}".rstrip()
        say(f"paceline: --strict: {line.published.id}: {line.verdict}: found {ours}{unit}, expected {expected}")
    return result.error is None and not amiss


def _expect_rules(options: StudyOptions) -> None:
    """Refuses a study of which nothing is judged: it would hold whatever comes out."""
    study = options.study
    if not any(study.rules[one.rule].judged for one in study.published):
        raise UsageError(f"--strict: found no published figure in {options.name} that a rule judges, expected one")


def _write_verdict(result: StudyResult) -> None:
    """The verdict, claims and tables go into the README, pictures to those that stand in the study's folder."""
    kinds = sorted({line.published.kind for line in result.comparison} - {"claim"})
    known = {
        "verdict": result.verdict_markdown,
        "claims": markdown.claims_markdown(result.comparison),
        **{f"claims {kind}": markdown.claims_markdown(result.comparison, kind) for kind in kinds},
        **{f"table {name}": str(table) for name, table in result.tables.items()},
    }
    if result.study.cells is not None and (file := result.study.cells.earlier) is not None:
        disk.write(result.study.folder / file, (result.out / "verdicts.csv").read_bytes())
        say(f"verdicts written to {result.study.folder / file}")
    say(f"verdict written to {markdown.write_into_readme(result.study.folder, known)}")
    for name in result.study.pictures:
        shown = result.study.folder / f"{name}.png"
        if shown.is_file():
            disk.write(shown, (result.out / "plots" / shown.name).read_bytes())
            say(f"picture written to {shown}")


def _document(result: StudyResult) -> dict[str, object]:
    return {
        "study": result.study.name,
        "out": str(result.out),
        "data": "real" if result.missing is None else "generated",
        "experiments": result.state.total,
        "failed": result.state.failed,
        "error": result.error,
        "taken_over": result.state.taken_over,
        "results": str(result.results_file),
        "verdicts": result.verdicts,
        "comparison": [
            {
                "id": line.published.id,
                "published": line.published.published,
                "ours": line.ours,
                "unit": line.published.unit,
                "verdict": line.verdict,
            }
            for line in result.comparison
        ],
        "searches": {} if result.searches is None else _searches(result.searches),
    }


def _print(result: StudyResult) -> None:
    state = result.state
    if state.total:
        over = f", {state.taken_over:,} of them taken over" if state.taken_over else ""
        failed = f"; {state.failed:,} failed, see the column `error`" if state.failed else ""
        print(f"{printable(result.study.title)}: {state.finished:,} experiments{over}{failed}")
        if result.comparison:
            counts = "; ".join(f"{verdict}: {count}" for verdict, count in result.verdicts.items())
            print(f"{len(result.comparison)} published figures and claims; {counts}")
        if not result.comparison:
            _print_tables(result.tables)
        print(f"report:   {result.report}")
        for name, design in result.study.named.items():
            if getattr(design.spec, "figures", ()) and len(design) == 1:
                print(f"picture:  {result.out / 'experiments' / name / 'plots' / 'overview.png'}")
        print(f"results:  {result.results_file}")
    if result.searches is not None:
        _print_searches(result.searches)


def _print_tables(tables: Mapping[str, Cells]) -> None:
    for name, table in list(tables.items())[:TABLES_PRINTED]:
        long = f"{len(table.lines)} lines, in the report\n"
        print(f"\n{name}\n\n{table if len(table.lines) <= LINES_PRINTED else long}")
    if len(tables) > TABLES_PRINTED:
        print(f"{len(tables) - TABLES_PRINTED} tables more stand in the report")


def print_charts(result: StudyResult) -> None:
    """Draws the experiments that have pictures in the terminal."""
    import pandas as pd

    from paceline.cli.chart import chart

    width = max(10, min(60, get_terminal_size().columns - BESIDE_BARS))
    for name, design in result.study.named.items():
        folder = result.out / "experiments" / name
        if getattr(design.spec, "figures", ()) and (folder / "flows.parquet").is_file():
            flows, links = (pd.read_parquet(folder / f"{half}.parquet") for half in ("flows", "links"))
            print(printable(design.title), *chart(flows, links, width), "", sep="\n")


def _put(options: StudyOptions, document: Mapping[str, object], in_words: Callable[[], None]) -> None:
    """The results: as one JSON document, or for people."""
    with printing():
        if options.json:
            print(json.dumps(document, indent=2))
        else:
            in_words()


def dry_run(options: StudyOptions) -> None:
    """Says how many experiments there are, how long they take and how large the results are."""
    wanted = options.arguments()
    context, missing = prepare(options.study, wanted["data"])
    if not len(context.study):
        raise UsageError(
            f"--dry-run: {options.name} has searches alone, whose experiments are not known before they run"
        )
    planned = plan(context, wanted["workers"])
    if missing:
        say(f"WARNING: {missing}: generated traces would take its place.")
    _put(options, _plan_document(planned), lambda: _print_plan(planned))


def _print_plan(planned: Plan) -> None:
    for design in planned.study.designs.values():
        print(f"{design.name}: {len(design):,} points ({design.kind}), {len(design.seeds)} seed(s)")
    print(f"experiments: {planned.total:,}")
    print(
        f"time:        {duration(planned.seconds)} on {planned.workers} worker(s), "
        f"{planned.seconds_each * 1000:.0f} ms each (measured on {planned.measured})"
    )
    print(f"results:     {planned.size / 1e6:.1f} MB, {planned.bytes_each:.0f} B each")
    if planned.failed:
        print(f"failed:      {planned.failed} of the {planned.measured} that were tried")
    print("nothing was written")


def _plan_document(planned: Plan) -> dict[str, object]:
    return {
        "study": planned.study.name,
        "designs": {design.name: len(design) for design in planned.study.designs.values()},
        "experiments": planned.total,
        "seconds": planned.seconds,
        "seconds_each": planned.seconds_each,
        "bytes": planned.size,
        "workers": planned.workers,
        "measured": planned.measured,
        "failed": planned.failed,
    }


def search(options: StudyOptions, searches: tuple[str, ...], trials: int | None) -> None:
    """Searches, judges and says what was found."""
    with study_progress() as progress:
        result = tune(options.study, searches=searches, trials=trials, **options.arguments(), progress=progress)
    document = {"study": result.study.name, "out": str(result.out), "searches": _searches(result)}
    _put(options, document, lambda: _print_searches(result))


def rank(options: StudyOptions, search: str | None) -> None:
    """Ranks the parameters and prints the ranking."""
    with study_progress() as progress:
        result = sensitivity(options.study, search=search, **options.arguments("-sensitivity"), progress=progress)
    _put(options, _ranking_document(result), lambda: _print_ranking(result))


def _print_searches(result: TuningResult) -> None:
    for judged in result.judged.values():
        found = judged.found
        print(f"{printable(found.title)}: {len(found.trials):,} sets tried, {len(found.front)} on the front")
        for pick, trial in found.picks.items():
            if trial is None:
                print(f"  {pick}: no set keeps what was asked")
                continue
            beaten = [duel.other for duel in judged.duels if duel.one == pick and duel.beats]
            beats = f"{', '.join(beaten) or 'none'} of {', '.join(found.baselines)}"
            print(f"  {pick} (set {trial.number}) beats {printable(beats)}")
            _print_duels(pick, judged, len(result.tuning.confirmation))
    print(f"report:   {result.report}")
    print(f"trials:   {result.trials_file}")
    print(f"sets:     {result.out / 'sets.toml'}")


def _print_duels(pick: str, judged: Judged, confirmation: int) -> None:
    for duels, said in ((judged.duels, ""), (judged.confirmation, f"on the {confirmation} of the confirmation:")):
        own = [duel for duel in duels if duel.one == pick]
        if own and said:
            print(f"    {said}")
        for duel in own:
            print(f"    beside {printable(duel.other)}: {'; '.join(map(_told, duel.differences))}")


def _told(difference: Difference) -> str:
    mean, low, high = difference.change
    unit = " %" if difference.geometric else ""
    return f"{difference.objective} {mean:+.1f}{unit} ({low:+.1f} to {high:+.1f})"


def _searches(result: TuningResult) -> dict[str, object]:
    return {
        name: {
            "trials": len(judged.found.trials),
            "front": judged.found.front,
            "picks": {
                pick: None if trial is None else {"trial": trial.number, "beats_all": judged.beats_all(pick)}
                for pick, trial in judged.found.picks.items()
            },
            "duels": [_duel_document(duel) for duel in judged.duels],
            "confirmation": [_duel_document(duel) for duel in judged.confirmation],
        }
        for name, judged in result.judged.items()
    }


def _duel_document(duel: Duel) -> dict[str, object]:
    differences = {one.objective: list(one.change) for one in duel.differences}
    return {"set": duel.one, "beside": duel.other, "beats": duel.beats, "differences": differences}


def _print_ranking(result: SensitivityResult) -> None:
    print(printable(f"{result.study.title}: {result.search.title or result.search.name}"))
    print("screening (Morris): mean effect over the objectives, in standard deviations")
    for effect in result.ranking:
        print(f"  {effect.factor:<24} {effect.mean:.3f}")
    print("total indices (Sobol), with 95 % intervals")
    for line in result.sobol:
        totals = "; ".join(f"{name} {one.value:.2f} ± {one.half:.2f}" for name, one in line.total.items())
        print(f"  {line.factor:<24} {totals}")
    print(f"report:   {result.report}")
    print(f"figures:  {result.out / 'sensitivity.csv'}")


def _ranking_document(result: SensitivityResult) -> dict[str, object]:
    return {
        "study": result.study.name,
        "search": result.search.name,
        "out": str(result.out),
        "failed": result.failed,
        "morris": {
            one.factor: {name: [effect.value, effect.half] for name, effect in one.effects.items()}
            for one in result.ranking
        },
        "sobol": {
            one.factor: {name: [total.value, total.half] for name, total in one.total.items()} for one in result.sobol
        },
    }
