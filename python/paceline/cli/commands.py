"""The commands of `paceline`: each reads its arguments and calls what does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from paceline.cli import archive, demo, listing, new, running, sockets
from paceline.cli.flat import flat
from paceline.cli.many import TakesMany
from paceline.cli.options import Json, ListOptions, VectorsOptions
from paceline.cli.program import Program
from paceline.cli.recording_options import FitOptions, ProbeOptions, TraceOptions
from paceline.cli.signals import terminable
from paceline.cli.speak import plainly, printing
from paceline.cli.sweep_options import CheckOptions, CompareOptions, PartOptions, ScorecardOptions, StudyOptions

KEPT = "what is finished is kept: run the same command again to go on"
"""The message when a study is interrupted."""


def _say_version(wanted: bool) -> None:
    if wanted:
        from paceline import __version__

        with plainly(), printing():
            print(f"paceline {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="paceline",
    cls=Program,
    no_args_is_help=True,
    suggest_commands=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Congestion control for real-time media: simulate a call, run it over real sockets, repeat a paper's study."""


app.command("demo")(demo.command)
app.command("new")(new.command)
app.command("archive")(archive.command)
app.command("run")(running.run)


@app.command("help")
def help_(
    context: typer.Context,
    word: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="A key of a scenario, a parameter, a kind, a figure, a command or a term."),
    ] = None,
) -> None:
    """Explain a key, a parameter, a figure, a command or a term."""
    from paceline.cli import explaining

    with plainly(), printing():
        explaining.explain(context, " ".join(word or ()))


@app.command("list")
@flat
def list_(
    options: ListOptions,
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help=f"One of {', '.join(listing.kinds())}, or one thing of theirs; left out: how many there are of each.",
            autocompletion=listing.kinds,
        ),
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One of that kind, in full.")] = None,
    full: Annotated[bool, typer.Option("--full", help="All of that kind in full.")] = False,
    json: Json = False,
) -> None:
    """List controllers, queues, traces and all else there is.

    With a name, or --full: with every parameter, its default, range, unit and source. `--json` has everything.
    """
    del options
    with plainly(), printing():
        if json:
            listing.print_json(kind, name)
        elif kind is not None and (full or name is not None or kind not in listing.kinds()):
            listing.print_full(kind, name)
        else:
            listing.print_short(kind)


@app.command()
@flat
def study(
    options: PartOptions,
    chart: Annotated[bool, typer.Option("--chart", help="End with a picture in the terminal.")] = False,
    write_verdict: Annotated[
        bool, typer.Option("--write-verdict", help="Put the verdict into the study's README.md as well.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many experiments, how long and how large; write nothing.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with status 1 if a rule does not hold, or cannot be judged.")
    ] = False,
) -> None:
    """Run a study and compare it with what was published.

    A study that was interrupted goes on where it ended.
    """
    with plainly(KEPT), terminable():
        from paceline.cli import studies

        if dry_run:
            return studies.dry_run(options)
        if not studies.run(options, chart=chart, write_verdict=write_verdict, strict=strict):
            raise typer.Exit(1)


@app.command(cls=TakesMany)
@flat
def compare(options: CompareOptions) -> None:
    """Compare controllers over scenarios, traces and networks.

    All run on the same seeds, and are ranked by weights.

    Ends with status 1 if runs failed; what can be compared is compared.
    """
    with plainly(KEPT), terminable():
        from paceline.cli import comparing

        if not comparing.run(options):
            raise typer.Exit(1)


@app.command()
@flat
def scorecard(options: ScorecardOptions) -> None:
    """Grade controllers by the field's own tests.

    Runs the cases of RFC 8867, 8868, 8869 and 9743 and of BBR's draft, and grades each section by rules that were
    written before.

    Ends with status 1 if a grade is missed that --require asks for, or a case fell that --against has.
    """
    with plainly(KEPT), terminable():
        from paceline.cli import scoring

        if not scoring.run(options):
            raise typer.Exit(1)


@app.command("trace")
@flat
def trace_(options: TraceOptions) -> None:
    """Describe a recording of rates that a link can follow.

    Its length, rates, outages and autocorrelation, and a chart.
    """
    with plainly():
        from paceline.cli import tracing

        tracing.describe(options)


@app.command()
@flat
def check(options: CheckOptions) -> None:
    """Hold figures of runs against bands or an earlier result.

    Ends with status 1 if a band does not hold or a run fails, and with 2 if the file is wrong.
    """
    with plainly(), terminable():
        from paceline.cli import checking

        if not checking.run(options):
            raise typer.Exit(1)


@app.command()
@flat
def fit(options: FitOptions) -> None:
    """Fit a generator to recordings.

    Prints its parameters, and how far it is from the recordings.
    """
    with plainly():
        from paceline.cli import fitting

        fitting.fit(options)


@app.command("probe")
@flat
def probe_(options: ProbeOptions) -> None:
    """Measure a path as a link that a scenario can have.

    Finds capacity, delay noise and loss.
    """
    with plainly(), terminable():
        from paceline.cli import probing

        probing.measure(options)


@app.command()
@flat
def tune(
    options: StudyOptions,
    search: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this of its searches; may be repeated.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="How many sets each search tries, in place of the definition's.")
    ] = None,
) -> None:
    """Search a controller's parameters for several objectives.

    Sets that are found are judged on recordings held out.
    """
    with plainly(KEPT), terminable():
        from paceline.cli import studies

        studies.search(options, tuple(search or ()), trials)


@app.command()
@flat
def sensitivity(
    options: StudyOptions,
    search: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The search whose parameters are ranked [default: the study's first]."),
    ] = None,
) -> None:
    """Rank a controller's parameters by what they do.

    First by Morris' screening, then by Sobol's indices.
    """
    with plainly(KEPT), terminable():
        from paceline.cli import studies

        studies.rank(options, search)


@app.command()
@flat
def vectors(options: VectorsOptions) -> None:
    """Write the connections of a `tmix` source for Tmix.

    The connections are drawn, or those of another file.
    """
    with plainly():
        from paceline.cli import vectors as found

        found.write(options)


for one in (
    sockets.receive, sockets.send, sockets.link, sockets.live, sockets.merge, sockets.browser, sockets.exchange,
):  # fmt: skip
    app.command()(one)
