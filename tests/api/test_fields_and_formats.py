"""What comes back: fields, distinct, formats, pages, questions, and what the other actions say."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils.translation import override

import datastore_search as package
from datastore_search.api.actions import actions
from datastore_search.models import Alias, Resource

from ..builders import (
    ask,
    check_error,
    get_ids,
    get_result,
    make_resource,
    make_user_token,
    make_writer_token,
)
from ..shared import ModuleTransaction
from .typed import CELLS, get_column_name, open_cursor_year_first

ACTION = "/en/api/action/"


def search(client: Client, resource: Resource | str, **sent: Any) -> Any:
    name = resource if isinstance(resource, str) else str(resource.pk)
    return ask(client, {"resource_id": name, **sent})


def read_records(client: Client, resource: Resource | str, **sent: Any) -> Any:
    return get_result(search(client, resource, **sent))["records"]


def check_refused(client: Client, resource: Resource, **sent: Any) -> dict[str, Any]:
    return check_error(search(client, resource, **sent), 409, "Validation Error")


def call_action(client: Client, action: str, sent: Any, **headers: str) -> Any:
    return ask(client, sent, path=f"{ACTION}{action}", **headers)


# fields -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        (["stage", "code"], ["stage", "code"]),
        ("stage,code", ["stage", "code"]),
        (" stage , code ", ["stage", "code"]),
        ('"stage","code"', ["stage", "code"]),
        (['"stage"', " code "], ["stage", "code"]),
        (["_id"], ["_id"]),
        (["seen", "_id", "code"], ["seen", "_id", "code"]),
        (["code", "code", "_id", "code"], ["code", "_id"]),
        ("code", ["code"]),
        ([], ["_id", "code", "subject", "stage", "title", "amount", "seen"]),
        ("", ["_id", "code", "subject", "stage", "title", "amount", "seen"]),
        (None, ["_id", "code", "subject", "stage", "title", "amount", "seen"]),
    ],
)
def test_requested_fields_come_in_their_order(
    client: Client, resource: Resource, fields: Any, names: list[str]
) -> None:
    result = get_result(search(client, resource, fields=fields))

    assert [field["id"] for field in result["fields"]] == names
    assert all(list(record) == names for record in result["records"])
    assert len(result["records"]) == 6


@pytest.mark.parametrize(
    ("fields", "messages"),
    [
        (["nope"], ["Unknown field: “nope”"]),
        (["code", "nope", "Stage"], ["Unknown field: “nope”", "Unknown field: “Stage”"]),
        ("code,", ["Unknown field: “”"]),
        (",", ["Unknown field: “”"]),
        ([""], ["Unknown field: “”"]),
        ("rank", ["Unknown field: “rank”"]),
        ("_full_text", ["Unknown field: “_full_text”"]),
        ("search", ["Unknown field: “search”"]),
        ("*", ["Unknown field: “*”"]),
        (5, ["Must be a list of names, or names separated by commas."]),
        (True, ["Must be a list of names, or names separated by commas."]),
        ({"code": 1}, ["Must be a list of names, or names separated by commas."]),
        ([5], ["Must be a list of names, or names separated by commas."]),
        ([["code"]], ["Must be a list of names, or names separated by commas."]),
    ],
)
def test_unknown_fields_are_refused_by_name(
    client: Client, resource: Resource, fields: Any, messages: list[str]
) -> None:
    assert check_refused(client, resource, fields=fields) == {"fields": messages}


def test_the_rank_is_a_field_only_of_a_full_text_query(client: Client, resource: Resource) -> None:
    parameters = get_result(search(client, resource, q="river", fields=["rank", "code"]))
    unasked = get_result(search(client, resource, q="river", fields=["code"]))

    assert parameters["fields"] == [{"id": "rank", "type": "float"}, {"id": "code", "type": "text"}]
    assert list(parameters["records"][0]) == ["rank", "code"]
    assert unasked["records"] == [{"code": "001"}]


# distinct -----------------------------------------------------------------------------------------

REPEATED = """\
kind,size,text
a,1.5,river bridge
a,1.50,river
b,,river
b,,sea
,2,river
,2,
a,1.5,sea
"""


@pytest.fixture(scope="module")
def _repeated(module_transaction: ModuleTransaction) -> Resource:
    return make_resource(REPEATED, types={"size": "numeric"})


@pytest.fixture
def repeated(_repeated: Resource, db: None) -> Resource:
    return _repeated


@pytest.mark.parametrize(
    ("sent", "found", "total"),
    [
        ({"fields": "kind", "sort": "kind"}, ["a", "b", None], 3),
        ({"fields": "kind", "sort": "kind desc"}, [None, "b", "a"], 3),
        ({"fields": "kind", "sort": "kind desc nulls last"}, ["b", "a", None], 3),
        ({"fields": "kind", "sort": "kind", "limit": 2}, ["a", "b"], 3),
        ({"fields": "kind", "sort": "kind", "limit": 2, "offset": 1}, ["b", None], 3),
        ({"fields": "kind", "sort": "kind", "offset": 3}, [], 3),
        ({"fields": "kind", "sort": "kind", "limit": 0}, [], 3),
        ({"fields": "kind", "sort": "kind", "q": "sea"}, ["a", "b"], 2),
        ({"fields": "kind", "sort": "kind", "q": {"text": "river"}}, ["a", "b", None], 3),
        ({"fields": "kind", "sort": "kind", "full_text": "bridge"}, ["a"], 1),
        ({"fields": "kind", "filters": {"size": None}}, ["b"], 1),
        ({"fields": "size", "sort": "size"}, [1.5, 2, None], 3),
        ({"fields": "kind", "filters": {"kind": []}}, [], 0),
    ],
)
def test_distinct_counts_and_pages_combinations(
    client: Client, repeated: Resource, sent: dict[str, Any], found: list[Any], total: int
) -> None:
    result = get_result(search(client, repeated, distinct=True, **sent))

    assert [next(iter(record.values())) for record in result["records"]] == found
    assert result["total"] == total
    assert result["distinct"] is True


@pytest.mark.parametrize("fields", [None, [], ["_id", "kind"], ["kind", "_id"]])
def test_distinct_merges_nothing_where_the_id_is_included(
    client: Client, repeated: Resource, fields: Any
) -> None:
    result = get_result(search(client, repeated, distinct=True, fields=fields))

    assert [record["_id"] for record in result["records"]] == [1, 2, 3, 4, 5, 6, 7]
    assert result["total"] == 7


def test_distinct_in_every_format(client: Client, repeated: Resource) -> None:
    sent = {"distinct": True, "fields": ["kind", "size"], "sort": "kind desc"}

    assert read_records(client, repeated, records_format="lists", **sent) == [
        [None, 2], ["b", None], ["a", 1.5],
    ]  # fmt: skip
    assert read_records(client, repeated, records_format="csv", **sent) in (
        ",2\nb,\na,1.5\n",
        ",2\nb,\na,1.50\n",
    )
    assert read_records(client, repeated, records_format="tsv", limit=2, **sent) == "\t2\nb\t\n"


def test_distinct_with_a_rank_merges_equal_ranks(client: Client, repeated: Resource) -> None:
    result = get_result(
        search(client, repeated, distinct=True, fields=["kind", "rank"], q="sea", sort="kind")
    )

    assert [record["kind"] for record in result["records"]] == ["a", "b"]
    assert all(record["rank"] > 0 for record in result["records"])


@pytest.mark.parametrize("kind", CELLS)
def test_distinct_knows_every_type(client: Client, typed: Resource, kind: str) -> None:
    with open_cursor_year_first() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT {get_column_name(kind)} FROM typed) AS v"
        )
        (combinations,) = cursor.fetchone()

    for form in ("objects", "lists", "csv"):
        result = get_result(
            search(client, typed, distinct=True, fields=[kind], records_format=form)
        )
        assert result["total"] == combinations
        if form != "csv":
            assert len(result["records"]) == combinations


# records_format -----------------------------------------------------------------------------------


def render_in_postgresql(kind: str) -> str:
    """
    Write a column of the table ``typed`` as CKAN asks for it.

    Moments are ISO's, with three decimals, or six where three would lose something; lists and JSON
    values are JSON texts, and where there is none the word null.
    """
    name = get_column_name(kind)
    if kind.startswith("timestamp"):
        zone = "+00:00" if kind == "timestamptz" else ""
        moment = f"({name} AT TIME ZONE 'UTC')" if zone else name
        exact = f"date_trunc('milliseconds', {name}) <> {name}"
        return (
            f"CASE WHEN NOT isfinite({name}) THEN {name}::text ELSE to_char({moment},"
            f" 'YYYY-MM-DD\"T\"HH24:MI:SS.' || CASE WHEN {exact} THEN 'US' ELSE 'MS' END)"
            f" || '{zone}' END"
        )
    if kind == "json" or kind.startswith("_"):
        return f"coalesce(to_jsonb({name})::text, 'null')"
    return name


def copy_as_csv(query: str, delimiter: str) -> str:
    """Let PostgreSQL's own COPY write a query's rows as CSV."""
    with (
        open_cursor_year_first() as cursor,
        cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv, DELIMITER E'{delimiter}')") as rows,
    ):
        return b"".join(bytes(row) for row in rows).decode()


@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\\t")])
@pytest.mark.parametrize("kind", sorted({*CELLS} - {"float8"}))
def test_every_type_is_written_as_copy_writes_it(
    client: Client, typed: Resource, kind: str, form: str, delimiter: str
) -> None:
    expected = copy_as_csv(
        f"SELECT id, {render_in_postgresql(kind)} FROM typed ORDER BY id", delimiter
    )

    assert read_records(client, typed, fields=["_id", kind], records_format=form) == expected


def test_a_double_is_written_in_its_shortest_form(client: Client, typed: Resource) -> None:
    text = read_records(client, typed, fields=["float8"], records_format="csv")

    cells = text.splitlines()[: len(CELLS["float8"])]
    assert cells[:6] == ["7", "7.5", "0", "-1", "1000", "0.1"]
    assert [float(cell) for cell in cells[6:8]] == [1e21, 1e-7]
    assert cells[8:] == ["NaN", "Infinity"]


AWKWARD = [
    "", None, " ", "a,b", "a\tb", 'say "x"', '"', "two\nlines", "two\r\nlines", "\r", "\\.", "\\N",
    "\\", " lead", "trail ", "NULL", "null", "Hà Nội", "🙂", "'", "=1+1", "%s", "\u2028", "\x7f",
]  # fmt: skip


@pytest.fixture
def awkward(db: None) -> Resource:
    """A resource whose records hold ``AWKWARD``, once among others, once alone."""
    resource = Resource.objects.create(name="awkward")
    token = make_writer_token()
    created = call_action(
        Client(),
        "datastore_create",
        {
            "resource_id": str(resource.pk),
            "fields": [{"id": "a", "type": "text"}, {"id": "b", "type": "text"}],
            "records": [{"a": text, "b": text} for text in AWKWARD],
        },
        Authorization=token,
    )
    assert created.status_code == 200, created.content
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE awkward (id int, a text) ON COMMIT DROP")
        for number, text in enumerate(AWKWARD, 1):
            cursor.execute("INSERT INTO awkward VALUES (%s, %s)", [number, text])
    return resource


@pytest.mark.parametrize(
    ("form", "delimiter", "fields"), [("csv", ",", ["a"]), ("tsv", "\\t", ["b", "_id", "a"])]
)
def test_awkward_texts_are_quoted_as_copy_quotes_them(
    client: Client, awkward: Resource, form: str, delimiter: str, fields: list[str]
) -> None:
    columns = ", ".join({"_id": "id", "a": "a", "b": "a"}[name] for name in fields)
    expected = copy_as_csv(f"SELECT {columns} FROM awkward ORDER BY id", delimiter)

    assert read_records(client, awkward, fields=fields, records_format=form) == expected


@pytest.mark.parametrize(
    ("form", "sent"),
    [
        ("lists", {"q": "river"}),
        ("tsv", {"q": {"title": "ha noi"}}),
        ("csv", {"sort": "amount desc"}),
        ("lists", {"q": "ha noi", "sort": "title"}),
        ("csv", {"filters": {"stage": ["active", "planned"]}, "limit": 3, "offset": 1}),
    ],
)
def test_every_format_gives_the_records_of_objects(
    client: Client, resource: Resource, form: str, sent: dict[str, Any]
) -> None:
    objects = read_records(client, resource, fields="_id,code", **sent)
    found = read_records(client, resource, fields="_id,code", records_format=form, **sent)
    delimiter = {"csv": ",", "tsv": "\t"}.get(form)

    rows = list(csv.reader(io.StringIO(found), delimiter=delimiter)) if delimiter else found
    assert [[str(cell) for cell in row] for row in rows] == [
        [str(record["_id"]), record["code"]] for record in objects
    ]
    assert objects


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_the_rank_is_a_number_in_a_row_too(client: Client, resource: Resource, form: str) -> None:
    (objects,) = read_records(client, resource, q="river")
    text = read_records(client, resource, q="river", records_format=form, fields=["code", "rank"])

    code, rank = text.rstrip("\n").split({"csv": ",", "tsv": "\t"}[form])
    assert code == "001"
    assert float(rank) == pytest.approx(objects["rank"])


@pytest.mark.parametrize(
    ("form", "empty"), [("objects", []), ("lists", []), ("csv", ""), ("tsv", "")]
)
def test_an_empty_result_has_the_form_too(
    client: Client, resource: Resource, form: str, empty: Any
) -> None:
    parameters: tuple[dict[str, Any], ...] = (
        {"limit": 0},
        {"filters": {"code": []}},
        {"offset": 50},
        {"q": "nothing"},
    )
    for sent in parameters:
        result = get_result(search(client, resource, records_format=form, **sent))
        assert result["records"] == empty
        assert result["records_format"] == form
        assert result["fields"][0] == {"id": "_id", "type": "int"}


@pytest.mark.parametrize("form", [None, ""])
def test_records_are_objects_by_default(client: Client, resource: Resource, form: Any) -> None:
    result = get_result(search(client, resource, records_format=form, limit=1, fields="code"))

    assert (result["records_format"], result["records"]) == ("objects", [{"code": "001"}])


@pytest.mark.parametrize("form", ["CSV", "json", " csv", "xml", 5, True, ["csv"], {"a": 1}])
def test_another_format_is_refused(client: Client, resource: Resource, form: Any) -> None:
    assert check_refused(client, resource, records_format=form) == {
        "records_format": ["Value must be one of objects, lists, csv, tsv"]
    }


# Pages --------------------------------------------------------------------------------------------


def follow_pages(client: Client, resource: Resource | str, **sent: Any) -> list[list[int]]:
    """Read page after page as CKAN's clients do: ``next_page`` is merged into ``filters``."""
    pages: list[list[int]] = []
    filters = dict(sent.pop("filters", {}))
    while True:
        result = get_result(
            search(client, resource, filters=filters, include_next_page=True, **sent)
        )
        pages.append([record["_id"] for record in result["records"]])
        if "next_page" not in result:
            return pages
        assert len(pages) < 100
        filters |= result["next_page"]


