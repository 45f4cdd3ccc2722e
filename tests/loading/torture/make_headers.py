"""The files with headers over several rows, several tables on a sheet, or several files."""

from __future__ import annotations

import importlib
import io
from datetime import date

from .make_files import (
    build_archive,
    build_ods,
    build_ods_cell,
    build_ods_table,
    build_ods_texts,
    build_sheet,
    register_builder,
    save_workbook,
)


@register_builder("header_merged.xlsx")
def _build_header_merged() -> bytes:
    """A title, years that are merged over two columns, and a name that is merged over two rows."""
    workbook, sheet = build_sheet(
        ["Budgets of the city"],
        [],
        ["Name", 2020, None, 2021],
        [None, "Budget", "Actual", "Budget", "Actual"],
        ["Roads", 1, 2, 3, 4],
        ["Schools", 5, 6, 7, 8],
    )
    for merged in ("A1:E1", "A3:A4", "B3:C3", "D3:E3"):
        sheet.merge_cells(merged)
    return save_workbook(workbook)


@register_builder("header_spanned.ods")
def _build_header_spanned() -> bytes:
    """The same in an ODS, where a cell spans those that it covers."""
    covered = "<table:covered-table-cell/>"

    def span(cell: str, attribute: str) -> str:
        return cell.replace("<table:table-cell", f"<table:table-cell {attribute}")

    columns, rows = (f'table:number-{name}-spanned="2"' for name in ("columns", "rows"))
    return build_ods(
        build_ods_table(
            "S",
            span(build_ods_texts("Name"), rows)
            + span(build_ods_texts("2020"), columns)
            + covered
            + span(build_ods_texts("2021"), columns)
            + covered,
            covered + build_ods_texts("Budget", "Actual", "Budget", "Actual"),
            build_ods_texts("Roads")
            + "".join(build_ods_cell("float", n, value=n) for n in ("1", "2", "3", "4")),
        )
    )


@register_builder("tables_beside.xlsx")
def _build_tables_beside() -> bytes:
    """Two tables with a blank column between them, and a third one below with its title."""
    return save_workbook(
        build_sheet(
            ["town", "people", None, "year", "rate"],
            ["Huế", 1, None, 2024, 0.5],
            ["Đà Lạt", 2, None, 2025, 0.25],
            ["Hà Nội", 3],
            [],
            ["Vinh", 4],
            [],
            ["Rivers"],
            ["name", "km"],
            ["Red River", 1149],
            ["Hương", 80],
            [],
            ["Source: the ministry"],
        )[0]
    )


def build_shapefile(projection: str = "EPSG:4326", encoding: str = "utf-8") -> dict[str, bytes]:
    """Build a shapefile of two places, one without a shape; built once with pyshp and pyproj."""
    shapefile, pyproj = map(importlib.import_module, ("shapefile", "pyproj"))
    transformer = pyproj.Transformer.from_crs("EPSG:4326", projection, always_xy=True)
    parts = {part: io.BytesIO() for part in ("shp", "shx", "dbf")}
    x, y = transformer.transform(105.8525, 21.0287)
    with shapefile.Writer(**parts, shapeType=shapefile.POINT, encoding=encoding) as writer:
        writer.field("code", "C", 10)
        writer.field("name", "C", 40)
        writer.field("people", "N", 10)
        writer.field("share", "N", 10, 2)
        writer.field("day", "D")
        writer.field("capital", "L")
        writer.point(x, y)
        writer.record("007", "Hà Nội", 8053663, 8.25, date(2024, 3, 5), True)
        writer.null()
        writer.record("12", "Đà Nẵng", None, None, None, None)
    contents = {f"map/places.{part}": content.getvalue() for part, content in parts.items()}
    return contents | {
        "map/places.prj": pyproj.CRS(projection).to_wkt("WKT1_ESRI").encode(),
        "map/places.cpg": encoding.encode(),
        "map/places.sbn": b"an index",
    }


@register_builder("places_shp.zip")
def _build_places() -> bytes:
    return build_archive(build_shapefile())


@register_builder("places_utm_shp.zip")
def _build_places_in_utm() -> bytes:
    """Coordinates in metres."""
    return build_archive(build_shapefile("EPSG:32648"))


@register_builder("heights_shp.zip")
def _build_heights() -> bytes:
    """A polygon with a hole and one with measures, both with heights."""
    shapefile = importlib.import_module("shapefile")
    parts = {part: io.BytesIO() for part in ("shp", "shx", "dbf")}
    with shapefile.Writer(**parts, shapeType=shapefile.POLYGONZ) as writer:
        writer.field("n", "N", 2)
        outer = [(0, 0, 5), (0, 4, 6), (4, 4, 7), (4, 0, 8.5), (0, 0, 5)]
        inner = [(1, 1, 1), (2, 1, 2), (2, 2, 3), (1, 1, 1)]
        writer.polyz([outer, inner])
        writer.record(1)
        writer.polyz([[(*point, 9) for point in outer]])
        writer.record(2)
    contents = {f"map/places.{part}": content.getvalue() for part, content in parts.items()}
    return build_archive(contents | {"map/places.prj": build_shapefile()["map/places.prj"]})


@register_builder("no_prj_shp.zip")
def _build_places_of_unknown_coordinates() -> bytes:
    parts = build_shapefile()
    del parts["map/places.prj"]
    return build_archive(parts)


@register_builder("damaged_shp.zip")
def _build_damaged_places() -> bytes:
    parts = build_shapefile()
    return build_archive(parts | {"map/places.dbf": parts["map/places.dbf"][:40]})


@register_builder("two_shp.zip")
def _build_two_shapefiles() -> bytes:
    parts = build_shapefile()
    others = {name.replace("places", "others"): content for name, content in parts.items()}
    return build_archive(parts | others)
