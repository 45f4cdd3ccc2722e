"""Which indexes a load makes, and that ``Field.has_order_index`` says so."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from datastore_search.models import Resource
from datastore_search.search import Query, SortKey

from ..builders import ask, fetch_page, get_ids, load_csv, make_resource

#: One more than the tables that are sorted without an index.
ROWS = 2_001

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
NUMBERS = {"whole", "exact", 'it\'s 100% "so"'}
DATES = {"day", "time"}
LONG = "x" * 501


@pytest.fixture
def empty(db: None) -> Resource:
    return Resource.objects.create(name="indexed")


def csv(rows: int = ROWS) -> str:
    header = ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in VALUES)
    lines = (
        ",".join(value.format(n, n % 60, LONG if n == rows else "") for value in VALUES.values())
        for n in range(1, rows + 1)
    )
    return f"{header}\n" + "\n".join(lines) + "\n"


def indexes_of(resource: Resource) -> list[str]:
    """List what the table is indexed by: the key, values, words, orders of fields."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename = %s",
            [f"datastore_search_record_{resource.table_version_id}"],
        )
        found = [re.sub("^.* USING ", "", text) for (text,) in cursor.fetchall()]
    kinds = {
        "btree (_id)": "key",
        "gin (data jsonb_path_ops)": "filters",
        "gin (search)": "words",
    }
    return sorted(kinds.get(text, "order") for text in found)


def ordered(resource: Resource) -> set[str]:
    return set(resource.fields.filter(has_order_index=True).values_list("name", flat=True))


ALL = ["filters", "words", "numbers", "dates", "texts"]


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        ([], set()),
        (["filters"], set()),
        (["words"], set()),
        (["numbers"], NUMBERS),
        (["dates"], DATES),
        (["texts"], {"short"}),
        (ALL, NUMBERS | DATES | {"short"}),
    ],
)
@pytest.mark.parametrize("by", ["setting", "resource"])
def test_a_table_has_the_indexes_that_were_chosen(
    empty: Resource, settings: Any, kinds: list[str], names: set[str], by: str
) -> None:
    settings.DATASTORE_SEARCH_INDEXES = kinds if by == "setting" else ALL[:1]
    empty.indexes = kinds if by == "resource" else None
    empty.save()

    load_csv(empty, csv())

    general = [kind for kind in ("filters", "words") if kind in kinds]
    assert ordered(empty) == names
    assert indexes_of(empty) == sorted(["key", *general, *["order"] * len(names)])
    assert empty.table_version is not None
    assert empty.table_version.indexes == kinds


@pytest.mark.parametrize("kinds", [[], ALL])
def test_a_search_finds_the_same_with_any_indexes(
    client: Client, empty: Resource, kinds: list[str]
) -> None:
    empty.indexes = kinds
    empty.save()
    load_csv(empty, csv())

    def found(**sent: Any) -> list[int]:
        return get_ids(ask(client, {"resource_id": str(empty.pk), "limit": 3, **sent}))

    last = list(range(ROWS, ROWS - 3, -1))
    for name in NUMBERS:
        quoted = name.replace('"', '""')
        assert found(sort=f'"{quoted}" desc') == last
    assert found(sort="short desc, whole") == [9, 69, 129]
    assert found(sort="day") == [60, 120, 180]
    assert found(filters={"short": "word 7"}, sort="whole desc") == [1987, 1927, 1867]
    assert sorted(found(q="1999")) == [1999]
    assert found(filters={"long": LONG}) == [ROWS]


def test_small_tables_are_sorted_without_an_index(empty: Resource) -> None:
    load_csv(empty, csv())
    assert len(indexes_of(empty)) == 9

    load_csv(empty, csv(ROWS - 1))

    assert indexes_of(empty) == ["filters", "key", "words"]
    assert ordered(empty) == set()


@pytest.mark.parametrize(("letters", "names"), [(500, {"a"}), (501, set())])
def test_a_field_with_a_long_value_has_no_order(
    empty: Resource, letters: int, names: set[str]
) -> None:
    load_csv(empty, "a\n" + "x\n" * ROWS + "y" * letters + "\n")

    assert ordered(empty) == names


def test_the_longest_values_that_are_indexed_fit_even_where_nothing_can_be_compressed(
    empty: Resource,
) -> None:
    letters = random.Random(1)
    value = "".join(chr(letters.randrange(0x1F300, 0x1F5FF)) for _letter in range(125))

    load_csv(empty, "a\n" + f"{value}\n" * ROWS)

    assert ordered(empty) == {"a"}


def test_the_first_thirty_two_fields_have_an_order(empty: Resource) -> None:
    names = [f"f{place}" for place in range(40)]

    load_csv(empty, ",".join(names) + "\n" + (",".join("1" * 40) + "\n") * ROWS)

    assert ordered(empty) == set(names[:32])
    assert indexes_of(empty).count("order") == 32


@pytest.fixture
def committed(transactional_db: None) -> Iterator[Resource]:
    resource = make_resource(csv())
    yield resource
    Resource.objects.all().delete()


def test_indexes_that_are_made_over_several_connections_are_all_there(committed: Resource) -> None:
    page = fetch_page(committed, Query(limit=1, sort=(SortKey("whole", descending=True),)))

    assert json.loads(page.text)[0]["_id"] == ROWS
    assert ordered(committed) == NUMBERS | DATES | {"short"}
    assert indexes_of(committed) == ["filters", "key", *["order"] * 6, "words"]
