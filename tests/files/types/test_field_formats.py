"""Whatever format a column has, its texts can be written again."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from datastore_search.contrib.files.formats.staging import ROW_ERRORS
from datastore_search.contrib.files.jobs import LoadOptions
from datastore_search.contrib.files.types.field_formats import field_formats, parse_field_format
from datastore_search.contrib.files.types.inference import decide_formats

from ..builders import fails_with
from ..formats.staging import render_records, stage_columns
from .spellings import (
    PARSERS,
    WRITERS,
    Spelling,
    list_date_spellings,
    list_decimal_spellings,
    list_iso_spellings,
    list_moment_spellings,
)

thorough = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read_columns(
    columns: Sequence[Sequence[str | None]], **options: Any
) -> list[tuple[str, list[Any]]]:
    """Read columns of one table: of each its format, and the values that are stored."""
    rows = max(map(len, columns))
    padded = {
        f"x{n or ''}": [*values, *[None] * (rows - len(values))] for n, values in enumerate(columns)
    }
    with stage_columns(padded) as table:
        decisions = decide_formats(table, LoadOptions(**options))
        records = render_records(table, decisions)
    return [
        (decision.field_format.name, [record[name] for record in records[: len(values)]])
        for decision, name, values in zip(decisions, padded, columns, strict=True)
    ]


def read_column(values: Sequence[str | None], **options: Any) -> tuple[str, list[Any]]:
    (column,) = read_columns([values], **options)
    return column


DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
PRECISE_MOMENTS = st.datetimes()
MOMENTS = PRECISE_MOMENTS.map(lambda moment: moment.replace(microsecond=0))
NUMBERS = st.decimals(-(10**14), 10**14, places=2).filter(lambda number: number != 0)


@thorough
@given(st.sampled_from(list(list_moment_spellings())), st.lists(MOMENTS, min_size=1))
def test_timestamps_are_read_as_they_were_written_or_stay_text(
    spelling: Spelling, at: list[datetime]
) -> None:
    values = [spelling.write(moment) for moment in at]

    format_name, stored = read_column(values)

    if format_name == "text":
        assert stored == values
        assert all(moment.day <= 12 for moment in at)
        format_name, stored = read_column(values, date_order=spelling.format_name[-3:])
    assert format_name.partition(":")[0] == "timestamp"
    assert [spelling.write(datetime.fromisoformat(moment)) for moment in stored] == values


@settings(thorough, max_examples=10)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(list_decimal_spellings())), st.lists(NUMBERS, min_size=1)),
        min_size=1,
    )
)
def test_decimals_are_read_as_they_were_written(
    columns: list[tuple[Spelling, list[Decimal]]],
) -> None:
    texts = [[spelling.write(number) for number in numbers] for spelling, numbers in columns]

    for (_, numbers), (format_name, stored) in zip(columns, read_columns(texts), strict=True):
        assert format_name.partition(":")[0] == "numeric"
        assert [*map(str, stored)] == [*map(str, numbers)]


NOTATIONS = st.one_of(
    st.builds(lambda s, v: s.write(v), st.sampled_from(list(list_date_spellings())), DAYS),
    st.builds(lambda s, v: s.write(v), st.sampled_from(list(list_moment_spellings())), MOMENTS),
    st.builds(lambda s, v: s.write(v), st.sampled_from(list(list_decimal_spellings())), NUMBERS),
    PRECISE_MOMENTS.map(str),
    st.times().map(str),
    st.floats(allow_nan=True).map(repr),
    st.integers(-(2**65), 2**65).map(str),
    st.sampled_from(["true", "True", "FALSE", "yes", "007", "+84901234567", "1e5", "-0", "-0,0"]),
    st.sampled_from(["1,234", "1.234", "0,5", "1 234", "31/12/24", "2024-2-3", "24:00", "NA", ""]),
    st.text("0123456789/.-:, +eET'AMPampm\u00a0", min_size=1, max_size=12),
)
#: Values of one type_name mostly, so that most columns have a format that could lose something.
COLUMNS = st.one_of(
    st.lists(NOTATIONS, min_size=1, max_size=4),
    st.builds(
        lambda spelling, days: [spelling.write(day) for day in days],
        st.sampled_from(list(list_date_spellings())),
        st.lists(DAYS, min_size=1, max_size=3),
    ).flatmap(lambda column: st.lists(NOTATIONS, max_size=1).map(lambda more: column + more)),
    st.lists(
        st.builds(
            lambda write, moment: write(moment),
            st.sampled_from([lambda at: at.isoformat("T", "minutes"), *list_iso_spellings()]),
            PRECISE_MOMENTS,
        ),
        min_size=2,
        max_size=3,
    ),
    st.lists(st.text("0123456789,.", min_size=1, max_size=9), min_size=1, max_size=2),
    st.lists(st.text("0123456789 ", min_size=1, max_size=9), min_size=1, max_size=2),
    st.lists(st.text("123/-.", min_size=6, max_size=10), min_size=1, max_size=2),
)


@pytest.mark.slow
@settings(thorough, max_examples=15)
@given(st.lists(COLUMNS, min_size=10, max_size=10))
@example(
    [
        ["2024-12-31 24:00"],
        ["9.0", "9", "1e-05"],
        ["2024-02-29T12:34:56", "2024-02-29 12:34:56"],
        ["1.234.567", "1234"],
        ["31/12/2024", "1/2/2024", "01/02/2024"],
    ]
)
def test_a_column_of_any_formats_loses_nothing(columns: list[list[str]]) -> None:
    for values, (format_name, stored) in zip(columns, read_columns(columns), strict=True):
        type_name = format_name.partition(":")[0]
        expected = [value for value in values if value != "" or type_name == "text"]
        parsed = [PARSERS[type_name](value) for value in stored if value is not None]
        written = [[write(value) for value in parsed] for write in WRITERS[type_name]]
        assert expected in written, (format_name, stored)


def test_every_format_can_be_chosen_and_has_a_title() -> None:
    types = {f"x{number or ''}": name for number, name in enumerate(field_formats)}

    assert read_columns([[""]] * len(types), types=types) == [
        (name, ["" if name == "text" else None]) for name in field_formats
    ]
    for name, field_format in field_formats.items():
        assert parse_field_format(name) is field_format
        words = (field_format.field_type.name, str(field_format.field_type.label))
        assert str(field_format.title).startswith(words)


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
        ("numeric:point,$", ["$4,000 ", " $5", " ($6) "], ["4000", "5", "-6"]),
        ("date:dmy", ["1/2/2024", "01-02-2024"], ["2024-02-01"] * 2),
        ("date:mdy", ["1.2.2024", "01022024"], ["2024-01-02"] * 2),
        ("date:mdy", ["2024-01-02T23:58:41.000Z", "2024-01-02 03:04+02:00"], ["2024-01-02"] * 2),
        ("date:dmy", ["02012024", "2024-01-02T00:00:00"], ["2024-01-02"] * 2),
        ("date:ymd", ["2024.1.2", "2024-01-02", "20240102"], ["2024-01-02"] * 3),
        ("timestamp:dmy", ["1/2/2024", "1/2/2024 9:05 PM"],
         ["2024-02-01T00:00:00.000", "2024-02-01T21:05:00.000"]),
        ("timestamp:mdy", ["12/31/2024 12:00:01AM"], ["2024-12-31T00:00:01.000"]),
        ("int4:point", ["1,234", "+1234", "007", "−1,234"], ["1234", "1234", "7", "-1234"]),
        ("int4:comma", ["1.234", "1 234"], ["1234", "1234"]),
        ("int8:spaced", ["1\u202f234\u00a0567 890"], ["1234567890"]),
        ("numeric:comma", ["1.234,50", "1234,5", "-0,5", "−1.234,50"],
         ["1234.50", "1234.5", "-0.5", "-1234.50"]),
        ("numeric:point", ["1,234.50", "1’234.50"], ["1234.50", "1234.50"]),
    ],
)  # fmt: skip
def test_a_chosen_format_accepts_what_it_can_read(
    name: str, values: list[str], stored: list[Any]
) -> None:
    assert read_column(values, types={"x": name}) == (name, stored)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("date:dmy", "12/31/2024"),
        ("date:dmy", "31/12/24"),
        ("date:dmy", "29/02/2023"),
        ("date:ymd", "0000/01/01"),
        ("date:ymd", "20240230"),
        ("date:mdy", "20240102"),
        ("date:mdy", "1022024"),
        ("date:mdy", "2024-13-02T10:00:00"),
        ("date:mdy", "01/02/2024 10:00"),
        ("timestamp:dmy", "31/12/2024 24:00"),
        ("timestamp:dmy", "31/12/2024 13:00 PM"),
        ("int4:point", "1,23"),
        ("int4:point", "0,123"),
        ("int4:point", "3,000,000,000"),
        ("numeric:comma", "1.5"),
        ("numeric:comma", "1.234.5"),
        ("numeric:point", "5 %"),
        ("numeric:point", "$5"),
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
def test_a_value_that_does_not_match_a_chosen_format_is_a_row_error(name: str, value: str) -> None:
    with stage_columns({"x": [value]}) as table:
        decide_formats(table, LoadOptions(types={"x": name}))

        assert table.connection.execute(
            f"SELECT line, field, value FROM {ROW_ERRORS}"
        ).fetchall() == [(2, "x", value)]


@pytest.mark.parametrize("order", ["dmy", "mdy", "ymd"])
def test_a_format_of_dates_accepts_the_days_that_exist(order: str) -> None:
    years = (0, 1, 4, 100, 400, 1899, 1900, 1904, 2000, 2023, 2024, 2100, 9999)
    values_by_parts = {
        (year, month, day): "/".join(
            {"d": str(day), "m": f"{month:02}", "y": f"{year:04}"}[part] for part in order
        )
        for year, month, day in product(years, range(14), range(33))
    }
    with stage_columns({"x": list(values_by_parts.values())}) as table:
        decide_formats(table, LoadOptions(types={"x": f"date:{order}"}))
        errors = table.connection.execute(f"SELECT value FROM {ROW_ERRORS}").fetchall()

    days = {value for (value,) in errors} ^ {*values_by_parts.values()}
    assert days == {
        values_by_parts[year, month, day]
        for year, month in product(years[1:], range(1, 13))
        for day in range(1, monthrange(year, month)[1] + 1)
    }


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
    ["date:xyz", "int4:dmy", "bool:ja/nein", "bool:{v}",
     "date:dmy,xx", "date:dmy,fr", "date:dmy,", "date:en", "numeric:point,()", "time:dmyy",
     "numeric:comma,1", "numeric:,%", "float8:%", "numeric:{v}", "numeric:comma,-", "int4:a,b,c",
     "numeric:" + "x" * 21],
)  # fmt: skip
def test_an_unknown_format_is_refused(name: str) -> None:
    with fails_with("option.unknown_type"):
        parse_field_format(name)
