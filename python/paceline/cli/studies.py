"""`paceline study`: runs a study and tells people, or a program, what came out."""

from __future__ import annotations

import json as json_
from pathlib import Path

from paceline.cli.speak import printing, progress_bar, say
from paceline.errors import UsageError
from paceline.studies.compare import Comparison
from paceline.studies.definition import load
from paceline.studies.engine import StudyResult, run_study
from paceline.studies.tables import verdict_markdown, write_into_readme


def run(
    name: str,
    out: Path | None,
    workers: int | None,
    *,
    resume: bool,
    data: Path | None,
    json: bool,
    chart: bool,
    write_verdict: bool,
) -> None:
    """Runs the study and prints its verdict."""
    study = load(name)
    out = out or Path("out") / study.name
    total = len(study.experiments)
    finished: list[str] = []
    with progress_bar(f"study {study.name}") as progress:

        def done(experiment: str, resumed: bool) -> None:
            finished.append(experiment)
            if progress is not None:
                progress(len(finished) / total)
            else:
                taken = ", taken over" if resumed else ""
                say(f"{len(finished)}/{total} {experiment}{taken}")

        result = run_study(name, out=out, workers=workers, resume=resume, data=data, done=done)
    if result.missing:
        say(f"WARNING: {result.missing}.")
        say("WARNING: generated traces took its place: this is not a comparison with the paper's data.")
    if write_verdict and result.missing:
        raise UsageError(f"--write-verdict: {result.missing}, so there is no verdict; the README stays as it was")
    if write_verdict:
        say(f"verdict written to {write_into_readme(result.study.folder, verdict_markdown(result.comparison))}")
    with printing():
        if json:
            print(json_.dumps(_document(result), indent=2))
            return
        if chart:
            _print_charts(result)
        _print_verdicts(result)


def _document(result: StudyResult) -> dict[str, object]:
    return {
        "study": result.study.name,
        "out": str(result.out),
        "data": "real" if result.missing is None else "generated",
        "experiments": [row["experiment"] for row in result.rows],
        "verdicts": result.verdicts,
        "comparison": comparison_document(result.comparison),
    }


def comparison_document(lines: list[Comparison]) -> list[dict[str, object]]:
    """Published figures beside ours, for a program."""
    return [
        {
            "id": line.published.id,
            "published": line.published.published,
            "ours": line.ours,
            "unit": line.published.unit,
            "verdict": line.verdict,
        }
        for line in lines
    ]


def _print_verdicts(result: StudyResult) -> None:
    counts = "; ".join(f"{verdict}: {count}" for verdict, count in result.verdicts.items())
    print(f"{result.study.title}: {len(result.comparison)} published figures and claims; {counts}")
    print(f"report:   {result.report}")
    for experiment in result.study.experiments.values():
        if experiment.figures:
            print(f"picture:  {result.out / 'experiments' / experiment.name / 'plots' / 'overview.png'}")
    print(f"figures:  {result.out / 'comparison.csv'}, {result.out / 'results.parquet'}")


def _print_charts(result: StudyResult) -> None:
    import pandas as pd

    from paceline.cli.chart import chart

    for experiment in result.study.experiments.values():
        if experiment.figures:
            folder = result.out / "experiments" / experiment.name
            print(experiment.title)
            print(
                "\n".join(chart(pd.read_parquet(folder / "flows.parquet"), pd.read_parquet(folder / "links.parquet")))
            )
            print()
