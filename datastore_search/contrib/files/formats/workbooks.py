"""Read a sheet of a workbook: XLSX and ODS by calamine, XLS by xlrd (limits: decision 0023)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from ....field_types import MAX_FIELDS
from ..messages import Notice
from ..messages.failures import LoadFailed
from .cell_ranges import CellRange
from .options import ReadOptions
from .staging import StagedTable, StagingArea
from .workbook_cells import (
    list_filled_xlsx_sheets,
    list_ods_merged_rows,
    mark_ods,
    mark_xlsx_sheet,
    open_archive,
    read_marks,
)
from .workbook_rows import Sheet, stage_sheet
from .workbook_xls import measure_width, open_xls, read_xls_sheet

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: The name of the OLE stream that holds an encrypted workbook.
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")

#: The memory that a sheet needs, as a multiple of the bytes of its file.
_MEMORY_RATIO = 16

#: xlrd is written in Python.
_XLS_CPU_FACTOR = 3

#: The message of calamine for a sheet that is too large for it.
_TOO_LARGE = "limit exceeded"


@dataclass(frozen=True, slots=True)
class _Workbook:
    """A workbook; ``sheets`` are those with cells, from 0, and whether people see each."""

    names: Sequence[str]
    sheets: Sequence[tuple[int, bool]]
    list_filled: Callable[[Sequence[int]], list[int]]
    read_sheet: Callable[[int], Sheet]


def read_workbook(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """Stage a sheet of a workbook: the one that is chosen, or the first that has cells."""
    with _translate_errors():
        workbook = _open_workbook(path, staging_area)
        number, notices = _choose_sheet(workbook, options.sheet.strip())
        sheet = workbook.read_sheet(number)
        if sheet.area.width > MAX_FIELDS:
            raise LoadFailed("file.too_many_fields", count=sheet.area.width, most=MAX_FIELDS)
        return stage_sheet(sheet, options, staging_area, notices)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate the errors of calamine."""
    try:
        yield
    except PasswordError as error:
        raise LoadFailed("workbook.encrypted") from error
    except CalamineError as error:
        if _TOO_LARGE in str(error):
            raise LoadFailed("load.out_of_memory") from error
        raise LoadFailed("workbook.damaged") from error
    except OverflowError as error:  # a duration of millions of years
        raise LoadFailed("workbook.damaged") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise LoadFailed("workbook.damaged") from error  # Rust's for a member that ends too early
    except BaseException as error:
        # A panic of Rust is not an ``Exception``, and its class cannot be imported.
        if type(error).__name__ == "PanicException":
            raise LoadFailed("workbook.damaged") from error
        raise


def _open_workbook(path: Path, staging_area: StagingArea) -> _Workbook:
    """Open a workbook; its content decides its kind."""
    limits = staging_area.limits
    limits.extend_memory(_MEMORY_RATIO * path.stat().st_size)
    with path.open("rb") as file:
        is_ole = file.read(len(_OLE)) == _OLE
        if is_ole:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                if content.find(_ENCRYPTED_STREAM) >= 0:
                    raise LoadFailed("workbook.encrypted")
    if is_ole:
        limits.extend_cpu_time(path.stat().st_size, factor=_XLS_CPU_FACTOR)
        book = open_xls(path)
        return _Workbook(
            book.sheet_names(),
            [(number, not sheet.visibility) for number, sheet in enumerate(book.sheets())],
            lambda numbers: [n for n in numbers if measure_width(book.sheet_by_index(n))],
            lambda number: read_xls_sheet(book, number),
        )
    suffix, unpacked_bytes = _inspect_archive(path)
    limits.check_unpacked_bytes(unpacked_bytes)
    limits.extend_cpu_time(unpacked_bytes)
    marked = staging_area.folder / f"marked.{suffix}"
    if suffix == "ods":
        mark_ods(path, marked)
    source = staging_area.folder / f"workbook.{suffix}"
    source.symlink_to(marked if marked.exists() else path.resolve())
    calamine = CalamineWorkbook.from_path(source)
    sheets = [
        (number, sheet.visible == SheetVisibleEnum.Visible)
        for number, sheet in enumerate(calamine.sheets_metadata)
        if sheet.typ == SheetTypeEnum.WorkSheet
    ]
    get_sheet = calamine.get_sheet_by_index

    def read_xlsx_sheet(number: int) -> Sheet:
        empty_formulas = mark_xlsx_sheet(path, number, marked)
        notices = [Notice("notice.empty_formulas", count=empty_formulas)] if empty_formulas else []
        if not marked.exists():
            return _build_sheet(get_sheet(number), notices=notices)
        calamine.close()
        with CalamineWorkbook.from_path(marked) as workbook:
            return _build_sheet(
                workbook.get_sheet_by_index(number), is_marked=True, notices=notices
            )

    if suffix == "xlsx":
        return _Workbook(
            calamine.sheet_names,
            sheets,
            lambda numbers: list_filled_xlsx_sheets(path, numbers),
            read_xlsx_sheet,
        )
    return _Workbook(
        calamine.sheet_names,
        sheets,
        lambda numbers: [number for number in numbers if get_sheet(number).start],
        lambda number: _build_sheet(
            get_sheet(number), list_ods_merged_rows(path, number), is_marked=marked.exists()
        ),
    )


def _build_sheet(
    cells: CalamineSheet,
    merged: Sequence[int] = (),
    *,
    is_marked: bool = False,
    notices: Sequence[Notice] = (),
) -> Sheet:
    """Build a sheet of the cells that calamine has read."""
    if not (cells.start and cells.end):
        raise LoadFailed("workbook.empty_sheet", sheet=cells.name)
    area = CellRange(*(number + 1 for number in (*cells.start, *cells.end)))
    merged = [*merged, *(end[0] + 1 for _start, end in cells.merged_cell_ranges or ())]
    rows = cells.iter_rows()
    return Sheet(cells.name, area, read_marks(rows) if is_marked else rows, merged, notices)


def _inspect_archive(path: Path) -> tuple[str, int]:
    """Find the suffix by which calamine knows the kind, and the size that the zip states."""
    with open_archive(path) as archive:
        names = archive.namelist()
        unpacked_bytes = sum(member.file_size for member in archive.infolist())
        if "xl/workbook.xml" in names:
            return "xlsx", unpacked_bytes
        if "content.xml" in names and "mimetype" in names:
            with archive.open("mimetype") as mimetype:
                if b"opendocument.spreadsheet" in mimetype.read(200):
                    return "ods", unpacked_bytes
    raise LoadFailed("workbook.unknown_format")


def _choose_sheet(workbook: _Workbook, wanted: str) -> tuple[int, list[Notice]]:
    """Return the number of the sheet of a name, of a number from 1, or of the first with cells."""
    names = workbook.names
    if wanted in names:
        return names.index(wanted), []
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1, []
    if wanted:
        listed = ", ".join(f"“{name}”" for name in names)
        raise LoadFailed("workbook.unknown_sheet", sheet=wanted, sheets=listed)
    visible = [number for number, is_visible in workbook.sheets if is_visible]
    # The hidden ones are read only if there are no others.
    numbers = visible or [number for number, _is_visible in workbook.sheets]
    filled = workbook.list_filled(numbers)
    if not filled:
        raise LoadFailed("workbook.empty")
    chosen, *others = filled
    if not others:
        return chosen, []
    listed = ", ".join(f"“{names[number]}”" for number in others)
    return chosen, [Notice("notice.sheet_chosen", sheet=names[chosen], others=listed)]
