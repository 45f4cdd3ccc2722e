"""Values of every type and fields of every name come back exactly."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from datastore_search.field_types import field_types
from datastore_search.models import Resource

from ...builders import ask, get_result, make_resource, make_writer_token, search


@pytest.fixture
def token(db: None) -> str:
    return make_writer_token()


def create_resource(client: Client, token: str, body: str) -> Resource:
    """Make a resource by the API; ``body`` is the rest of the request as JSON text."""
    resource = Resource.objects.create(name=f"resource-{Resource.objects.count() + 1}")
    response = ask(
        client,
        f'{{"resource_id": "{resource.pk}", {body}}}',
        path="/en/api/action/datastore_create",
        Authorization=token,
    )
    assert response.status_code == 200, response.content.decode()[:500]
    return resource


class Number(str):
    """A number with its digits."""

    __slots__ = ()


def parse_json(text: str) -> Any:
    """Parse JSON and keep the digits of numbers."""
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=None)


def read_field(client: Client, resource: Resource, name: str) -> list[Any]:
    """Read one field of all records, and check that objects and lists agree."""
    objects = search(client, resource, fields=[f'"{name}"']).content.decode()
    lists = search(client, resource, fields=[f'"{name}"'], records_format="lists").content.decode()
    results = [record[name] for record in parse_json(objects)["result"]["records"]]
    assert [value for (value,) in parse_json(lists)["result"]["records"]] == results
    return results


# Values by the API --------------------------------------------------------------------------------

#: For each type what is sent and what is answered, both as JSON texts.
BY_API: Mapping[str, list[tuple[str, str]]] = {
    "text": [
        ('"x"', '"x"'), ('""', '""'), ('" a\\tb\\n"', '" a\\tb\\n"'), ('"NULL"', '"NULL"'),
        ('"H\\u00e0 N\\u1ed9i"', '"Hà Nội"'), ('"Ha\\u0300"', '"Ha\\u0300"'), ('"🙂"', '"🙂"'),
        ('"\\ud83d\\ude42"', '"🙂"'), ('"\\u0001\\u007f\\u2028"', '"\\u0001\\u007f\\u2028"'),
        ('"\\\\ \\" /"', '"\\\\ \\" /"'), ('"007"', '"007"'), ("5", '"5"'), ("1.50", '"1.50"'),
        ("[1, 2.50]", '"[1,2.50]"'), ("null", "null"),
    ],
    "int2": [("32767", "32767"), ("-32768", "-32768"), ('"7"', "7"), ('""', "null")],
    "int4": [("2147483647", "2147483647"), ('"-2147483648"', "-2147483648"), ("7.0", "7"),
             ('" +7 "', "7"), ("null", "null")],
    "int8": [("9223372036854775807", "9223372036854775807"),
             ('"-9223372036854775808"', "-9223372036854775808"),
             ("9007199254740993", "9007199254740993")],
    "numeric": [
        ("12345678901234567890.12345678901234567890", "12345678901234567890.12345678901234567890"),
        ('"1200.50"', "1200.50"), ("1200.50", "1200.50"), ("0.10", "0.10"), ("-0.00", "0.00"),
        ("7", "7"), ('"1e3"', "1000"), ("1e-7", "0.0000001"), ('"000.5"', "0.5"),
        (f'"{"9" * 1000}.{"1" * 1000}"', f"{'9' * 1000}.{'1' * 1000}"),
        ('"NaN"', '"NaN"'), ('"infinity"', '"Infinity"'), ('"-Infinity"', '"-Infinity"'),
        ('""', "null"),
    ],
    "float8": [
        ("0.1", "0.1"), ("7.5", "7.5"), ("9", "9"), ("9.0", "9"), ("-3", "-3"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("9007199254740993", "9007199254740992"), ('"1.5e2"', "150"), ('"NaN"', '"NaN"'),
        ('"inf"', '"Infinity"'), ('"-Infinity"', '"-Infinity"'), ("null", "null"),
    ],
    "bool": [("true", "true"), ("false", "false"), ('"t"', "true"), ('"OFF"', "false"),
             ('""', "null")],
    "date": [('"2024-02-29"', '"2024-02-29"'), ('"0001-01-01"', '"0001-01-01"'),
             ('"9999-12-31"', '"9999-12-31"'), ('"29 Feb 2024"', '"2024-02-29"'),
             ('"20240229"', '"2024-02-29"'), ('"infinity"', '"infinity"'), ('""', "null")],
    "timestamp": [
        ('"2024-02-29T12:34:56"', '"2024-02-29T12:34:56.000"'),
        ('"2024-02-29 12:34:56.7"', '"2024-02-29T12:34:56.700"'),
        ('"2024-02-29T12:34:56.78"', '"2024-02-29T12:34:56.780"'),
        ('"2024-02-29T12:34:56.789"', '"2024-02-29T12:34:56.789"'),
        ('"2024-02-29T12:34:56.7891"', '"2024-02-29T12:34:56.789100"'),
        ('"2024-02-29T12:34:56.78912"', '"2024-02-29T12:34:56.789120"'),
        ('"2024-02-29T12:34:56.789123"', '"2024-02-29T12:34:56.789123"'),
        ('"2024-02-29T12:34:56.000001"', '"2024-02-29T12:34:56.000001"'),
        ('"2024-02-29"', '"2024-02-29T00:00:00.000"'),
        ('"2024-02-29T12:34"', '"2024-02-29T12:34:00.000"'),
        ('"0001-01-01T00:00:00"', '"0001-01-01T00:00:00.000"'),
        ('"9999-12-31T23:59:59.999999"', '"9999-12-31T23:59:59.999999"'),
        ('"-infinity"', '"-infinity"'),
    ],
    "timestamptz": [
        ('"2024-02-29T12:34:56Z"', '"2024-02-29T12:34:56.000+00:00"'),
        ('"2024-02-29T12:34:56.789123+05:30"', '"2024-02-29T07:04:56.789123+00:00"'),
        ('"2024-02-29 12:34-0800"', '"2024-02-29T20:34:00.000+00:00"'),
    ],
    "time": [('"12:34:56"', '"12:34:56"'), ('"12:34"', '"12:34:00"'),
             ('"12:34:56.50"', '"12:34:56.5"'), ('"12:34:56.000001"', '"12:34:56.000001"'),
             ('"24:00"', '"24:00:00"'), ('"03:04 PM"', '"15:04:00"')],
    "inet": [('"192.0.2.1"', '"192.0.2.1"'), ('"192.0.2.1/24"', '"192.0.2.1/24"'),
             ('"2001:DB8:0::1"', '"2001:db8::1"'), ('""', "null")],
    "json": [
        ('{"a": 1, "b": [2.50, {"c": null}]}', '{"a": 1, "b": [2.50, {"c": null}]}'),
        ("[]", "[]"), ("{}", "{}"), ("[null]", "[null]"), ('"text"', '"text"'), ('""', '""'),
        ("true", "true"), ("false", "false"), ("0", "0"), ("1.10", "1.10"),
        ("12345678901234567890123456789.10", "12345678901234567890123456789.10"),
        ('{"": {"": []}}', '{"": {"": []}}'), ('{"a\\"b": "\\u00e9\\n"}', '{"a\\"b": "é\\n"}'),
        ('"{\\"k\\": 1}"', '"{\\"k\\": 1}"'), ("[[[[[[7]]]]]]", "[[[[[[7]]]]]]"), ("null", "null"),
    ],
    "_text": [
        ('["a", "b"]', '["a", "b"]'), ("[]", "[]"), ('["a", null, ""]', '["a", null, ""]'),
        ('["x,y", "\\"", "{}", "NULL"]', '["x,y", "\\"", "{}", "NULL"]'), ('"{a,b}"', '["a", "b"]'),
        ('"{NULL,\\"NULL\\"}"', '[null, "NULL"]'), ("[1, true]", '["1", "true"]'), ('""', "null"),
    ],
    "_int4": [("[1, -2, null]", "[1, -2, null]"), ("[2147483647]", "[2147483647]"),
              ('["3"]', "[3]"), ('"{4,NULL}"', "[4, null]"), ("[]", "[]")],
    "_int8": [("[9223372036854775807, null]", "[9223372036854775807, null]"),
              ('["9007199254740993"]', "[9007199254740993]")],
    "_float8": [('[0.1, null, "NaN", "-inf"]', '[0.1, null, "NaN", "-Infinity"]'),
                ("[7.5]", "[7.5]"), ("[9]", "[9]")],
    "_bool": [('[true, false, null, "t"]', "[true, false, null, true]"), ('"{f}"', "[false]")],
}  # fmt: skip


def test_every_type_is_stored_by_the_api() -> None:
    assert set(BY_API) == set(field_types)


@pytest.mark.parametrize("kind", BY_API)
def test_a_value_comes_back_from_the_api_exactly(client: Client, token: str, kind: str) -> None:
    records = "[{}]".format(", ".join(f'{{"v": {sent}}}' for sent, _ in BY_API[kind]))
    fields = f'"fields": [{{"id": "v", "type": "{kind}"}}]'

    resource = create_resource(client, token, f'{fields}, "records": {records}')

    assert read_field(client, resource, "v") == [parse_json(results) for _, results in BY_API[kind]]
    assert {field.name: field.type for field in resource.fields.all()} == {"v": kind}


def test_the_least_and_greatest_doubles_come_back(client: Client, token: str) -> None:
    doubles = [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1e21, 1e-7, 123456789.125]
    records = ", ".join(f'{{"v": {double!r}}}, {{"v": "{double!r}"}}' for double in doubles)

    resource = create_resource(
        client, token, f'"fields": [{{"id": "v", "type": "float8"}}], "records": [{records}]'
    )

    results = [float(value) for value in read_field(client, resource, "v")]
    assert results == [double for double in doubles for _ in range(2)]
    found_in_rows = get_result(search(client, resource, fields="v", records_format="csv"))[
        "records"
    ]
    assert [float(cell) for cell in found_in_rows.split()] == results


# Names --------------------------------------------------------------------------------------------

NAMES = [
    "two words", "a  b", 'a"b', '"quoted"', "it's", "100%", "%", "%s", "%(a)s", "%%", "%d %", "{}",
    "{0}", "{a}", "a.b", ".", "a,b", "a;b", "a:b", ":x", "?", "$a", "$", "$or", "@", "#", "\\",
    "a\\b", "--", "/* x */", "'; DROP TABLE auth_user; --", "SELECT", "select", "data", "page",
    "field", "search", "rank", "c0", "id", "name", "limit", "null", "tableoid", "ctid", "xmin",
    "user", "ABC", "abc", "Abc", "Tên tỉnh", "tên tỉnh", "Te\u0302n", "Đường", "北京", "🙂",
    "👩‍👩‍👧",
    "ß", "İ",
    "العربية", "a\u00a0b", "\u200b", "n" * 63, "n" * 64, "n" * 65, "n" * 200, "đ" * 31, "đ" * 32,
    "đ" * 31 + "x", "đ" * 31 + "xy", "đ" * 31 + "xz", "ệ" * 200, "desc", "asc", "a desc",
    "nulls first", "_x", "__", "_text", "a_b", "0", "1", "1e5", "true", "[0]", "a->>b", "a/b", "&",
    "<b>", "rank two words",
]  # fmt: skip

WORDS = ["apple", "bread", "cheese"]


def quote_name(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def escape_name(name: str) -> str:
    return f"${name}" if name.startswith("$") else name


def make_value(number: int, name: str) -> str:
    """Return the value of a field in a record: a word of the record, and one of this field."""
    return f"{WORDS[number]} x{NAMES.index(name)}y"


def check_name(client: Client, resource: Resource, name: str) -> None:
    """Search with one field in every parameter that takes a name."""
    objects = get_result(search(client, resource, fields=[quote_name(name)]))
    assert objects["fields"] == [{"id": name, "type": "text"}]
    assert objects["records"] == [{name: make_value(number, name)} for number in range(3)]

    results = get_result(
        search(
            client,
            resource,
            fields=["_id"],
            filters={escape_name(name): {"in": [make_value(1, name), make_value(2, name), "none"]}},
            sort=f"{quote_name(name)} desc",
            q={name: f"x{NAMES.index(name)}y"},
        )
    )
    assert results["records"] == [{"_id": 3}, {"_id": 2}]


@pytest.fixture(scope="module")
def named_resource(django_db_setup: None, django_db_blocker: Any) -> Iterator[Resource]:
    """Records with the fields ``NAMES``."""
    with django_db_blocker.unblock():
        token = make_writer_token("names")
        fields = json.dumps([{"id": name, "type": "text"} for name in NAMES])
        records = [{name: make_value(number, name) for name in NAMES} for number in range(3)]
        sent = f'"fields": {fields}, "records": {json.dumps(records)}'
        resource = create_resource(Client(), token, sent)
        yield resource
        resource.delete()
        get_user_model().objects.get(username="names").delete()


@pytest.fixture
def named(db: None, named_resource: Resource) -> Resource:
    return named_resource


def test_any_name_can_be_requested(client: Client, named: Resource) -> None:
    for name in NAMES:
        check_name(client, named, name)


def test_all_names_come_back_together(client: Client, named: Resource) -> None:
    result = get_result(search(client, named))
    rows = [[make_value(number, name) for name in NAMES] for number in range(3)]

    assert [field["id"] for field in result["fields"]] == ["_id", *NAMES]
    assert [list(record) for record in result["records"]] == [["_id", *NAMES]] * 3
    assert [list(record.values())[1:] for record in result["records"]] == rows
    lists = get_result(search(client, named, records_format="lists"))["records"]
    assert lists == [[number, *row] for number, row in enumerate(rows, 1)]
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        text = get_result(search(client, named, records_format=form))["records"]
        assert list(csv.reader(io.StringIO(text), delimiter=delimiter)) == [
            [str(number), *row] for number, row in enumerate(rows, 1)
        ]


def test_a_field_hides_the_rank_of_the_same_name(client: Client, named: Resource) -> None:
    result = get_result(search(client, named, q="apple"))
    by_field = get_result(search(client, named, q={"two words": "apple", "ABC": "apple"}))

    assert [field["id"] for field in result["fields"]] == ["_id", *NAMES]
    assert result["records"][0]["rank"] == make_value(0, "rank")
    assert [field["id"] for field in by_field["fields"]] == ["_id", *NAMES, "rank ABC"]
    assert by_field["records"][0]["rank two words"] == make_value(0, "rank two words")


def test_records_are_written_by_any_name(client: Client, token: str) -> None:
    resource = create_resource(
        client, token, f'"fields": {json.dumps([{"id": name, "type": "text"} for name in NAMES])}'
    )
    records = [{name: make_value(number, name) for name in NAMES} for number in range(3)]
    for sent, action in (
        ({"primary_key": [quote_name(name) for name in NAMES[:20]]}, "datastore_create"),
        ({"records": records}, "datastore_upsert"),
        ({"records": [{**records[1], "ABC": "changed"}]}, "datastore_upsert"),
        ({"filters": {escape_name(name): make_value(0, name) for name in NAMES[-60:]}},
         "datastore_records_delete"),
    ):  # fmt: skip
        response = ask(
            client,
            {"resource_id": str(resource.pk), **sent},
            path=f"/en/api/action/{action}",
            Authorization=token,
        )
        assert response.status_code == 200, response.content

    assert get_result(search(client, resource))["records"] == [
        {"_id": 2, **records[1], "ABC": "changed"},
        {"_id": 3, **records[2]},
    ]


# Many fields --------------------------------------------------------------------------------------


def test_many_fields_come_back_in_their_order(client: Client, token: str) -> None:
    names = [f"field {n} %s" for n in range(1_600)]
    kinds = ["int4", "text", "numeric", "_int4", "bool"]
    values: list[Any] = [5, "x,y", 2.5, [1, None], True]
    fields = [{"id": name, "type": kinds[n % 5]} for n, name in enumerate(names)]
    record = {name: values[n % 5] for n, name in enumerate(names)}

    resource = create_resource(
        client,
        token,
        f'"fields": {json.dumps(fields)}, "records": {json.dumps([record, {}, record])}',
    )

    result = get_result(search(client, resource))
    assert result["fields"] == [{"id": "_id", "type": "int"}, *fields]
    assert [list(results) for results in result["records"]] == [["_id", *names]] * 3
    assert result["records"] == [
        {"_id": 1, **record},
        {"_id": 2, **dict.fromkeys(names)},
        {"_id": 3, **record},
    ]
    lists = get_result(search(client, resource, records_format="lists", limit=1))["records"]
    assert lists == [[1, *record.values()]]
    text = get_result(search(client, resource, records_format="csv", limit=1))["records"]
    (row,) = csv.reader(io.StringIO(text))
    assert row == ["1", *(["5", "x,y", "2.5", "[1, null]", "t"] * 320)]


def test_many_fields_are_requested_sorted_and_filtered(client: Client, db: None) -> None:
    names = [f"f{n}" for n in range(500)]
    header, rows = ",".join(names), [",".join(f"w{n % 7}r{r}" for n in range(500)) for r in "312"]
    resource = make_resource("\n".join([header, *rows]))

    result = get_result(
        search(
            client,
            resource,
            fields=names[::-1],
            sort=names[:100],  # the limit
            filters={name: {"ne": "none"} for name in names[:99]},
            q={name: "w" + str(n % 7) + "r" for n, name in enumerate(names[:3])},
            limit=2,
        )
    )

    assert [list(record) for record in result["records"]] == [names[::-1]] * 2
    assert [record["f0"] for record in result["records"]] == ["w0r1", "w0r2"]
    distinct = get_result(search(client, resource, distinct=True, fields=names, sort=names[-1]))
    assert distinct["total"] == 3
    assert [record["f0"] for record in distinct["records"]] == ["w0r1", "w0r2", "w0r3"]
