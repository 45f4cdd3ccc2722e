"""What comes back beyond what ``tests/core/ckan`` compares, and what the other actions say."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override

import datastore_search as package
from datastore_search.api.actions import actions
from datastore_search.database.tables import _sizes_by_alias
from datastore_search.models import Alias, Resource

from ...builders import (
    QUERY_LANGUAGE_MESSAGE,
    ask,
    check_error,
    get_result,
    make_resource,
    make_user_token,
    make_writer_token,
    search,
)
from ...typed import CELLS, get_column_name, open_cursor_year_first

ACTION = "/en/api/action/"


def read_records(client: Client, resource: Resource | str, **sent: Any) -> Any:
    return get_result(search(client, resource, **sent))["records"]


def check_refused(client: Client, resource: Resource, **sent: Any) -> dict[str, Any]:
    return check_error(search(client, resource, **sent), 409)


def call_action(client: Client, action: str, sent: Any, **headers: str) -> Any:
    return ask(client, sent, path=f"{ACTION}{action}", **headers)


# fields -------------------------------------------------------------------------------------------


# distinct -----------------------------------------------------------------------------------------


def test_distinct_with_a_rank_merges_equal_ranks(client: Client, db: None) -> None:
    resource = make_resource("kind,text\na,sea\nb,sea\na,sea\na,river\n")

    result = get_result(
        search(client, resource, distinct=True, fields=["kind", "rank"], q="sea", sort="kind")
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


def test_awkward_texts_are_quoted_as_copy_quotes_them(client: Client, db: None) -> None:
    resource = Resource.objects.create(name="awkward")
    sent = {
        "resource_id": str(resource.pk),
        "fields": [{"id": "a", "type": "text"}],
        "records": [{"a": text} for text in AWKWARD],
    }
    created = call_action(client, "datastore_create", sent, Authorization=make_writer_token())
    assert created.status_code == 200, created.content
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE awkward (id int, a text) ON COMMIT DROP")
        for number, text in enumerate(AWKWARD, 1):
            cursor.execute("INSERT INTO awkward VALUES (%s, %s)", [number, text])

    for form, delimiter, fields, columns in (
        ("csv", ",", ["a"], "a"),
        ("tsv", "\\t", ["a", "_id"], "a, id"),
    ):
        expected = copy_as_csv(f"SELECT {columns} FROM awkward ORDER BY awkward.id", delimiter)
        assert read_records(client, resource, fields=fields, records_format=form) == expected


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_the_rank_is_a_number_in_a_row_too(client: Client, resource: Resource, form: str) -> None:
    (objects,) = read_records(client, resource, q="river")
    text = read_records(client, resource, q="river", records_format=form, fields=["code", "rank"])

    code, rank = text.rstrip("\n").split({"csv": ",", "tsv": "\t"}[form])
    assert code == "001"
    assert float(rank) == pytest.approx(objects["rank"])


# Questions ----------------------------------------------------------------------------------------


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
    "sent",
    [
        {"q": "river bridge"},
        {"q": "river &"},
        {"q": "'river"},
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
    assert check_refused(client, resource, plain=False, **sent) == {"q": [QUERY_LANGUAGE_MESSAGE]}


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
    first, *others = read_records(client, metadata)
    page = get_result(search(client, metadata, limit=1, include_next_page=True))
    assert (page["records"], page["next_page"]) == ([first], {"_id": {"gt": first["_id"]}})
    assert read_records(client, metadata, filters=page["next_page"]) == others
    check_error(search(client, metadata, filters={"nope": 1}), 409)


# datastore_info -----------------------------------------------------------------------------------


def test_info_describes_the_fields_and_counts_the_records(
    client: Client, resource: Resource
) -> None:
    resource.fields.filter(name="seen").update(label="Day", notes="of the visit")
    Alias.objects.create(resource=resource, name="visits")
    Alias.objects.create(resource=resource, name="survey")

    result = call_action(client, "datastore_info", {"id": str(resource.pk)}).json()["result"]

    sizes = {name: result["meta"].pop(name) for name in ("size", "idx_size", "db_size")}
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


def test_the_whole_database_is_not_measured_with_each_call(
    client: Client, resource: Resource
) -> None:
    _sizes_by_alias.clear()

    with CaptureQueriesContext(connection) as captured:
        for _ in range(3):
            call_action(client, "datastore_info", {"id": str(resource.pk)})

    assert sum("pg_database_size" in each["sql"] for each in captured.captured_queries) == 1


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
        ({}, {"fields", "meta"}, {"id", "type", "schema"}),
        ({"include_meta": False}, {"fields"}, {"id", "type", "schema"}),
        ({"include_fields_schema": False}, {"fields", "meta"}, {"id", "type"}),
        ({"include_fields_schema": "no", "include_meta": "no"}, {"fields"}, {"id", "type"}),
        ({"include_fields_schema": None, "include_meta": ""}, {"fields", "meta"},
         {"id", "type", "schema"}),
    ],
)  # fmt: skip
def test_info_repeats_its_parameters(
    client: Client, resource: Resource, sent: dict[str, Any], members: set[str], field: set[str]
) -> None:
    given = {"resource_id": str(resource.pk), **sent}

    result = call_action(client, "datastore_info", given).json()["result"]

    assert set(result) == members
    # The app analysis adds figures.
    assert all(set(each) - {"profile"} == field for each in result["fields"])


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
    "name", ["package_creat", "datastore_search ", "DATASTORE_SEARCH", 5, "\u0301"]
)
def test_an_unknown_action_has_no_description(client: Client, db: None, name: Any) -> None:
    error = check_error(call_action(client, "help_show", {"name": name}), 404)

    assert error == {"message": f"Not found: there is no action “{name}”."}


@pytest.mark.parametrize("sent", [{}, {"name": None}, {"name": ""}])
def test_a_description_needs_a_name(client: Client, db: None, sent: dict[str, Any]) -> None:
    assert check_error(call_action(client, "help_show", sent), 409) == {"name": ["Missing value"]}


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
    check_error(call_action(client, "status_show", {"x": 1}), 409)
