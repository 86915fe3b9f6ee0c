"""Finished rows on disk, so that a sweep killed at any moment loses none of them and repeats none.

A row is appended to the journal of its part, a line each, as soon as it is finished. A part is `PART` experiments in
their order; when all of them are there, the part becomes a Parquet file, whole or not at all, and its journal goes.
So memory holds one or two parts, whatever the size of the sweep.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline import _core
from paceline.errors import OutputError, StudyError
from paceline.outputs import replace_file
from paceline.sweeps.definition import Sweep
from paceline.sweeps.experiment import Row

if TYPE_CHECKING:
    import pyarrow as pa

PART = 4096
"""Experiments in a part."""
GROUP = 8
"""Parts in a row group of results.parquet: a writer remembers each column of each group until the end."""
LEADING = ("experiment", "design", "number", "seed", "varied", "version", "data", "error", "command")
"""The first columns of results.parquet; then the factors, the metrics and the scenario's parameters."""


class Store:
    """The rows of one sweep in one folder."""

    def __init__(self, sweep: Sweep, folder: Path, *, data: str) -> None:
        self._sweep = sweep
        self._folder = folder / ".sweep"
        self._data = data
        self._done: dict[int, set[int]] = {}
        """Of the parts that are begun: which rows the journal holds."""
        self._complete: set[int] = set()
        """The parts that are whole, in their Parquet files."""
        self._journals: dict[int, Any] = {}
        self.finished = 0
        self.failed = 0

    @property
    def _manifest(self) -> Path:
        return self._folder / "sweep.json"

    def _identity(self) -> dict[str, Any]:
        return {
            "study": self._sweep.name,
            "fingerprint": self._sweep.fingerprint,
            "version": _core.__version__,
            "data": self._data,
            "experiments": len(self._sweep),
        }

    def begin(self) -> None:
        """Forgets what an earlier run left, and starts."""
        for path in self._files("*"):
            path.unlink()
        self._write_manifest()

    def _write_manifest(self) -> None:
        replace_file(self._manifest, json.dumps(self._identity(), indent=2) + "\n")

    def resume(self) -> None:
        """Takes over what an earlier run finished.

        Raises:
            StudyError: What is there is of another sweep, or is damaged. Nothing is changed.
        """
        if not self._manifest.is_file():
            if self._files("rows-*"):
                raise StudyError(f"{self._folder}: found rows but no sweep.json that says whose: they stay as they are")
            self._write_manifest()
            return
        self._expect_own()
        for path in self._files("*.part"):
            path.unlink()
        for path in self._files("rows-*.parquet"):
            self._take_part(path)
        for path in self._files("rows-*.jsonl"):
            self._take_journal(path)

    def _files(self, pattern: str) -> list[Path]:
        return sorted([*self._folder.glob(pattern), *(self._folder.glob(".*.part") if pattern[0] == "*" else ())])

    def _expect_own(self) -> None:
        try:
            found = json.loads(self._manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise StudyError(f"{self._manifest}: found a damaged file; it stays as it is, begin anew without --resume")
        for key, own in self._identity().items():
            if found.get(key) != own:
                what = "another definition" if key == "fingerprint" else f"{key} {found.get(key)!r}"
                expected = "this one's" if key == "fingerprint" else repr(own)
                raise StudyError(
                    f"{self._folder}: found results of {what}, expected {expected}; they stay as they are: begin anew "
                    "without --resume, or in another folder with --out"
                )

    def _place(self, path: Path) -> int:
        number = path.stem.removeprefix("rows-")
        if not number.isdigit() or not int(number) * PART < len(self._sweep):
            raise StudyError(f"{path}: found a file that is not of this sweep; it stays as it is")
        return int(number)

    def _size(self, part: int) -> int:
        return min(PART, len(self._sweep) - part * PART)

    def _path(self, part: int, kind: str) -> Path:
        return self._folder / f"rows-{part:06d}.{kind}"

    def _take_part(self, path: Path) -> None:
        import pyarrow.parquet as pq

        part = self._place(path)
        try:
            table = pq.read_table(path, columns=["experiment", "error"], page_checksum_verification=True)
        except (OSError, ValueError, KeyError) as error:
            raise StudyError(f"{path}: found a damaged file ({error}); it stays as it is") from None
        first = part * PART
        names = [self._sweep.name_of(first + place) for place in range(self._size(part))]
        if table["experiment"].to_pylist() != names:
            raise StudyError(f"{path}: found rows of other experiments; it stays as it is")
        self._path(part, "jsonl").unlink(missing_ok=True)
        self._complete.add(part)
        self.finished += self._size(part)
        self.failed += table.num_rows - table["error"].null_count

    def _take_journal(self, path: Path) -> None:
        part = self._place(path)
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        done: set[int] = set()
        failed = 0
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                index, row = json.loads(line)
                own = row["experiment"] == self._sweep.name_of(index) and index // PART == part
                failed += row["error"] is not None
            except (ValueError, TypeError, KeyError, IndexError):
                own = False
            if not own:
                raise StudyError(f"{path}: line {number}: found no row of this sweep; the file stays as it is")
            done.add(index)
        if len(whole) < len(content):
            # The line that was being written when the run was killed.
            os.truncate(path, len(whole))
        self._done[part] = done
        self.finished += len(done)
        self.failed += failed
        self._close_if_complete(part)

    def missing(self) -> Iterator[int]:
        """The experiments that are not finished, in order."""
        for part in range(-(-len(self._sweep) // PART)):
            if part in self._complete:
                continue
            # Held on to: a part that becomes complete while its end is handed out is forgotten by `add`.
            done = self._done.setdefault(part, set())
            for index in range(part * PART, part * PART + self._size(part)):
                if index not in done:
                    yield index

    def add(self, index: int, row: Row) -> None:
        """Keeps the row of an experiment that is finished."""
        part = index // PART
        line = json.dumps([index, row], allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if part not in self._journals:
            self._journals[part] = self._path(part, "jsonl").open("ab", buffering=0)
        journal = self._journals[part]
        end = journal.tell()
        try:
            if journal.write(line) != len(line):
                raise OSError(28, "No space left on device")
        except OSError as error:
            os.truncate(journal.name, end)
            raise OutputError(
                f"{journal.name}: cannot be written: {error.strerror}; the rows before are kept, go on with --resume"
            ) from None
        self._done.setdefault(part, set()).add(index)
        self.finished += 1
        self.failed += row["error"] is not None
        self._close_if_complete(part)

    def _close_if_complete(self, part: int) -> None:
        if len(self._done[part]) < self._size(part):
            return
        if part in self._journals:
            self._journals.pop(part).close()
        with self._path(part, "jsonl").open("rb") as journal:
            numbered = (json.loads(line) for line in journal)
            rows = ((index - part * PART, row) for index, row in numbered)
            whole = parquet(table(self._sweep, rows, self._size(part)))
        replace_file(self._path(part, "parquet"), whole)
        self._path(part, "jsonl").unlink()
        del self._done[part]
        self._complete.add(part)

    def close(self) -> None:
        """Closes the journals; what they hold stays."""
        for journal in self._journals.values():
            journal.close()
        self._journals.clear()

    def write_results(self, target: Path) -> None:
        """All rows as one Parquet file, a part at a time, under `target`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        parts = [self._path(part, "parquet") for part in range(-(-len(self._sweep) // PART))]
        known = {name for path in parts for name in pq.read_schema(path).names}
        schema = _schema(self._sweep, known)
        with pq.ParquetWriter(target, schema, **_FORMAT) as writer:
            for first in range(0, len(parts), GROUP):
                group = [_uniform(path, schema) for path in parts[first : first + GROUP]]
                writer.write_table(pa.concat_tables(group), row_group_size=GROUP * PART)


_FORMAT: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}


def table(sweep: Sweep, rows: Iterable[tuple[int, Row]], count: int) -> pa.Table:
    """Rows with their places, from 0, as a table."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {}
    for place, row in rows:
        for name, value in row.items():
            # Most rows say the same of most parameters; a part is to need the memory of its differences.
            kept = sys.intern(value) if type(value) is str else value
            if name not in columns:
                columns[name] = [None] * count
            columns[name][place] = kept
    schema = _schema(sweep, set(columns))
    return pa.table([_array(columns.get(field.name, [None] * count), field) for field in schema], schema=schema)


def _array(values: list[Any], field: pa.Field) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, type=field.type)
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return pa.array([_plain(value, field) for value in values], type=field.type)


def parquet(rows: pa.Table) -> bytes:
    """A table as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, **_FORMAT)
    return bytes(sink.getvalue())


def _plain(value: Any, field: pa.Field) -> Any:
    import pyarrow as pa

    if value is None or not pa.types.is_floating(field.type):
        return value if value is None or (isinstance(value, (str, int)) and not isinstance(value, bool)) else str(value)
    return float(value)


def _uniform(path: Path, schema: pa.Schema) -> pa.Table:
    """A part with the columns of all parts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pq.read_table(path, page_checksum_verification=True)
    return pa.table([_column(rows, field) for field in schema], schema=schema)


def _column(rows: pa.Table, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    import pyarrow as pa

    return rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(rows.num_rows, field.type)


def _schema(sweep: Sweep, known: set[str]) -> pa.Schema:
    """The columns in their order, each with the one type that it has in every part."""
    import pyarrow as pa

    fields = [pa.field(name, pa.int64() if name in ("number", "seed") else pa.string()) for name in LEADING]
    for name, factor in sweep.factors.items():
        numbers = all(
            isinstance(value, (int, float)) and not isinstance(value, bool)
            for value in (*factor.levels, *(() if factor.default is None else (factor.default,)))
        )
        fields.append(pa.field(f"factor.{name}", pa.float64() if numbers else pa.string()))
    fields += [pa.field(f"metric.{name}", pa.float64()) for name in sweep.metrics]
    fields += [pa.field(name, pa.string()) for name in sorted(known) if name.startswith("parameter.")]
    return pa.schema(fields)
