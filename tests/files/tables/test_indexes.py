"""The indexes that a load creates, those that searches want, and ``Field.has_order_index``."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from time import sleep
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from datastore_search.contrib.files.tables import orders
from datastore_search.contrib.files.tables.orders import index_order
from datastore_search.filters.names import SortKey
from datastore_search.models import Origin, Resource, TableVersion
from datastore_search.search import Query

from ...builders import ask, fetch_page, get_ids, get_result
from ..builders import load_csv, make_loaded_resource

#: One more than in the largest table that needs no index of an order.
ROW_COUNT = 2_000

VALUES = {
    "whole": "{0}",
    "exact": "{0}.5",
    "day": "20{1:02}-01-02",
    "time": "2024-01-02T03:04:{1:02}",
    "short": "word {1}",
    "yes": "true",
    "long": "{2}",
    'it\'s 100% "so"': "{0}",
}
NUMBER_FIELDS = {"whole", "exact", 'it\'s 100% "so"'}
DATE_FIELDS = {"day", "time"}
TEXT_FIELDS = {"short", "long"}
LONG_VALUE = "x" * 501


@pytest.fixture
def empty(db: None) -> Resource:
    return Resource.objects.create(name="indexed")


def build_csv(rows: int = ROW_COUNT) -> str:
    header = ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in VALUES)
    lines = (
        ",".join(
            value.format(n, n % 60, LONG_VALUE if n == rows else "") for value in VALUES.values()
        )
        for n in range(1, rows + 1)
    )
    return f"{header}\n" + "\n".join(lines) + "\n"


def list_index_kinds(resource: Resource) -> list[str]:
    """Name the kind of each index of the table: key, filters, words or order."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename = %s",
            [f"datastore_search_record_{resource.table_version_id}"],
        )
        definitions = [re.sub("^.* USING ", "", text) for (text,) in cursor.fetchall()]
    kinds = {"btree (_id)": "key", "gin (data jsonb_path_ops)": "filters", "gin (search)": "words"}
    return sorted(kinds.get(text, "order") for text in definitions)


def list_ordered_fields(resource: Resource) -> set[str]:
    return set(resource.fields.filter(has_order_index=True).values_list("name", flat=True))


ALL_KINDS = ["filters", "words", "numbers", "dates", "texts"]


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        ([], set()),
        (["words"], set()),
        (["numbers"], NUMBER_FIELDS),
        (["texts"], TEXT_FIELDS),
        (ALL_KINDS, NUMBER_FIELDS | DATE_FIELDS | TEXT_FIELDS),
    ],
)
def test_a_table_has_the_indexes_that_were_chosen(
    empty: Resource, settings: Any, kinds: list[str], names: set[str]
) -> None:
    is_chosen = len(kinds) != 1  # otherwise the setting decides
    settings.DATASTORE_SEARCH_INDEXES = ALL_KINDS[:1] if is_chosen else kinds
    empty.indexes = kinds if is_chosen else None
    empty.save()

    load_csv(empty, build_csv())
    assert list_ordered_fields(empty) == set()
    for name in VALUES:
        index_order(empty.table_version_id or 0, name)

    general = [kind for kind in ("filters", "words") if kind in kinds]
    assert list_ordered_fields(empty) == names
    assert list_index_kinds(empty) == sorted(["key", *general, *["order"] * len(names)])
    assert empty.table_version is not None
    assert empty.table_version.indexes == kinds


@pytest.mark.parametrize("kinds", [[], ALL_KINDS])
def test_a_search_has_the_same_result_with_any_indexes(
    client: Client, empty: Resource, kinds: list[str]
) -> None:
    empty.indexes = kinds
    empty.save()
    load_csv(empty, build_csv())

    def search(**parameters: Any) -> list[int]:
        return get_ids(ask(client, {"resource_id": str(empty.pk), "limit": 3, **parameters}))

    last_ids = list(range(ROW_COUNT, ROW_COUNT - 3, -1))
    for name in NUMBER_FIELDS:
        quoted = name.replace('"', '""')
        assert search(sort=f'"{quoted}" desc') == last_ids
    assert search(sort="short desc, whole") == [9, 69, 129]
    assert search(sort="day") == [60, 120, 180]
    assert search(filters={"short": "word 7"}, sort="whole desc") == [1987, 1927, 1867]
    assert sorted(search(q="1999")) == [1999]
    assert search(filters={"long": LONG_VALUE}) == [ROW_COUNT]


# Indexes that searches want -----------------------------------------------------------------------


@pytest.fixture
def committed(transactional_db: None) -> Iterator[Resource]:
    resource = make_loaded_resource(build_csv())
    yield resource
    Resource.objects.all().delete()


