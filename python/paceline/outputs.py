"""Writing results: each file appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType

from paceline import disk
from paceline.errors import OutputError, UsageError


class OutputFolder:
    """A folder whose files are replaced one by one by rename, all at the end.

    `stage` writes a file beside its place under a temporary name; leaving the `with` block without an error renames
    them all, leaving it with one removes them. Constructing it checks that the folder can be written and creates
    nothing, so that it can be asked before a long run.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not isinstance(folder, (str, os.PathLike)) or not os.fspath(folder) or "\0" in str(folder):
            raise UsageError(f"out: found {folder!r}, expected the path of a folder")
        self.path = Path(folder)
        self._staged: list[tuple[Path, Path]] = []
        _check_writable(self.path)

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._commit()
        else:
            self._discard()

    def stage(self, name: str, content: bytes | str) -> Path:
        """Writes `content` to disk under a temporary name; it becomes `name` when the block ends well."""
        target = self.path / name
        data = content.encode() if isinstance(content, str) else content
        try:
            target = disk.within(self.path, name)
            disk.expect_file(target)
            self._staged.append((disk.write_beside(target, data, f".{os.getpid()}"), target))
        except OSError as error:
            raise _not_writable(target, error, self._outcome([])) from error
        return target

    def _commit(self) -> None:
        replaced: list[str] = []
        target = self.path
        try:
            for _, target in self._staged:
                disk.expect_file(target)
            # Of two runs that end at the same time all files are of the one or of the other.
            with disk.locked(self.path) if self._staged else nullcontext():
                while self._staged:
                    temporary, target = self._staged[0]
                    temporary.replace(target)
                    self._staged.pop(0)
                    replaced.append(str(target.relative_to(self.path)))
        except OSError as error:
            raise _not_writable(target, error, self._outcome(replaced)) from error
        finally:
            self._discard()

    def _outcome(self, replaced: list[str]) -> str:
        if not replaced:
            return f"nothing in {self.path} was replaced"
        return f"in {self.path} only {', '.join(replaced)} had been replaced"

    def _discard(self) -> None:
        for temporary, _ in self._staged:
            temporary.unlink(missing_ok=True)
        self._staged.clear()


def replace_file(target: Path, content: str) -> None:
    """Writes one file so that a reader sees the old content or the new one, never a part."""
    try:
        disk.write(target, content.encode())
    except OSError as error:
        raise _not_writable(target, error, "it stays as it was") from error


def _check_writable(folder: Path) -> None:
    existing = folder
    try:
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"--out {folder}: found a file, expected a folder")
        while not existing.exists():
            existing = existing.parent
        if not existing.is_dir():
            raise OutputError(f"--out {folder}: {existing} is not a folder")
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"--out {folder}: cannot be written: {existing}: {error.strerror}") from None


def _not_writable(target: Path, error: OSError, outcome: str) -> OutputError:
    return OutputError(f"{target}: cannot be written: {error.strerror}; {outcome}")
