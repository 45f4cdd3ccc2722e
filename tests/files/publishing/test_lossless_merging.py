"""Append and upsert lose nothing that a file has: values come back as written, or are bad rows."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from datastore_search.models import Resource

from ..builders import (
    fails_with,
    list_row_errors,
    load_new_resource,
    load_text,
    read_rows,
    render_messages,
)

CHANGED = "the value would be returned differently"


@pytest.mark.parametrize(
    ("before", "value"),
    [
        ("10", "007"),
        ("10", "+7"),
        ("10", "-0"),
        ("3000000000", "00501"),
        ("1.5", "01.50"),
        ("1.5", "+1.5"),
        ("1.5", ".5"),
        ("1.5", "1e5"),
        ("1.5", "-0.0"),
        ("true", "yes"),
        ("true", "1"),
        ("true", "t"),
        ("2024-01-02T10:00:00", "2024-01-02"),
        ("2024-01-02T10:00:00", "2024-01-02T24:00:00"),
        ("2024-01-02T10:00:00Z", "2024-01-02T12:00:00+02:00"),
    ],
)
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_value_that_would_come_back_in_another_way_is_a_bad_row(
    db: None, before: str, value: str, mode: str
) -> None:
    resource = load_new_resource(f"no,x\n1,{before}\n", key=("no",))
    records = read_rows(resource)

    with fails_with("load.bad_rows"):
        load_text(resource, f"no,x\n2,{value}\n", mode=mode)

    ((line, field, shown, reason),) = list_row_errors(resource.loads.latest("created_at"))
    assert (line, field, shown) == (2, "x", value)
    assert CHANGED in reason
    assert read_rows(resource) == records


@pytest.mark.parametrize(
    ("type_name", "value", "is_kept"),
    [
        ("float8", "1.50", False),
        ("float8", "0.1234567890123456789", False),
        ("float8", "12345678901234567", False),
        ("float8", "1_000.5", False),
        ("float8", " 7.5", False),
        ("float8", "1.25", True),
        ("float8", "7", True),
        ("numeric", "1.50", True),
        ("numeric", "12345678901234567890", True),
        ("int2", "07", False),
        ("int2", "7", True),
        ("timestamptz", "2024-01-02T10:00:00Z", True),
        ("json", '"{""a"": 1.50}"', True),
        ("_int4", '"[""007""]"', False),
        ("_int4", '"[1, 2]"', True),
        ("text", " 007 ", True),
        # Numbers of JSON come back by their value.
        ("numeric", '[{"x": 1e-7}]', True),
        ("numeric", '[{"x": 1.50}]', True),
        ("float8", '[{"x": 1e-7}]', True),
        ("float8", '[{"x": 1.50}]', True),
        ("float8", '[{"x": 1E5}]', True),
        ("float8", '[{"x": 0.1234567890123456789}]', False),
        ("float8", '[{"x": 1e400}]', False),
        ("int4", '[{"x": "007"}]', False),
        ("bool", '[{"x": 1}]', False),
    ],
)
def test_values_of_every_type_come_back_or_are_refused(
    db: None, type_name: str, value: str, is_kept: bool
) -> None:
    resource = load_new_resource("x,y\n,1\n", types={"x": type_name})
    is_json = value.startswith("[{")
    file = {"text": value, "name": "x.json"} if is_json else {"text": f"x,y\n{value},2\n"}

    with nullcontext() if is_kept else fails_with("load.bad_rows"):
        load_text(resource, mode="append", **file)

    assert len(read_rows(resource)) == 1 + is_kept


@pytest.fixture
def codes(db: None) -> Resource:
    return load_new_resource("code,name\n7,Spectre\n10,Q\n", key=("code",))


def test_a_code_does_not_overwrite_the_record_of_a_number(codes: Resource) -> None:
    load = load_text(codes, "code,name\n007,Bond\n8,M\n", mode="upsert", bad_rows="skip")

    assert [row[1:] for row in read_rows(codes, sort="code")] == [
        [7, "Spectre"],
        [8, "M"],
        [10, "Q"],
    ]
    assert [error[:3] for error in list_row_errors(load)] == [(2, "code", "007")]


def test_a_type_that_the_call_chooses_has_a_notice_with_the_number_of_values(
    codes: Resource,
) -> None:
    text = "code,name\n0017,Bond\n08,M\n9,R\n"
    load = load_text(codes, text, mode="append", types={"code": "int4"})

    assert render_messages(load.notices)[0] == (
        "Field “code” is read as whole number. Values that are returned differently: 2, "
        "such as “0017”."
    )


def test_a_type_that_an_earlier_call_chose_does_not_count(db: None) -> None:
    resource = load_new_resource("code\n007\n", types={"code": "int4"})
    assert render_messages(resource.loads.get().notices)[0].endswith(
        "differently: 1, such as “007”."
    )

    with fails_with("load.bad_rows"):
        load_text(resource, "code\n008\n", mode="append")
