"""
Reading Parquet: the file names its fields and their types, and DuckDB reads them.

Each value becomes the text that its type is written as; lists, structs and maps become JSON, of
which each number keeps its digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ...exceptions.loads import LoadFailed
from ...field_types import dump_json
from ...messages import Notice
from ...table_limits import MAX_FIELDS
from ..sources.limits import ReadingLimits
from .headers import unique_names
from .options import ReadOptions
from .shortages import is_of_machine
from .staging import STAGED_ROWS, StagedTable, StagingArea, literal

#: A type as DuckDB's client describes it: ``id``, and ``children`` where it is made of others.
_Type = Any

#: What Parquet's types are called here; what is missing is text.
_TOLD: Mapping[str, str] = {
    "boolean": "bool",
    **dict.fromkeys(("tinyint", "smallint", "integer", "utinyint", "usmallint"), "int4"),
    **dict.fromkeys(("bigint", "uinteger"), "int8"),
    **dict.fromkeys(("ubigint", "hugeint", "uhugeint", "decimal"), "numeric"),
    **dict.fromkeys(("float", "double"), "float8"),
    "date": "date",
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "timestamp"),
    "timestamp with time zone": "timestamptz",
    **dict.fromkeys(("time", "time_ns"), "time"),
    **dict.fromkeys(("struct", "map", "array", "list"), "json"),
}
_TOLD_LISTS = {"text": "_text", "int4": "_int4", "int8": "_int8", "float8": "_float8"} | {
    "bool": "_bool"
}
_NUMBERS = frozenset(
    kind for kind, told in _TOLD.items() if told in {"int4", "int8", "numeric", "bool"}
)
_ENCRYPTED = b"PARE"


def read_parquet(path: Path, options: ReadOptions, place: StagingArea) -> StagedTable:
    """
    Stage a Parquet file.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    _look_at_ends(path)
    # DuckDB would take “*” or “[” in the file's own name for a pattern of names.
    source = place.folder / "file.parquet"
    source.symlink_to(path.resolve())
    try:
        return _read(source, place)
    except duckdb.OutOfMemoryException as error:
        raise LoadFailed("parquet.out_of_memory") from error
    except duckdb.Error as error:
        if is_of_machine(error):
            raise
        raise LoadFailed("parquet.damaged") from error


def _look_at_ends(path: Path) -> None:
    """
    Tell a file that cannot be read from one that is empty.

    Raises: ``LoadFailed`` with ``file.empty``, ``parquet.encrypted``.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise LoadFailed("file.empty")
    if start == _ENCRYPTED:
        raise LoadFailed("parquet.encrypted")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the file: its name, what its type is called here, its values as texts."""

    name: str
    kind: _Type
    source: str

    @property
    def told(self) -> str:
        return _told(self.kind)

    @property
    def may_be_long(self) -> bool:
        return self.kind.id in {"varchar", "blob"} or self.kind.id in _NESTED

    def written(self) -> str:
        return _text(self.kind, self.source)


def _read(source: Path, place: StagingArea) -> StagedTable:
    connection = place.connection
    columns = _columns(connection, source)
    _check_size(connection, source, len(columns), place.limits)
    labels = tuple(column.name for column in columns)
    names = unique_names(labels)
    notices: list[Notice] = []
    texts = [column.written() for column in columns]
    for position, (name, column) in enumerate(zip(names, columns, strict=True)):
        if column.kind.id == "blob" and _is_binary(connection, source, column):
            texts[position] = rf"'\x' || lower(hex({column.source}))"
            notices.append(Notice("notice.binary_values", field=name))
    chosen = ", ".join(f"{text} AS f{position}" for position, text in enumerate(texts))
    connection.execute(
        f"CREATE TABLE {STAGED_ROWS} AS SELECT row_number() OVER () AS line, {chosen}"
        f" FROM {_relation(source, len(columns))}"
    )
    _check_texts(place, [at for at, column in enumerate(columns) if column.may_be_long])
    return StagedTable(
        staging_area=place,
        names=names,
        labels=labels,
        declared_types=tuple(column.told for column in columns),
        notices=tuple(notices),
    )


def _columns(connection: duckdb.DuckDBPyConnection, source: Path) -> list[_Column]:
    """
    Read which columns there are.

    Raises: ``LoadFailed`` with ``file.too_many_fields``, ``file.empty``.
    """
    relation = connection.sql(f"SELECT * FROM read_parquet({literal(str(source))})")
    named = list(zip(_own_names(connection, source), relation.types, strict=True))
    if len(named) > MAX_FIELDS:
        raise LoadFailed("file.too_many_fields", count=len(named), most=MAX_FIELDS)
    if not named:
        raise LoadFailed("file.empty")
    return [_Column(name, kind, f"c{place}") for place, (name, kind) in enumerate(named)]


def _check_size(
    connection: duckdb.DuckDBPyConnection, source: Path, width: int, limits: ReadingLimits
) -> None:
    """
    Make sure that the file may be staged, by what it says of itself: a value may be repeated.

    Raises: ``LoadFailed`` with ``archive.too_large``, ``archive.suspicious``.
    """
    name = literal(str(source))
    rows, size = connection.execute(
        f"SELECT (SELECT sum(num_rows) FROM parquet_file_metadata({name})),"
        " (SELECT greatest(sum(total_uncompressed_size), sum(num_values))"
        f" FROM parquet_metadata({name}))"
    ).fetchone() or (0, 0)
    limits.check_unpacked_bytes(max((rows or 0) * width, size or 0))
    limits.extend_cpu_time(int(size or 0))


