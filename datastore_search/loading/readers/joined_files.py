"""
Read several files of an archive, all with the same header, as one table.

Each is staged by itself, in its own format and dialect, and its rows are appended.  A field at the
end has the name of the file.  Lines are counted on from file to file, so that each is there once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...exceptions.loads import LoadFailed
from ...messages import Notice
from ...table_limits import MAX_FIELDS
from ..sources.archives import UnpackedFile, name_failed_member, unpack_each
from .duckdb_sql import SQL, quote_identifier, quote_literal
from .headers import make_unique_names
from .options import ReadOptions
from .staging import ROW_ERRORS, StagedTable, StagingArea, create_staging_area, find_database_file
from .stored_rows import STAGED_CELLS, STAGED_ROWS, get_column, list_columns, quote_names

_FILE_FIELD = "file"
#: From the narrowest to the widest.
_NUMBER_TYPES = ("int4", "int8", "numeric")
_MAX_LISTED_FILES = 20

_Reader = Callable[[UnpackedFile, ReadOptions, StagingArea], StagedTable]


@dataclass(frozen=True, slots=True)
class _Part:
    """A file that has been staged, and the lines of all files before it."""

    name: str
    table: StagedTable
    offset: int


def read_joined_files(
    path: Path, options: ReadOptions, staging_area: StagingArea, read: _Reader
) -> StagedTable:
    """
    Stage all files of a zip as one table, each by ``read``.

    Raises: ``LoadFailed`` with ``archive.different_headers``, or with ``archive.failed_member`` and
    what is wrong with it.
    """
    limits = staging_area.limits
    parts: list[_Part] = []
    offset = 0
    for file in unpack_each(path, staging_area.folder, limits, pattern=options.member):
        folder = staging_area.folder / f"part{len(parts)}"
        folder.mkdir()
        with create_staging_area(folder, limits) as part_area:
            with name_failed_member(file.name):
                table = read(file, options, part_area)
            if not parts:
                _create_table(staging_area, table)
            elif sorted(table.names) != sorted(parts[0].table.names):
                raise LoadFailed("archive.different_headers", member=file.name, first=parts[0].name)
            _store_alike(staging_area, table)
        part = _Part(file.name, table, offset)
        offset = _append_part(staging_area, part, parts[0].table.names if parts else table.names)
        parts.append(part)
    return _build_table(staging_area, parts)


def _create_table(staging_area: StagingArea, table: StagedTable) -> None:
    width = len(table.names) + 1
    if width > MAX_FIELDS:
        raise LoadFailed("file.too_many_fields", count=width, most=MAX_FIELDS)
    staging_area.create_rows(width)


def _store_alike(staging_area: StagingArea, part: StagedTable) -> None:
    """Store the rows of all files as cells, if those of a part are, and those of a part as well."""
    if part.rows.is_wide:
        staging_area.convert_to_cells(len(part.names) + 1)
    elif staging_area.rows.is_wide:
        part.staging_area.convert_to_cells(len(part.names))


def _append_part(staging_area: StagingArea, part: _Part, names: Sequence[str]) -> int:
    """Append the rows and errors of a part, and return the lines of all files so far."""
    source = quote_identifier("part")
    rows, errors = (quote_identifier("part", name) for name in ("staged_rows", "row_errors"))
    staging_area.execute(
        SQL("ATTACH {} AS {} (READ_ONLY)").format(
            quote_literal(str(find_database_file(part.table.staging_area.folder))), source
        )
    )
    columns = [part.table.names.index(name) for name in names]
    if staging_area.rows.is_wide:
        _append_cells(staging_area, part, columns)
    else:
        staging_area.execute(
            SQL("INSERT INTO {} SELECT line + {}, {}, {} FROM {} ORDER BY rowid").format(
                STAGED_ROWS,
                quote_literal(part.offset),
                SQL(", ").join(map(get_column, columns)),
                quote_literal(part.name),
                rows,
            )
        )
    staging_area.execute(
        SQL("INSERT INTO {} SELECT line + {}, field, value, error FROM {}").format(
            ROW_ERRORS, quote_literal(part.offset), errors
        )
    )
    last = staging_area.execute(
        SQL("SELECT greatest((SELECT max(line) FROM {}), (SELECT max(line) FROM {}))").format(
            rows, errors
        )
    ).fetchone()
    staging_area.execute(SQL("DETACH {}").format(source))
    for file in part.table.staging_area.folder.iterdir():
        file.unlink()
    return part.offset + int((last and last[0]) or 0)


def _append_cells(staging_area: StagingArea, part: _Part, columns: Sequence[int]) -> None:
    rows, cells = (quote_identifier("part", name) for name in ("staged_rows", "staged_cells"))
    offset, width = quote_literal(part.offset), len(columns)
    staging_area.execute(
        SQL("INSERT INTO {} SELECT line + {} FROM {} ORDER BY rowid").format(
            STAGED_ROWS, offset, rows
        )
    )
    staging_area.execute(
        SQL(
            "INSERT INTO {} SELECT line + {}, new.name, value FROM {} JOIN (SELECT unnest({})"
            " AS old_name, unnest({}) AS name) AS new ON cells.name = old_name"
        ).format(
            STAGED_CELLS,
            offset,
            SQL("{} AS cells").format(cells),
            quote_names([f"f{column}" for column in columns]),
            quote_names(list_columns(0, width)),
        )
    )
    staging_area.execute(
        SQL("INSERT INTO {} SELECT line + {}, {}, {} FROM {}").format(
            STAGED_CELLS, offset, quote_literal(f"f{width}"), quote_literal(part.name), rows
        )
    )


def _build_table(staging_area: StagingArea, parts: Sequence[_Part]) -> StagedTable:
    first = parts[0].table
    labels = (*first.labels, _FILE_FIELD)
    types = [
        _join_types({part.table.declared_types[part.table.names.index(name)] for part in parts})
        for name in first.names
    ]
    return replace(
        first,
        staging_area=staging_area,
        names=(*first.names, make_unique_names((*first.names, _FILE_FIELD))[-1]),
        labels=labels,
        declared_types=(*types, "text"),
        notices=(*_list_notices(parts), _describe_parts(parts)),
    )


def _list_notices(parts: Sequence[_Part]) -> Iterator[Notice]:
    """List the notices of all files, each of them once."""
    seen: list[Notice] = []
    for part in parts:
        for notice in part.table.notices:
            if notice not in seen:
                seen.append(notice)
                yield notice


def _describe_parts(parts: Sequence[_Part]) -> Notice:
    listed = [f"“{part.name}” {part.offset + 1}" for part in parts[:_MAX_LISTED_FILES]]
    shown = ", ".join([*listed, "…"] if len(parts) > _MAX_LISTED_FILES else listed)
    return Notice("notice.files_joined", count=len(parts), lines=shown)


def _join_types(types: set[str | None]) -> str | None:
    """Return the type for values of some declared types, None where the values decide."""
    if len(types) == 1:
        return next(iter(types))
    if types <= {*_NUMBER_TYPES}:
        return max((name for name in types if name), key=_NUMBER_TYPES.index)
    return "text" if "text" in types else None
