"""Read Parquet by DuckDB: the file declares its fields and their types."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from ....field_types import TEXT, declared_types, field_types
from ..messages import LoadFailed, Notice
from ..sources.limits import find_shortage, is_file_too_large
from .duckdb_sql import SQL, Composed, add_terms, quote_identifier, quote_literal
from .headers_and_footers import make_unique_names
from .options import ReadOptions
from .row_writer import MAX_ROW_BYTES, TOO_LONG
from .staging import ROW_ERRORS, STAGED_ROWS, StagedTable, StagingArea, get_column, quote_message

#: A type as DuckDB's client describes it: ``id``, and ``child`` of a list.
_DuckDBType = Any

_NESTED, _MAX_DIGITS = frozenset(("list", "array", "struct", "map")), 38


def read_parquet(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise LoadFailed("file.empty")
    if start == b"PARE":
        raise LoadFailed("parquet.encrypted")
    # DuckDB would take “*” or “[” in the file's own name for a pattern of names.
    link = staging_area.folder / "file.parquet"
    link.symlink_to(path.resolve())
    source = quote_literal(str(link))
    try:
        columns = _read_columns(source, staging_area)
        staging_area.allow_width(len(columns))
        # The size that the file states: a value may be repeated for many rows.
        query = (
            "SELECT (SELECT sum(num_rows) FROM parquet_file_metadata({0})),"
            " (SELECT greatest(sum(total_uncompressed_size), sum(num_values))"
            " FROM parquet_metadata({0}))"
        )
        rows, size = staging_area.execute(query, source).fetchone() or (0, 0)
        staging_area.limits.check_unpacked_bytes(max((rows or 0) * len(columns), size or 0))
        staging_area.limits.extend_cpu_time(int(size or 0))
        _check_moments(source, columns, staging_area)
        relation = _build_relation(source, columns)
        labels = tuple(column.name for column in columns)
        names = make_unique_names(labels)
        notices: list[Notice] = []
        texts: list[Composed] = []
        for position, (name, column) in enumerate(zip(names, columns, strict=True)):
            text = column.build_text()
            # Older programs write texts as bytes.
            query = (
                "SELECT count(*) FROM {1} WHERE {0} IS NOT NULL"
                " AND (TRY(decode({0})) IS NULL OR contains(hex({0}), '00'))"
            )
            is_blob = column.type.id == "blob"
            if is_blob and staging_area.fetch_value(query, column.source, relation):
                text = SQL(r"'\x' || lower(hex({}))").format(column.source)
                notices.append(Notice("notice.binary_values", field=name))
            texts.append(SQL("{} AS {}").format(text, get_column(position)))
        create = "CREATE TABLE {} AS SELECT row_number() OVER () AS line, {} FROM {}"
        staging_area.execute(create, STAGED_ROWS, texts, relation)
        _check_texts(columns, staging_area)
    except duckdb.OutOfMemoryException as error:
        raise LoadFailed("parquet.out_of_memory") from error
    except duckdb.Error as error:
        if find_shortage(error) or is_file_too_large(error):
            raise
        raise LoadFailed("parquet.damaged") from error
    return StagedTable(
        staging_area=staging_area,
        names=names,
        labels=labels,
        declared_types=tuple(_find_field_type(column.type) for column in columns),
        notices=tuple(notices),
    )


class _Column(NamedTuple):
    name: str
    type: _DuckDBType
    source: Composed  #: the expression of its values
    has_int96: bool

    def build_text(self) -> Composed:
        """Build the expression that writes its values as texts."""
        kind, value = self.type, self.source
        text = SQL("CAST({} AS VARCHAR)").format(value)
        if kind.id in {"float", "double"}:
            # NaN and the infinities as PostgreSQL writes them.
            return SQL(
                "CASE WHEN isnan({0}) THEN 'NaN' WHEN isinf({0}) THEN CASE WHEN {0} > 0 THEN"
                " 'Infinity' ELSE '-Infinity' END ELSE {1} END"
            ).format(value, text)
        if kind.id == "timestamp with time zone":
            return SQL("CAST({} AT TIME ZONE 'UTC' AS VARCHAR) || '+00:00'").format(value)
        if kind.id == "blob":
            return SQL("decode({})").format(value)
        if kind.id not in _NESTED:
            return text
        if kind.id == "list" and kind.child.id == "float":
            # A float has fewer digits than the double of the same value.
            value = SQL("CAST(CAST({} AS VARCHAR[]) AS DOUBLE[])").format(value)
        text = SQL("CAST(to_json({}) AS VARCHAR)").format(value)
        if "VARCHAR" in str(kind):
            return text
        # NaN and the infinities become texts where no text beside them can look the same.
        return SQL("regexp_replace({}, {}, {}, 'g')").format(
            text, r"([\[,:])(-?(?:NaN|Infinity))", r'\1"\2"'
        )


def _read_columns(source: Composed, staging_area: StagingArea) -> list[_Column]:
    query = SQL("SELECT * FROM read_parquet({})").format(source)
    types = staging_area.connection.sql(query.text).types
    # DuckDB changes names where only case differs.
    schema = "SELECT name, coalesce(num_children, 0), type, precision FROM parquet_schema({})"
    tree = staging_area.execute(schema, source).fetchall()
    names: list[str] = []
    with_int96: set[int] = set()
    below = 0
    for name, children, kind, digits in tree[1:]:
        if (digits or 0) > _MAX_DIGITS:  # DuckDB would round them
            raise LoadFailed("file.save_as_csv", format=f"Parquet, DECIMAL({digits})")
        if not below:
            names.append(name)
            below = 1
        if kind == "INT96":
            with_int96.add(len(names) - 1)
        below += children - 1
    if not names:
        raise LoadFailed("file.empty")
    return [
        _Column(name, kind, quote_identifier(f"c{position}"), position in with_int96)
        for position, (name, kind) in enumerate(zip(names, types, strict=True))
    ]


def _check_moments(source: Composed, columns: Sequence[_Column], staging_area: StagingArea) -> None:
    """Check the moments of INT96, which DuckDB changes where it cannot count their days."""
    for column in columns:
        if column.has_int96:
            text = SQL("CAST({} AS VARCHAR)").format(column.source)
            # Parts of a second that are finer than a microsecond.
            is_bad = SQL("bool_or(regexp_matches({}, '[.][0-9]{{7}}'))").format(text)
            checks = [(is_bad, _build_relation(source, columns, "timestamp_ns"))]
            if column.type.id == "timestamp":
                is_far = SQL("bool_or({0} < '0001-01-01' OR {0} >= '10000-01-01')")
                checks.append((is_far.format(column.source), _build_relation(source, columns)))
            for check, relation in checks:
                if staging_area.fetch_value("SELECT {} FROM {}", check, relation):
                    raise LoadFailed("parquet.int96", field=column.name)


def _check_texts(columns: Sequence[_Column], staging_area: StagingArea) -> None:
    """Check the size of the staged texts: the file may store one text for many rows."""
    may_be_long = {"varchar", "blob", *_NESTED}
    lengths = [
        SQL("coalesce(strlen({}), 0)").format(get_column(at))
        for at, column in enumerate(columns)
        if column.type.id in may_be_long
    ]
    if not lengths:
        return
    sizes = SQL("(SELECT line, {} AS size FROM {})").format(add_terms(lengths), STAGED_ROWS)
    query = "SELECT coalesce(sum(size), 0), coalesce(max(size), 0) FROM {}"
    total, longest = staging_area.execute(query, sizes).fetchone() or (0, 0)
    staging_area.limits.check_unpacked_bytes(int(total))
    if longest > MAX_ROW_BYTES:
        insert = "INSERT INTO {} SELECT line, '', '', {} FROM {} WHERE size > {}"
        error = quote_message(TOO_LONG)
        staging_area.execute(insert, ROW_ERRORS, error, sizes, MAX_ROW_BYTES)
        staging_area.rows.delete(SQL("IN (SELECT line FROM {})").format(ROW_ERRORS))


def _build_relation(source: Composed, columns: Sequence[_Column], int96_as: str = "") -> Composed:
    """Name the columns c0, c1, …, whatever their names in the file."""
    names = (column.source for column in columns)
    option = SQL(", int96_as = {}").format(int96_as) if int96_as else SQL("")
    return SQL("read_parquet({}{}) AS file({})").format(source, option, names)


def _find_field_type(kind: _DuckDBType) -> str:
    if str(kind) == "JSON":
        return "json"
    if kind.id == "list":
        element_type = _find_field_type(kind.child)
        return f"_{element_type}" if f"_{element_type}" in field_types else "json"
    return declared_types.get(kind.id, TEXT).name
