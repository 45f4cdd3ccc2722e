"""The options of reading a file."""

from __future__ import annotations

from dataclasses import dataclass

#: The encoding of a file that is UTF-8, but for some bytes, which are Windows-1252.
UTF8_WITH_WINDOWS_1252 = "utf-8+windows-1252"

#: The choice to leave out the footer of a table.
SKIP_FOOTER = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """
    The options that decide how the cells of a file are found; an empty one is detected.

    ``nulls`` are texts that stand for no value, such as ``NA``; ``skip`` counts the lines or rows
    above the header; ``sheet`` is a sheet's name, or its number from 1; ``member`` is a file's name
    in an archive; ``records_path`` are the names of the members of JSON that lead to the records,
    with points between them.  ``footer`` is ``skip`` to leave out notes and totals below the table.
    ``cell_range`` are the cells of a sheet that hold the table, such as ``A1:D20``.
    ``languages`` are those that texts of an unknown encoding may be in.
    ``header_rows`` is the number of rows of the header, whose names are joined.
    """

    nulls: tuple[str, ...] = ()
    encoding: str = ""
    delimiter: str = ""
    skip: int | None = None
    sheet: str = ""
    member: str = ""
    records_path: str = ""
    footer: str = ""
    header_rows: int | None = None
    cell_range: str = ""
    languages: tuple[str, ...] = ()
