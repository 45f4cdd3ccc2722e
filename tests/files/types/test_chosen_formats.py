"""Formats that are read by choice only: English names of months, short years, units."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from datastore_search.contrib.files.formats.staging import ROW_ERRORS
from datastore_search.contrib.files.types.field_formats import parse_field_format
from datastore_search.contrib.files.types.inference import decide_formats
from datastore_search.contrib.files.types.options import LoadOptions

from ..failures import fails_with
from ..formats.staging import stage_columns
from .test_field_formats import read_column, read_columns

DAY = "2024-03-12"


@pytest.mark.parametrize(
    ("name", "values", "stored"),
    [
        ("date:dmy,en", ["12 March 2024", "12-mar-2024", "12. MAR 2024"], [DAY] * 3),
        ("date:mdy,en", ["Mar 12, 2024", "March 12 2024", "Mar. 12 2024"], [DAY] * 3),
        ("date:mdyy,en", ["Mar 3, 99", "Mar 3 68", "Mar 3, 2024"],
         ["1999-03-03", "2068-03-03", "2024-03-03"]),
        ("date:dmyy,en", ["03-Feb-21", "03/FEB/69", "3 September 68"],
         ["2021-02-03", "1969-02-03", "2068-09-03"]),
        ("date:ymd,en", ["2024 Oct 12", "0099-OCT-1"], ["2024-10-12", "0099-10-01"]),
        ("date:dmyy", ["3/12/99", "03.12.00", "3-12-2024"],
         ["1999-12-03", "2000-12-03", "2024-12-03"]),
        ("date:yymd", ["24/02/29", "1999-12-31"], ["2024-02-29", "1999-12-31"]),
        ("timestamp:dmyy,en", ["03-Feb-21T14:30", "3 OCT 2021 2:30:05 PM", "3 Feb 2021"],
         ["2021-02-03T14:30:00.000", "2021-10-03T14:30:05.000", "2021-02-03T00:00:00.000"]),
        ("numeric:comma,%", ["12,5 %", "-3%", "+1 000,25\u00a0%"], ["12.5", "-3", "1000.25"]),
        ("numeric:%", ["12.5 %", "0.05%"], ["12.5", "0.05"]),
        ("numeric:comma,€", ["€ 1.234,50", "1.234,50 €", "(€ 5,00)", "€ -7", "-€7", "−7 €"],
         ["1234.50", "1234.50", "-5.00", "-7", "-7", "-7"]),
        ("int4:spaced,kr", ["1 234 kr", "5 kr"], ["1234", "5"]),
        ("int8:comma,₫", ["₫ 1.000.000", "3.000.000.000 ₫"], ["1000000", "3000000000"]),
        ("numeric:point,US$", ["US$1,234.00", "(US$ 1,234.00)", "US$ (2)"],
         ["1234.00", "-1234.00", "-2"]),
    ],
)  # fmt: skip
def test_a_format_by_choice_reads_these_values(
    name: str, values: list[str], stored: list[Any]
) -> None:
    assert read_column(values, types={"x": name}) == (name, stored)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("date:dmy,en", "March 12 2024"),
        ("date:dmy,en", "12 mars 2024"),
        ("date:dmy,en", "12 March 24"),
        ("date:dmy,en", "30 February 2024"),
        ("date:dmy,en", "12/3/2024"),
        ("date:dmy,en", "0 March 2024"),
        ("date:dmy,en", "1 March 0000"),
        ("date:dmyy,en", "1 March 024"),
        ("date:dmyy", "12/31/99"),
        ("date:dmyy", "3/12/999"),
        ("date:dmyy", "29/2/99"),
        ("date:yymd", "3/12/2024"),
        ("timestamp:dmyy,en", "3 Feb 21 24:00"),
        ("numeric:%", "0.05"),
        ("numeric:%", "5 % %"),
        ("numeric:%", "%"),
        ("numeric:comma,€", "$ 5"),
        ("numeric:comma,€", "5"),
        ("numeric:comma,€", "€ 1.5"),
        ("numeric:comma,€", "(€ 5"),
        ("numeric:comma,€", "(-5 €)"),
        ("numeric:comma,€", "€ 5 €"),
        ("int4:%", "3000000000 %"),
    ],
)
def test_a_value_in_another_notation_is_a_row_error(name: str, value: str) -> None:
    with stage_columns({"x": [value]}) as table:
        decide_formats(table, LoadOptions(types={"x": name}))

        assert table.connection.execute(
            f"SELECT line, field, value FROM {ROW_ERRORS}"
        ).fetchall() == [(2, "x", value)]


@pytest.mark.parametrize("style", ["%B", "%b"])
def test_names_of_all_months_are_read_in_each_order(style: str) -> None:
    days = [date(2024, month, 3) for month in range(1, 13)]
    orders = {"dmy": f"%d {style} %Y", "mdy": f"{style} %d, %Y", "ymd": f"%Y {style} %d"}
    chosen = [f"date:{order},en" for order in orders]

    columns = read_columns(
        [[day.strftime(each) for day in days] for each in orders.values()],
        types=dict(zip(("x", "x1", "x2"), chosen, strict=True)),
    )

    assert columns == [(name, [day.isoformat() for day in days]) for name in chosen]


@pytest.mark.parametrize(
    ("values", "options", "outcome"),
    [
        (["3 March 2024", "4 May 2024"], {"date_order": "dmy"}, "date:dmy,en"),
        (["March 3 2024"], {"date_order": "dmy"}, "date:mdy,en"),
        (["2024 Oct 3 14:30"], {"date_order": "dmy"}, "timestamp:ymd,en"),
        (["3 March 24"], {"date_order": "dmy"}, "text"),
        (["3 March 24"], {"date_order": "dmyy"}, "date:dmyy,en"),
        (["3 March 2024"], {}, "text"),
        (["3 March 2024", "n/a"], {"date_order": "dmy"}, "text"),
        (["3/12/24"], {"date_order": "dmyy"}, "date:dmyy"),
        (["3/12/24"], {"date_order": "dmy"}, "text"),
        (["3/12/2024"], {"date_order": "dmyy"}, "date:dmy"),
        (["31/12/2024"], {"date_order": "mdyy"}, "date:dmy"),
        (["5 %"], {}, "text"),
        (["1 234 567", "2 345 678"], {}, "text"),  # like telephone numbers
        (["1 234 567", "345 678"], {}, "int4:spaced"),
        (["12 345", "23 456"], {}, "int4:spaced"),
    ],
)
def test_options_of_a_load_allow_formats(
    values: list[str], options: dict[str, Any], outcome: str
) -> None:
    assert read_column(values, **options)[0] == outcome


@pytest.mark.parametrize(
    "name",
    ["date:dmy,xx", "date:dmy,fr", "date:dmy,", "date:en", "numeric:point,()", "time:dmyy",
     "numeric:comma,1", "numeric:,%", "float8:%", "numeric:{v}", "numeric:comma,-", "int4:a,b,c",
     "numeric:" + "x" * 21],
)  # fmt: skip
def test_what_is_no_format_is_refused(name: str) -> None:
    with fails_with("option.unknown_type"):
        parse_field_format(name)
