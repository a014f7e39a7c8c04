"""Statements with their parameters' values written into them, so that DuckDB runs them without this program."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any

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
