"""What is understood of a file, and what is refused."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path

import pytest

from datastore_search.loading.jobs import LoadOptions
from datastore_search.loading.readers.headers import make_unique_names
from datastore_search.loading.readers.process import open_table
from datastore_search.table_limits import MAX_FIELDS

from ...failures import fails_with
from ..torture.cases import FILES
from .staging import fetch_rows

pytestmark = pytest.mark.usefixtures("read_here")

VIETNAMESE = "tên,giá\nHà Nội,5\nĐà Nẵng,6\n"


def read_rows(path: Path) -> list[tuple[str | None, ...]]:
    with open_table(path, LoadOptions()) as table:
        return [row[1:] for row in fetch_rows(table)]


def read_names(path: Path) -> tuple[str, ...]:
    with open_table(path, LoadOptions()) as table:
        return table.names


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.csv"


@pytest.mark.parametrize(
    "encoded",
    [
        VIETNAMESE.encode(),
        VIETNAMESE.encode("utf-8-sig"),
        VIETNAMESE.encode("utf-16"),
        codecs.BOM_UTF16_BE + VIETNAMESE.encode("utf-16-be"),
        VIETNAMESE.encode("utf-32"),
    ],
    ids=["utf-8", "utf-8 bom", "utf-16 le", "utf-16 be", "utf-32"],
)
def test_unicode_is_read_in_any_encoding(path: Path, encoded: bytes) -> None:
    path.write_bytes(encoded)

    assert read_names(path) == ("tên", "giá")
    assert read_rows(path) == [("Hà Nội", "5"), ("Đà Nẵng", "6")]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "name,town\nJosé,Málaga\nFrançois,Orléans\nJürgen,Köln\n"),
        ("cp1251", "имя,город\nИван,Москва\nОльга,Санкт-Петербург\n"),
        ("cp1256", "الاسم,المدينة\nمحمد,القاهرة\n"),
        ("cp932", "名前,都市\n太郎,東京\n花子,大阪府\n"),
        ("gb18030", "名字,城市\n张三,北京市\n李四,上海\n"),
    ],
)
def test_other_encodings_are_recognised(path: Path, encoding: str, text: str) -> None:
    path.write_bytes(text.encode(encoding))

    header, *rows = [tuple(line.split(",")) for line in text.strip().split("\n")]
    assert read_names(path) == header
    assert read_rows(path) == rows


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_dialect_is_recognised(path: Path, delimiter: str, ending: str) -> None:
    lines = ["a", "b", "c"], ["1", '"x y"', "2"], ["3", f'"u{delimiter}v"', "4"]
    path.write_bytes(ending.join(delimiter.join(line) for line in lines).encode())

    assert read_names(path) == ("a", "b", "c")
    assert read_rows(path) == [("1", "x y", "2"), ("3", f"u{delimiter}v", "4")]


def test_quotes_hold_line_breaks_and_quotes(path: Path) -> None:
    path.write_text('a,b\n"x\ny",1\n"q ""z""",2\n')

    assert read_rows(path) == [("x\ny", "1"), ('q "z"', "2")]


def test_an_empty_cell_is_null_and_a_quoted_one_is_empty(path: Path) -> None:
    path.write_text('a,b\n1,\n"",2\n')

    assert read_rows(path) == [("1", None), ("", "2")]


def test_a_single_field_needs_no_delimiter(path: Path) -> None:
    path.write_text('title\nhello world\n"a, b"\n')

    assert read_rows(path) == [("hello world",), ("a, b",)]


def test_a_header_of_numbers_is_a_header(path: Path) -> None:
    path.write_text("2019,2020\n1,2\n")

    assert read_names(path) == ("2019", "2020")
    assert read_rows(path) == [("1", "2")]


def test_a_header_alone_is_a_table_without_rows(path: Path) -> None:
    path.write_text("a,b\n")

    assert read_names(path) == ("a", "b")
    assert read_rows(path) == []


def test_five_hundred_fields_are_read(path: Path) -> None:
    path.write_text(",".join(f"f{i}" for i in range(500)) + "\n" + ",".join("1" * 500) + "\n")

    assert len(read_names(path)) == 500
    assert read_rows(path) == [("1",) * 500]


def test_names_are_unique_and_never_empty() -> None:
    header = ("a", "a", "", "a_2", "_id", "  x\ny ", "e\u0301", "n" * 300)

    names = make_unique_names(header)

    assert names == ("a", "a_2", "field_3", "a_2_2", "_id_2", "x y", "é", "n" * 200)


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (b"", "file.empty"),
        (b"\n \n", "file.empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "file.unsupported_format"),
        (b"a,b\n1,x\0y\n", "file.binary"),
        (",".join(f"f{i}" for i in range(MAX_FIELDS + 1)).encode() + b"\n", "file.too_many_fields"),
    ],
)
def test_what_is_no_table_is_refused(path: Path, content: bytes, failure: str) -> None:
    path.write_bytes(content)

    with fails_with(failure) as refusal:
        read_rows(path)

    assert str(path.parent) not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "reader", "title"),
    [
        ("places.gpkg", "geopackage", "GeoPackage"),
        ("places_shp.zip", "shapefile_reader", "Shapefile"),
    ],
)
def test_a_format_names_the_extra_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, name: str, reader: str, title: str
) -> None:
    monkeypatch.setitem(sys.modules, f"datastore_search.loading.readers.{reader}", None)

    with fails_with(
        "file.extra_missing", match=rf"{title} are read only where datastore-search\[geo\]"
    ):
        read_names(FILES / name)


def test_a_nul_far_down_is_refused(path: Path) -> None:
    path.write_bytes(b"a\n" + b"x\n" * 1_000_000 + b"\0\n")

    with fails_with("file.binary"):
        read_rows(path)


def test_ragged_rows_are_faults_by_line(path: Path) -> None:
    path.write_text("a,b\n1,2\n1,2,3\n4\n5,6\n")

    with open_table(path, LoadOptions()) as table:
        lines = table.connection.execute("SELECT line FROM row_errors ORDER BY line").fetchall()

    assert lines == [(3,), (4,)]
