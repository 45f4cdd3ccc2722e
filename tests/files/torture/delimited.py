"""Files of delimited cells: their characters, their delimiters, their lines and their headers."""

from __future__ import annotations

from datastore_search.contrib.files.jobs import LoadOptions

from .cases import Case, explain_skipped_rows

_LONG = "long " * 60
_OPEN = "A quotation mark is opened and never closed."
_STRAY = "Text follows a closing quotation mark; one within a text must be doubled."


def build_cell_count_message(cells: int, header: int) -> str:
    """Build the message of a row with another number of cells than the header."""
    return f"The header has {header} cells; the row has {cells}."


def build_bad_rows_message(count: int, line: int, reason: str) -> str:
    """Build the message of a file that is refused because of bad rows."""
    return f"Rows that cannot be loaded: {count}. The first: Line {line}: {reason}"


CASES = [
    Case(
        "utf8_mark_twice.csv",
        "two byte order marks",
        fields="id: int4, tên: text",
        records=[[1, "Hà Nội"]],
    ),
    Case(
        "utf16_excel.txt",
        "Excel's “Unicode text”: UTF-16 and tabs",
        fields="id: int4, tên: text",
        records=[[1, "Hà Nội"], [2, "Cần Thơ"]],
    ),
    Case(
        "utf16_without_mark.csv",
        "UTF-16 that does not say so",
        fields="tên: text, dân số: int4",
        records=[["Hà Nội", 8053663], ["Đà Nẵng", 1134310], ["Thành phố Hồ Chí Minh", 8993082]],
    ),
    Case(
        "windows_1258.csv",
        "Vietnamese with tones behind their vowels",
        fields="tên: text, dân số: int4",
        records=[["Hà Nội", 8053663], ["Đà Nẵng", 1134310], ["Thành phố Hồ Chí Minh", 8993082]],
        notices=["The file does not declare its character encoding: it was read as Windows-1258."],
    ),
    Case(
        "utf8_composed.csv",
        "accents of their own are kept as they are",
        fields="k: text, v: int4",
        records=[["é", 1], ["é", 2]],
    ),
    Case(
        "tabs.tsv",
        "tabs, with commas and semicolons in texts",
        fields="name: text, note: text",
        records=[["Anna", "a, b; c"], ["Ben", None]],
    ),
    Case(
        "sep_line.csv",
        "Excel's line that names the delimiter",
        fields="name: text, note: text",
        records=[["Anna", "x,y"]],
    ),
    Case(
        "two_characters.csv",
        "a delimiter of two characters",
        LoadOptions(delimiter="||"),
        fields="name: text, note: text",
        records=[["Anna", "x|y"]],
    ),
    Case(
        "single_quotes.csv",
        "single quotation marks",
        fields="name: text, note: text",
        records=[["Anna", "a, b"], ["Ben", "c"]],
    ),
    Case(
        "backslashes.csv",
        "quotation marks behind backslashes",
        fields="name: text, note: text",
        records=[["Anna", 'says "a, b"'], ["Ben", "c"]],
    ),
    Case(
        "one_column.csv",
        "one field whose texts have commas, and blank lines",
        fields="title: text",
        records=[["Hello, world"], [None], ["One; two"]],
    ),
    Case(
        "blanks_around.csv",
        "blanks are kept, but for those outside quotation marks",
        fields="name: text, note: text",
        records=[[" Anna ", " x "], ["\t", "y"]],
    ),
    Case(
        "empty_and_null.csv",
        "an empty text is not the same as nothing",
        fields="name: text, note: text",
        records=[["", None], [None, ""]],
    ),
    Case(
        "delimiters_at_end.csv",
        "delimiters at the end of all rows",
        fields="id: int4, name: text",
        records=[[1, "Anna"], [2, "Ben"]],
        notices=["Columns at the end without a name and without a value were left out: 2."],
    ),
    Case(
        "delimiters_in_rows.csv",
        "delimiters at the end of some rows",
        fields="id: int4, name: text",
        records=[[1, "Anna"], [2, "Ben"], [3, "Carl"]],
    ),
    Case("header_only.csv", "a header and no rows", fields="id: text, name: text", records=[]),
    Case(
        "ragged.csv",
        "ragged rows are left out",
        LoadOptions(bad_rows="skip"),
        fields="a: int4, b: int4, c: int4",
        records=[[1, 2, 3], [1, 1, 1]],
        notices=[explain_skipped_rows(2)],
        row_errors=[
            (3, "", "", build_cell_count_message(2, 3)),
            (4, "", "", build_cell_count_message(4, 3)),
        ],
    ),
    Case(
        "footer.csv",
        "a total below the table, left out by choice",
        LoadOptions(footer="skip"),
        fields="a: int4, b: int4, c: int4",
        records=[[1, 2, 3]],
        notices=["Notes or totals below the table, from line 4 on, were left out: 1."],
    ),
    Case(
        "footer_padded.csv",
        "notes with all delimiters below lines without cells, and a cut one",
        LoadOptions(footer="skip"),
        fields="year: int4, n: int4, m: int4",
        records=[[2023, 1, 2], [2024, None, None], [2025, 3, 4]],
        notices=[
            "Rows without any value were left out: 1.",
            "Notes or totals below the table, from line 6 on, were left out: 3.",
        ],
    ),
    Case(
        "open_quote.csv",
        "only its row is left out",
        LoadOptions(bad_rows="skip"),
        fields="id: int4, text: text",
        records=[[1, "a"], [3, "c"], [4, "d"]],
        notices=[explain_skipped_rows(1)],
        row_errors=[(3, "", "", _OPEN)],
    ),
    Case(
        "stray_quote.csv",
        "text behind a closing quotation mark, and a mark within a text",
        failure=build_bad_rows_message(1, 2, _STRAY),
        row_errors=[(2, "", "", _STRAY)],
    ),
    Case(
        "titles.csv",
        "titles above the header, one with a comma",
        failure=build_bad_rows_message(1, 6, build_cell_count_message(1, 2)),
        notices=["The header was found on line 4; the lines above it were left out."],
        row_errors=[(6, "", "", build_cell_count_message(1, 2))],
    ),
    Case(
        "comments.csv",
        "comments above the header",
        fields="id: int4, name: text",
        records=[[1, "Anna"]],
        notices=["The header was found on line 3; the lines above it were left out."],
    ),
    Case(
        "names.csv",
        "names that are missing, repeated, taken, too long, over lines",
        fields=(
            "id: int4, Name: int4, name: int4, field_4: int4, name_2: int4, _id_2: int4, "
            f"two lines: int4, blanks: int4, tên gọi: int4, {_LONG[:199]}: int4"
        ),
        records=[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
        labels={
            "name_2": "name",
            "_id_2": "_id",
            "two lines": "two\nlines",
            "tên gọi": "tên\xa0gọi",
            _LONG[:199]: _LONG[:299],
        },
        notices=[
            "Fields without a name were named by their position: field_4.",
            "Repeated names got a number: name_2, _id_2.",
        ],
    ),
]
