"""
Read a sheet of a workbook: Excel's (XLSX, XLSM, XLS) or OpenDocument's (ODS).

calamine reads all cells of a sheet, and of an ODS all sheets, into memory.  What a workbook may
cost is limited by the process that reads it (decision 0023): a sheet with cells far apart, or one
that repeats a cell many times, ends with a failure there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
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

from ...exceptions.loads import LoadFailed
from ...messages import Notice
from ...table_limits import MAX_FIELDS
from ..sources.limits import ReadingLimits
from .compound_file import check_compound_file
from .options import ReadOptions
from .staging import StagedTable, StagingArea
from .workbook_cells import format_ods_text
from .workbook_rows import Sheet, stage_sheet
from .workbook_xls import (
    find_xls_errors,
    find_xls_numbers_without_date,
    open_xls_sheet,
    xls_counts_from_1904,
)
from .workbook_xml import (
    count_empty_xlsx_formulas,
    find_ods_cells,
    find_xlsx_errors,
    find_xlsx_numbers_without_date,
    find_xlsx_sheets,
    has_xlsx_values,
    open_archive,
    replace_xlsx_errors,
    xlsx_counts_from_1904,
)

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: The name of the OLE stream that holds an encrypted workbook.
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")

_MB = 2**20
_MAX_UNPACKED_MB = 1024

#: The memory that calamine needs for a sheet, as a multiple of the bytes of its file.
_MEMORY_RATIO = 16

#: An XLS is read twice, by calamine and by xlrd.
_XLS_CPU_FACTOR = 3

#: The message of calamine for a sheet that is too large for it.
_TOO_LARGE = "limit exceeded"
#: The beginning of its message for a cell with an error that it does not know.
_UNKNOWN_ERROR = "Unsupported cell error value"


class _Kind(StrEnum):
    """The kinds of workbooks, by the suffixes that calamine uses."""

    XLSX = "xlsx"
    XLS = "xls"
    ODS = "ods"


def read_workbook(path: Path, options: ReadOptions, staging_area: StagingArea) -> StagedTable:
    """
    Stage a sheet of a workbook: the one that is chosen, or the first that has cells.

    Raises: ``LoadFailed``, with what is wrong with the file.
    """
    with _translate_errors():
        kind = _detect_kind(path)
        if kind is not _Kind.XLS:
            _check_unpacked_bytes(path, staging_area.limits)
        if kind is _Kind.XLS:
            staging_area.limits.extend_cpu_time(path.stat().st_size, factor=_XLS_CPU_FACTOR)
        staging_area.limits.extend_memory(_MEMORY_RATIO * path.stat().st_size)
        source = staging_area.folder / f"workbook.{kind}"
        source.symlink_to(path.resolve())
        with CalamineWorkbook.from_path(source) as calamine:
            workbook = _Workbook(source, kind, calamine)
            number, notices = workbook.choose_sheet(options.sheet)
            sheet = workbook.open_sheet(number)
            if sheet.is_unchecked:
                notices.append(Notice("notice.cells_unchecked"))
            if sheet.empty_formulas:
                notices.append(Notice("notice.empty_formulas", count=sheet.empty_formulas))
            return stage_sheet(sheet, options, staging_area, notices)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """
    Translate the errors of calamine.

    Raises: ``LoadFailed`` with ``workbook.encrypted``, ``workbook.damaged``,
    ``workbook.long_duration``, ``load.out_of_memory``.
    """
    try:
        yield
    except PasswordError as error:
        raise LoadFailed("workbook.encrypted") from error
    except CalamineError as error:
        if _TOO_LARGE in str(error):
            raise LoadFailed("load.out_of_memory") from error
        raise LoadFailed("workbook.damaged") from error
    except OverflowError as error:
        raise LoadFailed("workbook.long_duration") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise LoadFailed("workbook.damaged") from error  # Rust's for a member that ends too early
    except BaseException as error:
        # A panic of Rust is not an ``Exception``, and its class cannot be imported.
        if type(error).__name__ == "PanicException":
            raise LoadFailed("workbook.damaged") from error
        raise


def _detect_kind(path: Path) -> _Kind:
    """
    Detect the kind of a workbook by its content.

    Raises: ``LoadFailed`` with ``workbook.unknown_format``, ``workbook.encrypted``,
    ``workbook.damaged``.
    """
    with path.open("rb") as file:
        if file.read(len(_OLE)) == _OLE:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                if content.find(_ENCRYPTED_STREAM) >= 0:
                    raise LoadFailed("workbook.encrypted")
            check_compound_file(path)
            return _Kind.XLS
    with open_archive(path) as archive:
        names = archive.namelist()
        if "xl/workbook.xml" in names:
            return _Kind.XLSX
        if "content.xml" in names and "mimetype" in names:
            with archive.open("mimetype") as mimetype:
                if b"opendocument.spreadsheet" in mimetype.read(200):
                    return _Kind.ODS
    raise LoadFailed("workbook.unknown_format")


def _check_unpacked_bytes(path: Path, limits: ReadingLimits) -> None:
    """
    Check the unpacked size that the zip declares; calamine stops where that is wrong.

    Raises: ``LoadFailed`` with ``workbook.too_large``, ``archive.too_large``,
    ``archive.suspicious``.
    """
    with open_archive(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > _MAX_UNPACKED_MB * _MB:
        raise LoadFailed("workbook.too_large", most=_MAX_UNPACKED_MB)
    limits.check_unpacked_bytes(size)
    limits.extend_cpu_time(size)


@dataclass(frozen=True, slots=True)
class _Workbook:
    path: Path
    kind: _Kind
    calamine: CalamineWorkbook

    def choose_sheet(self, wanted: str) -> tuple[int, list[Notice]]:
        """
        Return the number of the sheet of a name, of a number from 1, or of the first with cells.

        Raises: ``LoadFailed`` with ``workbook.unknown_sheet``, ``workbook.empty``.
        """
        names = self.calamine.sheet_names
        if wanted:
            return self._find_sheet(wanted.strip()), []
        filled = self._list_filled_sheets()
        if not filled:
            raise LoadFailed("workbook.empty")
        chosen, *others = filled
        if not others:
            return chosen, []
        listed = ", ".join(f"“{names[number]}”" for number in others)
        return chosen, [Notice("notice.sheet_chosen", sheet=names[chosen], others=listed)]

    def open_sheet(self, number: int) -> Sheet:
        """
        Read a sheet.

        Raises: ``LoadFailed`` with ``workbook.empty_sheet``, ``file.too_many_fields``.
        """
        cells = self._read_cells(number)
        if cells.start is None:
            raise LoadFailed("workbook.empty_sheet", sheet=cells.name)
        if cells.width > MAX_FIELDS:
            raise LoadFailed("file.too_many_fields", count=cells.width, most=MAX_FIELDS)
        if self.kind is _Kind.ODS:
            return Sheet(cells, find_ods_cells(self.path, number), format_text=format_ods_text)
        if self.kind is _Kind.XLSX:
            return Sheet(
                cells,
                find_xlsx_errors(self.path, number),
                find_xlsx_numbers_without_date(self.path, number),
                empty_formulas=count_empty_xlsx_formulas(self.path, number),
                counts_from_1904=xlsx_counts_from_1904(self.path),
            )
        checked = open_xls_sheet(self.path, cells.name)
        if checked is None:
            return Sheet(cells, is_unchecked=True)
        return Sheet(
            cells,
            find_xls_errors(checked),
            find_xls_numbers_without_date(checked),
            counts_from_1904=xls_counts_from_1904(checked),
        )

    def _read_cells(self, number: int) -> CalamineSheet:
        """Read the cells of a sheet, whatever the names of its errors are."""
        try:
            return self.calamine.get_sheet_by_index(number)
        except CalamineError as error:
            if _UNKNOWN_ERROR not in str(error):
                raise
        copy = self.path.with_name(f"copy.{self.kind}")
        replace_xlsx_errors(self.path, number, copy)
        with CalamineWorkbook.from_path(copy) as calamine:
            return calamine.get_sheet_by_index(number)

    def _find_sheet(self, wanted: str) -> int:
        names = self.calamine.sheet_names
        if wanted in names:
            return names.index(wanted)
        if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
            return int(wanted) - 1
        raise LoadFailed(
            "workbook.unknown_sheet", sheet=wanted, sheets=", ".join(f"“{name}”" for name in names)
        )

    def _list_filled_sheets(self) -> list[int]:
        numbers = self._list_visible_sheets()
        if self.kind is not _Kind.XLSX:
            get_sheet = self.calamine.get_sheet_by_index
            return [number for number in numbers if get_sheet(number).start is not None]
        # calamine would read each sheet to its end.
        with open_archive(self.path) as archive:
            parts = find_xlsx_sheets(archive)
            return [number for number in numbers if has_xlsx_values(archive, parts[number])]

    def _list_visible_sheets(self) -> list[int]:
        """List the sheets that people see; the hidden ones only if there are no others."""
        sheets = [
            (number, sheet.visible == SheetVisibleEnum.Visible)
            for number, sheet in enumerate(self.calamine.sheets_metadata)
            if sheet.typ == SheetTypeEnum.WorkSheet
        ]
        visible = [number for number, is_visible in sheets if is_visible]
        return visible or [number for number, _is_visible in sheets]
