"""
The access paths of searches in a table that is made to mislead the planner, and what they find.

The statements are those that were run.  The records are compared with the same rows in Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from hashlib import blake2b
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from datastore_search.filters import Comparison, In
from datastore_search.models import Resource
from datastore_search.search import Query, SortKey
from datastore_search.writing import open_writer

from ..builders import fetch_page, make_resource

Record = dict[str, Any]
ROWS = 40_000
NUMBERS = range(1, ROWS + 1)


def made(number: int) -> Record:
    """
    Make a record.

    The common value of ``late`` is at the end, and the last hundred records are ``rare``; the
    orders of the other fields are unrelated to that of the keys.
    """
    return {
        "_id": number,
        "n": None if number % 100 == 0 else number * 7919 % 30_011,
        "amount": number * 31 % 9_973 / 4,
        "day": None if number % 77 == 0 else str(date(2020, 1, 1) + timedelta(number * 13 % 3_000)),
        "name": f"name {number * 17 % 5_003:04}",
        "kind": (None, "a", "b", "c")[number % 4],
        "ended": None if number > 30_000 else "xy"[number % 2],
        "late": "rare" if number > ROWS - 100 else "yes" if number > 15_000 else "no",
        "text": f"word{number % 7} {'unique' if number == 39_990 else 'often'}",
    }


RECORDS = [made(number) for number in NUMBERS]
NAMES = list(RECORDS[0])[1:]


@pytest.fixture(scope="module")
def table(django_db_setup: None, django_db_blocker: Any) -> Iterator[Resource]:
    rows = (",".join("" if row[n] is None else str(row[n]) for n in NAMES) for row in RECORDS)
    with django_db_blocker.unblock():
        resource = make_resource(f"{','.join(NAMES)}\n" + "\n".join(rows) + "\n", name="plans")
        yield resource
        resource.delete()


# What a search does -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """
    What a search finds, and how.

    ``paths`` are the indexes that each statement has read the records by: ``all`` of them without
    one, by their ``row_locator`` those that it had found before; ``sorted`` if any were sorted.
    ``fetched`` counts the records that were read in the table.
    """

    ids: list[int]
    total: int | None
    paths: list[set[str]]
    fetched: int


def answer_of(resource: Resource, query: Query) -> Answer:
    fetch_page(resource, query)  # from now on its description is kept
    with CaptureQueriesContext(connection) as captured:
        page = fetch_page(resource, query)
    plans = [_plan(each["sql"]) for each in captured if "datastore_search_record_" in each["sql"]]
    nodes = [list(_nodes(plan)) for plan in plans]
    return Answer(
        ids=[record.get("_id") for record in json.loads(page.text)],
        total=page.total,
        paths=[{path for node in each for path in _access_path(node, resource)} for each in nodes],
        fetched=sum(_fetched(node, resource) for each in nodes for node in each),
    )


def _plan(statement: str) -> Any:
    with connection.cursor() as cursor:
        for setting in ("random_page_cost = 1.1", "work_mem = '64MB'", "jit = off"):
            cursor.execute(f"SET LOCAL {setting}")
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING off, FORMAT json) {statement}")
        return cursor.fetchone()[0][0]["Plan"]


def _nodes(node: Any) -> Iterator[Any]:
    """List the steps that were taken."""
    if node["Actual Loops"]:
        yield node
        for child in node.get("Plans", ()):
            yield from _nodes(child)


def _access_path(node: Any, resource: Resource) -> Iterator[str]:
    table = _table(resource)
    names = {f"{table}_by_{blake2b(n.encode(), digest_size=8).hexdigest()}": n for n in NAMES}
    names |= {f"{table}_pkey": "_id", f"{table}_data_idx": "values", f"{table}_search_idx": "words"}
    if node.get("Index Name") in names:
        yield names[node["Index Name"]]
    elif "Seq Scan" in node["Node Type"] and node["Relation Name"] == table:
        yield "all"
    elif node["Node Type"] == "Tid Scan":
        yield "row_locator"
    elif "Sort" in node["Node Type"]:
        yield "sorted"


def _fetched(node: Any, resource: Resource) -> int:
    if node.get("Relation Name") != _table(resource) or "Index Only" in node["Node Type"]:
        return 0
    rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return int(rows * node["Actual Loops"])


def _table(resource: Resource) -> str:
    return f"datastore_search_record_{resource.table_version_id}"


# What it should find ------------------------------------------------------------------------------


def ids_in_order(keep: Callable[[Record], bool], key: SortKey | None = None) -> list[int]:
    """Filter all records in Python, and sort those that are kept."""
    found = [record for record in RECORDS if keep(record)]
    if key:
        if key.descending:
            found.reverse()
        nulls = [record for record in found if record[key.field] is None]
        valued = [record for record in found if record[key.field] is not None]
        valued.sort(key=lambda record: record[key.field], reverse=key.descending)
        first = key.descending if key.nulls_first is None else key.nulls_first
        found = [*nulls, *valued] if first else [*valued, *nulls]
    return [record["_id"] for record in found]


def check(
    resource: Resource, query: Query, keep: Callable[[Record], bool], paths: list[set[str]]
) -> Answer:
    """
    Compare what a search finds, and its access paths, with what they should be.

    Of more than half of all records, PostgreSQL may read the table rather than an index of it; for
    a value and a word it may read both indexes.
    """
    expected = ids_in_order(keep, query.sort[0] if query.sort else None)

    answer = answer_of(resource, query)

    assert answer.ids == expected[query.offset :][: query.limit]
    assert answer.total == (len(expected) if query.include_total else None)
    if len(expected) > ROWS / 2:
        read = [{"all", "sorted"} if path == VALUES_SORTED else path for path in paths]
        assert answer.paths in (paths, read)
    elif query.q and query.filters:
        both = [path | BY_WORD if path >= BY_VALUE else path for path in paths]
        assert answer.paths in (paths, both)
    else:
        assert answer.paths == paths
    return answer


RARE, LATE = In("late", ("rare",)), In("late", ("yes",))
SOME, MOST = In("kind", ("b",)), In("kind", ("a", "b", "c"))
UP, DOWN = SortKey("_id"), SortKey("_id", descending=True)


def is_rare(record: Record) -> bool:
    return bool(record["late"] == "rare")


def is_late(record: Record) -> bool:
    return bool(record["late"] == "yes")


def is_some(record: Record) -> bool:
    return bool(record["kind"] == "b")


def is_most(record: Record) -> bool:
    return record["kind"] is not None


def is_rare_and_often(record: Record) -> bool:
    return is_rare(record) and "often" in record["text"]


def is_any(_record: Record) -> bool:
    return True


def has(word: str) -> Callable[[Record], bool]:
    return lambda record: word in record["text"]


BY_VALUE, BY_WORD = {"values"}, {"words"}
VALUES_SORTED, WORDS_SORTED = {"values", "sorted"}, {"words", "sorted"}
RANKED = {"words", "sorted", "_id"}


@dataclass(frozen=True)
class Case:
    """A query, what it keeps, its access paths, and the records that it may fetch."""

    query: Query
    keep: Callable[[Record], bool]
    paths: list[set[str]]
    fetched: int = ROWS


def asked(*filters: In, sort: SortKey | None = None, **more: Any) -> Query:
    """Ask for the first five records."""
    return Query(**{"limit": 5, "filters": filters, "sort": (sort,) if sort else (), **more})


# The order of the keys ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        # Few matches are taken from their index; to scan the key would read the whole table.
        Case(asked(RARE), is_rare, [BY_VALUE, VALUES_SORTED], 200),
        Case(asked(RARE, sort=DOWN), is_rare, [BY_VALUE, VALUES_SORTED], 200),
        Case(asked(RARE, include_total=False), is_rare, [{"_id"}, VALUES_SORTED], 1_200),
        Case(asked(SOME), is_some, [VALUES_SORTED], 10_000),
        # Many matches are found in the order of the key; their number is stored.
        Case(asked(MOST), is_most, [{"_id"}], 10),
        Case(asked(MOST, sort=DOWN), is_most, [{"_id"}], 10),
        Case(asked(MOST, include_total=False), is_most, [{"_id"}], 10),
        Case(asked(MOST, offset=3_000), is_most, [{"_id"}], 4_010),
        # Many matches, but at the end: the scan ends with its window.
        Case(asked(LATE), is_late, [{"_id"}, VALUES_SORTED], 42_000),
        Case(asked(LATE, include_total=False), is_late, [{"_id"}, VALUES_SORTED], 42_000),
        Case(asked(LATE, sort=DOWN), is_late, [{"_id"}], 120),
        # Words, in the order of the keys.
        Case(asked(q="unique", sort=UP), has("unique"), [BY_WORD, WORDS_SORTED], 2),
        Case(asked(RARE, q="often", sort=DOWN), is_rare_and_often, [BY_VALUE, VALUES_SORTED], 200),
        # Without gaps an offset is a number.
        Case(asked(offset=39_000), is_any, [{"_id"}], 5),
        Case(asked(offset=39_000, sort=DOWN), is_any, [{"_id"}], 5),
        Case(asked(offset=39_998), is_any, [{"_id"}], 2),
    ],
)
def test_a_page_in_the_order_of_the_keys_reads_few_records(
    db: None, table: Resource, case: Case
) -> None:
    assert check(table, case.query, case.keep, case.paths).fetched <= case.fetched


@pytest.mark.parametrize("down", [False, True])
def test_an_offset_counts_the_keys_that_are_left_when_some_have_been_deleted(
    db: None, table: Resource, down: bool
) -> None:
    key = DOWN if down else UP
    with open_writer(table) as writer:
        writer.delete([In("_id", tuple(range(10, 40_000, 10)))])
    left = ids_in_order(lambda record: record["_id"] % 10 != 0 or record["_id"] == ROWS, key)

    for offset in (0, 1, 9, 35_000, len(left) - 2, len(left)):
        answer = answer_of(table, Query(limit=5, offset=offset, sort=(key,)))
        assert (answer.ids, answer.total) == (left[offset:][:5], len(left))
        assert answer.fetched <= 5


# Words --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "keep"),
    [
        (Query(limit=5, q="unique"), has("unique")),
        (Query(limit=5, q="often"), has("often")),
        (Query(limit=5, offset=39_990, q="often"), has("often")),
        (Query(limit=5, q="often", filters=(RARE,)), is_rare_and_often),
        (Query(limit=5, q="word3", filters=(MOST,)), lambda r: is_most(r) and has("word3")(r)),
        (Query(limit=5, q="unique", filters=(SOME,)), lambda r: is_some(r) and has("unique")(r)),
    ],
)
def test_a_ranked_page_is_counted_and_read_by_one_statement_and_its_records_fetched_by_row_locator(
    db: None, table: Resource, query: Query, keep: Callable[[Record], bool]
) -> None:
    expected = ids_in_order(keep)  # all of one rank

    answer = answer_of(table, query)

    assert (answer.ids, answer.total) == (expected[query.offset :][:5], len(expected))
    (paths,) = answer.paths
    assert "all" not in paths
    assert paths >= {"words", "row_locator"} or paths >= {"values", "row_locator"}
    assert "_id" not in paths
    assert answer.fetched <= len(ids_in_order(has(query.q))) + len(answer.ids)


# The order of a field -----------------------------------------------------------------------------


@pytest.mark.parametrize("nulls_first", [None, True, False])
@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("name", ["n", "amount", "day", "name"])
def test_a_field_is_sorted_by_its_index_where_that_has_the_nulls_at_the_end_that_is_asked_for(
    db: None, table: Resource, name: str, down: bool, nulls_first: bool | None
) -> None:
    key = SortKey(name, down, nulls_first)
    paths = [{name}] if nulls_first in {None, down} else [{"all", "sorted"}]
    wanted = 10 if nulls_first in {None, down} else ROWS

    for offset in (0, 395):
        answer = check(table, Query(limit=10, offset=offset, sort=(key,)), is_any, paths)
        assert answer.fetched <= wanted + offset


BY_N, BY_DAY, BY_LATE = SortKey("n"), SortKey("day"), SortKey("late")


@pytest.mark.parametrize(
    "case",
    [
        Case(asked(RARE, sort=BY_N), is_rare, [BY_VALUE, VALUES_SORTED], 200),
        Case(asked(MOST, sort=SortKey("n", descending=True)), is_most, [{"n"}], 500),
        Case(asked(LATE, sort=BY_DAY), is_late, [{"day"}], 20),
        Case(asked(LATE, sort=BY_DAY, offset=900), is_late, [{"day"}], 2_000),
        Case(asked(LATE, sort=BY_LATE), is_late, [{"late"}, VALUES_SORTED], 42_000),
        Case(asked(q="unique", sort=BY_N), has("unique"), [BY_WORD, WORDS_SORTED], 2),
        Case(
            asked(q="unique", sort=BY_N, include_total=False),
            has("unique"),
            [{"n"}, WORDS_SORTED],
            1_200,
        ),
    ],
)
def test_matches_are_sorted_or_scanned_in_the_order_of_a_field(
    db: None, table: Resource, case: Case
) -> None:
    assert check(table, case.query, case.keep, case.paths).fetched <= case.fetched


@pytest.mark.parametrize(
    ("name", "operator", "value"),
    [
        ("n", "lt", 50),
        ("n", "gt", 29_990),
        ("amount", "lte", 1),
        ("day", "gte", "2028-03-10"),
        ("name", "lt", "name 0003"),
    ],
)
def test_a_narrow_range_is_read_from_the_index_of_the_order(
    db: None, table: Resource, name: str, operator: str, value: Any
) -> None:
    query = Query(limit=5, filters=(Comparison(name, operator, value),))
    compare: Callable[[Any], bool] = {
        "lt": lambda found: found < value,
        "lte": lambda found: found <= value,
        "gt": lambda found: found > value,
        "gte": lambda found: found >= value,
    }[operator]

    def keep(record: Record) -> bool:
        return record[name] is not None and compare(record[name])

    assert check(table, query, keep, [{name}, {name, "sorted"}]).fetched < 500
    by_field = replace(query, sort=(SortKey(name, descending=True),))
    assert check(table, by_field, keep, [{name}, {name, "sorted"}]).fetched < 500


# Every page ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", [SortKey(n, down) for n in ("_id", "n", "day", "late") for down in (False, True)]
)
@pytest.mark.parametrize(("wanted", "keep"), [(LATE, is_late), (SOME, is_some)])
def test_all_pages_together_hold_every_match_once_and_in_order(
    db: None,
    table: Resource,
    wanted: In,
    keep: Callable[[Record], bool],
    key: SortKey,
) -> None:
    met: list[int] = []
    # Steps that grow: the first pages are read from a window, the last ones are sorted.
    limits = [1, 10, 100, 500, 900, *[1_000] * 40]
    for limit in limits:
        page = fetch_page(
            table, Query(limit=limit, offset=len(met), filters=(wanted,), sort=(key,))
        )
        found = [record["_id"] for record in json.loads(page.text)]
        met += found
        if len(found) < limit:
            break

    assert met == ids_in_order(keep, key)


# Distinct -----------------------------------------------------------------------------------------


def values_of(page_text: bytes) -> list[tuple[Any, ...]]:
    return [tuple(record.values()) for record in json.loads(page_text)]


@pytest.mark.parametrize(
    ("name", "values"),
    [("kind", [None, "a", "b", "c"]), ("late", ["no", "rare", "yes"]), ("ended", [None, "x", "y"])],
)
def test_the_values_of_one_field_are_found_by_skipping_through_its_index(
    db: None, table: Resource, name: str, values: list[str | None]
) -> None:
    query = Query(limit=9, fields=(name,), distinct=True)

    page, answer = fetch_page(table, query), answer_of(table, query)

    assert values_of(page.text) == [(value,) for value in values]
    assert answer.total == len(values)
    assert name in answer.paths[0]
    assert answer.fetched <= 20


def test_the_values_of_a_field_with_many_are_counted_one_and_all(db: None, table: Resource) -> None:
    values = sorted({record["day"] for record in RECORDS if record["day"]}, reverse=True)
    query = Query(limit=3, fields=("day",), distinct=True, sort=(SortKey("day", descending=True),))

    page, answer = fetch_page(table, query), answer_of(table, query)

    assert values_of(page.text) == [(None,), *((value,) for value in values[:2])]
    assert answer.total == len(values) + 1 > 1_000
    assert [path & {"day", "all"} for path in answer.paths] == [{"day"}, {"all"}]


@pytest.mark.parametrize("filters", [(), (MOST,)])
def test_combinations_of_two_fields_are_found_by_one_read_of_the_table(
    db: None, table: Resource, filters: tuple[In, ...]
) -> None:
    query = Query(limit=99, fields=("late", "kind"), distinct=True, filters=filters)
    wanted = {(r["late"], r["kind"]) for r in RECORDS if is_most(r) or not filters}

    page, answer = fetch_page(table, query), answer_of(table, query)

    assert values_of(page.text) == sorted(wanted, key=lambda v: (v[0], v[1] or ""))
    assert answer.total == len(wanted)
    assert len(answer.paths) == 1


# Counting -----------------------------------------------------------------------------------------


def test_stored_numbers_are_forgotten_with_the_first_change(db: None, table: Resource) -> None:
    query = Query(limit=0, filters=(SOME,))
    # One statement measures the table, and reads no record and no index.
    assert (answer_of(table, query).total, answer_of(table, query).paths) == (10_000, [set()])

    with open_writer(table) as writer:
        writer.delete([In("_id", (2,))])

    assert (answer_of(table, query).total, answer_of(table, query).paths) == (9_999, [BY_VALUE])


@pytest.mark.parametrize(
    ("condition", "keep"),
    [
        (In("kind", ("a", "a", "c")), lambda r: r["kind"] in {"a", "c"}),
        (In("kind", (None,)), lambda r: r["kind"] is None),
        (In("kind", (None, "b", "nowhere")), lambda r: r["kind"] in {None, "b"}),
        (In("kind", ("null",)), lambda _record: False),
        (In("late", ("yes", "rare")), lambda r: r["late"] != "no"),
        (In("late", ()), lambda _record: False),
        (Comparison("kind", "ne", "a"), lambda r: r["kind"] != "a"),
        (Comparison("kind", "isnull", False), is_most),
    ],
)
def test_a_total_is_exact_whether_it_was_stored_or_counted(
    db: None, table: Resource, condition: Any, keep: Callable[[Record], bool]
) -> None:
    expected = ids_in_order(keep)

    page = fetch_page(table, Query(limit=3, filters=(condition,)))

    assert page.total == len(expected)
    assert [record["_id"] for record in json.loads(page.text)] == expected[:3]