@pytest.mark.parametrize(
    ("sent", "pages"),
    [
        ({"limit": 4}, [[1, 2, 3, 4], [5, 6], []]),
        ({"limit": 3}, [[1, 2, 3], [4, 5, 6], []]),
        ({"limit": 4, "sort": "_id desc"}, [[6, 5, 4, 3], [2, 1], []]),
        ({"limit": 4, "sort": '"_id" DESC nulls last'}, [[6, 5, 4, 3], [2, 1], []]),
        ({"limit": 4, "sort": ["_id"]}, [[1, 2, 3, 4], [5, 6], []]),
        ({"limit": 2, "filters": {"stage": "active"}}, [[1, 2], [4, 6], []]),
        ({"limit": 2, "filters": {"stage": "active"}, "sort": "_id desc"}, [[6, 4], [2, 1], []]),
        ({"limit": 2, "filters": {"$or": [{"code": "001"}, {"code": "005"}]}}, [[1, 5], []]),
        ({"limit": 1, "q": "ha noi", "sort": "_id"}, [[4], [5], []]),
        ({"limit": 1, "q": {"title": "ha noi"}, "sort": "_id desc"}, [[5], [4], []]),
        ({"limit": 100}, [[1, 2, 3, 4, 5, 6], []]),
        ({"limit": 2, "filters": {"code": "none"}}, [[]]),
        ({"limit": 0}, [[]]),
    ],
)
def test_next_page_leads_through_all_records(
    client: Client, resource: Resource, sent: dict[str, Any], pages: list[list[int]]
) -> None:
    assert follow_pages(client, resource, **sent) == pages


