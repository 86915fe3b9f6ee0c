"""`paceline archive`: one file with all that somebody needs to repeat results; it is checked, and run again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.flat import flat
from paceline.cli.options import Data, Guests, file_path
from paceline.cli.progress import study_progress
from paceline.cli.signals import terminable
from paceline.cli.speak import plainly, printing, say
from paceline.errors import UsageError, printable

if TYPE_CHECKING:
    from paceline.archives.manifest import Manifest

SAID = 10
"""Differences that are printed; more are counted."""


@dataclass(frozen=True, kw_only=True)
class ArchiveOptions:
    """The recordings and controllers that the runs need."""

    data: Data = None
    controller: Guests = None


@flat
def command(
    options: ArchiveOptions,
    paths: Annotated[
        list[Path],
        typer.Argument(parser=file_path, metavar="[RESULT_DIR] FILE.zip", help="A folder of results, and the archive."),
    ],
    check: Annotated[bool, typer.Option("--check", help="Compare every file of the archive with its digest.")] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Check it, run all of it again, and compare to the bit.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(parser=file_path, metavar="DIR", help="With --replay: where the files of the new runs go."),
    ] = None,
) -> None:
    """Pack results into a file that others check and run again.

    Results are those of run, compare or study.

    Ends with status 1 if a replay gives other bits, and with 2 if the archive was changed.
    """
    with plainly(), terminable():
        if out is not None and not replay:
            raise UsageError("--out: means nothing without --replay")
        if len(paths) != (1 if check or replay else 2):
            expected = "the archive alone" if check or replay else "a folder of results and the name of the archive"
            raise UsageError(f"paceline archive: found {len(paths)} paths, expected {expected}")
        if replay:
            _replay(paths[0], out, options)
        elif check:
            _check(paths[0])
        else:
            _write(paths[0], paths[1], options)


def _write(results: Path, target: Path, options: ArchiveOptions) -> None:
    from paceline.archives.write import archive

    manifest = archive(results, target, options.data)
    with printing():
        print(f"archived: {len(manifest.runs):,} runs, {len(manifest.files):,} files in {printable(str(target))}")
        for name in manifest.recordings:
            print(f"needs:    the recording {printable(name)}, which is not part of it")
        print(f"Try next: paceline archive --replay {printable(str(target))}")


def _maker(manifest: Manifest) -> str:
    version = manifest.version
    return printable(f"paceline {version}" if version else f"an unknown version, archived by {manifest.archived_by}")


def _check(path: Path) -> None:
    from paceline.archives.read import Archive

    with Archive(path) as archive:
        archive.check()
        manifest = archive.manifest
        with printing():
            print(f"whole:    {len(manifest.files):,} files, {len(manifest.runs):,} runs ({manifest.kind})")
            print(f"made by:  {_maker(manifest)}, Python {printable(manifest.python)}")


def _replay(path: Path, out: Path | None, options: ArchiveOptions) -> None:
    from paceline import guests
    from paceline.archives.read import Archive
    from paceline.archives.replay import replay

    with Archive(path) as archive:
        if (archive.manifest.version or archive.manifest.archived_by) != guests.version():
            say(f"warning: made by {_maker(archive.manifest)}; this is {guests.version()}")
        with study_progress() as progress:
            found = replay(archive, out, options.data, progress)
    with printing():
        skipped = f"; {found.skipped:,} in real time or without a scenario were not run" if found.skipped else ""
        print(f"same to the bit: {found.same:,} runs{skipped}")
    for one in found.differences[:SAID]:
        say(f"paceline: {one}")
    if len(found.differences) > SAID:
        say(f"paceline: {len(found.differences) - SAID:,} differences more")
    if found.differences:
        raise typer.Exit(1)
