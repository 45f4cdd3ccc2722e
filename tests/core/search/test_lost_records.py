"""Lost records: an answer that misses records is an error, never a success."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from datastore_search.database.statements import execute
from datastore_search.models import Resource

from ...builders import act, check_error, get_record_table, make_resource, make_user_token, search

MISSING = (
    "Not found: the records of resource “{name}” are not in the database. Load its file again, or"
    " restore them from a backup."
)
INCOMPLETE = (
    "Records of this resource are missing from the database. They must be restored, or loaded"
    " again."
)


def execute_on_table(statement: str, resource: Resource) -> None:
    execute(connection, statement.format(table=get_record_table(resource)))


TRUNCATE, DROP = "TRUNCATE {table}", "DROP TABLE {table}"
#: Leaves fewer records than the stored count.
DELETE = "DELETE FROM {table} WHERE _id > 2"

#: Searches for records, or for their number, without conditions.
SEARCHES: list[dict[str, Any]] = [
    {},
    {"limit": 0},
    {"limit": 3, "offset": 1},
    {"include_total": False},
    {"records_format": "csv"},
    {"limit": 32_000},
    {"sort": "title desc"},
    {"fields": ["code"], "limit": 5},
]


@pytest.mark.parametrize("parameters", SEARCHES)
def test_a_truncated_table_is_503(
    resource: Resource, client: Client, parameters: dict[str, Any]
) -> None:
    assert search(client, resource, **parameters).status_code == 200

    execute_on_table(TRUNCATE, resource)
    response = search(client, resource, **parameters)

    assert check_error(response, 503) == {"message": INCOMPLETE}
    assert response["Retry-After"] == "5"


def test_a_page_with_missing_records_is_503(resource: Resource, client: Client) -> None:
    execute_on_table(DELETE, resource)

    whole = search(client, resource, limit=2)
    short = search(client, resource, limit=3)
    filtered = search(client, resource, filters={"stage": "active"})

    assert len(whole.json()["result"]["records"]) == 2
    assert check_error(short, 503) == {"message": INCOMPLETE}
    assert filtered.json()["result"]["total"] == 2  # counted, not the stored count


def test_an_empty_resource_is_answered_as_before(db: None, client: Client) -> None:
    empty = make_resource("a,b\n")

    for parameters in SEARCHES[:5]:
        response = search(client, empty, **parameters)
        assert response.status_code == 200, response.json()


@pytest.mark.parametrize(
    "parameters", [{}, {"limit": 0}, {"records_format": "csv"}, {"q": "foxes"}]
)
def test_a_missing_table_is_not_found(
    resource: Resource, client: Client, parameters: dict[str, Any]
) -> None:
    assert search(client, resource, **parameters).status_code == 200

    execute_on_table(DROP, resource)
    response = search(client, resource, **parameters)

    assert check_error(response, 404) == {"message": MISSING.format(name=resource.pk)}


@pytest.mark.parametrize(
    ("statement", "status", "kind"),
    [(TRUNCATE, 503, "csv"), (DROP, 404, "json"), (DELETE, 503, "csv"), (DELETE, 503, "xml")],
)
def test_a_dump_without_its_records_is_an_error(
    resource: Resource, client: Client, statement: str, status: int, kind: str
) -> None:
    execute_on_table(statement, resource)

    response = client.get(f"/en/datastore/dump/{resource.pk}?format={kind}")

    assert response.status_code == status
    assert response.json()["success"] is False


@pytest.mark.parametrize(("statement", "status"), [(TRUNCATE, 503), (DROP, 404)])
@pytest.mark.needs("pages")
def test_a_page_and_a_description_say_what_is_missing(
    resource: Resource, client: Client, statement: str, status: int
) -> None:
    execute_on_table(statement, resource)

    page = client.get(f"/en/datastore/{resource.pk}/")
    info = act(client, "datastore_info", {"id": str(resource.pk)})

    assert page.status_code == info.status_code == status
    message = info.json()["error"]["message"]
    assert message in {INCOMPLETE, MISSING.format(name=resource.pk)}
    assert message in page.content.decode()


@pytest.mark.parametrize(
    ("action", "parameters"),
    [
        ("datastore_upsert", {"method": "insert", "records": [{"code": "9"}]}),
        ("datastore_delete", {"filters": {"code": "001"}}),
        ("datastore_records_delete", {"filters": {"code": "001"}}),
    ],
)
def test_nothing_is_written_to_a_missing_table(
    resource: Resource, client: Client, action: str, parameters: dict[str, Any]
) -> None:
    token = make_user_token("writer", "change", "delete")
    execute_on_table(DROP, resource)
    sent = {"resource_id": str(resource.pk), "force": True, **parameters}

    response = act(client, action, sent, token)

    message = check_error(response, 404)["message"]
    assert message == MISSING.format(name=resource.pk)


# A new database -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_after_a_flush_tables_are_made_as_in_a_new_database() -> None:
    call_command("flush", interactive=False, verbosity=0)  # the sequences restart with 1
    first, second = make_resource(name="first"), make_resource(name="second")
    old_numbers = {first.table_version_id, second.table_version_id}

    call_command("flush", interactive=False, verbosity=0)
    resources = [make_resource(name=name) for name in ("first", "second", "third")]

    numbers = {resource.table_version_id for resource in resources}
    assert len(numbers) == 3
    assert not numbers & old_numbers
    for resource in resources:
        resource.delete()
    for number in old_numbers:
        execute(connection, f"DROP TABLE datastore_search_record_{number}")
