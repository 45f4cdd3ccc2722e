"""Databases whose texts have another order, or another case, than DuckDB's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from hypothesis import given

from datastore_search.contrib.analysis.engine import source
from datastore_search.contrib.analysis.engine.process import engine
from datastore_search.contrib.analysis.engine.source import read_folding
from datastore_search.contrib.analysis.facets import Facet, read_facets
from datastore_search.contrib.analysis.groups import GroupBy
from datastore_search.database.statements import execute
from datastore_search.messages.parameters import InvalidParameters
from datastore_search.models import Resource
from datastore_search.search import Query, with_consistent_read

from ...backups.servers import Server, find_machine_programs, run_server
from ...builders import act, get_record_table, get_result
from ...deployment.portals import migrate_portal, use_databases
from .records import check, filters, make_typed_resource, quickly

pytestmark = pytest.mark.slow

DATABASES = {
    "icu_en": "LOCALE_PROVIDER icu ICU_LOCALE 'en'",
    "icu_tr": "LOCALE_PROVIDER icu ICU_LOCALE 'tr'",
    "c": "LOCALE 'C'",
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with run_server(find_machine_programs()) as started:
        yield started


@pytest.fixture(params=DATABASES)
def typed(request: Any, server: Server, django_db_blocker: Any) -> Iterator[Resource]:
    with django_db_blocker.unblock():
        server.create_database(request.param, DATABASES[request.param])
        with use_databases({"default": server.build_url(request.param)}):
            migrate_portal()
            read_folding.cache_clear()
            yield make_typed_resource()
    read_folding.cache_clear()


def list_values(resource: Resource, kind: str) -> list[str]:
    table = get_record_table(resource)
    values = f"SELECT DISTINCT (data ->> '{kind}')::{kind} AS v FROM {table}"
    rows = execute(connection, f"SELECT v::text FROM ({values}) AS found ORDER BY found.v")
    return [
        value.removesuffix("/32").removesuffix("/128") for (value,) in rows if value is not None
    ]


def list_facet(resource: Resource, kind: str, *, is_reversed: bool) -> list[str]:
    query = Query(limit=None)
    facet = Facet(GroupBy(kind), query, 1_000, is_by_value=True, is_reversed=is_reversed)
    answer = with_consistent_read(resource.pk, lambda read: read_facets(read, query, [facet]))
    return [each["value"] for each in json.loads(answer.facets[0])["values"]]


def test_the_order_is_that_of_the_database(
    typed: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    @quickly
    @given(asked=filters)
    def ask(asked: dict[str, Any]) -> None:
        check(typed, asked)

    ask()
    for kind in ("text", "inet"):
        expected = list_values(typed, kind)
        assert list_facet(typed, kind, is_reversed=False) == expected
        assert list_facet(typed, kind, is_reversed=True) == expected[::-1]
    asked = {"resource_id": str(typed.pk), "metrics": ["min(text)", "max(text)"]}
    action = "datastore_aggregate"
    found = get_result(act(Client(), action, asked))["records"]
    expected = list_values(typed, "text")
    assert found == [{"min_text": expected[0], "max_text": expected[-1]}]

    monkeypatch.setattr(source, "MAX_RANKED_VALUES", 3)
    engine.close()
    with pytest.raises(InvalidParameters, match="more than 3 different values"):
        list_facet(typed, "inet", is_reversed=False)
