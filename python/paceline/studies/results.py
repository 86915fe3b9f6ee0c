"""results.parquet: a row for each experiment, with typed columns; parameters that all rows share stand in it once."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from paceline import disk, guests
from paceline.errors import OutputError
from paceline.studies.experiment import Context, Parameter, Row
from paceline.studies.rows import is_number
from paceline.studies.store import FOLDER, fault_of, writing

if TYPE_CHECKING:
    import pyarrow as pa

    from paceline.studies.store import Table

FILE = "results.parquet"
GROUP = 8
"""Journals in a row group of results.parquet: a writer remembers each column of each group until the end."""
LEADING = (
    "experiment", "title", "design", "number", "seed", "varied", "level", "version", "data", "error", "command",
)  # fmt: skip
"""The first columns; then the factors, the metrics, further figures and the scenario's parameters."""
OF_CELLS = ("cell", "half")
"""Further first columns of a study that compares cell by cell."""
PARAMETER = "parameter."
"""Begins the name of a parameter's column."""
CONSTANTS = b"paceline.parameters"
"""The key of the file's metadata with the parameters that all rows share, each with its unit."""
_FORMAT: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}


class Schema:
    """The columns of a study's results, which differ with what its rows hold."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._parameters: dict[str, set[tuple[type, str | None]]] = {}
        self._summary: dict[str, set[type]] = {}
        self._places: dict[str, tuple[int, int]] = {}
        """Of each figure of the summary the first experiment that has it, and its place there: the order of columns."""

    def learn(self, row: Row) -> None:
        """Takes notice of the columns that a row has."""
        for path, (value, unit) in row.parameters.items():
            # A record says null for infinity.
            kind = type(None) if isinstance(value, float) and not math.isfinite(value) else type(value)
            self._parameters.setdefault(path, set()).add((kind, unit))
        for place, (path, value) in enumerate(row.summary.items()):
            self._summary.setdefault(path, set()).add(type(value))
            self._places[path] = min(self._places.get(path, (row.index, place)), (row.index, place))

    def arrow(self) -> pa.Schema:
        """As Arrow knows it: units stand in the metadata of the columns, constants in that of the file."""
        import pyarrow as pa

        whole = ("number", "seed", "level")
        study, usual = self._context.study, self._context.usual
        leading = LEADING if study.cells is None else (*LEADING, *OF_CELLS)
        fields = [pa.field(name, pa.int64() if name in whole else pa.string()) for name in leading]
        for name, factor in study.factors.items():
            kind = pa.float64() if is_number(factor) else pa.string()
            fields.append(pa.field(f"factor.{name}", kind, metadata=_unit(factor.unit)))
        fields += [pa.field(f"metric.{name}", pa.float64()) for name in study.metrics]
        for path in sorted(self._summary, key=self._places.__getitem__):
            fields.append(pa.field(f"summary.{path}", _kind({(kind, None) for kind in self._summary[path]})))
        for path in sorted(self._parameters):
            kinds_of = self._parameters[path] | {(type(value), unit) for value, unit in [usual.get(path, (None, None))]}
            kind = _kind(kinds_of)
            units = {unit for one, unit in kinds_of if one is not type(None)}
            unit = units.pop() if len(units) == 1 and not pa.types.is_string(kind) else None
            fields.append(pa.field(f"{PARAMETER}{path}", kind, metadata=_unit(unit)))
        constants = {path: value for path, value in usual.items() if path not in self._parameters}
        metadata = {"paceline.study": study.name, CONSTANTS: json.dumps(constants, sort_keys=True)}
        return pa.schema(fields, metadata=metadata)

    def table(self, rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
        """Rows as a table."""
        import pyarrow as pa

        of_build = guests.version()
        described = [{**self._described(row), "version": of_build} for row in rows]
        # Most parameters are as usual: they are looked up once for all rows that differ in the same ones.
        alike: defaultdict[frozenset[str], list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            alike[frozenset(row.parameters)].append(place)
        failed = [place for place, row in enumerate(rows) if row.error is not None]
        columns = []
        for field in schema:
            path = field.name.removeprefix(PARAMETER)
            if path == field.name:
                values = _fitting([one.get(path) for one in described], field.type)
            else:
                values = _fitting([self._context.usual.get(path)], field.type) * len(rows)
                for place in failed:
                    values[place] = None
                for places in (places for names, places in alike.items() if path in names):
                    own = _fitting([rows[place].parameters[path] for place in places], field.type)
                    for place, value in zip(places, own, strict=True):
                        values[place] = value
            columns.append(pa.array(values, type=field.type))
        return pa.table(columns, schema=schema)

    def _described(self, row: Row) -> dict[str, Any]:
        """All of a row but its parameters, and the version that all rows share."""
        context = self._context
        experiment = context.study.experiment(row.index)
        varied = experiment.design.varied(experiment.number - 1)
        found: dict[str, Any] = {
            "experiment": experiment.name,
            "title": experiment.design.title,
            "design": experiment.design.name,
            "number": experiment.number,
            "seed": experiment.seed if row.seed is None else row.seed,
            "varied": None if varied is None else varied[0],
            "level": None if varied is None else varied[1] + 1,
            "data": "real" if context.real else "generated",
            "error": row.error,
            "command": context.command(experiment),
        }
        if context.study.cells is not None:
            found["cell"] = context.study.cells.cell(experiment.design.name, experiment.point, context.study.factors)
            found["half"] = context.study.cells.half(found["cell"])
        for name, factor in context.study.factors.items():
            found[f"factor.{name}"] = experiment.point.get(name, factor.default)
        found |= {f"metric.{name}": value for name, value in row.metrics.items()}
        found |= {f"summary.{path}": value for path, value in row.summary.items()}
        return found


def _unit(unit: str | None) -> dict[str, str] | None:
    return {"unit": unit} if unit else None


def _kind(found: set[tuple[type, str | None]]) -> pa.DataType:
    import pyarrow as pa

    kinds = {kind for kind, _ in found} - {type(None)}
    units = {unit for kind, unit in found if kind is not type(None)}
    if kinds == {bool}:
        return pa.bool_()
    if kinds and kinds <= {int, float} and len(units) == 1:
        return pa.int64() if kinds == {int} else pa.float64()
    return pa.string() if kinds else pa.float64()


def _fitting(values: list[Any], kind: pa.DataType) -> list[Any]:
    """The values as the column has them: of a parameter the number alone; all as texts where they are no numbers."""
    import pyarrow as pa

    if pa.types.is_string(kind):
        return [value if value is None or isinstance(value, str) else _text(value) for value in values]
    return [value[0] if isinstance(value, tuple) else value for value in values]


def _text(value: Any) -> str | None:
    found, unit = value if isinstance(value, tuple) else (value, None)
    if found is None or isinstance(found, str):
        return found
    text = ("true" if found else "false") if isinstance(found, bool) else f"{found!r}"
    return f"{text} {unit}" if unit else text


class Joined(msgspec.Struct):
    """The sources of results.parquet, kept beside the journals: a part that is still the same is not joined again."""

    file: str
    """SHA-256 of its content."""
    rows: int
    """Its rows, but for those of experiments whose worker died: they are tried again."""
    schema: str
    """A digest of its columns."""
    command: str
    """Of its first row: it names the folders of the study and its data."""
    groups: list[list[int]]
    """Of each row group the sizes of its journals."""


def joined_before(out: Path) -> tuple[Joined | None, str | None]:
    """The sources of an earlier run's results.parquet, and its fault now, if it has one."""
    try:
        found = msgspec.json.decode(disk.read(out / FOLDER / "joined.json"), type=Joined)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None, None
    return found, fault_of(out, FILE, found.file)


