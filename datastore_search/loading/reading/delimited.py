"""
Reading a file of delimited cells: its encoding, its dialect, its header and its shape.

The library decides what it can: DuckDB the delimiter, quote and first row, charset-normalizer the
encoding where the file is no Unicode.
"""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass
from pathlib import Path

import charset_normalizer
import duckdb

from ...exceptions.loads import (
    BinaryFile,
    EmptyFile,
    TooManyFields,
    UnknownDialect,
    UnknownEncoding,
    UnreadableFile,
    UnreadableRow,
)
from ...storage import FIELDS_MOST
from ..headers import unique_names
from ..options import LoadOptions
from ..table import FAULTS, STAGED, Stage, Table, literal

_BLOCK_BYTES = 2**20
_ROW_BYTES_MOST = 4 * 2**20
#: DuckDB's own default, sixteen times the longest row, is more than its memory may be.
_BUFFER_BYTES = 2 * _ROW_BYTES_MOST
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: What CSV files that are no Unicode are written in; a guess among all errs on short files.
_ENCODINGS = [
    *(f"cp{page}" for page in (1252, 1250, 1251, 1253, 1254, 1255, 1256, 1257, 1258)),
    *("cp932", "gb18030", "big5", "cp949", "koi8_r", "cp874"),
]


def read_delimited(path: Path, options: LoadOptions, place: Stage) -> Table:
    """
    Stage a file of delimited cells.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    return _table(place, _as_utf8(path, place.folder / "text.csv"))


# Encoding -----------------------------------------------------------------------------------------


def _as_utf8(path: Path, copy: Path) -> Path:
    """Give a file in UTF-8 without a byte order mark: the file itself, or a copy of it."""
    with path.open("rb") as file:
        start = file.read(_BLOCK_BYTES)
    if not start.strip():
        raise EmptyFile
    encoding = _encoding(path, start)
    if encoding == "utf-8":
        return path
    try:
        with (
            path.open(encoding=encoding, newline="") as source,
            copy.open("w", encoding="utf-8", newline="") as target,
        ):
            while block := source.read(_BLOCK_BYTES):
                if "\0" in block:
                    raise BinaryFile
                target.write(block)
    except UnicodeError as error:
        raise UnknownEncoding from error
    return copy


def _encoding(path: Path, start: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if start.startswith(mark):
            return encoding
    if b"\0" in start:
        raise BinaryFile
    if _is_utf8(path):
        return "utf-8"
    best = charset_normalizer.from_bytes(start, cp_isolation=_ENCODINGS).best()
    if best is None:
        raise UnknownEncoding
    return best.encoding


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                if b"\0" in block:
                    raise BinaryFile
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


# Dialect, header and shape ------------------------------------------------------------------------


def _table(place: Stage, path: Path) -> Table:
    connection = place.connection
    try:
        dialect = _dialect(connection, path)
        header = _header(connection, path, dialect)
    except duckdb.Error as error:
        raise UnknownDialect from error
    try:
        _stage(connection, path, dialect, len(header))
    except duckdb.Error as error:
        raise UnreadableFile(reason=_first_line(error).replace(str(path), path.name)) from error
    return Table(
        stage=place, names=unique_names(header), labels=header, tells=(None,) * len(header)
    )


@dataclass(frozen=True, slots=True)
class _Dialect:
    delimiter: str
    quote: str
    escape: str
    skip: int


def _dialect(connection: duckdb.DuckDBPyConnection, path: Path) -> _Dialect:
    """Ask DuckDB how the file is written; faulty rows must not mislead it."""
    ((delimiter, quote, escape, skip),) = connection.execute(
        "SELECT Delimiter, Quote, Escape, SkipRows FROM sniff_csv(?, all_varchar = true,"
        " ignore_errors = true, sample_size = 20000, max_line_size = ?, buffer_size = ?)",
        [str(path), _ROW_BYTES_MOST, _BUFFER_BYTES],
    ).fetchall()
    return _Dialect(delimiter, _character(quote) or '"', _character(escape) or '"', skip)


def _character(found: str) -> str:
    return "" if found == "(empty)" else found


def _header(
    connection: duckdb.DuckDBPyConnection, path: Path, dialect: _Dialect
) -> tuple[str, ...]:
    """Read the first row, which names the fields."""
    relation = (
        f"read_csv({literal(str(path))}, header = false, all_varchar = true,"
        f" ignore_errors = true, {_dialect_options(dialect)})"
    )
    width = len(connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall())
    if width > FIELDS_MOST:
        raise TooManyFields(count=width, most=FIELDS_MOST)
    found = connection.execute(f"SELECT * FROM {relation} LIMIT 1").fetchone()
    if found is None:
        raise EmptyFile
    return tuple((cell or "").strip() for cell in found)


def _stage(
    connection: duckdb.DuckDBPyConnection, path: Path, dialect: _Dialect, width: int
) -> None:
    """Read the whole file once; a row that does not have the header's cells is a fault."""
    cells = ", ".join(f"f{position}" for position in range(width))
    connection.execute(
        f"CREATE TABLE {STAGED} AS SELECT row_number() OVER () + 1 AS line, {cells}"
        f" FROM {_relation(path, dialect, width)}"
    )
    for line, error, message in connection.execute(
        "SELECT line, any_value(error_type), any_value(error_message) FROM reject_errors"
        " GROUP BY line ORDER BY line"
    ).fetchall():
        connection.execute(
            f"INSERT INTO {FAULTS} VALUES (?, '', '', ?)",
            [line, json.dumps(UnreadableRow(reason=f"{error} {_first_line(message)}").kept())],
        )


def _relation(path: Path, dialect: _Dialect, width: int) -> str:
    return (
        f"read_csv({literal(str(path))}, auto_detect = false, header = true, all_varchar = true,"
        f" {_dialect_options(dialect)}, allow_quoted_nulls = false, columns = {_columns(width)}"
        ", store_rejects = true, rejects_limit = 0)"
    )


def _dialect_options(dialect: _Dialect) -> str:
    return (
        f"delim = {literal(dialect.delimiter)}, quote = {literal(dialect.quote)},"
        f" escape = {literal(dialect.escape)}, skip = {dialect.skip},"
        f" max_line_size = {_ROW_BYTES_MOST}, buffer_size = {_BUFFER_BYTES}"
    )


def _columns(width: int) -> str:
    return "{" + ", ".join(f"'f{position}': 'VARCHAR'" for position in range(width)) + "}"


def _first_line(message: object) -> str:
    return str(message).strip().split("\n", 1)[0][:200]
