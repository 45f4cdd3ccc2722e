"""
Reading a CSV file: its encoding, its dialect, its header and its shape.

The library decides what it can: DuckDB the delimiter, quote and first row, charset-normalizer the
encoding where the file is no Unicode.  What comes out is a ``Table``, whose every value is a text.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import charset_normalizer
import duckdb

from ..conf import conf
from ..exceptions import (
    BinaryFile,
    EmptyFile,
    MalformedRows,
    TooManyFields,
    UnknownDialect,
    UnknownEncoding,
    UnreadableFile,
)
from ..storage import FIELDS_MOST

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
_FAULTS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Table:
    """
    A file that has been understood.

    ``relation`` is a DuckDB table expression with the columns ``f0``, ``f1``, …, all texts (null
    where the cell is empty); ``names`` are the names of the fields, unique, and ``labels`` the
    header's own words.
    """

    connection: duckdb.DuckDBPyConnection
    relation: str
    names: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Name DuckDB's columns, in the order of the file."""
        return [f"f{position}" for position in range(len(self.names))]


@contextmanager
def read_csv(path: Path) -> Iterator[Table]:
    """
    Open a CSV file.

    Raises: ``LoadFailed``, of the kind that says what is wrong with the file.
    """
    with TemporaryDirectory(prefix="datastore_search_") as folder:
        text = _as_utf8(path, Path(folder) / "text.csv")
        with duckdb.connect(
            config={
                "memory_limit": f"{conf.LOAD_MEMORY_BYTES}B",
                "temp_directory": folder,
                "threads": 2,
                "autoload_known_extensions": False,
                "autoinstall_known_extensions": False,
            }
        ) as connection:
            yield _table(connection, text)


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


def _table(connection: duckdb.DuckDBPyConnection, path: Path) -> Table:
    try:
        dialect = _dialect(connection, path)
        header = _header(connection, path, dialect)
    except duckdb.Error as error:
        raise UnknownDialect from error
    try:
        _check_shape(connection, path, dialect, len(header))
    except duckdb.Error as error:
        raise UnreadableFile(reason=_first_line(error).replace(str(path), path.name)) from error
    names = unique_names(header)
    return Table(
        connection=connection,
        relation=_relation(path, dialect, len(header)),
        names=names,
        labels=header,
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
        f"read_csv({_literal(str(path))}, header = false, all_varchar = true,"
        f" ignore_errors = true, {_dialect_options(dialect)})"
    )
    width = len(connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall())
    if width > FIELDS_MOST:
        raise TooManyFields(count=width, most=FIELDS_MOST)
    found = connection.execute(f"SELECT * FROM {relation} LIMIT 1").fetchone()
    if found is None:
        raise EmptyFile
    return tuple((cell or "").strip() for cell in found)


def _check_shape(
    connection: duckdb.DuckDBPyConnection, path: Path, dialect: _Dialect, width: int
) -> None:
    """Read the whole file once and refuse it when a row does not have the header's cells."""
    connection.execute(f"SELECT count(f0) FROM {_relation(path, dialect, width, rejects=True)}")
    connection.fetchall()
    lines = connection.execute("SELECT DISTINCT line FROM reject_errors ORDER BY line").fetchall()
    if lines:
        shown = ", ".join(str(line) for (line,) in lines[:_FAULTS_SHOWN])
        raise MalformedRows(
            count=len(lines), lines=shown + (", …" if len(lines) > _FAULTS_SHOWN else "")
        )


def _relation(path: Path, dialect: _Dialect, width: int, *, rejects: bool = False) -> str:
    return (
        f"read_csv({_literal(str(path))}, auto_detect = false, header = true, all_varchar = true,"
        f" {_dialect_options(dialect)}, allow_quoted_nulls = false, columns = {_columns(width)}"
        + (", store_rejects = true, rejects_limit = 10000" if rejects else "")
        + ")"
    )


def _dialect_options(dialect: _Dialect) -> str:
    return (
        f"delim = {_literal(dialect.delimiter)}, quote = {_literal(dialect.quote)},"
        f" escape = {_literal(dialect.escape)}, skip = {dialect.skip},"
        f" max_line_size = {_ROW_BYTES_MOST}, buffer_size = {_BUFFER_BYTES}"
    )


def _columns(width: int) -> str:
    return "{" + ", ".join(f"'f{position}': 'VARCHAR'" for position in range(width)) + "}"


def _literal(text: str) -> str:
    """Write a text as a literal of DuckDB's SQL."""
    return "'" + text.replace("'", "''") + "'"


def _first_line(message: object) -> str:
    return str(message).strip().split("\n", 1)[0][:200]


# Names of fields ----------------------------------------------------------------------------------


def unique_names(header: tuple[str, ...]) -> tuple[str, ...]:
    """
    Make the names of the fields from a header: composed, without control characters, unique.

    An empty one is named after its place, a repeated one gets a number, and ``_id`` is taken.
    """
    taken = {"_id"}
    names = []
    for place, label in enumerate(header, start=1):
        name = re.sub(r"[\x00-\x1f\x7f-\x9f\s]+", " ", unicodedata.normalize("NFC", label)).strip()
        name = name[:200].strip() or f"field_{place}"
        candidate, number = name, 1
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate)
        names.append(candidate)
    return tuple(names)