def _check_texts(place: StagingArea, columns: Sequence[int]) -> None:
    """
    Make sure of the texts that were staged: the file may have one of them for many rows.

    Raises: ``LoadFailed`` with ``archive.too_large``, ``archive.suspicious``.
    """
    if columns:
        sizes = " + ".join(f"coalesce(sum(strlen(f{column})), 0)" for column in columns)
        found = place.connection.execute(f"SELECT {sizes} FROM {STAGED_ROWS}").fetchone()
        place.limits.check_unpacked_bytes(int(found[0]) if found else 0)


def _own_names(connection: duckdb.DuckDBPyConnection, source: Path) -> list[str]:
    """Read the names that the file has: DuckDB would change one that differs in case alone."""
    tree = connection.execute(
        f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({literal(str(source))})"
    ).fetchall()
    names, below = [], 0
    for name, children in tree[1:]:
        if not below:
            names.append(name)
            below = 1
        below += children - 1
    return names


def _relation(source: Path, width: int) -> str:
    """Name the columns c0, c1, …, whatever they are called in the file."""
    names = ", ".join(f"c{place}" for place in range(width))
    return f"read_parquet({literal(str(source))}) AS file({names})"


def _is_binary(connection: duckdb.DuckDBPyConnection, source: Path, column: _Column) -> bool:
    """Tell bytes from texts: older programs write texts as bytes."""
    width = int(column.source[1:]) + 1
    found = connection.execute(
        f"SELECT count(*) FROM {_relation(source, width)} WHERE {column.source} IS NOT NULL"
        f" AND (TRY(decode({column.source})) IS NULL OR contains(hex({column.source}), '00'))"
    ).fetchone()
    return bool(found and found[0])


# Types ------------------------------------------------------------------------------------------


def _told(kind: _Type) -> str:
    if _is_json(kind):
        return "json"
    if kind.id == "list":
        return _TOLD_LISTS.get(_told(_parts(kind)["child"]), "json")
    return _TOLD.get(kind.id, "text")


def _is_json(kind: _Type) -> bool:
    return str(kind) == "JSON"


def _parts(kind: _Type) -> Mapping[str, _Type]:
    return dict(kind.children)


def _text(kind: _Type, value: str) -> str:
    """Write a DuckDB expression that gives a value of a type as text."""
    if kind.id in _NESTED:
        return _NESTED[kind.id](kind, value, 0)
    if kind.id in {"float", "double"}:
        return _number_or_name(value)
    if kind.id == "timestamp with time zone":
        return f"CAST({value} AT TIME ZONE 'UTC' AS VARCHAR) || '+00:00'"
    if kind.id == "blob":
        return f"decode({value})"
    return f"CAST({value} AS VARCHAR)"


def _number_or_name(value: str) -> str:
    """Name what is no number as PostgreSQL does."""
    return (
        f"CASE WHEN isnan({value}) THEN 'NaN' WHEN isinf({value}) THEN"
        f" CASE WHEN {value} > 0 THEN 'Infinity' ELSE '-Infinity' END"
        f" ELSE CAST({value} AS VARCHAR) END"
    )


def _json(kind: _Type, value: str, depth: int) -> str:
    """Write a DuckDB expression that gives a part of a nested value as JSON text."""
    if kind.id in _NESTED:
        text = _NESTED[kind.id](kind, value, depth)
    elif _is_json(kind) or kind.id in _NUMBERS:
        text = f"CAST({value} AS VARCHAR)"
    elif kind.id in {"float", "double"}:
        text = (
            f"CASE WHEN isfinite({value}) THEN CAST({value} AS VARCHAR)"
            f" ELSE '\"' || {_number_or_name(value)} || '\"' END"
        )
    elif kind.id == "blob":
        text = f"'\"\\\\x' || lower(hex({value})) || '\"'"
    else:
        text = _quoted(_text(kind, value))
    return f"CASE WHEN {value} IS NULL THEN 'null' ELSE {text} END"


def _quoted(text: str) -> str:
    return f"CAST(to_json({text}) AS VARCHAR)"


def _list(kind: _Type, value: str, depth: int) -> str:
    element = f"e{depth}"
    written = _json(_parts(kind)["child"], element, depth + 1)
    return (
        f"CASE WHEN {value} IS NOT NULL THEN"
        f" '[' || {_joined(f'{written} FOR {element} IN {value}')} || ']' END"
    )


def _joined(comprehension: str) -> str:
    """Join the texts of a list; older versions of DuckDB have none for an empty one."""
    return f"coalesce(array_to_string([{comprehension}], ','), '')"


def _struct(kind: _Type, value: str, depth: int) -> str:
    members = [
        f"{literal(_member(name))} || {_json(part, f'{value}[{literal(name)}]', depth)}"
        for name, part in kind.children
    ]
    return (
        f"CASE WHEN {value} IS NOT NULL THEN '{{' || concat_ws(',', {', '.join(members)})"
        " || '}' END"
    )


def _member(name: str) -> str:
    return dump_json(name) + ":"


def _map(kind: _Type, value: str, depth: int) -> str:
    """Write a map as an object: its keys as texts."""
    entry, parts = f"e{depth}", _parts(kind)
    key = _quoted(_text(parts["key"], f"{entry}.key"))
    written = f"{key} || ':' || {_json(parts['value'], f'{entry}.value', depth + 1)}"
    return (
        f"CASE WHEN {value} IS NOT NULL THEN"
        f" '{{' || {_joined(f'{written} FOR {entry} IN map_entries({value})')} || '}}' END"
    )


_NESTED: Mapping[str, Callable[[_Type, str, int], str]] = {
    "list": _list,
    "array": _list,
    "struct": _struct,
    "map": _map,
}
