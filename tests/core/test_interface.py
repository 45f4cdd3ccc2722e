"""The interface for a portal's own Python code: what a user may do, and the values it returns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import islice
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory

from datastore_search import interface
from datastore_search.api import parameters
from datastore_search.api.actions.search import SearchParameters
from datastore_search.api.actions.write import (
    CreateParameters,
    RecordsDeleteParameters,
    UpsertParameters,
)
from datastore_search.api.parameters import IgnoredField
from datastore_search.guards import shares
from datastore_search.guards.shares import Client as GuardedClient
from datastore_search.interface import (
    AccessDenied,
    InvalidParameters,
    UnknownResource,
    create,
    delete,
    get_resource,
    iterate,
    list_resources,
    run_action,
    search,
    upsert,
)
from datastore_search.messages.requests import UnknownAction
from datastore_search.messages.writing import InvalidRecord, KeyNotUnique
from datastore_search.models import Resource
from datastore_search.signals import resource_written

from ..builders import SURVEY, act, create_resource, make_resource, make_token, make_user, receive

ANYONE = AnonymousUser()

NOON = datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=UTC)

VALUES: dict[str, tuple[Any, Any]] = {
    "text": ("Hà Nội", "Hà Nội"),
    "int4": (7, 7),
    "int8": (2**62, 2**62),
    "numeric": (Decimal("10.50"), Decimal("10.50")),
    "float8": (0.1, 0.1),
    "bool": (True, True),
    "date": (date(2024, 2, 29), date(2024, 2, 29)),
    "timestamp": (NOON.replace(tzinfo=None), NOON.replace(tzinfo=None)),
    "timestamptz": (NOON, NOON),
    "time": (time(12, 34, 56), time(12, 34, 56)),
    "json": ({"a": [1, 1.5, None]}, {"a": [1, Decimal("1.5"), None]}),
    "_text": (["a", "b"], ["a", "b"]),
    "_int4": ([1, None], [1, None]),
    "_float8": ([0.5, None], [0.5, None]),
}


@pytest.fixture
def writer(db: None) -> Any:
    return make_user(
        "writer",
        permissions=("view_resource", "add_resource", "change_resource", "delete_resource"),
    )


@pytest.fixture
def survey(db: None) -> Resource:
    return make_resource(SURVEY)


@pytest.fixture
def received() -> Iterator[list[dict[str, Any]]]:
    """What ``resource_written`` has brought."""
    with receive(resource_written, Resource) as calls:
        yield calls


# The declarations ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "declared", "others"),
    [
        (interface.SearchOptions, SearchParameters, {"resource_id", "records_format"}),
        (interface.QueryOptions, parameters.QueryParameters, set()),
        (interface.CreateOptions, CreateParameters, set()),
        (interface.UpsertOptions, UpsertParameters, {"resource_id", "records"}),
        (interface.DeleteOptions, RecordsDeleteParameters, {"resource_id", "filters"}),
    ],
)
def test_the_options_are_the_parameters_of_the_api(
    options: Any, declared: type[parameters.ActionParameters], others: set[str]
) -> None:
    core = {
        name
        for name, field in declared.get_declared().items()
        if not (isinstance(field, IgnoredField) or field.answers)  # by an app
    }

    assert core - others - {"id"} == {*options.__annotations__}


# Permissions --------------------------------------------------------------------------------------


def test_a_user_sees_the_resources_that_they_may_read(survey: Resource, hidden: Resource) -> None:
    create_resource(name="without-a-table")
    reader = make_user(permissions=("view_resource",))

    assert {*list_resources(ANYONE)} == {survey}
    assert {*list_resources(reader)} == {survey, hidden}


def test_what_a_user_may_not_read_is_refused(hidden: Resource) -> None:
    for refused in (
        lambda: search(ANYONE, hidden.pk),
        lambda: iterate(ANYONE, hidden.pk),
        lambda: get_resource(ANYONE, hidden.pk),
        lambda: run_action(ANYONE, "datastore_info", resource_id=hidden.pk),
    ):
        with pytest.raises(AccessDenied, match="is private"):
            refused()

    reader = make_user(permissions=("view_resource",))
    assert search(reader, hidden.pk).total == 6
    assert len([*iterate(reader, hidden.pk)]) == 6


def test_what_a_user_may_not_change_is_refused(survey: Resource) -> None:
    reader = make_user(permissions=("view_resource",))

    for refused in (
        lambda: upsert(reader, survey.pk, [{"code": "7"}], method="insert", force=True),
        lambda: delete(reader, survey.pk, {}, force=True),
        lambda: create(reader, resource_id=survey.pk, force=True),
        lambda: get_resource(reader, survey.pk, verb="change"),
    ):
        with pytest.raises(AccessDenied, match="user reader may not change"):
            refused()
    assert search(ANYONE, survey.pk).total == 6


@pytest.mark.django_db
def test_an_unknown_resource_is_refused() -> None:
    for refused in (
        lambda: search(ANYONE, uuid4()),
        lambda: iterate(ANYONE, "rivers"),
        lambda: get_resource(ANYONE, "rivers"),
    ):
        with pytest.raises(UnknownResource):
            refused()


def test_a_request_brings_its_user_and_its_client(
    hidden: Resource, rf: RequestFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str] = []
    hold = shares.Shares.hold

    def note(self: shares.Shares, client: GuardedClient | None, *args: Any) -> Any:
        keys.extend([client.key] if client else [])
        return hold(self, client, *args)

    monkeypatch.setattr(shares.Shares, "hold", note)
    reader = make_user(permissions=("view_resource",))
    # A page of the portal is not answered from a cache of the API.
    request = rf.get("/", HTTP_IF_MODIFIED_SINCE="Fri, 01 Jan 2100 00:00:00 GMT")
    with pytest.raises(AccessDenied):
        search(request, hidden.pk)  # without a middleware, a request has no user
    request.user = reader

    assert search(request, hidden.pk, q="river").total == 1
    assert search(reader, hidden.pk, q="river").total == 1
    assert keys[0] == "127.0.0.1"
    assert keys[1] not in {"", keys[0]}


# Searching ----------------------------------------------------------------------------------------


def test_a_search_is_that_of_the_api(client: Client, survey: Resource) -> None:
    options: dict[str, Any] = {
        "filters": {"stage": "active"},
        "sort": ["code desc"],
        "fields": ["code", "title"],
        "limit": 2,
        "offset": 1,
    }
    answer = act(client, "datastore_search", {"resource_id": str(survey.pk), **options})

    found = search(ANYONE, survey.pk, **options)

    expected = answer.json()["result"]
    assert (found.records, found.total) == (expected["records"], expected["total"])
    assert found.fields == {"code": "text", "title": "text"}


@pytest.mark.needs("analysis")
def test_a_search_by_words_and_values_of_python(survey: Resource) -> None:
    of_apps: Any = {"highlight": True}
    found = search(
        ANYONE,
        survey.pk,
        q="river",
        filters={"seen": {"gte": date(2019, 1, 1)}, "amount": [10.5, Decimal(7)]},
        include_next_page=True,
        **of_apps,
    )

    (record,) = found.records
    assert (record["seen"], record["amount"]) == (date(2019, 1, 2), Decimal("10.50"))
    assert isinstance(record["rank"], float)
    assert found.fields["rank"] == "float"
    assert found.members["highlights"] == [{"title": [[0, 5]]}]


def test_values_are_of_the_types_of_their_fields(writer: Any) -> None:
    result = create(
        writer,
        fields=[{"id": name, "type": name} for name in VALUES],
        records=[{name: given for name, (given, _read) in VALUES.items()}, {}],
        resource={"name": "Values"},
        include_records=True,
    )
    expected = {name: read for name, (_given, read) in VALUES.items()}

    full, empty = search(writer, result["resource_id"]).records

    assert full == {"_id": 1, **expected}
    assert {name: type(value) for name, value in full.items() if name != "_id"} == {
        name: type(value) for name, value in expected.items()
    }
    assert empty == {"_id": 2, **dict.fromkeys(VALUES)}
    assert result["records"] == [full, empty] == [*iterate(writer, result["resource_id"])]


def test_values_that_python_cannot_hold_stay_texts(typed: Resource) -> None:
    records = [*iterate(ANYONE, typed.pk)]

    assert "infinity" in {record["timestamp"] for record in records if "timestamp" in record}
    assert any(isinstance(record.get("timestamp"), datetime) for record in records)
    assert repr(records) == repr(search(ANYONE, typed.pk, limit=1_000).records)  # NaN is not NaN


def test_all_wrong_parameters_are_named(survey: Resource) -> None:
    with pytest.raises(InvalidParameters) as caught:
        search(ANYONE, survey.pk, limit=-1, offset="x")  # type: ignore[arg-type] # that is wrong
    assert {error.parameter for error in caught.value.errors} == {"limit", "offset"}

    wrongs: list[Any] = [{"filters": {"nothing": 1}}, {"sort": "nothing"}, {"nothing": 1}]
    for wrong in wrongs:
        with pytest.raises(InvalidParameters, match="nothing"):
            search(ANYONE, survey.pk, **wrong)
        with pytest.raises(InvalidParameters, match="nothing"):
            iterate(ANYONE, survey.pk, **wrong)


def test_any_action_can_be_run(survey: Resource) -> None:
    info = run_action(ANYONE, "datastore_info", resource_id=survey.pk)

    assert info["meta"]["count"] == 6
    assert "Search the records" in run_action(ANYONE, "help_show", name="datastore_search")
    with pytest.raises(UnknownAction):
        run_action(ANYONE, "datastore_run_triggers")


# Iterating ----------------------------------------------------------------------------------------


def test_an_iteration_finds_what_a_search_finds(survey: Resource) -> None:
    given: list[Any] = [
        {},
        {"q": "river"},
        {"filters": {"stage": "active"}},
        {"sort": "title desc"},
    ]
    for options in given:
        found = search(ANYONE, survey.pk, fields="title,amount", **options)
        iterated = [*iterate(ANYONE, survey.pk, fields="title,amount", **options)]

        assert iterated == found.records
    assert [*iterate(ANYONE, survey.pk, fields="stage", distinct=True, limit=1)] != []


@pytest.mark.django_db(transaction=True)
def test_an_iteration_reads_one_version_in_blocks(writer: Any) -> None:
    text = "x" * 1_000
    records = [{"n": number, "t": text} for number in range(5_000)]
    name = create(writer, records=records, resource={"name": "Many"})["resource_id"]

    iterator = iterate(writer, name)
    first = [*islice(iterator, 2)]
    delete(writer, name, {})

    assert [record["n"] for record in first] == [0, 1]
    assert [record["n"] for record in iterator] == [*range(2, 5_000)]
    assert search(writer, name).total == 0


# Writing ------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_records_are_created_changed_and_deleted(
    writer: Any, received: list[dict[str, Any]]
) -> None:
    records: list[dict[str, Any]] = [
        {"code": "a", "day": date(2024, 2, 29)},
        {"code": "b", "day": None},
    ]
    name = create(
        writer,
        resource={"name": "Stock"},
        fields=[{"id": "code", "type": "text"}, {"id": "day", "type": "date"}],
        records=records,
        primary_key="code",
    )["resource_id"]
    changed = upsert(
        writer, name, [{"code": "b", "day": date(2024, 3, 1)}, {"code": "c"}], include_records=True
    )
    deleted = delete(writer, UUID(name), {"code": "a"}, include_deleted_records=True)

    assert [record["day"] for record in changed["records"]] == [date(2024, 3, 1), None]
    assert deleted["deleted_records"] == [{"_id": 1, **records[0]}]
    assert [record["code"] for record in iterate(writer, name)] == ["b", "c"]
    assert [{**values, "resource": str(values["resource"].pk)} for values in received] == [
        {"resource": name, "added": 2, "updated": 0, "deleted": 0},
        {"resource": name, "added": 1, "updated": 1, "deleted": 0},
        {"resource": name, "added": 0, "updated": 0, "deleted": 1},
    ]


def test_a_wrong_record_changes_nothing(survey: Resource, writer: Any) -> None:
    with pytest.raises(InvalidParameters) as caught:
        upsert(writer, survey.pk, [{"amount": "many"}], method="insert", force=True)
    (error,) = caught.value.errors
    assert isinstance(error, InvalidRecord)

    with pytest.raises(InvalidParameters) as caught:
        create(writer, resource_id=survey.pk, primary_key="stage", force=True)
    assert isinstance(caught.value.errors[0], KeyNotUnique)

    assert search(writer, survey.pk).total == 6


# The signal ---------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_every_door_sends_the_signal_once_and_after_the_commit(
    client: Client, writer: Any, received: list[dict[str, Any]]
) -> None:
    token = make_token(writer)

    def write(action: str, **sent: Any) -> dict[str, int]:
        assert act(client, action, sent, token).status_code == 200
        (values,) = received
        received.clear()
        resource = values.pop("resource")
        assert str(resource.pk) == name
        assert (resource.table_version is None) == (action == "datastore_delete")
        return values

    name = str(uuid4())
    records = [{"a": 1}, {"a": 2}]
    written = write("datastore_create", resource_id=name, records=records, primary_key="a")
    assert written == {"added": 2, "updated": 0, "deleted": 0}
    written = write("datastore_upsert", resource_id=name, records=[{"a": 2}, {"a": 3}])
    assert written == {"added": 1, "updated": 0, "deleted": 0}  # one has these values
    written = write("datastore_records_delete", resource_id=name, filters={"a": 1})
    assert written == {"added": 0, "updated": 0, "deleted": 1}
    written = write("datastore_delete", resource_id=name)
    assert written == {"added": 0, "updated": 0, "deleted": 2}


@pytest.mark.django_db(transaction=True)
def test_what_is_not_written_sends_no_signal(writer: Any, received: list[dict[str, Any]]) -> None:
    name = create(writer, resource={"name": "Stock"}, records=[{"a": 1}])["resource_id"]
    received.clear()

    upsert(writer, name, [{"a": 2}], method="insert", dry_run=True)
    with pytest.raises(InvalidParameters):
        upsert(writer, name, [{"a": "x"}], method="insert")

    assert received == []


@pytest.mark.django_db(transaction=True)
def test_a_receiver_that_fails_changes_nothing(
    writer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_values: Any) -> None:
        raise RuntimeError("The receiver fails.")

    resource_written.connect(fail)
    try:
        name = create(writer, resource={"name": "Stock"}, records=[{"a": 1}])["resource_id"]
    finally:
        resource_written.disconnect(fail)

    assert search(writer, name).total == 1
    assert "The receiver fails." in caplog.text
