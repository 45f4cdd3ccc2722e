"""Each statement finds what PostgreSQL finds over the same typed rows, or it is refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from datastore_search.models import Resource

from ...builders import act, make_resource
from ...shared import ModuleTransaction

pytestmark = pytest.mark.django_db

TYPES = {
    "name": "text", "Name": "text", "n": "int4", "big": "int8", "price": "numeric", "f": "float8",
    "d": "date", "at": "timestamp", "tz": "timestamptz", "ok": "bool", "t": "time",
}  # fmt: skip
ROWS = """\
Anna,x,1,10,1.50,0.5,2020-01-31,2020-01-31T10:11:12.5,2020-01-31T10:00:00+00:00,true,08:00:00
anna,y,2,20,2.25,1.5,2020-02-29,2020-02-29T00:00:00,2020-02-29T23:30:00+00:00,false,09:30:00
Bob,,,30,,2.5,,,,,
Ünal,x,-7,,-3.10,-2.5,1999-12-31,1999-12-31T23:59:59.123456,1999-12-31T23:59:59+00:00,true,23:59:59
100%_a\\b,"",7,9000000000,1000000.01,,2024-12-30,2024-12-30T12:00:00,2024-12-30T12:00:00+00:00,false,00:00:00
straße,z,0,0,0,0,2021-01-03,2021-01-03T05:06:07,2021-01-03T05:06:07+00:00,true,12:00:00
Bob,x,5,5,2.5,3.5,2020-01-31,2020-01-31T10:11:12.5,2020-01-31T10:00:00+00:00,false,08:00:00
"""
#: Each with the mark of one that is refused.
STATEMENTS = [
    line.partition(" -- ")[::2]
    for line in Path(__file__).with_name("statements.sql").read_text().splitlines()
    if not line.startswith("--")
]


@pytest.fixture(scope="module")
def asked(module_transaction: ModuleTransaction) -> Resource:
    csv = ",".join(TYPES) + "\n" + ROWS
    make_resource(csv, types=TYPES, name="u")
    asked = make_resource(csv, types=TYPES, name="asked")
    with connection.cursor() as cursor:
        columns = ", ".join(
            f"(data ->> '{name}')::{kind} AS \"{name}\"" for name, kind in TYPES.items()
        )
        for name, resource in (("T", asked), ("u", Resource.objects.get(name="u"))):
            table = f"datastore_search_record_{resource.table_version_id}"
            cursor.execute(
                f'CREATE TEMP TABLE "{name}" AS SELECT _id, {columns} FROM {table} ORDER BY _id'
            )
    return asked


def normalize(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return pytest.approx(float(value), rel=1e-9, abs=1e-12)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return [normalize(each) for each in value] if isinstance(value, list) else value


def ask_postgresql(statement: str) -> tuple[list[str], list[str], list[tuple[Any, ...]]] | None:
    """Return the names and types of the columns, and the rows; None for an error."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL TimeZone = 'UTC'")
            cursor.execute(statement)
            columns = cursor.description or ()
            known = cursor.connection.adapters.types
            types = [getattr(known.get(each.type_code), "name", "") for each in columns]
            return [each.name for each in columns], types, cursor.fetchall()
    except DatabaseError:
        return None


@pytest.mark.parametrize(("statement", "mark"), STATEMENTS, ids=[each[0] for each in STATEMENTS])
def test_a_statement_finds_what_postgresql_finds_or_is_refused(
    client: Any, asked: Resource, statement: str, mark: str
) -> None:
    expected = ask_postgresql(statement)

    sent = {"sql": statement.replace('"T"', f'"{asked.pk}"')}
    response = act(client, "datastore_search_sql", sent)

    answer = response.json()
    if mark or expected is None:
        assert response.status_code in {403, 404, 409}, answer
        return
    assert response.status_code == 200, answer
    names, types, rows = expected
    fields = answer["result"]["fields"]
    assert [each["id"] for each in fields] == names
    shown = [each["type"].lstrip("_").replace("text", "varchar") for each in fields]
    assert shown == [each.replace("text", "varchar") for each in types]
    wanted = [
        [normalize(cell) for cell in dict(zip(names, row, strict=True)).values()] for row in rows
    ]
    found = [[*record.values()] for record in answer["result"]["records"]]
    if "order by" not in statement.lower():
        wanted.sort(key=repr)
        found.sort(key=repr)
    assert found == wanted
