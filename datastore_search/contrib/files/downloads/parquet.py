"""
Parquet, with typed columns, by pyarrow.

PostgreSQL's CSV is read in pieces into columns, and each group of rows is written and sent as soon
as it is full: nothing waits in a file.  A thread of the file's own does the work.  The footer comes
last, so a truncated file is never read.

A column keeps every value exactly, or it is text: numbers that need more than 38 digits, NaN and
infinite decimals, infinite dates and 24:00 have no place in Parquet's types.  So the values are
measured first, in the same snapshot (``docs/decisions/0034``).
"""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from typing import Any

from psycopg import sql

from ....downloads.dump import Dump, join_blocks, join_pieces
from ....field_types import INT8, get_field_type
from ....filters import Clause
from ....guards.cache import BoundedCache
from ....search import ID, RecordCopy, VersionKey

#: The digits of the widest decimal that every reader of Parquet has.
_MAX_DIGITS = 38

#: The bytes of CSV that are parsed at once, and of columns that are written at once.
_PARSED_BYTES, _GROUP_BYTES = 2**18, 2**22

#: The bytes of a column that make up for what each piece, and each group, costs a column.
_PARSED_BYTES_PER_COLUMN, _GROUP_BYTES_PER_COLUMN = 2**8, 2**11

#: The bytes of a file that are passed on at once.
_BUFFERED_BYTES = 2**18

#: The bytes of CSV that are read ahead of what is written.
_MAX_WAITING_BYTES = 2**21

_MAX_MEASURED_QUERIES, _MAX_MEASURED_FIELDS = 1_000, 20_000

_Fields = tuple[tuple[str, str], ...]

#: The measures of all records of the versions that were written last, for the fields of each file.
measures_cache: BoundedCache[tuple[VersionKey, _Fields], Mapping[str, Any]] = BoundedCache(
    "parquet_measures",
    _MAX_MEASURED_QUERIES,
    max_size=_MAX_MEASURED_FIELDS,
    max_value_size=_MAX_MEASURED_FIELDS,
    measure=len,
)


@join_pieces
def write_parquet(dump: Dump, copy: RecordCopy) -> Iterator[bytes]:
    """
    Write the records as a Parquet file.

    Rows are read while a thread writes those before: pyarrow works without Python's lock.
    """
    key = copy.whole_version and (copy.whole_version, copy.fields)
    measures = measures_cache.get(key) if key else None
    if measures is None:
        kinds = ((name, get_field_type(kind)) for name, kind in copy.fields)
        measured = [(name, kind.arrow_condition) for name, kind in kinds if kind.arrow_condition]
        text = sql.SQL(", ").join(
            sql.SQL(template.replace("%", "%%")).format(v=sql.SQL("(data ->> %s)"))
            for _name, template in measured
        )
        parameters = [name for name, template in measured for _use in range(template.count("{v}"))]
        row = copy.fetch_of_matches(Clause(text, parameters))[0] if measured else ()
        measures = {name: value for (name, _template), value in zip(measured, row, strict=True)}
        if key:
            measures_cache.add(key, measures)
    file = _File(copy.fields, measures)
    waiting: deque[tuple[int, Future[bytes]]] = deque()
    waiting_bytes = 0
    with (
        ThreadPoolExecutor(max_workers=1, thread_name_prefix="parquet") as executor,
        copy.open_csv(",") as rows,
    ):
        piece_bytes = max(_PARSED_BYTES, len(copy.fields) * _PARSED_BYTES_PER_COLUMN)
        for piece in join_blocks(rows, piece_bytes):
            waiting.append((len(piece), executor.submit(file.write_rows, piece)))
            waiting_bytes += len(piece)
            while waiting_bytes > _MAX_WAITING_BYTES:
                size_bytes, written = waiting.popleft()
                waiting_bytes -= size_bytes
                yield written.result()
        for _size_bytes, written in waiting:
            yield written.result()
    yield file.finish()


