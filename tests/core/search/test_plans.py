"""
Access paths and results of searches in a table that misleads the planner.

The statements are those that were run.  The results are compared with a filter in Python.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from hashlib import blake2b
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from datastore_search.database.statements import execute, fetch_column, fetch_value
from datastore_search.filters import Comparison, Condition, In, parse_filters
from datastore_search.filters.names import SortKey
from datastore_search.models import Resource, TableVersion
from datastore_search.search import Query
from datastore_search.writing import open_writer

from ...builders import fetch_page, get_record_table, make_resource

Record = dict[str, Any]
RECORD_COUNT = 40_000

#: The number of records with a value is stored from this number on.
MIN_COUNTED_RECORDS = 10_000

NUMBERS = range(1, RECORD_COUNT + 1)


def make_record(number: int) -> Record:
    """
    Make the record with this number.

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
        "late": "rare" if number > RECORD_COUNT - 100 else "yes" if number > 15_000 else "no",
        "text": f"word{number % 7} {'unique' if number == 39_990 else 'often'}",
    }


RECORDS = [make_record(number) for number in NUMBERS]
NAMES = list(RECORDS[0])[1:]


def index_and_count(resource: Resource) -> None:
    """Index the orders of all fields, and store how many records have the common texts."""
    with open_writer(resource) as writer:
        writer.index_orders(NAMES)
    texts = [field.name for field in resource.fields.all() if field.type == "text"]
    counts = {name: Counter(record[name] for record in RECORDS) for name in texts}
    TableVersion.objects.filter(resource=resource).update(
        value_counts={
            name: {
                json.dumps(value): number
                for value, number in values.items()
                if number >= MIN_COUNTED_RECORDS
            }
            for name, values in counts.items()
        }
    )
    execute(connection, f"VACUUM (FREEZE, ANALYZE) {get_record_table(resource)}")


@pytest.fixture(scope="module")
def table(django_db_setup: None, django_db_blocker: Any) -> Iterator[Resource]:
    rows = (",".join("" if row[n] is None else str(row[n]) for n in NAMES) for row in RECORDS)
    with django_db_blocker.unblock():
        resource = make_resource(f"{','.join(NAMES)}\n" + "\n".join(rows) + "\n", name="plans")
        index_and_count(resource)
        yield resource
        resource.delete()


