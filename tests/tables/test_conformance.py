"""
One grammar reads a text into a field whose type is known, wherever the text comes from.

``READ`` has what each type makes of a text, and ``READ_VALUES`` of a value that its source writes
as a number, a truth value or a list; a type refuses all others.  ``DIFFERENCES`` has what a source
reads in another way, with the reason; ``docs/reference/field-types.md`` says the same.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from types import NoneType
from typing import Any

import duckdb
import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from openpyxl import Workbook

from datastore_search import interface
from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.field_types import field_types
from datastore_search.messages.parameters import InvalidParameters
from datastore_search.models import Resource

from ..builders import act, get_result, make_writer_token
from ..files.reading import read_in_test_process

REFUSED = "refused"

TEXTS = (
    "7", " 7 ", "7.", "007", "+7", "-0", "-1", "7.50", "01.50", ".5", "1e3", "1e400", "1e-400",
    "1_000", "1,234", "40000", "3000000000", "12345678901234567890", "NaN", "-inf", "infinity",
    "true", "TRUE", "Yes", "on", "t", "o", "2024-02-29", " 2024-02-29", "2023-02-29", "0000-01-01",
    "10000-01-01", "2024-02-29 12:34", "2024-02-29T12:34:56.5", "2024-02-29T12:34:56.123456",
    "2024-02-29T12:34:56Z", "2024-02-29 12:34:56+05:30", "2024-02-29T24:00:00", "1 March 2021",
    "Feb 29, 2024", "20240229", "2024/2/29", "29/02/2024", "02/03/2024", "12:34", "12:34:56.500",
    "03:04 PM", "24:00:00", "25:00", "abc", '"abc"', "null", '{"k": 1}', '{"k": 1', "[1, 2]",
    "[1.5, null]", '["x", "7"]', "[true]", "[[1]]", "[1", "{1,2}", "{a,NULL}", "{{1}}", "{t}",
    "10.0.0.1", "10.0.0.1/32", "192.168.7.7/24", "10/8", "010.0.0.1", "2001:DB8:0::1", "::1/128",
    "fe80::1%eth0", "::ffff:10.0.0.1", "-nan", "+NaN", "9999-12-31T23:59:59-14",
    "0001-01-01T00:00:00+14", '["1"]', "[1.50, 1e5]", "[1,]", "[nan]", '{\n  "k": 1\n}',
)  # fmt: skip

_INT2 = {"7": 7, " 7 ": 7, "007": 7, "+7": 7, "-0": 0, "-1": -1}
_INT4 = _INT2 | {"40000": 40_000, "20240229": 20_240_229}
_INT8 = _INT4 | {"3000000000": 3_000_000_000}
_FLOAT8 = _INT8 | {
    "7.": 7,
    "7.50": 7.5,
    "01.50": 1.5,
    ".5": 0.5,
    "1e3": 1_000,
    "12345678901234567890": 12_345_678_901_234_567_000,
    "NaN": "NaN",
    "-inf": "-Infinity",
    "infinity": "Infinity",
}
_TIMESTAMP = {
    "2024-02-29": "2024-02-29T00:00:00.000",
    " 2024-02-29": "2024-02-29T00:00:00.000",
    "2024-02-29 12:34": "2024-02-29T12:34:00.000",
    "2024-02-29T12:34:56.5": "2024-02-29T12:34:56.500",
    "2024-02-29T12:34:56.123456": "2024-02-29T12:34:56.123456",
    "2024-02-29T12:34:56Z": "2024-02-29T12:34:56.000",
    "2024-02-29 12:34:56+05:30": "2024-02-29T12:34:56.000",
    "2024-02-29T24:00:00": "2024-03-01T00:00:00.000",
    "1 March 2021": "2021-03-01T00:00:00.000",
    "Feb 29, 2024": "2024-02-29T00:00:00.000",
    "20240229": "2024-02-29T00:00:00.000",
    "2024/2/29": "2024-02-29T00:00:00.000",
    "9999-12-31T23:59:59-14": "9999-12-31T23:59:59.000",
    "0001-01-01T00:00:00+14": "0001-01-01T00:00:00.000",
}
_INFINITE = {"infinity": "infinity"}
_INT_LISTS = {"[1, 2]": [1, 2], "{1,2}": [1, 2], '["1"]': [1]}

#: What each type makes of a text, as JSON.
READ: Mapping[str, Mapping[str, Any]] = {
    "text": {text: text for text in TEXTS},
    "int2": _INT2,
    "int4": _INT4,
    "int8": _INT8,
    "float8": _FLOAT8,
    "numeric": _FLOAT8
    | {"1e400": 10**400, "1e-400": 0.0, "12345678901234567890": 12345678901234567890},
    "bool": dict.fromkeys(("true", "TRUE", "Yes", "on", "t"), True),
    "date": {text: moment[:10] for text, moment in _TIMESTAMP.items()}
    | _INFINITE
    | {"2024-02-29T24:00:00": "2024-02-29"},
    "timestamp": _TIMESTAMP | _INFINITE,
    "timestamptz": {text: f"{moment}+00:00" for text, moment in _TIMESTAMP.items()}
    | _INFINITE
    | {"2024-02-29 12:34:56+05:30": "2024-02-29T07:04:56.000+00:00"}
    # Of another year in UTC.
    | dict.fromkeys(("9999-12-31T23:59:59-14", "0001-01-01T00:00:00+14"), REFUSED),
    "time": {
        "12:34": "12:34:00",
        "12:34:56.500": "12:34:56.5",
        "03:04 PM": "15:04:00",
        "24:00:00": "24:00:00",
        "2024-02-29 12:34": "12:34:00",
        "2024-02-29 12:34:56+05:30": "12:34:56",
    },
    "inet": {
        "10.0.0.1": "10.0.0.1",
        "10.0.0.1/32": "10.0.0.1",
        "192.168.7.7/24": "192.168.7.7/24",
        "2001:DB8:0::1": "2001:db8::1",
        "::1/128": "::1",
        "::ffff:10.0.0.1": "::ffff:10.0.0.1",
    },
    "json": {text: text for text in TEXTS},
    "_text": {
        "[1, 2]": ["1", "2"],
        "[1.5, null]": ["1.5", None],
        '["x", "7"]': ["x", "7"],
        "[true]": ["true"],
        "{1,2}": ["1", "2"],
        "{a,NULL}": ["a", None],
        "{t}": ["t"],
        '["1"]': ["1"],
        "[1.50, 1e5]": ["1.50", "1e+5"],
    },
    "_int4": _INT_LISTS,
    "_int8": _INT_LISTS,
    "_float8": _INT_LISTS | {"[1.5, null]": [1.5, None], "[1.50, 1e5]": [1.5, 100_000]},
    "_bool": {"[true]": [True], "{t}": [True], '["1"]': [True]},
}

_JSON = (
    *("7", " 7 ", "-0", "-1", "7.50", "1e3", "1e-400", "40000", "3000000000", "20240229", "true"),
    *("12345678901234567890", "null", '"abc"', '{"k": 1}', "[1, 2]", "[1.5, null]", '["x", "7"]'),
    *("[true]", "[[1]]", '["1"]', "[1.50, 1e5]", '{\n  "k": 1\n}'),
)
_CELLS = {
    **{text: json.loads(text) for text in _JSON},
    **dict.fromkeys(
        ('{"k": 1', "[1", "[1,]", "[nan]", "{1,2}", "{a,NULL}", "{{1}}", "{t}"), REFUSED
    ),
    "1e400": 10**400,
}

#: By source and type: another reading of some texts.  Each has its reason.
DIFFERENCES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    # A cell of a file has no other way to be a number, a list or an object than to be JSON.
    **{(source, "json"): _CELLS for source in ("csv", "xlsx", "json", "parquet")},
    # A dump as CSV has “null” where there is no list.
    **{
        (source, f"_{element}"): {"null": None}
        for source in ("csv", "xlsx", "json", "parquet")
        for element in ("text", "int4", "int8", "float8", "bool")
    },
    # People write the numbers and the days of a page in the page's language.
    **{("page", kind): {"1,234": ...} for kind in ("int2", "int4", "int8", "float8", "numeric")},
    **{("page", kind): {"02/03/2024": ...} for kind in ("date", "timestamp", "timestamptz")},
}

#: Values that are no texts, as JSON, and the empty text.
VALUES = (
    *("null", '""', "7", "-1", "7.0", "7.5", "40000", "3000000000", "1e+300", "true", "false"),
    *("[]", "[1, 2]", "[1.5, null]", '["x", "7"]', "[true]", "[[1]]", '{"k": 1}'),
)

_NUMBERS = {"7": "7", "-1": "-1", "40000": "40000", "3000000000": "3000000000", "7.5": "7.5"}
_INT_VALUES = {"7": "7", "-1": "-1", "7.0": "7"}
_INT_LIST_VALUES = {"[]": "[]", "[1, 2]": "[1, 2]"}

#: What each type makes of a value, as JSON; null is null for all.
READ_VALUES: Mapping[str, Mapping[str, str]] = {
    "text": {text: json.dumps(text.replace(", ", ",").replace(": ", ":")) for text in VALUES}
    | {"null": "null", '""': '""'},
    "int2": _INT_VALUES,
    "int4": _INT_VALUES | {"40000": "40000"},
    "int8": _INT_VALUES | {"40000": "40000", "3000000000": "3000000000"},
    "float8": _NUMBERS | {"7.0": "7", "1e+300": str(10**300)},
    "numeric": _NUMBERS | {"7.0": "7.0", "1e+300": str(10**300)},
    "bool": {"true": "true", "false": "false"},
    "json": {text: text for text in VALUES} | {"1e+300": str(10**300)},
    "_text": {
        "[]": "[]",
        "[1, 2]": '["1", "2"]',
        "[1.5, null]": '["1.5", null]',
        '["x", "7"]': '["x", "7"]',
        "[true]": '["true"]',
    },
    "_int4": _INT_LIST_VALUES,
    "_int8": _INT_LIST_VALUES,
    "_float8": _INT_LIST_VALUES | {"[1.5, null]": "[1.5, null]"},
    "_bool": {"[]": "[]", "[true]": "[true]"},
}

#: As ``DIFFERENCES``, of values.
VALUE_DIFFERENCES: Mapping[tuple[str, str], Mapping[str, str]] = {
    # A file's number is read as it is written, so that nothing is changed in silence.
    **{
        (source, f"int{size}"): {"7.0": REFUSED} for source in ("json", "parquet") for size in "248"
    },
    # What is empty in a file is a missing value.
    **{(source, "json"): {'""': "null"} for source in ("json", "parquet")},
    # A sheet has no empty text, and no 7.0: both are stored without it.
    ("xlsx", "text"): {'""': "null", "7.0": '"7"'},
    ("xlsx", "numeric"): {"7.0": "7"},
    ("xlsx", "json"): {'""': "null", "7.0": "7"},
}

_Source = Callable[[str, Path, Sequence[Any]], dict[int, Any]]


def make_resource(kind: str) -> Resource:
    resource = Resource.objects.create(name=f"of{kind}")
    fields = [{"id": "n", "type": "int4"}, {"id": "x", "type": kind}]
    get_result(
        act(
            Client(),
            "datastore_create",
            {"resource_id": str(resource.pk), "fields": fields, "primary_key": "n"},
            make_writer_token(f"writer-of{kind}"),
        )
    )
    return resource


def read_stored(resource: Resource) -> dict[int, Any]:
    """Read the stored values, by number; those that were refused are missing."""
    asked = {"resource_id": str(resource.pk), "limit": 1_000, "fields": ["n", "x"]}
    records = get_result(act(Client(), "datastore_search", asked))["records"]
    return {record["n"]: record["x"] for record in records}


# Sources ------------------------------------------------------------------------------------------


def read_by_api(kind: str, _folder: Path, values: Sequence[Any]) -> dict[int, Any]:
    resource = make_resource(kind)
    token = make_writer_token(f"sender-of{kind}")
    for number, value in enumerate(values):
        sent = {"resource_id": str(resource.pk), "records": [{"n": number, "x": value}]}
        assert act(Client(), "datastore_upsert", sent, token).status_code in {200, 409}
    return read_stored(resource)


def read_in_python(kind: str, _folder: Path, values: Sequence[Any]) -> dict[int, Any]:
    resource = make_resource(kind)
    caller = get_user_model().objects.get(username=f"writer-of{kind}")
    for number, value in enumerate(values):
        try:
            interface.upsert(caller, str(resource.pk), [{"n": number, "x": value}])
        except InvalidParameters:
            continue
    return read_stored(resource)


def read_file(kind: str, path: Path, content: bytes) -> dict[int, Any]:
    path.write_bytes(content)
    resource = Resource.objects.create(name=f"{path.stem}-of{kind}")
    options = LoadOptions(types={"n": "int4", "x": kind}, bad_rows="skip")
    with read_in_test_process(workbooks=True):
        try:
            load_file(resource, path, options=options)
        except LoadFailed:  # every row is bad
            return {}
    return read_stored(Resource.objects.get(pk=resource.pk))


def read_csv(kind: str, folder: Path, values: Sequence[Any]) -> dict[int, Any]:
    content = StringIO()
    csv.writer(content).writerows([("n", "x"), *enumerate(values)])
    return read_file(kind, folder / "values.csv", content.getvalue().encode())


def read_workbook(kind: str, folder: Path, values: Sequence[Any]) -> dict[int, Any]:
    workbook, content = Workbook(), BytesIO()
    sheet = workbook.worksheets[0]
    sheet.append(["n", "x"])
    for row in enumerate(values):
        sheet.append(row)
    workbook.save(content)
    return read_file(kind, folder / "values.xlsx", content.getvalue())


def read_json(kind: str, folder: Path, values: Sequence[Any]) -> dict[int, Any]:
    records = [{"n": number, "x": value} for number, value in enumerate(values)]
    return read_file(kind, folder / "values.json", json.dumps(records).encode())


def read_parquet(kind: str, folder: Path, values: Sequence[Any]) -> dict[int, Any]:
    """Read a file for each type of columns."""
    stored: dict[int, Any] = {}
    for column_type, python_type in PARQUET_TYPES.items():
        numbers = [n for n, each in enumerate(values) if type(each) in {python_type, NoneType}]
        path = folder / "made.parquet"
        duckdb.execute(
            f"COPY (SELECT unnest(?::INT[]) AS n, unnest(?::{column_type}[]) AS x) TO '{path}'",
            [numbers, [values[n] for n in numbers]],
        )
        content = path.read_bytes()
        stored |= read_file(kind, folder / f"{python_type.__name__}.parquet", content)
    return stored


PARQUET_TYPES = {"VARCHAR": str, "BIGINT": int, "DOUBLE": float, "BOOLEAN": bool}
#: What a cell of a sheet or of such a column cannot hold.
NO_CELLS = (list, dict)

SOURCES: Mapping[str, _Source] = {
    "api": read_by_api,
    "python": read_in_python,
    "csv": read_csv,
    "xlsx": read_workbook,
    "json": read_json,
    "parquet": read_parquet,
}


def expect(source: str, kind: str) -> dict[str, Any]:
    others = DIFFERENCES.get((source, kind), {})
    return dict.fromkeys(TEXTS, REFUSED) | dict(READ[kind]) | dict(others)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", field_types)
def test_a_text_is_read_alike(db: None, tmp_path: Path, source: str, kind: str) -> None:
    stored = SOURCES[source](kind, tmp_path, TEXTS)

    read = {text: stored.get(number, REFUSED) for number, text in enumerate(TEXTS)}
    assert read == expect(source, kind)


@pytest.mark.parametrize("source", ["api", "xlsx", "json", "parquet"])
@pytest.mark.parametrize("kind", field_types)
def test_a_value_is_read_alike(db: None, tmp_path: Path, source: str, kind: str) -> None:
    texts = [
        text
        for text in VALUES
        if source in {"api", "json"} or not isinstance(json.loads(text), NO_CELLS)
    ]
    stored = SOURCES[source](kind, tmp_path, [json.loads(text) for text in texts])

    others = VALUE_DIFFERENCES.get((source, kind), {})
    expected = {"null": "null", '""': "null", **READ_VALUES.get(kind, {}), **others}
    read = {
        text: json.dumps(stored[number]) if number in stored else REFUSED
        for number, text in enumerate(texts)
    }
    assert read == {text: expected.get(text, REFUSED) for text in texts}


def test_the_address_of_a_page_reads_it_alike(db: None) -> None:
    """Every text is asked for in the fields of all types at once; the inputs have their errors."""
    resource = Resource.objects.create(name="of-all")
    fields = [{"id": kind, "type": kind} for kind in field_types]
    sent = {"resource_id": str(resource.pk), "fields": fields}
    get_result(act(Client(), "datastore_create", sent, make_writer_token()))
    for text in TEXTS:
        asked = {f"field.{kind}": text for kind in field_types}
        page = Client().get(f"/en/datastore/{resource.pk}/", asked).content.decode()
        inputs = re.findall(r'name="field\.(\w+)"[^>]*aria-invalid="true"', page)
        refused = {kind for kind in field_types if expect("page", kind)[text] == REFUSED}
        assert set(inputs) == refused, text
