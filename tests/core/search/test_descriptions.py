"""The cache of descriptions: bounded, and only of resources that exist."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from datastore_search.guards.cache import BoundedCache
from datastore_search.models import MAX_ALIAS_LENGTH, Alias, Resource
from datastore_search.search import plan, query, reads
from datastore_search.search.reads import Description

from ...builders import READING, act, ask, check_error, get_ids, make_resource, make_writer_token

ID = "5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11"
LONG = "x" * (MAX_ALIAS_LENGTH + 1)


@pytest.fixture
def descriptions(monkeypatch: pytest.MonkeyPatch) -> BoundedCache[Any, Description]:
    """An empty cache of at most two descriptions."""
    descriptions = BoundedCache[Any, Description]("test", 2)
    monkeypatch.setattr(reads, "descriptions", descriptions)
    return descriptions


@pytest.mark.parametrize(
    ("action", "sent", "name"),
    [
        *((action, sent, LONG) for action, sent in READING.items()),
        *(("datastore_search", {}, name) for name in ("nope", ID, ID.upper(), "x" * 100_000)),
        ("datastore_create", {}, LONG),
        ("datastore_upsert", {}, ID),
        ("datastore_delete", {"filters": {}}, LONG),
        ("datastore_records_delete", {"filters": {}}, "nope"),
    ],
)
@pytest.mark.usefixtures("db")
def test_an_unknown_name_is_not_cached(
    client: Client,
    descriptions: BoundedCache[Any, Description],
    action: str,
    sent: dict[str, Any],
    name: str,
) -> None:
    token = make_writer_token()

    with CaptureQueriesContext(connection) as captured:
        answer = act(client, action, {"resource_id": name, **sent}, token)
        error = check_error(answer, 404)

    assert len(error["message"]) < 400
    assert len(descriptions) == 0
    if len(name) > MAX_ALIAS_LENGTH:
        assert not [query for query in captured if "datastore_search_alias" in query["sql"]]


def test_unknown_names_evict_no_description(
    client: Client, resource: Resource, descriptions: BoundedCache[Any, Description]
) -> None:
    parameters = {"resource_id": str(resource.pk)}
    ask(client, parameters)
    for number in range(5):
        ask(client, {"resource_id": f"nope-{number}"})

    with CaptureQueriesContext(connection) as captured:
        assert len(get_ids(ask(client, parameters))) == 6

    assert not any("datastore_search_field" in query["sql"] for query in captured)


def test_an_id_is_cached_once_in_any_spelling(
    client: Client, db: None, descriptions: BoundedCache[Any, Description]
) -> None:
    resource = make_resource(id=ID)
    Alias.objects.create(resource=resource, name="Rivers")

    for name in (ID, ID.upper(), ID.capitalize(), ID.replace("b", "B")):
        assert len(get_ids(ask(client, {"resource_id": name}))) == 6
    assert len(descriptions) == 1
    assert len(get_ids(ask(client, {"resource_id": "Rivers"}))) == 6
    check_error(ask(client, {"resource_id": "rivers"}), 404)
    assert len(descriptions) == 2


def test_statements_of_many_fields_are_cached_for_a_few_orders_only(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"f{number}" for number in range(query.MAX_NARROW_FIELDS + 1)]
    wide = make_resource(f"{','.join(names)}\n{','.join('1' * len(names))}\n")
    caches: list[Any] = [query._build_wide_columns, plan._render_wide_key_scan]
    narrow_count = query._build_narrow_columns.cache_info().currsize

    for turn in range(query.MAX_WIDE_ENTRIES + 5):
        fields = [*names[turn:], *names[:turn]]
        parameters = {"resource_id": str(wide.pk), "fields": ["_id", *fields]}
        assert get_ids(ask(client, parameters)) == [1]

    assert [cache.cache_info().currsize for cache in caches] == [query.MAX_WIDE_ENTRIES] * 2
    assert query._build_narrow_columns.cache_info().currsize == narrow_count
