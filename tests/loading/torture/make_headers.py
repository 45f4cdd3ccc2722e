"""The files with headers over several rows, several tables on a sheet, or several files."""

from __future__ import annotations

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


@register_builder("years.zip")
def _build_years() -> bytes:
    """Two files of one header in other orders and dialects, a workbook, and a note."""
    workbook = build_sheet(["town", "n"], ["Cần Thơ", 6])[0]
    return build_archive(
        {
            "2024.csv": "town,n\nHuế,1\nVinh,2\n",
            "more/2025.csv": "n;town\n3;Hà Nội\n4\n5;Đà Lạt\n",
            "2026.xlsx": save_workbook(workbook),
            "README.txt": "Towns, and how many\n",
        }
    )
