"""Time series: the extension's columns as Arrow tables, and those as Parquet whose bytes depend on nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paceline import disk

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

Column = tuple[str, str, str, "bytes | list[str] | None", bytes]
"""A column as the extension hands it out: name, unit, definition, and Arrow's buffers. Numbers: validity bits, float64
values. Texts: the names, the int32 index of each row's."""


def arrow_table(columns: pa.Table | list[Column]) -> pa.Table:
    """The columns as an Arrow table over the same memory; unit and definition stand in each field's metadata."""
    import pyarrow as pa

    if isinstance(columns, pa.Table):
        return columns
    fields, arrays = [], []
    for name, unit, definition, other, values in columns:
        array = _texts(other, values) if isinstance(other, list) else _numbers(other, values)
        fields.append(pa.field(name, array.type, metadata={"unit": unit, "definition": definition}))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _numbers(validity: bytes | None, values: bytes) -> pa.Array:
    import pyarrow as pa

    buffers = [None if validity is None else pa.py_buffer(validity), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.float64(), len(values) // 8, buffers)


def _texts(names: list[str], indices: bytes) -> pa.Array:
    import pyarrow as pa

    rows = pa.Array.from_buffers(pa.int32(), len(indices) // 4, [None, pa.py_buffer(indices)])
    return pa.array(names, type=pa.string()).take(rows)


def moving_mean(times: pd.Series[float], values: pd.Series[float], span: float) -> pd.Series[float]:
    """Each value averaged with those of the past `span` seconds, for evenly sampled series of one flow or link."""
    interval = float(times.iloc[1] - times.iloc[0]) if len(times) > 1 else span
    return values.rolling(max(1, round(span / interval)), min_periods=1).mean()


def stream_bytes(table: pa.Table) -> bytes:
    """The table as an Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


MOST_ROWS = 10_000_000
"""Rows of a table that is read: a run keeps no more, and a small file can say that it has many."""


def read_parquet(path: Path) -> pa.Table:
    """A table of a file that may come from elsewhere.

    Raises:
        OSError: It cannot be read, or has too many rows.
        pyarrow.ArrowException: It is damaged.
    """
    with parquet_file(disk.read(path), str(path)) as file:
        return file.read()


def parquet_file(content: bytes, name: str) -> pq.ParquetFile:
    """A file's content, called `name` in errors, whose number of rows is bearable; the same errors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
    if file.metadata.num_rows > MOST_ROWS:
        raise OSError(f"{name}: found {file.metadata.num_rows} rows, expected {MOST_ROWS} at most")
    return file


def parquet_bytes(table: pa.Table) -> bytes:
    """The table as a Parquet file: no timestamps, no paths, nothing of pandas; same table, same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(None),
        sink,
        compression="zstd",
        version="2.6",
        store_schema=True,
        write_statistics=True,
        row_group_size=1 << 20,
    )
    return bytes(sink.getvalue().to_pybytes())
