"""The indexes that a load creates, and ``Field.has_order_index``."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from datastore_search.filters.names import SortKey
from datastore_search.models import Resource
from datastore_search.search import Query

from ...builders import ask, fetch_page, get_ids
from ..builders import load_csv, make_loaded_resource

#: One more than in the largest table that is sorted without an index.
ROW_COUNT = 2_001

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
    kinds = {
        "btree (_id)": "key",
        "gin (data jsonb_path_ops)": "filters",
        "gin (search)": "words",
    }
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
        (["texts"], {"short"}),
        (ALL_KINDS, NUMBER_FIELDS | DATE_FIELDS | {"short"}),
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


def test_small_tables_are_sorted_without_an_index(empty: Resource) -> None:
    load_csv(empty, build_csv())
    assert len(list_index_kinds(empty)) == 9

    load_csv(empty, build_csv(ROW_COUNT - 1))

    assert list_index_kinds(empty) == ["filters", "key", "words"]
    assert list_ordered_fields(empty) == set()


def test_the_longest_indexed_values_fit_and_longer_ones_have_no_order(empty: Resource) -> None:
    letters = random.Random(1)  # which cannot be compressed
    fitting = "".join(chr(letters.randrange(0x1F300, 0x1F5FF)) for _letter in range(125))

    load_csv(empty, "a,b\n" + f"{fitting},x\n" * ROW_COUNT + f",{'y' * 501}\n")

    assert list_ordered_fields(empty) == {"a"}


def test_the_first_thirty_two_fields_have_an_order(empty: Resource) -> None:
    names = [f"f{position}" for position in range(40)]

    load_csv(empty, ",".join(names) + "\n" + (",".join("1" * 40) + "\n") * ROW_COUNT)

    assert list_ordered_fields(empty) == set(names[:32])
    assert list_index_kinds(empty).count("order") == 32


@pytest.fixture
def committed(transactional_db: None) -> Iterator[Resource]:
    resource = make_loaded_resource(build_csv())
    yield resource
    Resource.objects.all().delete()


def test_all_indexes_are_created_over_several_connections(committed: Resource) -> None:
    page = fetch_page(committed, Query(limit=1, sort=(SortKey("whole", descending=True),)))

    assert json.loads(page.text)[0]["_id"] == ROW_COUNT
    assert list_ordered_fields(committed) == NUMBER_FIELDS | DATE_FIELDS | {"short"}
    assert list_index_kinds(committed) == ["filters", "key", *["order"] * 6, "words"]
