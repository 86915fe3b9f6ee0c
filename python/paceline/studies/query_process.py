"""The process that answers SQL over a study's rows. It opens no file, and has only so much memory and time.

`paceline.studies.queries` starts it by its path and tells it the module path, so that nothing else of the package is
loaded. Every text of a study must be one expression: then nothing changes the rows or a later figure.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
from decimal import Decimal
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

GRACE_S = 10
"""Seconds of computing beyond a figure's limit after which the kernel ends this process, if its parent has not."""
_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
_PAGES = os.open("/proc/self/statm", os.O_RDONLY)
"""Stays open: it is asked again when no file can be opened any more."""
_CONFIG: dict[str, str | int | float | list[str]] = {
    # One thread: sums come out the same, whatever the machine.
    "threads": 1,
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "lock_configuration": True,
}
_CLAUSES = ("modifiers", "where_clause", "group_expressions", "having", "sample", "qualify")


class Refused(Exception):  # noqa: N818
    """A text that is not what it should be."""


class Answers:
    """One database, and what is asked of it."""

    def __init__(self) -> None:
        self._database: Any = None
        self._expressions: set[str] = set()
        """Texts that are one expression each."""

    def open(self, columns: dict[str, str], memory: int) -> None:
        """A new database in memory, with an empty table `rows` of these columns."""
        import duckdb

        self.close()
        _limit(resource.RLIMIT_DATA, _taken() + 2 * memory)
        # DuckDB asks the system for its memory and its processors; nothing of the study's has been read yet.
        _limit(resource.RLIMIT_NOFILE, _FILES)
        self._database = duckdb.connect(":memory:", config={**_CONFIG, "memory_limit": f"{memory}B"})
        self._database.execute(f"CREATE TABLE rows ({', '.join(f'{_quoted(n)} {t}' for n, t in columns.items())})")
        self._database.execute("CREATE VIEW selected AS SELECT * FROM rows")
        _limit(resource.RLIMIT_NOFILE, 0)

    def close(self) -> None:
        """Forgets the database."""
        if self._database is not None:
            self._database.close()
        self._database = None
        self._expressions.clear()

    def macro(self, name: str, parameters: str, body: str) -> None:
        """A function of the study's own, of an expression or a query; `name` and `parameters` are identifiers."""
        known = "SELECT count(*) FROM duckdb_functions() WHERE function_name = lower(?) AND internal"
        [(count,)] = self._database.execute(known, [name]).fetchall()
        if count:
            raise Refused(f"found the name of a function of DuckDB's own, {name!r}, expected another one")
        self._database.execute(f"CREATE MACRO {name}({parameters}) AS ({self._expression(f'({body}{_END})')}{_END})")

    def fill(self, content: bytes) -> None:
        """Takes in the rows of an Arrow stream, whose columns are some of the table's."""
        import pyarrow as pa

        with pa.ipc.open_stream(content) as reader:
            self._database.register("handed", reader.read_all())
        self._database.execute("INSERT INTO rows BY NAME SELECT * FROM handed")
        self._database.unregister("handed")

    def check(self, condition: str | None, metric: str | None) -> None:
        """Refuses a condition or a metric that is no expression over the rows."""
        cursor = self._reader()
        if condition is not None:
            cursor.execute(f"PREPARE checked AS SELECT * FROM rows WHERE ({self._expression(condition)}{_END})")
        if metric is not None:
            cursor.execute(f"PREPARE checked AS SELECT {self._expression(metric)}{_END} FROM selected")

    def figures(self, condition: str, metrics: list[str]) -> list[float | None]:
        """The metrics of the rows of a condition."""
        where, chosen = self._expression(condition), ", ".join(f"{self._expression(one)}{_END}" for one in metrics)
        self._database.execute(f"CREATE OR REPLACE VIEW selected AS SELECT * FROM rows WHERE ({where}{_END})")
        reader = self._reader()
        found = reader.execute(f"SELECT {chosen} FROM selected LIMIT 1").fetchone()
        if found is None:
            return [None] * len(metrics)
        if len(found) != len(metrics):
            raise Refused(f"found {len(found)} figures, expected one")
        return [_number(one) for one in found]

    def frame(self, condition: str) -> bytes:
        """The rows of a condition in their order, as an Arrow stream."""
        query = f"SELECT * FROM rows WHERE ({self._expression(condition)}{_END})"
        reader = self._reader()
        return _stream(reader.sql(query).to_arrow_table())

    def _reader(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own, with settings and random numbers of its own, that can write nothing."""
        cursor: duckdb.DuckDBPyConnection = self._database.cursor()
        return cursor.execute("BEGIN TRANSACTION READ ONLY")

    def _expression(self, text: str) -> str:
        """The text, if it is one expression and nothing more.

        Raises:
            Refused: It is several statements or expressions, or it has a clause of its own.
        """
        import duckdb

        if text in self._expressions:
            return text
        statement = f"SELECT {text}{_END}"
        [(tree,)] = self._database.execute("SELECT json_serialize_sql(?::VARCHAR)", [statement]).fetchall()
        parsed = json.loads(tree)
        if parsed["error"]:
            # Says what is wrong with one that cannot be read; the tree has queries alone.
            duckdb.extract_statements(statement)
        elif len(parsed["statements"]) == 1 and _is_expression(parsed["statements"][0]["node"]):
            self._expressions.add(text)
            return text
        raise Refused("found more than an expression, expected one alone")


_END = "\n"
"""Ends a comment that a text may end with."""


def _is_expression(node: dict[str, Any]) -> bool:
    """Whether a query is `SELECT` and one expression."""
    return (
        node["type"] == "SELECT_NODE"
        and len(node["select_list"]) == 1
        and node["from_table"]["type"] == "EMPTY"
        and not node["cte_map"]["map"]
        and not any(node.get(clause) for clause in _CLAUSES)
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _number(found: object) -> float | None:
    if found is None:
        return None
    if not isinstance(found, (bool, int, float, Decimal)):
        raise Refused(f"found {str(found)[:40]!r}, expected a number")
    number = float(found)
    return number if math.isfinite(number) else None


def _stream(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _taken() -> int:
    """Bytes that this process has asked for and may write to."""
    return int(os.pread(_PAGES, 200, 0).split()[5]) * resource.getpagesize()


def _limit(what: int, value: int) -> None:
    """Lowers, or raises again, what the kernel lets this process have."""
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _computed_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _answer(answers: Answers, channel: Connection, limit_s: float) -> None:
    """Answers one request."""
    asked: dict[str, Any] = json.loads(channel.recv_bytes())
    if asked.pop("follows", False):
        asked["content"] = channel.recv_bytes()
    _limit(resource.RLIMIT_CPU, math.ceil(_computed_s() + limit_s + GRACE_S))
    content = None
    try:
        value = getattr(answers, asked.pop("do"))(**asked)
        if isinstance(value, bytes):
            content, value = value, None
        answer = {"value": value, "follows": content is not None}
    except Exception as error:
        answer = {"error": str(error) or type(error).__name__, "kind": type(error).__name__}
    channel.send_bytes(json.dumps(answer).encode())
    if content is not None:
        channel.send_bytes(content)


def _rehearse() -> None:
    """Does each thing once, so that what is loaded late is loaded before files are out of reach."""
    answers = Answers()
    answers.open({"a": "DOUBLE", "b": "VARCHAR"}, 1 << 30)
    _limit(resource.RLIMIT_NOFILE, _FILES)
    answers.fill(answers.frame("true"))
    answers.macro("twice", "x", "2 * x")
    answers.check("true", "random()")
    answers.figures("b = 'x'", ["twice(sum(a))"])
    try:
        answers.check(None, "avg(nothing")
    except Exception as error:
        str(error)
    answers.close()


def main() -> None:
    """Answers what comes over the descriptor that the arguments name, until its other end is closed."""
    descriptor, limit_s, sys.path[:] = int(sys.argv[1]), float(sys.argv[2]), json.loads(sys.argv[3])
    # Ctrl-C reaches every process of a terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _rehearse()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = Answers()
    with Connection(descriptor) as channel:
        while True:
            try:
                _answer(answers, channel, limit_s)
            except EOFError:
                return


if __name__ == "__main__":
    main()
