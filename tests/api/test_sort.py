"""The parameter ``sort``: its grammar, every type in every order, and its cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from time import thread_time
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from datastore_search.exceptions.search import InvalidSort
from datastore_search.field_names import SortKey, parse_sort_key, split_names, unquote_name
from datastore_search.models import Resource
from datastore_search.search import Query, RecordsFormat

from ..builders import ask, check_error, fetch_page, get_ids, get_result, make_resource
from .typed import CELLS, IDS, get_column_name, open_cursor_year_first

#: Spellings of the direction and the position of nulls, and their meaning.
ENDINGS = {
    "": (False, None),
    " asc": (False, None),
    " DESC": (True, None),
    " nulls first": (False, True),
    " asc nulls last": (False, False),
    "  Desc   NULLS  First ": (True, True),
    "\tdesc\nnulls last": (True, False),
}


def search(client: Client, resource: Resource, **sent: Any) -> Any:
    return ask(client, {"resource_id": str(resource.pk), **sent})


def list_errors(client: Client, resource: Resource, sort: Any) -> list[str]:
    error = check_error(search(client, resource, sort=sort), 409, "Validation Error")
    assert set(error) == {"sort"}
    errors: list[str] = error["sort"]
    return errors


def read_sorted_ids(resource: Resource, *keys: SortKey) -> list[int]:
    """Sort without HTTP."""
    query = Query(limit=None, fields=("_id",), sort=keys, records_format=RecordsFormat.LISTS)
    return [record_id for (record_id,) in json.loads(fetch_page(resource, query).text)]


def sort_in_postgresql(*keys: SortKey) -> list[int]:
    """Sort the table ``typed`` in PostgreSQL."""
    order = [
        ("id" if key.field == "_id" else get_column_name(key.field))
        + (" DESC" if key.descending else "")
        + {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[key.nulls_first]
        for key in keys
    ]
    last = list({key.field: None for key in keys})[-1]
    down = next(key.descending for key in keys if key.field == last)
    order.append("id DESC" if down else "id")
    with open_cursor_year_first() as cursor:
        cursor.execute(f"SELECT id FROM typed ORDER BY {', '.join(order)}")
        return [found for (found,) in cursor.fetchall()]


# Order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nulls_first", [None, True, False])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", sorted({*CELLS} - {"json"}))
def test_every_type_sorts_as_a_typed_table_does(
    typed: Resource, kind: str, descending: bool, nulls_first: bool | None
) -> None:
    key = SortKey(kind, descending, nulls_first)

    assert read_sorted_ids(typed, key) == sort_in_postgresql(key)


@pytest.mark.parametrize(
    "keys",
    [
        [SortKey("bool"), SortKey("int4", descending=True)],
        [SortKey("bool", descending=True, nulls_first=False), SortKey("text")],
        [SortKey("int2", nulls_first=True), SortKey("numeric", descending=True)],
        [SortKey("numeric"), SortKey("float8", nulls_first=True), SortKey("_id", descending=True)],
        [SortKey("bool"), SortKey("_id", descending=True), SortKey("text")],
        [SortKey("int4"), SortKey("int4", descending=True)],
    ],
)
def test_several_keys_sort_as_in_a_typed_table(typed: Resource, keys: list[SortKey]) -> None:
    assert read_sorted_ids(typed, *keys) == sort_in_postgresql(*keys)


@pytest.mark.parametrize("kind", ["int4", "text", "timestamp", "_int4"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_words_after_a_name_say_the_direction(
    client: Client, typed: Resource, kind: str, ending: str
) -> None:
    expected = sort_in_postgresql(SortKey(kind, *ENDINGS[ending]))

    assert get_ids(search(client, typed, sort=f"{kind}{ending}")) == expected
    assert get_ids(search(client, typed, sort=[f' "{kind}"{ending}'])) == expected


def test_equal_records_come_by_their_id_in_the_direction_of_the_last_key(
    client: Client, db: None
) -> None:
    resource = make_resource("a,b\n" + "x,1\ny,2\n" * 10)

    for sort in ("a", "a desc", "b nulls first", ["b desc", "a"], ["b", "a desc"]):
        ids = get_ids(search(client, resource, sort=sort))
        first = [record_id for record_id in ids if record_id % 2 == ids[0] % 2]
        down = str(sort).endswith(("desc", "desc']"))
        assert ids == [*first, *(record_id for record_id in ids if record_id not in first)]
        assert first == sorted(first, reverse=down)


def test_descending_is_the_reverse_of_ascending(client: Client, typed: Resource) -> None:
    for kind in ("text", "int4", "timestamp", "bool"):
        up = get_ids(search(client, typed, sort=kind))
        assert get_ids(search(client, typed, sort=f"{kind} desc")) == up[::-1]


def test_the_id_sorts_in_both_directions(client: Client, typed: Resource) -> None:
    assert get_ids(search(client, typed, sort="_id")) == IDS
    assert get_ids(search(client, typed, sort="_id desc")) == IDS[::-1]
    assert get_ids(search(client, typed, sort='"_id" desc nulls last, text')) == IDS[::-1]


@pytest.mark.parametrize("sort", [None, "", "  ", [], "_id"])
def test_without_a_sort_records_come_by_their_id(
    client: Client, typed: Resource, sort: Any
) -> None:
    assert get_ids(search(client, typed, sort=sort)) == IDS


@pytest.mark.parametrize("sort", ["text", "numeric desc nulls last", "bool, time desc", "_id desc"])
def test_all_pages_together_equal_the_whole(client: Client, typed: Resource, sort: str) -> None:
    whole = get_ids(search(client, typed, sort=sort))
    pages = [get_ids(search(client, typed, sort=sort, limit=5, offset=n)) for n in range(0, 30, 5)]

    assert [record_id for page in pages for record_id in page] == whole
    assert sorted(whole) == IDS


def test_a_sort_goes_before_the_rank(client: Client, db: None) -> None:
    resource = make_resource("a,n\nwater,3\nwater water,1\nair,0\nwater water water,2\n")

    assert get_ids(search(client, resource, q="water")) == [4, 2, 1]
    assert get_ids(search(client, resource, q="water", sort="n")) == [2, 4, 1]
    assert get_ids(search(client, resource, q="water", sort="n desc", filters={"n": [1, 3]})) == [
        1,
        2,
    ]


def test_sort_keys_need_not_be_in_fields(client: Client, typed: Resource) -> None:
    result = get_result(
        search(client, typed, sort="int4 desc nulls last", fields=["bool"], limit=3)
    )

    assert result["records"] == [{"bool": None}, {"bool": None}, {"bool": True}]


def test_the_sort_is_echoed_as_it_was_sent(client: Client, typed: Resource) -> None:
    for sort in ("int4  DESC , text", ["int4", '"text" desc nulls last']):
        assert get_result(search(client, typed, sort=sort, limit=0))["sort"] == sort
    assert "sort" not in get_result(search(client, typed, sort="", limit=0))


# Names --------------------------------------------------------------------------------------------

#: Fields with awkward names; each sorts the four records differently.
AWKWARD = {
    "plain": "1,2,3,4",
    "two words": "1,2,4,3",
    "a,b": "1,3,2,4",
    "x desc": "1,3,4,2",
    "desc": "1,4,2,3",
    "x nulls last": "1,4,3,2",
    'q"uote': "2,1,3,4",
    "nulls first": "2,1,4,3",
    "it's 100%": "2,3,1,4",
    "Tên Tỉnh": "2,3,4,1",
    "asc": "2,4,1,3",
    "TWO words": "2,4,3,1",
    "%s": "3,1,2,4",
    ";--": "3,1,4,2",
}


@pytest.fixture(scope="module")
def awkward_names(django_db_setup: None, django_db_blocker: Any) -> Iterator[Resource]:
    header = ",".join('"{}"'.format(name.replace('"', '""')) for name in AWKWARD)
    rows = zip(*(places.split(",") for places in AWKWARD.values()), strict=True)
    with django_db_blocker.unblock():
        resource = make_resource("\n".join([header, *map(",".join, rows)]), name="awkward")
        yield resource
        resource.delete()


@pytest.fixture
def awkward(db: None, awkward_names: Resource) -> Resource:
    """A resource with the fields of ``AWKWARD``."""
    return awkward_names


def compute_order(name: str) -> list[int]:
    places = AWKWARD[name].split(",")
    return sorted(range(1, 5), key=lambda number: places[number - 1])


def quote_name(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


@pytest.mark.parametrize("name", AWKWARD)
def test_any_name_may_stand_in_quotes(client: Client, awkward: Resource, name: str) -> None:
    expected = compute_order(name)

    for key in (quote_name(name), f" {quote_name(name)} ASC", f"{quote_name(name)} nulls first"):
        assert get_ids(search(client, awkward, sort=key)) == expected
        assert get_ids(search(client, awkward, sort=[key])) == expected
    for key in (f"{quote_name(name)} desc", f"{quote_name(name)}  desc nulls last, plain"):
        assert get_ids(search(client, awkward, sort=key)) == expected[::-1]


@pytest.mark.parametrize(
    ("sort", "name"),
    [
        ("two words", "two words"),
        ("  two words  asc", "two words"),
        ("desc", "desc"),
        ("desc asc", "desc"),
        ("asc nulls first", "asc"),
        ("nulls first", "nulls first"),
        ("nulls first nulls first", "nulls first"),
        ("x desc asc", "x desc"),
        ("x nulls last nulls first", "x nulls last"),
        ('q"uote', 'q"uote'),
        ("it's 100%", "it's 100%"),
        ("Tên Tỉnh asc", "Tên Tỉnh"),
        ("TWO words", "TWO words"),
        ("%s", "%s"),
        (";-- asc", ";--"),
        (["a,b"], "a,b"),
        (["a,b asc"], "a,b"),
    ],
)
def test_a_name_without_quotes_ends_before_the_direction(
    client: Client, awkward: Resource, sort: Any, name: str
) -> None:
    assert get_ids(search(client, awkward, sort=sort)) == compute_order(name)


def test_a_direction_at_the_end_is_one_unless_it_is_quoted(
    client: Client, awkward: Resource
) -> None:
    errors = list_errors(client, awkward, "x desc")

    assert errors == ["Unknown field: “x”"]
    assert get_ids(search(client, awkward, sort="asc desc")) == compute_order("asc")[::-1]
    assert get_ids(search(client, awkward, sort="desc desc")) == compute_order("desc")[::-1]


# Refusals -----------------------------------------------------------------------------------------


def test_a_json_field_cannot_be_sorted_by(client: Client, typed: Resource) -> None:
    assert list_errors(client, typed, "json") == [
        "Field “json” has type json and cannot be sorted by."
    ]


@pytest.mark.parametrize(
    ("sort", "errors"),
    [
        ("nope", ["Unknown field: “nope”"]),
        ("Int4", ["Unknown field: “Int4”"]),
        ("rank", ["Unknown field: “rank”"]),
        ("int4 up", ["Unknown field: “int4 up”"]),
        ("int4 nulls", ["Unknown field: “int4 nulls”"]),
        ("int4 first", ["Unknown field: “int4 first”"]),
        ("int4 nulls first desc", ["Unknown field: “int4 nulls first”"]),
        ("int4 asc desc", ["Unknown field: “int4 asc”"]),
        ('"int4', ['Unknown field: “"int4”']),
        ('int4"', ['Unknown field: “int4"”']),
        ('""', ["Unknown field: “”"]),
        ("; DROP TABLE typed", ["Unknown field: “; DROP TABLE typed”"]),
        (["nope", "json", "nope2 desc"], [
            "Unknown field: “nope”",
            "Field “json” has type json and cannot be sorted by.",
            "Unknown field: “nope2”",
        ]),
    ],
)  # fmt: skip
def test_a_key_that_fits_no_field_is_refused_by_name(
    client: Client, typed: Resource, sort: Any, errors: list[str]
) -> None:
    assert list_errors(client, typed, sort) == errors


@pytest.mark.parametrize(
    ("sort", "count"),
    [("int4,", 1), (",int4", 1), ("int4,,text", 1), (",", 2), ([""], 1), (["int4", "", ""], 2)],
)
def test_an_empty_key_is_refused(client: Client, typed: Resource, sort: Any, count: int) -> None:
    errors = "“” is not a sort key: a field, then asc or desc, then nulls first or nulls last."

    assert list_errors(client, typed, sort) == [errors] * count


@pytest.mark.parametrize("sort", [5, True, {"int4": "desc"}, [5], [["int4"]], [None], [{}]])
def test_a_sort_that_is_neither_a_text_nor_a_list_of_texts_is_refused(
    client: Client, typed: Resource, sort: Any
) -> None:
    assert list_errors(client, typed, sort) == [
        "Must be a list of names, or names separated by commas."
    ]


def test_distinct_sorts_only_by_requested_fields(client: Client, typed: Resource) -> None:
    sent = {"distinct": True, "fields": ["bool", "int4"]}

    found = get_result(search(client, typed, sort="int4 desc nulls last, bool", **sent))
    error = check_error(
        search(client, typed, sort="int4, text, _id", **sent), 409, "Validation Error"
    )

    assert [record["int4"] for record in found["records"]] == [
        2**31 - 1, 1000, 7, 0, -1, -(2**31), None,
    ]  # fmt: skip
    assert error == {
        "sort": [
            f"With “distinct”, “{name}” can be sorted by only when it is among “fields”."
            for name in ("text", "_id")
        ]
    }


def test_a_key_given_twice_in_the_address_is_a_list(client: Client, awkward: Resource) -> None:
    address = f"/en/api/action/datastore_search?resource_id={awkward.pk}"

    assert get_ids(client.get(f"{address}&sort=desc&sort=asc")) == compute_order("desc")


# Names in texts -----------------------------------------------------------------------------------

texts = st.text(st.sampled_from('",  \t\nab_%;') | st.characters(codec="utf-8"), max_size=30)
endings = st.sampled_from(sorted(ENDINGS))


@pytest.mark.slow
@given(text=texts)
def test_any_text_is_cut_into_names(text: str) -> None:
    parts = split_names(text)

    assert len(parts) <= text.count(",") + 1
    assert all(part == part.strip() and part in text for part in parts)


@given(text=texts)
def test_any_text_is_a_sort_key_or_refused(text: str) -> None:
    try:
        key = parse_sort_key(text)
    except InvalidSort:
        assert not text.strip()
    else:
        assert isinstance(key.field, str)


@given(name=texts, ending=endings)
def test_a_quoted_name_comes_back_from_a_sort_key(name: str, ending: str) -> None:
    assert parse_sort_key(f" {quote_name(name)}{ending}") == SortKey(name, *ENDINGS[ending])


@given(names=st.lists(st.tuples(texts, endings), min_size=1, max_size=5))
def test_quoted_names_come_back_from_a_list_in_a_text(names: list[tuple[str, str]]) -> None:
    text = ",".join(f"{quote_name(name)}{ending}" for name, ending in names)

    assert [parse_sort_key(part) for part in split_names(text)] == [
        SortKey(name, *ENDINGS[ending]) for name, ending in names
    ]
    assert [
        unquote_name(part) for part in split_names(", ".join(quote_name(n) for n, _ in names))
    ] == [name for name, _ in names]


plain_names = st.text(
    st.sampled_from("ab \t_%;'é") | st.characters(codec="utf-8", exclude_characters='",'),
    min_size=1,
    max_size=20,
).map(str.strip)


@given(names=st.lists(plain_names.filter(bool), min_size=1, max_size=5))
def test_names_without_commas_and_quotes_need_no_quotes(names: list[str]) -> None:
    assert split_names(" , ".join(names)) == names


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" \t", []),
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        (" a , b ", ["a", "b"]),
        ("a,", ["a", ""]),
        (",", ["", ""]),
        ('"a,b",c', ['"a,b"', "c"]),
        ('"a""b,c",d', ['"a""b,c"', "d"]),
        ('"a,b', ['"a', "b"]),
        ('a"b,c"d', ['a"b', 'c"d']),
        ('"a"x,b', ['"a"x', "b"]),
        ('"",""', ['""', '""']),
        ('"""",a', ['""""', "a"]),
    ],
)
def test_a_text_is_cut_at_its_commas(text: str, parts: list[str]) -> None:
    assert split_names(text) == parts


# Cost ---------------------------------------------------------------------------------------------

LONG: dict[str, Callable[[int], str]] = {
    "blanks": lambda size: "a" + " " * size + "desc",
    "blanks and words": lambda size: "a " * (size // 2),
    "letters": lambda size: "a" * size,
    "commas": lambda size: "," * size,
    "keys": lambda size: "a desc, " * (size // 8) + "a",
    "quotes": lambda size: '"' * size,
    "open quotes": lambda size: '"a,' * (size // 3),
    "doubled quotes": lambda size: '"a""b", ' * (size // 8) + "a",
    "three quotes": lambda size: '"""a,' * (size // 5) + '"',
    "doubled quotes within": lambda size: '"' + '""' * (size // 2) + ",a",
    "directions": lambda size: "a" + " desc" * (size // 5),
    "nulls": lambda size: "a" + " nulls first" * (size // 12),
    "tabs in quotes": lambda size: '"' + "\t" * size + '" desc',
}


def measure_seconds(text: str) -> float:
    """Return the seconds that parsing a text takes, the least of three measurements."""
    durations = []
    for _ in range(3):
        start = thread_time()
        for part in split_names(text):
            try:
                parse_sort_key(part)
            except InvalidSort:
                continue
        durations.append(thread_time() - start)
    return min(durations)


@pytest.mark.parametrize("form", LONG)
def test_a_text_ten_times_as_long_takes_about_ten_times_as_long(form: str) -> None:
    short, long = LONG[form](10_000), LONG[form](100_000)

    # Quadratic growth would be a hundred times as long; 0.2 ms is the noise of the clock.
    assert measure_seconds(long) < 40 * measure_seconds(short) + 0.0002


@pytest.mark.usefixtures("large_bodies")
@pytest.mark.parametrize("form", LONG)
def test_a_long_sort_is_answered(client: Client, awkward: Resource, form: str) -> None:
    errors = list_errors(client, awkward, LONG[form](200_000))

    assert all(len(message) < 300 for message in errors)


def test_twenty_thousand_blanks_are_blanks(client: Client, awkward: Resource) -> None:
    blanks = " " * 20_000

    for sort in (
        f"plain{blanks}desc",
        f"{blanks}plain desc",
        f"plain desc{blanks}nulls{blanks}last",
    ):
        assert get_ids(search(client, awkward, sort=sort)) == [4, 3, 2, 1]


@pytest.mark.usefixtures("large_bodies")
def test_five_thousand_keys_are_accepted(client: Client, awkward: Resource) -> None:
    keys = [quote_name(name) for name in AWKWARD]
    many = ["plain desc", *(f"{keys[n % len(keys)]} desc" for n in range(5_000))]

    assert get_ids(search(client, awkward, sort=",".join(many[:5_000]))) == [4, 3, 2, 1]
    assert list_errors(client, awkward, many) == ["There are more than 5000 names."]
    assert list_errors(client, awkward, ",".join(many * 2)) == ["There are more than 5000 names."]
