"""Rows and their lines, read by DuckDB or row by row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from datastore_search.contrib.files.formats import delimited, delimited_rows
from datastore_search.contrib.files.formats.delimited_layout import Layout, find_layout
from datastore_search.contrib.files.formats.delimited_rows import Dialect
from datastore_search.contrib.files.formats.row_writer import MAX_ROW_BYTES
from datastore_search.contrib.files.formats.staging import ROW_ERRORS, STAGED_ROWS
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.messages import BadRow

from ..builders import fails_with
from .staging import fetch_rows, read_in_process, temporary_staging_area

#: The line, and the cells.
Rows = list[tuple[object, ...]]
#: The line, and the message.
Errors = list[tuple[int, str]]

NO_OPTIONS = LoadOptions()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.csv"


def read_file(path: Path, options: LoadOptions = NO_OPTIONS) -> tuple[Rows, Errors]:
    with read_in_process(path, options) as table:
        query = f"SELECT line, error FROM {ROW_ERRORS} ORDER BY line"
        errors = table.connection.execute(query).fetchall()
        return fetch_rows(table), [
            (line, str(BadRow.from_json(json.loads(error)))) for line, error in errors
        ]


def read_names(path: Path, options: LoadOptions = NO_OPTIONS) -> tuple[str, ...]:
    with read_in_process(path, options) as table:
        return table.names


# All ways -----------------------------------------------------------------------------------------


def read_regular(path: Path, layout: Layout) -> Rows | None:
    with temporary_staging_area() as staging_area:
        if not delimited._stage_regular(path, layout, staging_area):
            return None
        return staging_area.connection.execute(f"SELECT * FROM {STAGED_ROWS}").fetchall()


def read_row_by_row(path: Path, layout: Layout) -> tuple[Rows, int]:
    with temporary_staging_area() as staging_area:
        delimited._stage_row_by_row(path, layout, staging_area)
        execute = staging_area.connection.execute
        rows = execute(f"SELECT * FROM {STAGED_ROWS}").fetchall()
        return rows, len(execute(f"SELECT line FROM {ROW_ERRORS}").fetchall())


CELLS = st.sampled_from(
    [
        *("", "1", " x ", "é", "\t", '5"', '"q"', '""', '"a,b"', '"n\nl"', '"n\r\nl"', '"d""q"'),
        *(' "s" ', '"', '"x"y'),
    ]
)
LINES = st.lists(CELLS, min_size=1, max_size=3).map(",".join)


@hypothesis_settings(max_examples=40, deadline=None)
@given(width=st.integers(1, 3), lines=st.lists(LINES, max_size=6), ending=st.sampled_from("\n\r"))
def test_both_ways_find_the_same_rows_on_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, width: int, lines: Sequence[str], ending: str
) -> None:
    path = tmp_path_factory.mktemp("both") / "file.csv"
    header = ",".join(f"h{position}" for position in range(width))
    path.write_bytes(ending.join([header, *lines, ""]).encode())
    layout = find_layout(path, LoadOptions(delimiter=",", skip=0))

    rows = read_regular(path, layout)
    expected, errors = read_row_by_row(path, layout)

    assert rows is None or (rows, 0) == (expected, errors)


@pytest.mark.parametrize(
    ("content", "is_regular"),
    [
        (b"a,b\n1,2\n3,4\n", True),
        (b'a,b\r\n1,"x\ny"\r\n3,"z\r\n"\r\n', True),
        (b'a,b\r1,"x\ry"\r3,4', True),
        (b"a,b\n1,2,\n\n\n", True),
        (b"a\n1\n\n2\n", True),
        (b"a,b\n\n1,2\n", False),
        (b"a,b\n1,2\n3\n", False),
        (b"a,b\n1,2\r\n3,4\n", False),
        (b'a,b\n1,"2\r3"\n', False),
        (b"a\n1\n\n", False),
    ],
)
def test_duckdb_alone_reads_what_is_regular(path: Path, content: bytes, is_regular: bool) -> None:
    path.write_bytes(content)

    rows = read_regular(path, find_layout(path, NO_OPTIONS))

    assert (rows is not None) is is_regular


def test_a_row_that_duckdb_passes_over_is_found(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_USUAL_ROW_BYTES", 1_000)
    path.write_text(f"a,b\n1,{'x' * 5_000}\n2,y\n")

    rows, errors = read_file(path)

    assert rows == [(2, "1", "x" * 5_000), (3, "2", "y")]
    assert errors == []


@pytest.mark.parametrize("name", ["[ab]*.csv", "plain.csv.gz", "it's.csv", "a.csv?b", "dữ liệu"])
def test_no_name_misleads_duckdb(path: Path, name: str) -> None:
    path.with_name("a.csv").write_text("x\n1\n")
    named = path.with_name(name)
    named.write_text("a,b\n1,2\n")

    assert read_file(named) == ([(2, "1", "2")], [])


# Lines --------------------------------------------------------------------------------------------


def test_each_row_has_the_line_on_which_it_begins(path: Path) -> None:
    path.write_bytes(
        b'\n"a\nname",b\n\n1,"x\n\ny"\n2\n3,4\n"bad" x,5\n6,"z\r\nz"\n\n\n7,8,9\n10,"11"\n\n'
    )

    rows, errors = read_file(path)

    assert [row[0] for row in rows] == [5, 9, 11, 16]
    assert [line for line, _why in errors] == [8, 10, 15]


def test_lines_of_a_long_file_are_right_to_the_end(path: Path) -> None:
    blocks = "1,one\n" * 999 + '2,"two\nlines"\n'
    path.write_text("a,b\n" + blocks * 100)

    rows, _errors = read_file(path)

    assert len(rows) == 100_000
    assert rows[0] == (2, "1", "one")
    assert rows[999] == (1_001, "2", "two\nlines")
    assert rows[-1] == (100 * 1_001, "2", "two\nlines")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_apostrophes_in_a_single_field_are_no_quotation_marks(path: Path, end: str) -> None:
    text = """As they say:{}   'It is ""open""{} and free.'{}'So is ""this""{} file.'"""
    path.write_bytes(f'text{end}"{text}"{end}'.replace("{}", end).encode())

    rows, errors = read_file(path)

    assert [str(row[1]).splitlines() for row in rows] == [
        ["As they say:", '   \'It is "open"', " and free.'", '\'So is "this"', " file.'"]
    ]
    assert not errors


def test_quotes_left_open_again_and_again_are_no_table(path: Path) -> None:
    path.write_text("a,b\n" + 'a","b\n' * 100)

    with fails_with("file.unknown_dialect"):
        read_file(path, LoadOptions(delimiter=","))


def test_a_cell_of_four_megabytes_is_read(path: Path) -> None:
    long = "é" * (2 * 2**20) + "\n" + "x" * 1_000
    path.write_text(f'a,b\n1,"{long}"\n2\n3,y\n')

    rows, errors = read_file(path)

    assert rows == [(2, "1", long), (5, "3", "y")]
    assert errors == [(4, "The header has 2 cells; the row has 1.")]


@pytest.mark.parametrize(
    "cell", ["x" * 17 * 2**20, f'"{"x" * 17 * 2**20}"', '"' + ("x" * 16 + "\n") * 2**20 + '"']
)
def test_a_row_that_is_too_long_is_a_fault_and_costs_no_other(path: Path, cell: str) -> None:
    path.write_text(f"a,b\n1,{cell}\n2,y\n")

    rows, errors = read_file(path)

    assert rows == [(3 + cell.count("\n"), "2", "y")]
    assert errors == [(2, "The row is longer than 16 MB.")]


def test_of_a_line_without_end_only_the_start_is_kept() -> None:
    longest = max(
        len(text)
        for text, _end in delimited_rows._read_lines(BytesIO(b"x" * 40 * 2**20 + b"\ny"), 0, b'"')
    )

    assert longest <= MAX_ROW_BYTES + 2 * delimited_rows._BLOCK_BYTES


@pytest.mark.parametrize(
    ("dialect", "text", "cells"),
    [
        (Dialect(","), b'a,"b,c",', ["a", "b,c", ""]),
        (Dialect(","), b' a , "b" ,"c""d"', [" a ", "b", 'c"d']),
        (Dialect("||"), b'a|b||"c||d"||e', ["a|b", "c||d", "e"]),
        (Dialect(",", escape="\\"), rb'"a\"b","c\\"', ['a"b', "c\\"]),
        (Dialect(" "), b'a "b c" d', ["a", "b c", "d"]),
        (Dialect("·"), "a·b".encode(), ["a", "b"]),
    ],
)
def test_cells_are_split(dialect: Dialect, text: bytes, cells: list[str]) -> None:
    assert dialect.split_cells(text) == cells


# The layout ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("a;b\n1,5;2,5\n3,5;4,5\n", ("a", "b")),
        ("a,x;b,y\n1,5;2,5\n3,5;4,5\n", ("a,x", "b,y")),
        ("text\nhello, world\nfoo, bar\n", ("text",)),
        ("name, age\nAnna, 30\n", ("name", "age")),
        ("id,tags\n1,a;b\n2,c;d\n", ("id", "tags")),
        ('id,data\n1,"{""a"": 1; ""b"": 2}"\n', ("id", "data")),
        ("a,b,c\n1,2\n3,4\n5,6\n", ("a", "b", "c")),
        ("Report\na,b\n1,2\n3,4\n", ("a", "b")),
        ("Report\n\nname,town\nAnna,Ulm\n", ("name", "town")),
        ("a,b\nx,y,z\nq,r,s\n", ("a", "b")),
        ("id,,\n1,x,y\n2,z,w\n", ("id", "field_2", "field_3")),
        ("2019,2020\n1,2\n", ("2019", "2020")),
        ("#id,name\n1,Anna\n", ("#id", "name")),
        ("Name; notice\n", ("Name", "notice")),
        ("don't,won't\n'tis,'twas\n", ("don't", "won't")),
        ("a\n1,5\n2,5\n", ("a",)),
        # Titles of several cells, whole and padded as Excel saves them.
        ("Income: Taipei,Unit: 1000\na,b,c,d\nx,y,1,2\nz,w,3,4\n", ("a", "b", "c", "d")),
        ("Income: Taipei,,,Unit: 1000\na,b,c,d\nx,y,1,2\nz,w,3,4\n", ("a", "b", "c", "d")),
        ("Income;;Unit: 1000;\na;b;c;d\nx;y;z;w\nq;r;s;t\n", ("a", "b", "c", "d")),
        ("Source,Ministry\nDate,2024-05-01\na,b,c,d\nx,y,1,2\n", ("a", "b", "c", "d")),
        ("Source,Ministry,\nDate,2024-05-01,\n,,\na,b,c\nx,1,2\n", ("a", "b", "c")),
        ("Source,Ministry\nDate,2024-05-01\n\na,b,c\nx,1,2\n", ("a", "b", "c")),
        ("Title,,,,\nSource,,,Unit,\na,b,c,d,e\nx,y,1,2,3\n", ("a", "b", "c", "d", "e")),
        ("a,,c\n,,\nx,y,z\nq,r,s\n", ("a", "field_2", "c")),
        ("2024,Report\na,2019,2020,2021\nx,1,2,3\ny,4,5,6\n", ("a", "2019", "2020", "2021")),
        # What R writes, whose header lacks the name of the first column, and sparse headers.
        ("a,b,c\nr1,x,NA,1\nr2,y,2,1\n", ("a", "b", "c")),
        ("a,b,,\nx,y,1,2\nz,w,3,4\n", ("a", "b", "field_3", "field_4")),
        (",a,b,c\n0,x,y,z\n1,q,r,s\n", ("field_1", "a", "b", "c")),
    ],
)
def test_the_header_and_its_delimiter_are_found(
    path: Path, content: str, names: tuple[str, ...]
) -> None:
    path.write_text(content)

    assert read_names(path) == names


def test_lines_to_skip_are_not_searched_for_titles(path: Path) -> None:
    path.write_text("Report\n\na,b\n1,2\n")

    assert read_names(path, LoadOptions(skip=0, delimiter=",")) == ("Report",)
    assert read_names(path, LoadOptions(skip=2)) == ("a", "b")
    assert read_names(path, LoadOptions(skip=3)) == ("1", "2")
    for skip in (4, 10**30):
        with fails_with("file.nothing_below_skipped"):
            read_file(path, LoadOptions(skip=skip))


@pytest.mark.parametrize("delimiter", ["\n", '"', "'", "\\", "a\rb", "12345", "\0"])
def test_what_cannot_be_a_delimiter_is_refused(path: Path, delimiter: str) -> None:
    path.write_text("a,b\n")

    with fails_with("option.invalid_delimiter"):
        read_file(path, LoadOptions(delimiter=delimiter))


@pytest.mark.parametrize("delimiter", ["tab", "TAB", "\\t", "\t"])
def test_a_delimiter_may_be_a_word(path: Path, delimiter: str) -> None:
    path.write_text("a,b\tc\n")

    assert read_names(path, LoadOptions(delimiter=delimiter)) == ("a,b", "c")


# Encodings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("position", [2**20 - 1, 2**20, 2**20 + 1])
def test_a_tone_in_the_next_block_is_joined_to_its_vowel(path: Path, position: int) -> None:
    start = b"a,t\xean\n"
    path.write_bytes(start + b"x" * (position - len(start)) + b"\xf4\xf2,H\xe0 N\xf4\xf2i\n")

    ((_line, first, second),), _errors = read_file(path, LoadOptions(encoding="windows-1258"))

    assert (str(first)[-1], second) == ("ộ", "Hà Nội")


def test_utf32_is_read(path: Path) -> None:
    path.write_bytes("tên,giá\nHà Nội,5\n".encode("utf-32"))

    assert read_names(path) == ("tên", "giá")
    assert read_file(path) == ([(2, "Hà Nội", "5")], [])


def test_letters_far_down_decide_the_encoding(path: Path) -> None:
    path.write_bytes(b"a,b\n" + b"x,1\n" * 300_000 + "São Paulo,2\nJoão,3\n".encode("cp1252"))

    with read_in_process(path, NO_OPTIONS) as table:
        assert [row[1] for row in fetch_rows(table)[-2:]] == ["São Paulo", "João"]
        (notice,) = table.notices
        assert notice.parameters == {"encoding": "Windows-1252"}


@pytest.mark.parametrize(
    ("content", "options", "failure"),
    [
        (b"a\n\xe9\n", LoadOptions(encoding="utf-8"), "file.wrong_encoding"),
        (b"a\n\x81\n", LoadOptions(encoding="cp1252"), "file.wrong_encoding"),
        (b"a\n1\n\0", LoadOptions(encoding="utf-16"), "file.wrong_encoding"),
        (b"a\0b\n", LoadOptions(encoding="latin-1"), "file.nul"),
        (b"a\n1\n", LoadOptions(encoding="base64"), "option.unknown_encoding"),
        (b"a\n1\n", LoadOptions(encoding="unicode_escape"), "option.unknown_encoding"),
        (b"a\n1\n", LoadOptions(encoding="no\0name"), "option.unknown_encoding"),
        ("é\n".encode() * 50 + b"\xe9\n", NO_OPTIONS, "file.damaged_utf8"),
        (b"\x01\x02\x03\xff\xfe\n" * 10, NO_OPTIONS, "file.binary"),
        ("a,b\n1,2\n".encode("utf-16-le") + b"\x01\0", NO_OPTIONS, "file.binary"),
    ],
)
def test_what_is_not_in_its_encoding_is_refused(
    path: Path, content: bytes, options: LoadOptions, failure: str
) -> None:
    path.write_bytes(content)

    with fails_with(failure):
        read_file(path, options)


# Empty rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "rows", "notices"),
    [
        ("no,name\n1,A\n,\n2,B\n,\n3,C\n", [(2, "1"), (4, "2"), (6, "3")], [2]),
        ("no;name;x\n1;A;\n;;\n;\n2;B;\n;;;;\n", [(2, "1"), (5, "2")], [3]),
        ('a,b\n1,2\n"",""\n', [(2, "1"), (3, "")], []),
        ("a,b\n1,2\n , \n", [(2, "1"), (3, " ")], []),
        ('a\n1\n\n""\n2\n', [(2, "1"), (3, None), (4, ""), (5, "2")], []),
        ("a,\n1,\n,\n2,\n", [(2, "1"), (4, "2")], [1]),
        ("a,b\n1,2\n" + ",\n" * 3_000, [(2, "1")], [3_000]),
        ("a,b\n,\n", [], [1]),
    ],
)
def test_rows_of_delimiters_alone_are_left_out_with_their_number(
    path: Path, content: str, rows: list[tuple[Any, ...]], notices: list[int]
) -> None:
    path.write_text(content)

    with read_in_process(path, NO_OPTIONS) as table:
        found = table.connection.execute(f"SELECT line, f0 FROM {STAGED_ROWS} ORDER BY line")
        assert found.fetchall() == rows
        assert table.count_row_errors() == 0
        assert [
            notice.parameters["count"]
            for notice in table.notices
            if notice.code == "notice.empty_rows"
        ] == notices


# Formats ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name", "names"),
    [
        (b'[{"a": 1}]', "data.csv", ("a",)),
        (b'\xef\xbb\xbf \n {"a": 1}\n{"a": 2}\n', "data", ("a",)),
        ('[{"a": 1}]'.encode("utf-16"), "data.json", ("a",)),
        (b"[id],[name]\n1,x\n", "data.csv", ("[id]", "[name]")),
        (b"{id};name\n1;x\n", "data.json.csv", ("{id}", "name")),
        (b"a,b\n1,2\n", "data.json", ("a", "b")),
        (b"a,b\n1,2\n", "data.xlsx", ("a", "b")),
    ],
)
def test_the_content_tells_the_format_before_the_name(
    path: Path, content: bytes, name: str, names: tuple[str, ...]
) -> None:
    path.write_bytes(content)

    with read_in_process(path, NO_OPTIONS, name=name) as table:
        assert table.names == names


def test_a_pointer_to_a_file_is_refused_with_what_to_do(path: Path) -> None:
    path.write_bytes(b"/annex/objects/SHA256E-s5--00.csv\n")

    with fails_with("file.pointer", match="Download that file"):
        read_file(path)


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
@pytest.mark.parametrize(
    ("damage", "failure"), [(b"a\0b", "file.nul"), (b"\xe9", "file.damaged_utf8")]
)
@pytest.mark.parametrize("before", [300, 300_000])
def test_a_damaged_line_has_its_number_whatever_ends_the_lines(
    path: Path, end: bytes, damage: bytes, failure: str, before: int
) -> None:
    good = "name,São".encode()
    path.write_bytes(end.join([*[good] * before, damage, *[good] * 100]))

    with fails_with(failure, match=rf"line {before + 1} |Line {before + 1} "):
        read_file(path)