class _File:
    """A file whose rows are read from CSV and written in groups, each when it is full."""

    def __init__(self, fields: _Fields, measures: Mapping[str, Any]) -> None:
        import pyarrow as pa
        from pyarrow import csv
        from pyarrow.parquet import ParquetWriter

        self._csv = csv
        kinds = {name: INT8 if name == ID else get_field_type(kind) for name, kind in fields}
        types: dict[str, Any] = {}
        for name, kind in kinds.items():
            measure = measures.get(name)
            if kind.is_list:
                types[name] = pa.list_(pa.type_for_alias(kind.arrow_type))
            elif isinstance(measure, list):  # the largest number, and the most decimals
                largest, scale = measure
                if largest is None:  # no values
                    largest, scale = Decimal(), 0
                is_exact = (
                    largest.is_finite()
                    and scale is not None
                    and max(largest.adjusted() + 1, 1) + int(scale) <= _MAX_DIGITS
                )
                types[name] = pa.decimal128(_MAX_DIGITS, int(scale)) if is_exact else pa.string()
            elif measure is False:  # not all values have a place in the type
                types[name] = pa.string()
            elif kind.has_zone:
                types[name] = pa.timestamp("us", "UTC")
            else:
                types[name] = pa.type_for_alias(kind.arrow_type)
        self._schema = pa.schema(types.items())
        nested = [name for name, kind in kinds.items() if kind.is_nested]
        self._nested = [self._schema.get_field_index(name) for name in nested]
        texts = dict.fromkeys(nested, pa.string())
        self._convert = csv.ConvertOptions(
            column_types=types | texts,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,  # an empty text
            check_utf8=False,  # PostgreSQL has done so
            true_values=["t"],
            false_values=["f"],
        )
        self._sink = _Sink()
        # Without it, pyarrow would wait for Python's lock at each write.
        self._buffered = pa.output_stream(self._sink, buffer_size=_BUFFERED_BYTES)
        # A dictionary of each column would double the time, and zstd finds what is repeated.
        self._writer = ParquetWriter(
            self._buffered, self._schema, compression="zstd", use_dictionary=False
        )
        self._tables: list[Any] = []
        self._size_bytes = 0

    def write_rows(self, rows: bytes) -> bytes:
        """Add whole rows, and return what was written of the file since the last time."""
        import pyarrow as pa

        table = self._csv.read_csv(
            pa.BufferReader(rows),
            # The block is larger than the rows, so that no row is too large for it.
            read_options=self._csv.ReadOptions(
                column_names=self._schema.names, block_size=len(rows) + 1, use_threads=False
            ),
            # A line is empty where the only field is null.
            parse_options=self._csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=self._convert,
        )
        for position in self._nested:
            field = self._schema.field(position)
            # JSON stays text, in which null is nothing.
            values = [None if text == "null" else text for text in table[position].to_pylist()]
            if pa.types.is_list(field.type):
                values = [text and json.loads(text) for text in values]
                if field.type.value_type == pa.float64():  # NaN and infinities are texts
                    values = [
                        numbers and [None if each is None else float(each) for each in numbers]
                        for numbers in values
                    ]
            table = table.set_column(position, field, pa.array(values, field.type))
        self._tables.append(table)
        self._size_bytes += table.nbytes
        if self._size_bytes >= max(_GROUP_BYTES, len(self._schema) * _GROUP_BYTES_PER_COLUMN):
            self._write_group()
        return self._sink.take_bytes()

    def finish(self) -> bytes:
        """Write the rows that are left and the footer, and return the end of the file."""
        self._write_group()
        self._writer.close()
        self._buffered.close()
        return self._sink.take_bytes()

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._tables:
            self._writer.write_table(pa.concat_tables(self._tables))
        self._tables, self._size_bytes = [], 0
        pa.default_memory_pool().release_unused()


class _Sink(io.BytesIO):
    """A file that forgets what was taken from it, and keeps its position."""

    _taken_bytes = 0

    def close(self) -> None:
        """Stay open, for pyarrow closes the file before its last bytes are taken."""

    def tell(self) -> int:
        return self._taken_bytes + super().tell()

    def take_bytes(self) -> bytes:
        taken = self.getvalue()
        self._taken_bytes += len(taken)
        self.seek(0)
        self.truncate()
        return taken
