"""Time series: the extension's columns as Arrow tables, and those as Parquet whose bytes depend on nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Columns = dict[str, "bytes | list[str]"]
"""A table as the extension hands it out: float64 in little-endian bytes, NaN where there is nothing; or texts."""


def arrow_table(columns: Columns) -> pa.Table:
    """The columns as an Arrow table, with null where there is nothing."""
    import pyarrow as pa

    arrays = {name: _array(column) for name, column in columns.items()}
    return pa.table(arrays)


def _array(column: bytes | list[str]) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    if isinstance(column, list):
        return pa.array(column, type=pa.string())
    values = np.frombuffer(column, dtype="<f8")
    return pa.array(values, type=pa.float64(), from_pandas=True)


def moving_mean(times: pd.Series[float], values: pd.Series[float], span: float) -> pd.Series[float]:
    """Each value averaged with those of the past `span` seconds, for evenly sampled series of one flow or link."""
    interval = float(times.iloc[1] - times.iloc[0]) if len(times) > 1 else span
    return values.rolling(max(1, round(span / interval)), min_periods=1).mean()


def parquet_bytes(table: pa.Table) -> bytes:
    """The table as a Parquet file: no timestamps, no paths, no pandas metadata; same table, same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(None),
        sink,
        compression="zstd",
        version="2.6",
        store_schema=False,
        write_statistics=True,
        row_group_size=1 << 20,
    )
    return bytes(sink.getvalue().to_pybytes())
