"""Places that GDAL reads, and what it must not read."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
from pathlib import Path

import pyogrio
import pytest

from datastore_search.contrib.files.formats import geo
from datastore_search.contrib.files.formats.process import open_table
from datastore_search.contrib.files.formats.staging import ROW_ERRORS
from datastore_search.contrib.files.jobs import LoadOptions

from ..builders import fails_with
from ..contents import build_geometry, build_geopackage, build_wkb
from ..torture.cases import FILES
from .staging import fetch_rows

pytestmark = pytest.mark.usefixtures("read_here")

_KML = '<kml xmlns="http://www.opengis.net/kml/2.2">{}</kml>'


def test_gdal_has_only_the_drivers_of_places() -> None:
    assert geo.__name__
    assert set(pyogrio.list_drivers()) == {"ESRI Shapefile", "GPKG", "GPX", "LIBKML"}


@pytest.mark.parametrize(
    "content",
    [
        _KML.format("<Placemark/>") + "<OGRVRTDataSource>{}</OGRVRTDataSource>",
        "<!-- <OGRVRTDataSource> -->" + _KML.format("<OGRVRTDataSource>{}</OGRVRTDataSource>"),
    ],
)
def test_a_document_names_no_other_file(tmp_path: Path, content: str) -> None:
    secret, path = tmp_path / "secret.csv", tmp_path / "places.kml"
    secret.write_text("name\nsecret\n")
    layer = f'<OGRVRTLayer name="secret"><SrcDataSource>{secret}</SrcDataSource></OGRVRTLayer>'
    path.write_text(content.format(layer))

    with fails_with("geo.damaged"), open_table(path, LoadOptions()):
        pass


def test_coordinates_that_no_system_has_make_a_bad_row(tmp_path: Path) -> None:
    points = ((0.0, 0.0), (1e300, 1e300), (0.0, float("inf")))
    shapes = [(build_geometry(build_wkb(1, *point), system=3857),) for point in points]
    script = "CREATE TABLE t (geom POINT);"
    path = tmp_path / "points.gpkg"
    path.write_bytes(build_geopackage(script, {"t": shapes}, layers={"t": "features"}, system=3857))

    with open_table(path, LoadOptions()) as table:
        errors = table.connection.execute(f"SELECT line FROM {ROW_ERRORS} ORDER BY line").fetchall()
        assert [line for line, _geometry in fetch_rows(table)] == [1]

    assert errors == [(2,), (3,)]


def change_shapefile(**changes: bytes | None) -> bytes:
    """Build the shapefile of the torture folder with other parts, or without them."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(FILES / "places_shp.zip") as source,
        zipfile.ZipFile(target, "w") as archive,
    ):
        for name in source.namelist():
            content = changes.get(name.rsplit(".", 1)[-1], source.read(name))
            if content is not None:
                archive.writestr(name, content)
    return target.getvalue()


def build_dbf(text: bytes, name: bytes = b"name") -> bytes:
    """Build a DBF of two records with one field of 10 bytes."""
    field = struct.pack("<11sc4xBB14x", name, b"C", 10, 0)
    header = struct.pack("<4BLHH20x", 3, 124, 1, 1, 2, 32 + len(field) + 1, 11)
    return header + field + b"\r" + b" " + text.ljust(10) + b" " + b"b".ljust(10) + b"\x1a"


@pytest.mark.parametrize(
    ("text", "label", "encoding"),
    [("Huế", None, ""), ("Málaga", "1252", ""), ("Málaga", "UTF-8", "windows-1252")],
)
def test_texts_have_the_encoding_that_is_chosen_declared_or_utf8(
    tmp_path: Path, text: str, label: str | None, encoding: str
) -> None:
    path = tmp_path / "places.zip"
    dbf = build_dbf(text.encode("utf-8" if label is None else "cp1252"))
    path.write_bytes(change_shapefile(dbf=dbf, cpg=label.encode() if label else None))

    with open_table(path, LoadOptions(encoding=encoding)) as table:
        assert fetch_rows(table)[0][1] == text


def test_a_field_that_is_called_like_a_key_stays(tmp_path: Path) -> None:
    path = tmp_path / "places.zip"
    path.write_bytes(change_shapefile(dbf=build_dbf(b"007", b"OGC_FID")))

    with open_table(path, LoadOptions()) as table:
        assert table.names == ("OGC_FID", "geometry")


def test_texts_of_an_unknown_encoding_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "places.zip"
    path.write_bytes(change_shapefile(dbf=build_dbf("Málaga".encode("cp1252")), cpg=None))

    with fails_with("file.unknown_encoding"), open_table(path, LoadOptions()):
        pass


@pytest.mark.parametrize(
    ("name", "title"), [("places.gpkg", "GeoPackage"), ("places_shp.zip", "Shapefile")]
)
def test_a_format_names_the_extra_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, name: str, title: str
) -> None:
    monkeypatch.setitem(sys.modules, geo.__name__, None)
    expected = rf"{title} are read only where datastore-search\[geo\]"

    with fails_with("file.extra_missing", expected), open_table(FILES / name, LoadOptions()):
        pass


def test_another_coordinate_system_of_geojson_names_the_extra_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, geo.__name__, None)
    path = tmp_path / "places.geojson"
    path.write_text(
        '{"type": "FeatureCollection", "features": [],'
        ' "crs": {"properties": {"name": "urn:ogc:def:crs:EPSG::25832"}}}'
    )
    expected = r"GeoJSON, EPSG:25832 are read only where datastore-search\[geo\]"

    with fails_with("file.extra_missing", expected), open_table(path, LoadOptions()):
        pass