def write(table: Table, schema: Schema, context: Context, out: Path, before: Joined | None) -> None:
    """Joins the rows, journal by journal, and reads them back and counts them before they take their place.

    Row groups of the results.parquet `before` whose journals have not grown are copied; if all are the same, it stays.

    Raises:
        OutputError: A row that was written is not there any more, or the file cannot be written. The rows are kept.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow, sizes = schema.arrow(), table.sizes
    groups = [sizes[first : first + GROUP] for first in range(0, len(sizes), GROUP)]
    digest = hashlib.sha256(arrow.serialize()).hexdigest()
    command = context.command(context.study.experiment(0))
    target = out / FILE
    same = before.groups if before is not None and (before.schema, before.command) == (digest, command) else []
    if same == groups:
        return
    temporary = target.with_name(f".{target.name}.part")
    try:
        with os.fdopen(disk.created(temporary), "wb") as file:
            with ExitStack() as stack:
                writer = stack.enter_context(pq.ParquetWriter(file, arrow, **_FORMAT))
                earlier = stack.enter_context(pq.ParquetFile(target)) if same else None
                for place, group in enumerate(groups):
                    if earlier is not None and same[place : place + 1] == [group]:
                        writer.write_table(earlier.read_row_group(place).cast(arrow))
                        continue
                    parts = range(place * GROUP, place * GROUP + len(group))
                    writer.write_table(pa.concat_tables(schema.table(table.part(part), arrow) for part in parts))
            file.flush()
            disk.sync(file.fileno())
        _read_back(temporary, context)
        content = disk.digest(temporary)
        disk.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(f"{target}: cannot be written: {error}; the rows are kept: run the study again") from None
    memo = out / FOLDER / "joined.json"
    with writing(memo):
        whole = Joined(content, table.finished - table.died, digest, command, groups)
        disk.write(memo, msgspec.json.encode(whole))


def _read_back(path: Path, context: Context) -> None:
    import pyarrow.parquet as pq

    found = 0
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        for group in range(file.num_row_groups):
            found += file.read_row_group(group).num_rows
    if found != len(context.study):
        raise OSError(f"found {found} rows when it was read back, expected {len(context.study)}")


def constants(path: Path) -> dict[str, Parameter]:
    """The parameters that are the same in all rows of a results.parquet, each with its unit."""
    import pyarrow.parquet as pq

    found: Mapping[str, list[Any]] = json.loads((pq.read_schema(path).metadata or {}).get(CONSTANTS, b"{}"))
    return {name: (value, unit) for name, (value, unit) in found.items()}


def size_of(rows: Sequence[Row], context: Context) -> int:
    """The bytes that these rows take in a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = Schema(context)
    for row in rows:
        schema.learn(row)
    sink = pa.BufferOutputStream()
    pq.write_table(schema.table(rows, schema.arrow()), sink, **_FORMAT)
    return len(bytes(sink.getvalue()))
