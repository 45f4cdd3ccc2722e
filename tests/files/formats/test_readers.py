"""What is understood of a file, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.jobs import LoadOptions

from ..failures import fails_with
from ..torture.cases import FILES
from .staging import fetch_rows

pytestmark = pytest.mark.usefixtures("read_here")


def read_rows(path: Path) -> list[tuple[str | None, ...]]:
    with open_table(path, LoadOptions()) as table:
        return [row[1:] for row in fetch_rows(table)]


def read_names(path: Path) -> tuple[str, ...]:
    with open_table(path, LoadOptions()) as table:
        return table.names


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.csv"


def test_utf32_is_read(path: Path) -> None:
    path.write_bytes("tên,giá\nHà Nội,5\nĐà Nẵng,6\n".encode("utf-32"))

    assert read_names(path) == ("tên", "giá")
    assert read_rows(path) == [("Hà Nội", "5"), ("Đà Nẵng", "6")]


@pytest.mark.parametrize(
    ("name", "title"), [("places.gpkg", "GeoPackage"), ("places_shp.zip", "Shapefile")]
)
def test_a_format_names_the_extra_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, name: str, title: str
) -> None:
    monkeypatch.setitem(sys.modules, "datastore_search.contrib.files.formats.geo", None)

    with fails_with(
        "file.extra_missing", match=rf"{title} are read only where datastore-search\[geo\]"
    ):
        read_names(FILES / name)


def test_a_nul_far_down_is_refused(path: Path) -> None:
    path.write_bytes(b"a\n" + b"x\n" * 1_000_000 + b"\0\n")

    with fails_with("file.nul", match="Line 1000002 "):
        read_rows(path)
