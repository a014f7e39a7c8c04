"""SQL statements, which are in files of their own, as DuckDB runs them: their values, the database in memory, rows."""

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.assets import root

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation, Statement


@cache
def statement(path: str) -> str:
    """Return the text of a statement, for example `pricing/sql/price_in_force.sql`."""
    return (root() / path).read_text(encoding="utf-8")


@cache
def words(path: str) -> frozenset[str]:
    """Return the words of a statement, its parameters with their dollar sign."""
    return frozenset(re.findall(r"\$?\w+", statement(path)))


def files(folder: str, pattern: str = "*.sql") -> tuple[Path, ...]:
    """Return the statements of a folder, for example `pricing/audits`, or other files of it, by name."""
    return tuple(sorted((root() / folder).glob(pattern)))


#: What holds no parameter (texts, quoted names, comments), or the name of one.
_PART = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|\$(?P<name>\w+)")
#: Notes to the linter, which say nothing to a reader.
_NOTE = re.compile(r" *-- noqa\b[^\n]*")
#: What a statement makes, and the comment at the head of the query that it is made of.
_HEAD = re.compile(r"(?P<made>create [^\n]* as\b) ?(?P<open>\(?)(?P<comment>(?:--[^\n]*\n)+)")


def literal(value: Any) -> str:  # noqa: ANN401 - whatever a statement takes
    """Return a value as SQL writes it; texts are quoted, numbers with a point are doubles as parameters are.

    >>> literal(["it's", 80.0, None, True])
    "['it''s', 80.0e0, null, true]"
    >>> literal({"day": dt.date(2026, 10, 1)})
    "{'day': date '2026-10-01'}"
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(name)}: {literal(entry)}" for name, entry in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        between = ",\n    " if any(isinstance(entry, Mapping) for entry in value) else ", "
        return "[" + between.join(literal(entry) for entry in value) + "]"
    if isinstance(value, dt.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, float):
        return str(value) + ("" if "e" in str(value) else "e0")
    if value is None or isinstance(value, bool | int):
        return "null" if value is None else str(value).lower()
    return "'" + str(value).replace("'", "''") + "'"


def with_values(text: str, parameters: Mapping[str, Any]) -> str:
    """Return a statement with the values of its `$named` parameters in it.

    >>> with_values("select $a as a -- of $a", {"a": "$b"})
    "select '$b' as a -- of $a"
    """
    return _PART.sub(lambda part: literal(parameters[part["name"]]) if part["name"] else part[0], text)


def script(statements: Sequence[str]) -> str:
    """Return statements as one script, the comment of each in front of it."""
    told = (_HEAD.sub(r"\g<comment>\g<made>\n\g<open>", _NOTE.sub("", text), count=1).strip() for text in statements)
    # A statement may end in a comment: the semicolon is on a line of its own.
    return "\n\n".join(f"{text}\n;" for text in told)


def in_memory() -> "DuckDBPyConnection":
    """Return a database in memory that uses one thread and draws nothing on stdout."""
    import duckdb  # noqa: PLC0415 - 0.2 s that only commands with prices pay

    connection = duckdb.connect(config={"threads": 1})
    without_progress_bar(connection)
    return connection


def private_connection() -> "DuckDBPyConnection":
    """Return a connection for temporary tables, which it alone sees, in the one database in memory of this process.

    It opens at once, where a database takes 20 ms; each connection is good for one answer.
    """
    connection = _database().cursor()
    without_progress_bar(connection)
    return connection


@cache
def parsed(text: str) -> "Statement":
    """Return the one statement of a text, which any connection runs: its tables are looked up when it is run.

    Parsing is a fifth of the time of a small cash flow.
    """
    (only,) = _database().extract_statements(text)
    return only


@cache
def _database() -> "DuckDBPyConnection":
    return in_memory()


def exactly(path: Path) -> str:
    """Return a path as DuckDB's readers take it for that file and no other: they read patterns in names.

    >>> exactly(Path("export[1].csv"))
    'export[[]1].csv'
    """
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


def without_progress_bar(connection: "DuckDBPyConnection") -> None:
    """Keep DuckDB from drawing a progress bar, which it does on stdout after two seconds: into the middle of JSON."""
    connection.execute("set enable_progress_bar = false")


def relation(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> "DuckDBPyRelation":
    """Return rows as a relation in a database of its own, which lives as long as the relation.

    Args:
        rows: values by column.
        types: DuckDB's type of every column, in order; names and types are our own, never a user's.
    """
    connection = in_memory()
    columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    connection.execute(f"create table answer ({columns})")
    shape = json.dumps([dict(types)])
    # Rows go in as JSON, which DuckDB reads faster than Python's values one by one.
    connection.execute(
        "insert into answer select unnest(from_json(cast($rows as json), $shape), recursive := true)",
        {"rows": json.dumps(rows, default=str), "shape": shape},
    )
    return connection.table("answer")