def search(resource: Resource, **parameters: Any) -> list[int]:
    ids = get_ids(ask(Client(), {"resource_id": str(resource.pk), "limit": 1, **parameters}))
    while orders._is_running.locked():
        sleep(0.01)
    return ids


@pytest.mark.parametrize(
    "asked",
    [
        {"sort": "whole desc"},
        {"q": "word", "sort": "whole desc"},
        {"filters": {"whole": {"gte": ROW_COUNT}}},
        {"fields": "whole", "distinct": True, "sort": "whole desc", "include_total": False},
    ],
    ids=["sort", "sort of matches", "range", "distinct"],
)
def test_an_order_is_indexed_when_it_is_wanted_again(
    committed: Resource, asked: dict[str, Any]
) -> None:
    found = []
    indexed = []
    for _search in range(3):
        parameters = {"resource_id": str(committed.pk), "limit": 1, **asked}
        found.append(get_result(ask(Client(), parameters))["records"])
        search(committed)
        indexed.append(list_ordered_fields(committed))

    assert indexed == [set(), {"whole"}, {"whole"}]
    assert found[0] == found[1] == found[2]
    assert found[0][0]["whole"] == ROW_COUNT


def test_a_small_table_gets_no_index_of_an_order(committed: Resource) -> None:
    load_csv(committed, build_csv(ROW_COUNT - 1))

    for _search in range(3):
        assert search(committed, sort="whole desc") == [ROW_COUNT - 1]

    assert list_ordered_fields(committed) == set()


def test_a_table_of_the_api_gets_no_index_that_its_writer_did_not_ask_for(
    committed: Resource,
) -> None:
    TableVersion.objects.update(origin=Origin.API)

    for _search in range(3):
        assert search(committed, sort="whole desc") == [ROW_COUNT]

    assert list_ordered_fields(committed) == set()


def test_a_load_keeps_the_indexes_of_orders_that_searches_have_used(committed: Resource) -> None:
    for name in ("whole", "day", "short"):
        index_order(committed.table_version_id or 0, name)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        assert search(committed, sort="whole desc") == [ROW_COUNT]
        assert search(committed, sort="short desc") == [1989]
        cursor.execute("SELECT pg_stat_force_next_flush()")
    assert list_ordered_fields(committed) == {"whole", "day", "short"}

    load_csv(committed, build_csv(ROW_COUNT + 1))

    assert list_ordered_fields(committed) == {"whole", "short"}
    assert list_index_kinds(committed) == ["filters", "key", "order", "order", "words"]
    assert search(committed, sort="whole desc") == [ROW_COUNT + 1]


def test_a_load_drops_the_index_of_an_order_with_a_longer_value(committed: Resource) -> None:
    index_order(committed.table_version_id or 0, "short")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        assert search(committed, sort="short desc") == [1989]
        cursor.execute("SELECT pg_stat_force_next_flush()")

    load_csv(committed, build_csv().replace("word 7", LONG_VALUE))

    assert list_ordered_fields(committed) == set()
    assert search(committed, sort="short desc") == [1987]


def test_an_index_that_a_search_has_wanted_is_no_change(committed: Resource) -> None:
    before = Resource.objects.get(pk=committed.pk)

    index_order(committed.table_version_id or 0, "whole")

    after = Resource.objects.get(pk=committed.pk)
    assert (after.modified_at, after.version > before.version) == (before.modified_at, True)
    after.save()
    assert Resource.objects.get(pk=committed.pk).modified_at > before.modified_at


def test_values_that_are_too_long_are_not_indexed(empty: Resource) -> None:
    letters = random.Random(1)  # which cannot be compressed
    text = "".join(chr(letters.randrange(0x1F300, 0x1F5FF)) for _letter in range(1_000))
    load_csv(empty, "a,b\n" + "x,y\n" * ROW_COUNT + f"{text},z\n")

    for name in ("a", "b", "no field"):
        index_order(empty.table_version_id or 0, name)

    assert list_ordered_fields(empty) == {"b"}


def test_thirty_two_fields_have_an_order_at_most(empty: Resource) -> None:
    names = [f"f{position}" for position in range(40)]
    load_csv(empty, ",".join(names) + "\n" + (",".join("1" * 40) + "\n") * ROW_COUNT)

    for name in names:
        index_order(empty.table_version_id or 0, name)

    assert list_ordered_fields(empty) == set(names[:32])
    assert list_index_kinds(empty).count("order") == 32


def test_all_indexes_are_created_over_several_connections(committed: Resource) -> None:
    page = fetch_page(committed, Query(limit=1, sort=(SortKey("whole", descending=True),)))

    assert json.loads(page.text)[0]["_id"] == ROW_COUNT
    assert list_index_kinds(committed) == ["filters", "key", "words"]
