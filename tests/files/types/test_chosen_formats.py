"""Formats that are read by choice only: names of months, short years, units of numbers."""

from __future__ import annotations

from typing import Any

import pytest

from datastore_search.contrib.files.formats.staging import ROW_ERRORS
from datastore_search.contrib.files.types.chosen_formats import parse_field_format
from datastore_search.contrib.files.types.inference import decide_formats
from datastore_search.contrib.files.types.options import LoadOptions
from datastore_search.contrib.files.types.written_dates import (
    find_month_names,
    list_month_languages,
)

from ..failures import fails_with
from ..formats.staging import stage_columns
from .test_field_formats import read_column, read_columns

DAY = "2024-03-12"


@pytest.mark.parametrize(
    ("name", "values", "stored"),
    [
        ("date:dmy,vi", ["12 tháng 3 2024", "ngày 12 Tháng 03 năm 2024"], [DAY] * 2),
        ("date:dmy,fr", ["12 mars 2024", "12 MARS 2024", "12 mars. 2024"], [DAY] * 3),
        ("date:dmy,fr", ["1er février 2024", "1 févr. 2024", "1 fév 2024"], ["2024-02-01"] * 3),
        ("date:dmy,es", ["12 de marzo de 2024", "12-mar-2024"], [DAY] * 2),
        ("date:dmy,de", ["12. März 2024", "12. Ma\u0308rz 2024"], [DAY] * 2),
        ("date:mdy,en", ["Mar 12, 2024", "March 12th 2024", "Mar. 12 2024"], [DAY] * 3),
        ("date:mdyy,en", ["Mar 3, 99", "Mar 3, '68", "Mar 3, 2024"],
         ["1999-03-03", "2068-03-03", "2024-03-03"]),
        ("date:dmyy,en", ["03-Feb-21", "03FEB69", "3 Sept 68"],
         ["2021-02-03", "1969-02-03", "2068-09-03"]),
        ("date:dmyy", ["3/12/99", "03.12.00", "3-12-2024"],
         ["1999-12-03", "2000-12-03", "2024-12-03"]),
        ("date:yymd", ["24/02/29", "1999-12-31"], ["2024-02-29", "1999-12-31"]),
        ("timestamp:dmyy,en", ["03-Feb-21 14:30", "3 Feb 2021 2:30:05 PM", "3 Feb 2021"],
         ["2021-02-03T14:30:00.000", "2021-02-03T14:30:05.000", "2021-02-03T00:00:00.000"]),
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
        ("date:dmy,fr", "12 March 2024"),
        ("date:dmy,fr", "mars 12 2024"),
        ("date:dmy,fr", "12 mars 24"),
        ("date:dmy,fr", "30 février 2024"),
        ("date:dmy,fr", "12/3/2024"),
        ("date:dmy,fr", "0 mars 2024"),
        ("date:mdy,vi", "3 tháng 2 2024"),
        ("date:dmy,vi", "3 tháng 22024"),
        ("date:dmy,vi", "3 tháng 13 2024"),
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


def test_each_language_has_names_of_all_months() -> None:
    for language in list_month_languages():
        names = find_month_names(language)
        assert names is not None
        assert set(names.months.values()) == {*range(1, 13)}, language


@pytest.mark.parametrize("language", list_month_languages())
def test_dates_of_each_language_are_read_in_each_order(language: str) -> None:
    names = find_month_names(language)
    assert names is not None
    templates = {"dmy": "3 {} 2024", "mdy": "{} 3, 2024", "ymd": "2024 {} 3"}
    stored = [f"2024-{month:02}-03" for month in names.months.values()]
    chosen = [f"date:{order},{language}" for order in templates]

    columns = read_columns(
        [[each.format(name) for name in names.months] for each in templates.values()],
        types=dict(zip(("x", "x1", "x2"), chosen, strict=True)),
    )

    assert columns == [(name, stored) for name in chosen]


@pytest.mark.parametrize(
    ("values", "options", "outcome"),
    [
        (["3 mars 2024", "4 mai 2024"], {"date_language": "fr"}, "date:dmy,fr"),
        (["mars 3 2024"], {"date_language": "fr"}, "date:mdy,fr"),
        (["2024 mars 3 14:30"], {"date_language": "fr"}, "timestamp:ymd,fr"),
        (["3 mars 24"], {"date_language": "fr"}, "text"),
        (["3 mars 24"], {"date_language": "fr", "date_order": "dmyy"}, "date:dmyy,fr"),
        (["3 mars 2024"], {}, "text"),
        (["3 mars 2024", "n/a"], {"date_language": "fr"}, "text"),
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
    ["date:dmy,xx", "numeric:point,()", "date:yy,fr", "time:dmyy", "numeric:comma,1", "numeric:,%",
     "float8:%", "numeric:{v}", "numeric:comma,-", "int4:a,b,c", "numeric:" + "x" * 21],
)  # fmt: skip
def test_what_is_no_format_is_refused(name: str) -> None:
    with fails_with("option.unknown_type"):
        parse_field_format(name)
