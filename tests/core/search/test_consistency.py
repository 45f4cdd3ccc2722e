"""Consistent reads: cached descriptions are current, and no answer mixes two versions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from psycopg import sql

from datastore_search.database.statements import Clause, execute
from datastore_search.models import Alias, Field, Resource
from datastore_search.search import open_snapshot
from datastore_search.writing import GivenField, Method, open_writer

from ...builders import ask, check_error, fill_table, get_ids, get_result, make_resource, make_token
from ...reader_threads import ReaderThreads

GET = "/en/api/3/action/datastore_search"


@pytest.fixture
def committed(committed: Resource) -> Resource:
    Alias.objects.create(resource=committed, name="rivers")
    return committed


# Descriptions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["id", "alias"])
def test_a_description_is_one_row_with_all_attributes_of_every_field(
    committed: Resource, name: str, django_assert_num_queries: Any
) -> None:
    more = {"digits": 12345678901234567890, "half": 0.5, "null": None, "deep": [{"%s": '"'}]}
    committed.fields.filter(name="title").update(extra_info=more, label="Mực “%s”", notes="{}\n\\")
    committed.fields.filter(name="amount").update(position=99)

    with django_assert_num_queries(1):
        resource = Resource.objects.described("rivers" if name == "alias" else committed.pk)
        described_fields = [{**vars(field), "_state": None} for field in resource.schema]

    assert described_fields == [{**vars(field), "_state": None} for field in committed.fields.all()]
    assert [field.name for field in resource.schema][-1] == "amount"
    assert resource.schema[0].resource == committed  # one more query, as no answer needs it


# Statements ---------------------------------------------------------------------------------------


#: Parameters, and the number of statements that they take.
SEARCHES: list[tuple[dict[str, Any], int]] = [
    ({}, 1),
    ({"limit": 2, "offset": 3}, 1),
    ({"limit": 0}, 1),
    ({"sort": "amount desc"}, 1),
    ({"q": "river"}, 1),
    ({"distinct": True, "fields": ["stage"]}, 1),
    ({"filters": {"stage": "active"}, "include_total": False}, 1),
    ({"filters": {"stage": "active"}}, 2),
]


def test_a_search_that_is_repeated_takes_one_statement_and_no_transaction(
    client: Client, committed: Resource
) -> None:
    names, tokens = cycle([str(committed.pk), "rivers"]), cycle(["", make_token(), "nonsense"])
    for sent, statements in SEARCHES:
        parameters, headers = {"resource_id": next(names), **sent}, {"Authorization": next(tokens)}
        first = get_result(ask(client, parameters, **headers))

        with CaptureQueriesContext(connection) as captured:
            repeated = get_result(ask(client, parameters, **headers))

        assert repeated == first
        assert len(captured) == statements, captured.captured_queries
        assert not any("datastore_search_field" in query["sql"] for query in captured)


def test_an_unchanged_search_takes_one_statement_that_reads_no_record(
    client: Client, committed: Resource
) -> None:
    etag = client.get(GET, {"resource_id": str(committed.pk)})["ETag"]

    with CaptureQueriesContext(connection) as captured:
        response = client.get(
            GET, {"resource_id": str(committed.pk)}, headers={"If-None-Match": etag}
        )

    assert response.status_code == 304
    assert len(captured) == 1
    assert "datastore_search_record_" not in captured[0]["sql"]


# Descriptions are current -------------------------------------------------------------------------


def make_private(resource: Resource) -> None:
    Resource.objects.filter(pk=resource.pk).update(private=True)


def label_field(resource: Resource) -> None:
    Field.objects.filter(resource=resource, name="code").update(label="Code!")


def delete_field(resource: Resource) -> None:
    Field.objects.filter(resource=resource, name="title").delete()


def insert_record(resource: Resource) -> None:
    with open_writer(resource) as writer:
        writer.write([{"code": "007"}], Method.INSERT)


def delete_resource(resource: Resource) -> None:
    resource.delete()


def unpublish_by_sql(resource: Resource) -> None:
    statement = "UPDATE datastore_search_resource SET table_version_id = NULL WHERE id = %s"
    execute(connection, statement, [resource.pk])


def delete_alias(resource: Resource) -> None:
    Alias.objects.filter(resource=resource).delete()


def move_alias(resource: Resource) -> None:
    Alias.objects.filter(resource=resource).update(resource=make_resource("other\n5\n"))


def change_twice(resource: Resource) -> None:
    """Change the resource twice in one transaction, with a search in between."""
    with transaction.atomic():
        Field.objects.filter(resource=resource, name="code").update(label="between")
        assert "between" in ask(Client(), {"resource_id": "rivers"}).content.decode()
        Field.objects.filter(resource=resource, name="code").update(label="Code!")


def summarize_answer(response: Any) -> dict[str, Any]:
    result = get_result(response)
    labels = {field["id"]: field.get("info", {}).get("label", "") for field in result["fields"]}
    return {"total": result["total"], "records": len(result["records"]), "fields": labels}


BEFORE = dict.fromkeys(["_id", "code", "subject", "stage", "title", "amount", "seen"], "")
LABELLED = {"total": 6, "records": 6, "fields": {**BEFORE, "code": "Code!"}}
#: Changes of a resource, and the next answer by its alias: a status, or a summary.
CHANGES: list[tuple[Callable[[Resource], None], int | dict[str, Any]]] = [
    (make_private, 403),
    (label_field, LABELLED),
    (change_twice, LABELLED),
    (
        delete_field,
        {"total": 6, "records": 6, "fields": {k: v for k, v in BEFORE.items() if k != "title"}},
    ),
    (insert_record, {"total": 7, "records": 7, "fields": BEFORE}),
    (delete_resource, 404),
    (unpublish_by_sql, 404),
    (delete_alias, 404),
    (move_alias, {"total": 1, "records": 1, "fields": {"_id": "", "other": ""}}),
]
each_change = pytest.mark.parametrize(
    ("change", "expected"), CHANGES, ids=[change.__name__ for change, _expected in CHANGES]
)


def check_change_is_seen(
    client: Client, resource: Resource, change: Callable[[Resource], None], expected: Any
) -> None:
    parameters = {"resource_id": "rivers"}
    for _time in range(2):
        before = {"total": 6, "records": 6, "fields": BEFORE}
        assert summarize_answer(ask(client, parameters)) == before

    change(resource)

    for more in ({}, {"filters": {}, "records_format": "lists"}):
        response = ask(client, {**parameters, **more})
        answer = summarize_answer(response) if isinstance(expected, dict) else response.status_code
        assert answer == expected


@each_change
def test_a_change_is_seen_by_the_next_reader(
    client: Client, committed: Resource, change: Callable[[Resource], None], expected: Any
) -> None:
    check_change_is_seen(client, committed, change, expected)


@each_change
def test_a_change_is_seen_within_the_transaction_that_makes_it(
    client: Client, resource: Resource, change: Callable[[Resource], None], expected: Any
) -> None:
    Alias.objects.create(resource=resource, name="rivers")

    check_change_is_seen(client, resource, change, expected)


def test_a_rolled_back_change_is_not_seen(client: Client, committed: Resource) -> None:
    parameters = {"resource_id": str(committed.pk)}
    before = summarize_answer(ask(client, parameters))
    with transaction.atomic():
        label_field(committed)
        insert_record(committed)
        assert summarize_answer(ask(client, parameters)) == {
            "total": 7, "records": 7, "fields": {**BEFORE, "code": "Code!"},
        }  # fmt: skip
        transaction.set_rollback(True)

    assert summarize_answer(ask(client, parameters)) == before


@pytest.mark.parametrize("fixture", ["resource", "committed"])
def test_a_statement_that_fails_after_a_type_change_is_composed_again(
    client: Client, request: pytest.FixtureRequest, fixture: str
) -> None:
    resource = fill_table(request.getfixturevalue(fixture), "a,n\nx,1\n")
    parameters = {"resource_id": str(resource.pk), "sort": "n"}
    assert get_ids(ask(client, parameters)) == [1]

    for fields in ([GivenField("a")], [GivenField("a"), GivenField("n", "text")]):
        with open_writer(resource) as writer:
            writer.create(fields, [], delete_others=True)
    with open_writer(resource) as writer:
        writer.write([{"n": "no number"}], Method.INSERT)

    for more in ({}, {"records_format": "csv"}):
        response = ask(client, {**parameters, **more})
        assert response.status_code == 200, response.content
    assert get_ids(ask(client, parameters)) == [2, 1]


# Privacy ------------------------------------------------------------------------------------------

#: Requests that could reveal something about a resource.
PROBES: list[dict[str, Any]] = [
    {},
    {"limit": 0},
    {"limit": 1, "offset": 99},
    {"q": "river"},
    {"q": "&", "plain": False},
    {"filters": {"nope": 1}},
    {"filters": {"amount": "no number"}},
    {"fields": ["nope"]},
    {"sort": "nope"},
    {"distinct": True, "fields": ["stage"]},
    {"records_format": "csv"},
    {"limit": 32_000},
    {"include_total": False, "filters": {"stage": "active"}},
]


def test_a_resource_that_has_turned_private_reveals_nothing_to_a_client_that_had_read_it(
    client: Client, resource: Resource
) -> None:
    Alias.objects.create(resource=resource, name="rivers")
    parameters = {"resource_id": "rivers"}
    for sent in PROBES:
        ask(client, {**parameters, **sent})

    make_private(resource)

    assert len(get_ids(ask(client, parameters, Authorization=make_token()))) == 6
    for sent in PROBES:
        error = check_error(ask(client, {**parameters, **sent}), 403)
        for secret in ("code", "subject", "stage", "amount", "6"):
            assert secret not in error["message"].replace(str(resource.pk), ""), sent


# One version --------------------------------------------------------------------------------------

VERSIONS = 24


class Readers(ReaderThreads):
    """Threads that check that each answer has one version."""

    SEARCHES: tuple[dict[str, Any], ...] = (
        {},
        {"limit": 0},
        {"filters": {"kind": "x"}},
        {"q": "word"},
        {"distinct": True, "fields": ["kind", "n"]},
        {"limit": 32_000},
        {"records_format": "csv"},
        {"fields": "nope"},
    )

    def __init__(self, name: str) -> None:
        super().__init__(count=3)
        self.seen: set[int] = set()
        self._name = name

    def read_once(self) -> None:
        client = Client()
        for sent in self.SEARCHES:
            self._check(sent, ask(client, {"resource_id": self._name, **sent}))

    def _check(self, sent: dict[str, Any], response: Any) -> None:
        if response.status_code == 403 or (response.status_code == 409 and "fields" in sent):
            return
        if response.status_code != 200:
            self.errors.append((sent, response.status_code, response.getvalue()))
            return
        result = json.loads(response.getvalue())["result"]
        version = result["total"]
        self.seen.add(version)
        names = [field["id"] for field in result["fields"] if not field["id"].startswith("rank")]
        info = {field["id"]: field.get("info") for field in result["fields"]}
        expected = ["kind", "n"] if "distinct" in sent else ["_id", "kind", "n", f"f{version}"]
        records = result["records"]
        if isinstance(records, str):
            count = records.count("\n")
        else:
            count = len(records)
            if any([name for name in record if name != "rank"] != expected for record in records):
                self.errors.append((sent, version, records))
        counts = [0] if sent.get("limit") == 0 else [version]
        if (
            version % 2
            or names != expected
            or info["kind"] != {"label": str(version)}
            or count not in counts
        ):
            self.errors.append((sent, version, names, info, count))


def change_everything(resource: Resource, version: int) -> None:
    """Change records, names, labels and privacy in one transaction."""
    with transaction.atomic(), open_writer(resource) as writer:
        resource.fields.filter(name="kind").update(label=str(version))
        writer.create(
            [GivenField("kind"), GivenField("n"), GivenField(f"f{version}", "text")],
            [],
            delete_others=True,
        )
        writer.write([{"kind": "x", "n": version, f"f{version}": "word"}], Method.INSERT)
        for record_id in range(1, version):
            writer.write([{"_id": record_id, f"f{version}": "word"}], Method.UPDATE)
        Resource.objects.filter(pk=resource.pk).update(private=version % 2 == 1)


@pytest.mark.slow
def test_no_answer_mixes_two_versions_or_shows_a_private_one(committed: Resource) -> None:
    fill_table(committed, "kind,n,f2\nx,1,word\nx,2,word\n")
    committed.fields.filter(name="kind").update(label="2")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads that switch often expose races
    try:
        with Readers("rivers") as readers:
            for version in range(3, VERSIONS + 1):
                change_everything(committed, version)
                if readers.errors:
                    break
    finally:
        sys.setswitchinterval(interval)

    assert readers.errors == []
    assert len(readers.seen) > 2


# The connection -----------------------------------------------------------------------------------


def kill_session() -> None:
    """Let the server close the connection of this thread, which Django does not notice yet."""
    connection.ensure_connection()
    ours = connection.connection.info.backend_pid
    other = connections.create_connection("default")
    try:
        execute(other, "SELECT pg_terminate_backend(%s, 5000)", [ours])
    finally:
        other.close()


def test_a_dead_connection_is_replaced_and_the_search_answered(
    client: Client, committed: Resource
) -> None:
    searches: list[dict[str, Any]] = [{}, {"filters": {"stage": "active"}}, {"q": "river"}]
    for sent in searches:
        parameters = {"resource_id": str(committed.pk), **sent}
        first = get_result(ask(client, parameters))

        kill_session()

        assert get_result(ask(client, parameters)) == first


def test_a_snapshot_on_a_connection_that_replaces_a_dead_one_is_one(committed: Resource) -> None:
    kill_session()
    connection.close_if_unusable_or_obsolete()  # as at the start of each request

    with open_snapshot() as session:
        ((level,),) = session.fetch_rows(Clause(sql.SQL("SHOW transaction_isolation")))

    assert level == "repeatable read"