def test_next_page_names_the_last_record_of_the_page(client: Client, resource: Resource) -> None:
    for form in ("objects", "lists", "csv", "tsv"):
        for sent, found in (
            ({"limit": 2, "offset": 1}, {"gt": 3}),
            ({"limit": 2, "sort": "_id desc"}, {"lt": 5}),
            ({"limit": 2, "fields": "code"}, {"gt": 2}),
            ({"limit": 2, "include_total": False}, {"gt": 2}),
        ):
            result = get_result(
                search(client, resource, include_next_page=True, records_format=form, **sent)
            )
            assert result["next_page"] == {"_id": found}
            assert result["include_next_page"] is True


@pytest.mark.parametrize(
    "sent",
    [
        {"sort": "code"},
        {"sort": "code, _id"},
        {"q": "river"},
        {"distinct": True, "fields": "stage"},
        {"include_next_page": False},
        {"include_next_page": "no"},
        {"include_next_page": None},
    ],
)
def test_there_is_no_next_page_unless_records_come_by_their_id(
    client: Client, resource: Resource, sent: dict[str, Any]
) -> None:
    assert "next_page" not in get_result(
        search(client, resource, **{"include_next_page": True, "limit": 1, **sent})
    )


# Questions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "ids"),
    [
        ({"title": "RIVER bridge"}, [1]),
        ({"title": "ha noi", "subject": "survey"}, [5]),
        ({"title": "survey"}, []),
        ({"seen": "2020-12-31"}, [3]),
        ({"title": "river & | !"}, [1]),
        ({}, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_an_object_queries_fields_one_by_one(
    client: Client, resource: Resource, q: dict[str, str], ids: list[int]
) -> None:
    assert sorted(get_ids(search(client, resource, q=q))) == ids
    assert sorted(get_ids(search(client, resource, q=json.dumps(q)))) == ids


def test_each_queried_field_has_a_rank(client: Client, resource: Resource) -> None:
    result = get_result(search(client, resource, q={"title": "ha noi", "stage": "planned"}))

    assert result["fields"][-2:] == [
        {"id": "rank title", "type": "float"},
        {"id": "rank stage", "type": "float"},
    ]
    (record,) = result["records"]
    assert list(record)[-2:] == ["rank title", "rank stage"]
    assert record["rank title"] > 0
    assert record["rank stage"] > 0
    parameters = read_records(client, resource, q={"title": "ha"}, fields=["rank title", "code"])
    assert [list(record) for record in parameters] == [["rank title", "code"]] * 2


@pytest.mark.parametrize(
    ("q", "said"),
    [
        ({"nope": "river"}, ["Unknown field: “nope”"]),
        (
            {"nope": "river", "title": "x", "Title": "x"},
            ["Unknown field: “nope”", "Unknown field: “Title”"],
        ),
        ({"rank": "x"}, ["Unknown field: “rank”"]),
        ({"title": 5}, ["The full-text query must be text, or an object: field → text."]),
        ({"title": None}, ["The full-text query must be text, or an object: field → text."]),
        ({"title": ["x"]}, ["The full-text query must be text, or an object: field → text."]),
        (["river"], ["The full-text query must be text, or an object: field → text."]),
    ],
)
def test_an_invalid_query_object_is_refused(
    client: Client, resource: Resource, q: Any, said: list[str]
) -> None:
    assert check_refused(client, resource, q=q) == {"q": said}


def test_a_full_text_query_may_be_a_number_or_a_boolean(client: Client, db: None) -> None:
    resource = make_resource("a,b\n28,true\n7.5,True\n")

    assert get_ids(search(client, resource, q=28)) == [1]
    assert get_ids(search(client, resource, q=7.5)) == [2]
    assert get_ids(search(client, resource, q=True)) == [1, 2]


@pytest.mark.parametrize(
    ("sent", "ids"),
    [
        ({"full_text": "river"}, [1]),
        ({"full_text": "ha noi", "q": {"stage": "planned"}}, [5]),
        ({"full_text": "ha noi", "q": {"stage": "planned", "subject": "air"}}, []),
        ({"full_text": "river", "q": "foxes"}, [1]),
        ({"full_text": "", "q": "foxes"}, [2]),
        ({"full_text": None, "q": "foxes"}, [2]),
        ({"full_text": "ha noi", "filters": {"subject": "air"}}, [4]),
        ({"full_text": "nothing"}, []),
    ],
)
def test_full_text_is_a_query_beside_those_of_the_fields(
    client: Client, resource: Resource, sent: dict[str, Any], ids: list[int]
) -> None:
    assert get_ids(search(client, resource, **sent)) == ids


@pytest.mark.parametrize("full_text", [{"title": "x"}, ["x"]])
def test_full_text_is_text(client: Client, resource: Resource, full_text: Any) -> None:
    assert check_refused(client, resource, full_text=full_text) == {
        "full_text": ["The full-text query must be text."]
    }


@pytest.mark.parametrize(
    "sent",
    [
        {"q": "river bridge"},
        {"q": "&"},
        {"q": "river &"},
        {"q": "!"},
        {"q": "(river"},
        {"q": "river)"},
        {"q": "'river"},
        {"q": "a <-"},
        {"q": "river | | fox"},
        {"q": "<->"},
        {"q": {"title": "river &"}},
        {"full_text": "river &"},
        {"q": "(" * 5_000 + "a" + ")" * 4_000},
        {"q": "!" * 9_000 + "a"},
        {"q": "a <99999> b"},
    ],
)
def test_invalid_operators_are_refused(
    client: Client, resource: Resource, sent: dict[str, Any]
) -> None:
    for form in ("objects", "csv"):
        error = check_refused(client, resource, plain=False, records_format=form, **sent)
        assert error == {
            "q": ["The full-text query cannot be understood in PostgreSQL’s query language."]
        }


@pytest.mark.parametrize("plain", [True, None, "", "true", "y", 1])
def test_a_plain_query_has_no_operators(client: Client, resource: Resource, plain: Any) -> None:
    assert get_ids(search(client, resource, q="river & (bridge", plain=plain)) == [1]
    assert get_ids(search(client, resource, q="river | foxes", plain=plain)) == []


@pytest.mark.parametrize("language", ["klingon", "english; --", "pg_catalog.", "đ", 5])
def test_an_unknown_language_is_refused_with_a_query(
    client: Client, resource: Resource, language: Any
) -> None:
    said = {"language": [f"PostgreSQL has no text search configuration “{language}”."]}

    assert check_refused(client, resource, q="river", language=language) == said
    assert check_refused(client, resource, q={"title": "river"}, language=language) == said
    assert check_refused(client, resource, full_text="river", language=language) == said
    assert len(get_ids(search(client, resource, language=language))) == 6


# Faults together ----------------------------------------------------------------------------------


def test_all_parameters_that_cannot_be_read_are_reported_together(
    client: Client, resource: Resource
) -> None:
    assert check_refused(
        client,
        resource,
        limit="x",
        offset=-1,
        fields=5,
        sort="code,,",
        filters="{",
        q=["x"],
        full_text={"x": 1},
        records_format="xml",
        callback="f",
        nonsense=1,
        __junk=2,
    ) == {
        "limit": ["Invalid integer"],
        "offset": ["Must be a natural number"],
        "fields": ["Must be a list of names, or names separated by commas."],
        "sort": ["“” is not a sort key: a field, then asc or desc, then nulls first or nulls last."]
        * 2,
        "filters": ["Cannot parse JSON"],
        "q": ["The full-text query must be text, or an object: field → text."],
        "full_text": ["The full-text query must be text."],
        "records_format": ["Value must be one of objects, lists, csv, tsv"],
        "callback": ["JSONP is not supported: use CORS."],
        "__extras": ["There is no parameter “nonsense”.", "There is no parameter “__junk”."],
    }


def test_all_that_does_not_fit_the_resource_is_reported_together(
    client: Client, resource: Resource
) -> None:
    assert check_refused(
        client,
        resource,
        fields=["code", "nope", "nope2"],
        sort="title, nope, code desc",
        filters={"nope": 1, "amount": "much", "stage": {"lt": [1]}},
        q={"nope": "x", "title": "y"},
        language="klingon",
    ) == {
        "fields": ["Unknown field: “nope”", "Unknown field: “nope2”"],
        "sort": ["Unknown field: “nope”"],
        "filters": [
            "Unknown field: “nope”",
            'Field “amount” has type numeric and cannot equal "much".',
            "Field “stage” has type text and cannot equal [1].",
        ],
        "q": ["Unknown field: “nope”"],
        "language": ["PostgreSQL has no text search configuration “klingon”."],
    }


# What is said beside the records ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sent", "echo"),
    [
        ("offset", 2, 2),
        ("offset", "2", 2),
        ("offset", 2.0, 2),
        ("q", "river", "river"),
        ("q", 28, "28"),
        ("q", True, "True"),
        ("q", {"title": "river"}, {"title": "river"}),
        ("q", '{"title": "river"}', {"title": "river"}),
        ("filters", {"code": ["001", None]}, {"code": ["001", None]}),
        ("filters", '{"code": "001"}', {"code": "001"}),
        ("filters", [{"code": "001"}], [{"code": "001"}]),
        ("filters", {"amount": {"gt": 1.25}}, {"amount": {"gt": 1.25}}),
        ("sort", "code desc", "code desc"),
        ("sort", ["code desc", "_id"], ["code desc", "_id"]),
        ("plain", True, True),
        ("plain", False, False),
        ("plain", "yes", True),
        ("plain", 0, False),
        ("language", "simple", "simple"),
        ("distinct", True, True),
        ("distinct", "false", False),
        ("full_text", "river", "river"),
        ("full_text", 5, "5"),
    ],
)
def test_parameters_come_back_as_they_were_understood(
    client: Client, resource: Resource, name: str, sent: Any, echo: Any
) -> None:
    result = get_result(search(client, resource, **{name: sent}))

    assert result[name] == echo
    assert type(result[name]) is type(echo)


@pytest.mark.parametrize("value", [None, ""])
def test_a_default_does_not_come_back(client: Client, resource: Resource, value: Any) -> None:
    names = ("offset", "q", "filters", "sort", "plain", "language", "distinct", "full_text")

    result = get_result(search(client, resource, **dict.fromkeys(names, value)))

    assert not {*names} & {*result}


def test_an_offset_of_0_comes_back(client: Client, resource: Resource) -> None:
    assert get_result(search(client, resource, offset=0))["offset"] == 0


@pytest.mark.parametrize("sent", [{"q": {}}, {"filters": {}}, {"filters": []}, {"sort": []}])
def test_empty_parameters_do_not_come_back(
    client: Client, resource: Resource, sent: dict[str, Any]
) -> None:
    assert not {*sent} & {*get_result(search(client, resource, **sent))}


def test_every_answer_has_the_same_members(client: Client, resource: Resource) -> None:
    result = get_result(search(client, resource))

    assert set(result) == {
        "resource_id",
        "fields",
        "records_format",
        "limit",
        "include_total",
        "include_next_page",
        "total",
        "total_was_estimated",
        "_links",
        "records",
    }
    del result["fields"], result["records"], result["_links"]
    assert result == {
        "resource_id": str(resource.pk),
        "records_format": "objects",
        "limit": 100,
        "include_total": True,
        "include_next_page": False,
        "total": 6,
        "total_was_estimated": False,
    }


@pytest.mark.parametrize("threshold", [None, 0, 5, "x", [1]])
def test_an_estimate_is_never_given(client: Client, resource: Resource, threshold: Any) -> None:
    result = get_result(search(client, resource, total_estimation_threshold=threshold))

    assert (result["total"], result["total_was_estimated"]) == (6, False)
    assert "total_estimation_threshold" not in result


@pytest.mark.parametrize(
    ("include_total", "said"),
    [
        (None, True),
        ("", True),
        (True, True),
        ("yes", True),
        (1, True),
        (False, False),
        ("0", False),
    ],
)
def test_the_total_is_left_out_without_include_total(
    client: Client, resource: Resource, include_total: Any, said: bool
) -> None:
    for sent in ({}, {"q": "river"}, {"sort": "code"}, {"distinct": True, "fields": "code"}):
        result = get_result(search(client, resource, include_total=include_total, **sent))
        assert result["include_total"] is said
        assert ("total" in result) is said


# Aliases ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["khí hậu 2024", " Khí hậu 2024", "Khí hậu", "Khi\u0301 hậu 2024"])
def test_an_alias_is_exact(client: Client, resource: Resource, name: str) -> None:
    Alias.objects.create(resource=resource, name="Khí hậu 2024")

    check_error(search(client, name), 404, "Not Found Error")


def test_id_wins_over_resource_id(client: Client, resource: Resource) -> None:
    other = make_resource("a\n1\n")

    assert get_ids(ask(client, {"id": str(other.pk), "resource_id": str(resource.pk)})) == [1]
    assert len(get_ids(ask(client, {"id": "", "resource_id": str(resource.pk)}))) == 6
    check_error(ask(client, {"id": "no", "resource_id": str(resource.pk)}), 404, "Not Found Error")


def test_an_id_is_accepted_in_capitals_too(client: Client, resource: Resource) -> None:
    assert len(get_ids(search(client, str(resource.pk).upper()))) == 6


# _table_metadata ----------------------------------------------------------------------------------


@pytest.fixture
def named(resource: Resource) -> dict[str, Resource]:
    """A public resource with two aliases and a private one with one; one without a table."""
    hidden = make_resource("a\n1\n", private=True)
    Alias.objects.create(resource=resource, name="survey")
    Alias.objects.create(resource=resource, name="visits")
    Alias.objects.create(resource=hidden, name="secret")
    Resource.objects.create(name="empty")
    return {"public": resource, "hidden": hidden}


def test_the_answer_about_names_is_private_for_a_user_who_may_read_more(
    client: Client, named: dict[str, Resource]
) -> None:
    for_all = search(client, "_table_metadata")
    for_staff = ask(
        client, {"id": "_table_metadata"}, Authorization=make_user_token("reader", "view")
    )

    assert for_all["Cache-Control"] == "max-age=0, must-revalidate, public"
    assert for_staff["Cache-Control"] == "max-age=0, must-revalidate, private"


def test_the_names_are_searched_like_records(client: Client, named: dict[str, Resource]) -> None:
    public = str(named["public"].pk)
    metadata, own = "_table_metadata", {"name": [public, "survey", "visits", "secret"]}

    assert read_records(client, metadata, filters={"name": "survey"}, fields="name,alias_of") == [
        {"name": "survey", "alias_of": public}
    ]
    assert read_records(client, metadata, filters={**own, "alias_of": None}, fields="name") == [
        {"name": public}
    ]
    assert read_records(client, metadata, filters={"name": "secret"}) == []
    assert [each["name"] for each in read_records(client, metadata, q="visit")] == ["visits"]
    assert (
        read_records(
            client,
            metadata,
            filters=own,
            sort="name desc",
            fields="name",
            limit=1,
            records_format="csv",
        )
        == max(public, "visits") + "\n"
    )
    assert read_records(
        client, metadata, filters=own, distinct=True, fields="alias_of", sort="alias_of"
    ) == [{"alias_of": public}, {"alias_of": None}]
    pages = follow_pages(client, metadata, limit=2)
    assert [record_id for page in pages for record_id in page] == [
        each["_id"] for each in read_records(client, metadata)
    ]
    check_error(search(client, metadata, filters={"nope": 1}), 409, "Validation Error")


# datastore_info -----------------------------------------------------------------------------------


def test_info_describes_the_fields_and_counts_the_records(
    client: Client, resource: Resource
) -> None:
    resource.fields.filter(name="seen").update(label="Day", notes="of the visit")
    Alias.objects.create(resource=resource, name="visits")
    Alias.objects.create(resource=resource, name="survey")

    result = call_action(client, "datastore_info", {"id": str(resource.pk)}).json()["result"]

    sizes = {name: result["meta"].pop(name) for name in ("size", "idx_size", "db_size")}
    assert result["meta"].pop("profiled")["records"] == 6
    assert result["meta"] == {
        "id": str(resource.pk),
        "count": 6,
        "table_type": "BASE TABLE",
        "aliases": ["survey", "visits"],
    }
    assert 0 < sizes["size"] < sizes["db_size"]
    assert 0 < sizes["idx_size"] < sizes["db_size"]
    assert [(field["id"], field["type"], field.get("info")) for field in result["fields"]] == [
        ("code", "text", None),
        ("subject", "text", None),
        ("stage", "text", None),
        ("title", "text", None),
        ("amount", "numeric", None),
        ("seen", "date", {"label": "Day", "notes": "of the visit"}),
    ]
    assert result["fields"][4]["schema"] == {
        "native_type": "numeric",
        "notnull": False,
        "index_name": "",
        "is_index": True,
        "uniquekey": False,
        "facetable": True,
        "sortable": True,
        "searchable": True,
    }


@pytest.mark.parametrize("flag", ["facetable", "sortable", "searchable"])
def test_a_field_can_do_what_info_says(client: Client, typed: Resource, flag: str) -> None:
    given = {"id": str(typed.pk)}
    fields = call_action(client, "datastore_info", given).json()["result"]["fields"]

    assert {field["schema"][flag] for field in fields} == (
        {True} if flag == "searchable" else {True, False}
    )
    for field in fields:
        name = field["id"]
        asked = {
            "facetable": ("datastore_facets", {"facets": [name]}),
            "sortable": ("datastore_search", {"sort": name}),
            "searchable": ("datastore_search", {"q": {name: "x"}}),
        }
        action, sent = asked[flag]
        response = call_action(client, action, {**given, **sent})
        assert (response.status_code == 200) is field["schema"][flag], name


@pytest.mark.parametrize(
    ("sent", "members", "field"),
    [
        ({}, {"fields", "meta"}, {"id", "type", "schema", "profile"}),
        ({"include_meta": False}, {"fields"}, {"id", "type", "schema", "profile"}),
        ({"include_fields_schema": False}, {"fields", "meta"}, {"id", "type"}),
        ({"include_fields_schema": "no", "include_meta": "no"}, {"fields"}, {"id", "type"}),
        ({"include_fields_schema": None, "include_meta": ""}, {"fields", "meta"},
         {"id", "type", "schema", "profile"}),
    ],
)  # fmt: skip
def test_info_repeats_its_parameters(
    client: Client, resource: Resource, sent: dict[str, Any], members: set[str], field: set[str]
) -> None:
    given = {"resource_id": str(resource.pk), **sent}

    result = call_action(client, "datastore_info", given).json()["result"]

    assert set(result) == members
    assert all(set(each) == field for each in result["fields"])


def test_info_knows_the_primary_key_and_every_write(client: Client, db: None) -> None:
    resource = Resource.objects.create(name="stock")
    token = make_writer_token()
    given = {"resource_id": str(resource.pk)}

    def write(action: str, **sent: Any) -> None:
        response = call_action(client, action, {**given, **sent}, Authorization=token)
        assert response.status_code == 200, response.content

    write(
        "datastore_create",
        fields=[{"id": "a", "type": "int4"}, {"id": "b", "type": "text"}],
        primary_key="a",
        records=[{"a": 1}, {"a": 2}],
    )
    fields = call_action(client, "datastore_info", given).json()["result"]["fields"]
    assert [each["schema"]["index_name"] for each in fields] == ["primary_key", ""]
    assert [each["schema"]["uniquekey"] for each in fields] == [True, False]
    write("datastore_records_delete", filters={"a": 1})
    write("datastore_create", primary_key=["a", "b"])
    result = call_action(client, "datastore_info", given).json()["result"]
    assert result["meta"]["count"] == 1
    schemas = [each["schema"] for each in result["fields"]]
    assert [each["index_name"] for each in schemas] == ["primary_key", "primary_key"]
    assert [each["uniquekey"] for each in schemas] == [False, False]


# help_show, status_show ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", actions)
def test_every_action_is_described(client: Client, db: None, name: str) -> None:
    answer = client.get(f"{ACTION}help_show?name={name}").json()

    assert answer["success"]
    assert answer["help"].endswith("/api/3/action/help_show?name=help_show")
    assert answer["result"] == str(actions[name].help)


def test_the_address_in_help_leads_to_the_description(client: Client, resource: Resource) -> None:
    answer = search(client, resource, limit=0).json()
    refusal = search(client, "nope").json()

    assert answer["help"] == refusal["help"]
    described = client.get(answer["help"].removeprefix("http://testserver"))
    assert described.json()["result"] == str(actions["datastore_search"].help)


def test_a_description_is_in_the_language_of_the_path(client: Client, db: None) -> None:
    response = client.get("/vi/api/3/action/help_show?name=datastore_search")

    with override("vi"):
        assert response.json()["result"] == str(actions["datastore_search"].help)


@pytest.mark.parametrize(
    "name", ["package_create", "datastore_search ", "DATASTORE_SEARCH", 5, "\u0301"]
)
def test_an_unknown_action_has_no_description(client: Client, db: None, name: Any) -> None:
    error = check_error(call_action(client, "help_show", {"name": name}), 404, "Not Found Error")

    assert error == {"message": f"Not found: there is no action “{name}”."}


@pytest.mark.parametrize("sent", [{}, {"name": None}, {"name": ""}])
def test_a_description_needs_a_name(client: Client, db: None, sent: dict[str, Any]) -> None:
    assert check_error(call_action(client, "help_show", sent), 409, "Validation Error") == {
        "name": ["Missing value"]
    }


def test_the_status_says_what_this_is(client: Client, db: None) -> None:
    result = client.get(f"{ACTION}status_show").json()["result"]

    assert result == {
        "ckan_version": "2.12.0",
        "datastore_search_version": package.__version__,
        "site_url": "http://testserver",
        "site_title": result["site_title"],
        "site_description": "",
        "locale_default": "en",
        "extensions": ["datastore"],
    }
    check_error(call_action(client, "status_show", {"x": 1}), 409, "Validation Error")
