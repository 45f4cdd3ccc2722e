"""Compose DuckDB's SQL as ``psycopg.sql`` does, which the process that reads does not import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: What can be written as a literal; a mapping becomes a struct.
Value = str | int | float | None | Mapping[str, str]

#: How this code writes CSV, without a header; an option of ``read_csv`` for what differs.
_DIALECT: Mapping[str, Value] = {
    "auto_detect": False,
    "header": False,
    "allow_quoted_nulls": False,
    "delim": ",",
    "quote": '"',
    "escape": '"',
    "new_line": r"\n",
}

#: The terms of one sum: DuckDB limits the depth of expressions.
_MAX_TERMS = 50


@dataclass(frozen=True, slots=True)
class Composed:
    """A piece of SQL in which every name and value is quoted."""

    text: str

    def __str__(self) -> str:
        return self.text


class SQL(Composed):
    """A piece of SQL that is written in this code, never made of data; ``format`` fills it in."""

    __slots__ = ()

    def format(self, *parts: Part, **named: Part) -> Composed:
        """
        Put parts, and values as literals, into the template's ``{}`` and ``{name}``.

        Several in a list get commas between them.  Other braces are doubled.
        """
        quoted = {name: quote_literal(part) for name, part in named.items()}
        return Composed(self.text.format(*map(quote_literal, parts), **quoted))

    def join(self, parts: Iterable[Composed | Value]) -> Composed:
        return Composed(self.text.join(quote_literal(part).text for part in parts))


#: What fills in a template.
Part = Composed | Value | Iterable[Composed | Value]


def add_terms(terms: Sequence[Composed]) -> Composed:
    """Build the sum of at least one term, in nested sums of a few terms."""
    sums = [
        SQL("({})").format(SQL(" + ").join(terms[start : start + _MAX_TERMS]))
        for start in range(0, len(terms), _MAX_TERMS)
    ]
    return SQL("({})").format(SQL(" + ").join(sums))


def quote_identifier(*names: str) -> Composed:
    """Quote a name, or a qualified name: a catalogue, a schema and an object."""
    return Composed(".".join('"' + name.replace('"', '""') + '"' for name in names))


def quote_literal(value: Part) -> Composed:
    """Quote a value, or several with commas between them; a piece of SQL is returned as it is."""
    if isinstance(value, Composed):
        return value
    if value is None:
        return Composed("NULL")
    if isinstance(value, str):
        return Composed("'" + value.replace("'", "''") + "'")
    if isinstance(value, Mapping):
        members = (f"{quote_literal(name)}: {quote_literal(each)}" for name, each in value.items())
        return Composed("{" + ", ".join(members) + "}")
    if isinstance(value, Iterable):
        return SQL(", ").join(value)
    return Composed(str(value).lower())


def read_csv(path: Path, columns: Iterable[str], **options: Value) -> Composed:
    """Build the relation of a file of CSV; of its columns, ``line`` has numbers."""
    types = {name: "BIGINT" if name == "line" else "VARCHAR" for name in columns}
    written = (
        SQL("{} = {}").format(SQL(name), value)
        for name, value in {**_DIALECT, **options, "columns": types}.items()
    )
    return SQL("read_csv({}, {})").format(str(path), written)