# Running a search -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """
    The result of a search, and its access paths.

    ``paths`` holds for each statement the indexes that it has read: ``all`` stands for a scan of
    the table, ``row_locator`` for a read by ``ctid``, ``sorted`` for a sort.  ``fetched`` counts
    the records that were read in the table.
    """

    ids: list[int]
    total: int | None
    paths: list[set[str]]
    fetched: int


def run_search(resource: Resource, query: Query) -> Answer:
    fetch_page(resource, query)  # caches the description
    with CaptureQueriesContext(connection) as captured:
        page = fetch_page(resource, query)
    run = [each["sql"] for each in captured if "datastore_search_record_" in each["sql"]]
    nodes = [list(_iterate_executed_nodes(_explain(statement))) for statement in run]
    return Answer(
        ids=[record.get("_id") for record in json.loads(page.text)],
        total=page.total,
        paths=[
            {path for node in each for path in _find_access_paths(node, resource)} for each in nodes
        ],
        fetched=sum(_count_fetched_rows(node, resource) for each in nodes for node in each),
    )


def _explain(statement: str) -> Any:
    for setting in ("random_page_cost = 1.1", "work_mem = '64MB'", "jit = off"):
        execute(connection, f"SET LOCAL {setting}")
    explain = f"EXPLAIN (ANALYZE, TIMING off, FORMAT json) {statement}"
    return fetch_value(connection, explain)[0]["Plan"]


def _iterate_executed_nodes(node: Any) -> Iterator[Any]:
    if node["Actual Loops"]:
        yield node
        for child in node.get("Plans", ()):
            yield from _iterate_executed_nodes(child)


def _find_access_paths(node: Any, resource: Resource) -> Iterator[str]:
    table = get_record_table(resource)
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


def _count_fetched_rows(node: Any, resource: Resource) -> int:
    if node.get("Relation Name") != get_record_table(resource) or "Index Only" in node["Node Type"]:
        return 0
    rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return int(rows * node["Actual Loops"])


# Expected results ------------------------------------------------------------------------------


def list_expected_ids(keep: Callable[[Record], bool], key: SortKey | None = None) -> list[int]:
    records = [record for record in RECORDS if keep(record)]
    if key:
        if key.descending:
            records.reverse()
        nulls = [record for record in records if record[key.field] is None]
        valued = [record for record in records if record[key.field] is not None]
        valued.sort(key=lambda record: record[key.field], reverse=key.descending)
        first = key.descending if key.nulls_first is None else key.nulls_first
        records = [*nulls, *valued] if first else [*valued, *nulls]
    return [record["_id"] for record in records]


def check_search(
    resource: Resource, query: Query, keep: Callable[[Record], bool], paths: list[set[str]]
) -> Answer:
    """
    Compare the result and the access paths of a search with the expected ones.

    If more than half of all records match, PostgreSQL may scan the table instead of an index; for
    a value and a word it may read both indexes.
    """
    expected = list_expected_ids(keep, query.sort[0] if query.sort else None)

    answer = run_search(resource, query)

    assert answer.ids == expected[query.offset :][: query.limit]
    assert answer.total == (len(expected) if query.include_total else None)
    if len(expected) > RECORD_COUNT / 2:
        read_whole = [{"all", "sorted"} if path == VALUES_SORTED else path for path in paths]
        assert answer.paths in (paths, read_whole)
    elif query.q and query.filters:
        both = [path | BY_WORD if path >= BY_VALUE else path for path in paths]
        assert answer.paths in (paths, both)
    else:
        assert answer.paths == paths
    return answer


LATE_RARE, LATE_YES = In("late", ("rare",)), In("late", ("yes",))
KIND_B, HAS_KIND = In("kind", ("b",)), In("kind", ("a", "b", "c"))
UP, DOWN = SortKey("_id"), SortKey("_id", descending=True)


def has_value(name: str, *values: Any) -> Callable[[Record], bool]:
    return lambda record: record[name] in values


is_rare, is_late_yes = has_value("late", "rare"), has_value("late", "yes")
is_kind_b, has_kind = has_value("kind", "b"), has_value("kind", "a", "b", "c")


def is_rare_and_often(record: Record) -> bool:
    return is_rare(record) and "often" in record["text"]


def is_any(_record: Record) -> bool:
    return True


def has_word(word: str) -> Callable[[Record], bool]:
    return lambda record: word in record["text"]


BY_VALUE, BY_WORD = {"values"}, {"words"}
VALUES_SORTED = {"values", "sorted"}
#: A rank asks the index of values for records of which a whole value is the query.
WORDS_SORTED = {"words", "values", "sorted"}
BY_ID_SORTED = [{"_id"}, {"_id", "sorted"}]


@dataclass(frozen=True)
class Case:
    """A query, the records that match, its access paths, and how many records it may fetch."""

    query: Query
    keep: Callable[[Record], bool]
    paths: list[set[str]]
    max_fetched: int = RECORD_COUNT


def build_query(*filters: In, sort: SortKey | None = None, **more: Any) -> Query:
    return Query(**{"limit": 5, "filters": filters, "sort": (sort,) if sort else (), **more})


# The order of the keys ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        # Few matches are read from their index; a scan of the key would read the whole table.
        Case(build_query(LATE_RARE), is_rare, [BY_VALUE, VALUES_SORTED], 200),
        Case(build_query(LATE_RARE, sort=DOWN), is_rare, [BY_VALUE, VALUES_SORTED], 200),
        Case(build_query(LATE_RARE, include_total=False), is_rare, [{"_id"}, VALUES_SORTED], 1_200),
        Case(build_query(KIND_B), is_kind_b, [VALUES_SORTED], 10_000),
        # Many matches are found in the order of the key; their number is stored.
        Case(build_query(HAS_KIND), has_kind, [{"_id"}], 10),
        Case(build_query(HAS_KIND, sort=DOWN), has_kind, [{"_id"}], 10),
        Case(build_query(HAS_KIND, include_total=False), has_kind, [{"_id"}], 10),
        Case(build_query(HAS_KIND, offset=3_000), has_kind, [{"_id"}], 4_010),
        # Many matches, but at the end: the scan stops after its window.
        Case(build_query(LATE_YES), is_late_yes, [{"_id"}, VALUES_SORTED], 42_000),
        Case(
            build_query(LATE_YES, include_total=False),
            is_late_yes,
            [{"_id"}, VALUES_SORTED],
            42_000,
        ),
        Case(build_query(LATE_YES, sort=DOWN), is_late_yes, [{"_id"}], 120),
        # Words, in the order of the keys.
        Case(build_query(q="unique", sort=UP), has_word("unique"), [BY_WORD, WORDS_SORTED], 2),
        Case(
            build_query(LATE_RARE, q="often", sort=DOWN),
            is_rare_and_often,
            [BY_VALUE, VALUES_SORTED],
            200,
        ),
        # Without gaps an offset is a number.
        Case(build_query(offset=39_000), is_any, [{"_id"}], 5),
        Case(build_query(offset=39_000, sort=DOWN), is_any, [{"_id"}], 5),
        Case(build_query(offset=39_998), is_any, [{"_id"}], 2),
        Case(build_query(In("_id", (7, 5, None, 2**70))), has_value("_id", 5, 7), BY_ID_SORTED, 4),
    ],
)
def test_a_page_in_the_order_of_the_keys_reads_few_records(
    db: None, table: Resource, case: Case
) -> None:
    assert check_search(table, case.query, case.keep, case.paths).fetched <= case.max_fetched


@pytest.mark.parametrize("down", [False, True])
def test_an_offset_counts_the_keys_that_are_left_when_some_have_been_deleted(
    db: None, table: Resource, down: bool
) -> None:
    key = DOWN if down else UP
    with open_writer(table) as writer:
        writer.delete([In("_id", tuple(range(10, 40_000, 10)))])
    remaining = list_expected_ids(
        lambda record: record["_id"] % 10 != 0 or record["_id"] == RECORD_COUNT, key
    )

    for offset in (0, 1, 9, 35_000, len(remaining) - 2, len(remaining)):
        answer = run_search(table, Query(limit=5, offset=offset, sort=(key,)))
        assert (answer.ids, answer.total) == (remaining[offset:][:5], len(remaining))
        assert answer.fetched <= 5


AFTER, BEFORE = Comparison("_id", "gt", 20_000), Comparison("_id", "lt", 20_001)


@pytest.mark.parametrize("key", [UP, DOWN])
@pytest.mark.parametrize(
    ("bounds", "ids"),
    [
        ((AFTER,), range(20_001, RECORD_COUNT + 1)),
        ((BEFORE,), range(1, 20_001)),
        ((AFTER, Comparison("_id", "lte", 20_007)), range(20_001, 20_008)),
        ((BEFORE, AFTER), range(0)),
        ((Comparison("_id", "gte", 10**30),), range(0)),
        ((AFTER, Comparison("_id", "lt", 2**80)), range(20_001, RECORD_COUNT + 1)),
    ],
)
def test_a_range_of_keys_is_counted_and_read_by_its_ends(
    db: None, table: Resource, bounds: tuple[Comparison, ...], ids: range, key: SortKey
) -> None:
    query = Query(limit=5, filters=bounds, sort=(key,))

    answer = run_search(table, query)

    assert answer.total == len(ids)
    assert answer.ids == sorted(ids, reverse=key.descending)[:5]
    assert answer.fetched <= 5


@pytest.mark.parametrize("key", [UP, DOWN])
@pytest.mark.parametrize(
    "case",
    [
        Case(build_query(HAS_KIND), has_kind, [], 50),
        Case(build_query(q="often"), has_word("often"), [], 50),
        Case(build_query(LATE_YES, q="often"), is_late_yes, [], 1_200),
    ],
)
def test_matches_in_a_range_of_keys_are_read_from_its_end(
    db: None, table: Resource, case: Case, key: SortKey
) -> None:
    bound = BEFORE if key.descending else AFTER
    query = replace(case.query, filters=(*case.query.filters, bound), sort=(key,))
    half = range(1, 20_001) if key.descending else range(20_001, RECORD_COUNT + 1)
    expected = [each for each in list_expected_ids(case.keep, key) if each in half]

    counted = run_search(table, query)
    answer = run_search(table, replace(query, include_total=False))

    assert counted.ids == answer.ids == expected[:5]
    assert counted.total == len(expected)
    assert answer.fetched <= case.max_fetched


@pytest.mark.parametrize("key", [UP, DOWN])
@pytest.mark.parametrize(
    "case",
    [
        Case(build_query(HAS_KIND), has_kind, [{"_id"}]),
        Case(build_query(q="often"), has_word("often"), [{"_id", "values"}]),  # for the rank
    ],
)
def test_the_last_pages_are_read_from_the_key_too(
    db: None, table: Resource, case: Case, key: SortKey
) -> None:
    last = Comparison("_id", "lt", 501)
    if not key.descending:
        last = Comparison("_id", "gt", RECORD_COUNT - 500)
    filters = (*case.query.filters, last)
    query = replace(case.query, filters=filters, sort=(key,), include_total=False)

    answer = run_search(table, query)

    ids = range(1, 501) if key.descending else range(RECORD_COUNT - 499, RECORD_COUNT + 1)
    expected = [each for each in list_expected_ids(case.keep, key) if each in ids]
    assert answer.ids == expected[:5]
    assert answer.paths == case.paths
    assert answer.fetched <= 500


@pytest.mark.parametrize("key", [UP, DOWN])
def test_pages_by_their_next_page_hold_every_match_once(
    db: None, table: Resource, key: SortKey
) -> None:
    with open_writer(table) as writer:
        writer.delete([In("_id", tuple(range(7, 40_000, 9)))])
    left = [n for n in NUMBERS if n % 9 != 7 or n == RECORD_COUNT][:: -1 if key.descending else 1]
    for filters in ((), (KIND_B,)):
        expected = [n for n in left if not filters or is_kind_b(RECORDS[n - 1])]
        ids: list[int] = []
        bound: tuple[Condition, ...] = ()
        while True:
            query = Query(limit=1_000, filters=filters + bound, sort=(key,), include_next_page=True)
            page = fetch_page(table, query)
            assert page.total == len(expected) - len(ids)
            ids += [record["_id"] for record in json.loads(page.text)]
            if page.next_page is None or len(ids) >= len(expected):
                break
            bound = parse_filters(page.next_page)
        assert ids == expected


# Words --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "keep"),
    [
        (Query(limit=5, q="unique"), has_word("unique")),
        (Query(limit=5, q="often"), has_word("often")),
        (Query(limit=5, offset=39_990, q="often"), has_word("often")),
        (Query(limit=5, q="often", filters=(LATE_RARE,)), is_rare_and_often),
        (
            Query(limit=5, q="word3", filters=(HAS_KIND,)),
            lambda r: has_kind(r) and has_word("word3")(r),
        ),
        (
            Query(limit=5, q="unique", filters=(KIND_B,)),
            lambda r: is_kind_b(r) and has_word("unique")(r),
        ),
    ],
)
def test_a_ranked_page_is_one_statement_that_fetches_its_records_by_row_locator(
    db: None, table: Resource, query: Query, keep: Callable[[Record], bool]
) -> None:
    expected = list_expected_ids(keep)
    expected = fetch_column(  # the shortest records come first
        connection,
        f"SELECT _id FROM {get_record_table(table)} WHERE _id = ANY(%s)"
        " ORDER BY ts_rank(search, %s) / ln(length(search) + 2) DESC, _id",
        [expected, query.q],
    )

    answer = run_search(table, query)

    assert (answer.ids, answer.total) == (expected[query.offset :][:5], len(expected))
    (paths,) = answer.paths
    assert "all" not in paths
    assert paths >= {"words", "row_locator"} or paths >= {"values", "row_locator"}
    assert "_id" not in paths
    assert answer.fetched <= len(list_expected_ids(has_word(query.q))) + len(answer.ids)


# The order of a field -----------------------------------------------------------------------------


@pytest.mark.parametrize("nulls_first", [None, True, False])
@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("name", ["n", "day", "name"])
def test_a_field_is_sorted_by_its_index_if_that_has_the_nulls_at_the_requested_end(
    db: None, table: Resource, name: str, down: bool, nulls_first: bool | None
) -> None:
    key = SortKey(name, down, nulls_first)
    paths = [{name}] if nulls_first in {None, down} else [{"all", "sorted"}]
    max_fetched = 10 if nulls_first in {None, down} else RECORD_COUNT

    for offset in (0, 395):
        answer = check_search(table, Query(limit=10, offset=offset, sort=(key,)), is_any, paths)
        assert answer.fetched <= max_fetched + offset


BY_N, BY_DAY, BY_LATE = SortKey("n"), SortKey("day"), SortKey("late")


@pytest.mark.parametrize(
    "case",
    [
        Case(build_query(LATE_RARE, sort=BY_N), is_rare, [BY_VALUE, VALUES_SORTED], 200),
        Case(build_query(HAS_KIND, sort=SortKey("n", descending=True)), has_kind, [{"n"}], 500),
        Case(build_query(LATE_YES, sort=BY_DAY), is_late_yes, [{"day"}], 20),
        Case(build_query(LATE_YES, sort=BY_DAY, offset=900), is_late_yes, [{"day"}], 2_000),
        Case(build_query(LATE_YES, sort=BY_LATE), is_late_yes, [{"late"}, VALUES_SORTED], 42_000),
        Case(build_query(q="unique", sort=BY_N), has_word("unique"), [BY_WORD, WORDS_SORTED], 2),
        Case(
            build_query(q="unique", sort=BY_N, include_total=False),
            has_word("unique"),
            [{"n"}, WORDS_SORTED],
            1_200,
        ),
    ],
)
def test_matches_are_sorted_or_scanned_in_the_order_of_a_field(
    db: None, table: Resource, case: Case
) -> None:
    assert check_search(table, case.query, case.keep, case.paths).fetched <= case.max_fetched


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
        "lt": lambda number: number < value,
        "lte": lambda number: number <= value,
        "gt": lambda number: number > value,
        "gte": lambda number: number >= value,
    }[operator]

    def keep(record: Record) -> bool:
        return record[name] is not None and compare(record[name])

    assert check_search(table, query, keep, [{name}, {name, "sorted"}]).fetched < 500
    by_field = replace(query, sort=(SortKey(name, descending=True),))
    assert check_search(table, by_field, keep, [{name}, {name, "sorted"}]).fetched < 500


# Every page ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "keep", "key"),
    [
        (LATE_YES, is_late_yes, UP),
        (LATE_YES, is_late_yes, SortKey("day", descending=True)),
        (LATE_YES, is_late_yes, SortKey("late")),
        (KIND_B, is_kind_b, DOWN),
        (KIND_B, is_kind_b, SortKey("n")),
    ],
)
def test_all_pages_together_hold_every_match_once_and_in_order(
    db: None, table: Resource, condition: In, keep: Callable[[Record], bool], key: SortKey
) -> None:
    ids: list[int] = []
    # Growing limits: the first pages are read from a window, the last ones are sorted.
    limits = [1, 10, 100, 500, 900, *[1_000] * 40]
    for limit in limits:
        query = Query(limit=limit, offset=len(ids), filters=(condition,), sort=(key,))
        page_ids = [record["_id"] for record in json.loads(fetch_page(table, query).text)]
        ids += page_ids
        if len(page_ids) < limit:
            break

    assert ids == list_expected_ids(keep, key)


# Distinct -----------------------------------------------------------------------------------------


def parse_values(page_text: bytes) -> list[tuple[Any, ...]]:
    return [tuple(record.values()) for record in json.loads(page_text)]


@pytest.mark.parametrize(
    ("name", "values"),
    [("kind", [None, "a", "b", "c"]), ("late", ["no", "rare", "yes"]), ("ended", [None, "x", "y"])],
)
def test_distinct_values_of_one_field_are_read_by_a_skip_scan(
    db: None, table: Resource, name: str, values: list[str | None]
) -> None:
    query = Query(limit=9, fields=(name,), distinct=True)

    page, answer = fetch_page(table, query), run_search(table, query)

    assert parse_values(page.text) == [(value,) for value in values]
    assert answer.total == len(values)
    assert name in answer.paths[0]
    assert answer.fetched <= 20


def test_distinct_values_of_matches_are_not_skipped_through(db: None, table: Resource) -> None:
    query = Query(limit=9, fields=("kind",), distinct=True, filters=(KIND_B,))

    assert parse_values(fetch_page(table, query).text) == [("b",)]


def test_all_distinct_values_of_a_field_with_many_are_counted(db: None, table: Resource) -> None:
    values = sorted({record["day"] for record in RECORDS if record["day"]}, reverse=True)
    query = Query(limit=3, fields=("day",), distinct=True, sort=(SortKey("day", descending=True),))

    page, answer = fetch_page(table, query), run_search(table, query)

    assert parse_values(page.text) == [(None,), *((value,) for value in values[:2])]
    assert answer.total == len(values) + 1 > 1_000
    assert [path & {"day", "all"} for path in answer.paths] == [{"day"}, {"all"}]


@pytest.mark.parametrize("filters", [(), (HAS_KIND,)])
def test_combinations_of_two_fields_are_found_by_one_read_of_the_table(
    db: None, table: Resource, filters: tuple[In, ...]
) -> None:
    query = Query(limit=99, fields=("late", "kind"), distinct=True, filters=filters)
    expected = {(r["late"], r["kind"]) for r in RECORDS if has_kind(r) or not filters}

    page, answer = fetch_page(table, query), run_search(table, query)

    assert parse_values(page.text) == sorted(expected, key=lambda v: (v[0], v[1] or ""))
    assert answer.total == len(expected)
    assert len(answer.paths) == 1


# Counting -----------------------------------------------------------------------------------------


def test_stored_counts_are_dropped_at_the_first_change(db: None, table: Resource) -> None:
    query = Query(limit=0, filters=(KIND_B,))
    # One statement looks whether the table has a record.
    assert (run_search(table, query).total, run_search(table, query).paths) == (10_000, [{"all"}])

    with open_writer(table) as writer:
        writer.delete([In("_id", (2,))])

    assert (run_search(table, query).total, run_search(table, query).paths) == (9_999, [BY_VALUE])


@pytest.mark.parametrize(
    ("condition", "keep"),
    [
        (In("kind", ("a", "a", "c")), has_value("kind", "a", "c")),
        (In("kind", (None,)), has_value("kind", None)),
        (In("kind", (None, "b", "nowhere")), has_value("kind", None, "b")),
        (In("kind", ("null",)), lambda _record: False),
        (In("late", ("yes", "rare")), lambda r: r["late"] != "no"),
        (In("late", ()), lambda _record: False),
        (Comparison("kind", "ne", "a"), lambda r: r["kind"] != "a"),
        (Comparison("kind", "isnull", False), has_kind),
    ],
)
def test_a_total_is_exact_whether_it_was_stored_or_counted(
    db: None, table: Resource, condition: Any, keep: Callable[[Record], bool]
) -> None:
    expected = list_expected_ids(keep)

    page = fetch_page(table, Query(limit=3, filters=(condition,)))

    assert page.total == len(expected)
    assert [record["_id"] for record in json.loads(page.text)] == expected[:3]


@pytest.mark.parametrize(("sort", "operator"), [((), "gt"), ((SortKey("_id", True),), "lt")])
def test_the_next_page_begins_behind_a_page_from_a_window(
    db: None, table: Resource, sort: tuple[SortKey, ...], operator: str
) -> None:
    query = Query(limit=5, filters=(HAS_KIND,), sort=sort, include_next_page=True)

    page, answer = fetch_page(table, query), run_search(table, query)

    assert page.next_page == {"_id": {operator: answer.ids[-1]}}
