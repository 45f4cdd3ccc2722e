"""The tools of agents: what they answer, to whom, and how much of it."""

from __future__ import annotations

import csv
import re
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from datastore_search.api.actions.search import SearchParameters
from datastore_search.contrib.agents.answers import MAX_ANSWER_LETTERS
from datastore_search.contrib.agents.catalogue import DEFAULT_TABLES, MAX_TABLES
from datastore_search.contrib.agents.tools import DEFAULT_ROWS, MAX_ROWS, get_tools
from datastore_search.models import Field, Resource

from ..builders import make_listed_resource, make_resource, make_slow, make_token
from .exchange import ROUTE, ask_tool, call_tool, list_tools


def read_csv(text: str) -> list[list[str]]:
    """The rows after the first empty line, with the header."""
    return list(csv.reader(StringIO(text.partition("\n\n")[2])))


def test_tables_are_found_by_the_words_of_their_titles_and_fields(
    client: Client, no_resource: None
) -> None:
    rivers = make_resource(name="rivers", title="Levels of rivers", description="Since 2019")
    make_listed_resource("roads", title="Roads")

    assert ask_tool(client, "find_tables", q="levels amount") == (
        "Rows 1 to 1 of 1, as CSV.\n\n"
        "resource_id,title,description,records,fields\n"
        f'{rivers.pk},Levels of rivers,Since 2019,6,"code, subject, stage, title, amount, seen"\n'
    )
    assert ask_tool(client, "find_tables", q="lakes") == "Nothing was found."


def test_more_tables_are_found_from_an_offset_on(client: Client, no_resource: None) -> None:
    for name in "abc":
        make_listed_resource(name)

    first = ask_tool(client, "find_tables", limit=2)
    second = ask_tool(client, "find_tables", limit=2, offset=2)

    assert first.startswith("Rows 1 to 2 of 3, as CSV. For the next ones, ask again with offset 2.")
    assert second.startswith("Rows 3 to 3 of 3, as CSV.\n")
    assert [row[1] for row in read_csv(first)[1:] + read_csv(second)[1:]] == ["a", "b", "c"]
    assert ask_tool(client, "find_tables", offset=5) == (
        "3 were found. No row is shown: see limit and offset."
    )


def test_a_description_has_types_labels_notes_profiles_and_records(
    client: Client, loaded: Resource
) -> None:
    resource = loaded
    Field.objects.filter(resource=resource, name="amount").update(label="Sum", notes="In euros")

    assert ask_tool(client, "describe_table", resource) == (
        f'{{"resource_id":"{resource.pk}","title":"{resource}","description":"","records":6,'
        '"aliases":[]}\n\n'
        "Rows 1 to 6 of 6, as CSV.\n\n"
        "field,type,label,notes,nulls,empty,distinct,min,max,mean,top\n"
        "code,text,,,0,0,6,,,,\n"
        'subject,text,,,1,0,3,,,,"[{""value"":""survey"",""count"":2},'
        '{""value"":""watershed"",""count"":2}]"\n'
        'stage,text,,,0,0,3,,,,"[{""value"":""active"",""count"":4}]"\n'
        "title,text,,,0,0,6,,,,\n"
        "amount,numeric,Sum,In euros,1,,5,0.0,20.25,9.35,\n"
        "seen,date,,,1,,5,2019-01-02,2023-09-09,,\n\n"
        "The first records:\n"
        "code,subject,stage,title,amount,seen\n"
        "001,watershed,active,River level at the old bridge,10.50,2019-01-02\n"
        "002,survey,active,Foxes and other mammals,20.25,2020-02-29\n"
        "003,watershed,closed,Mực nước sông Hồng,0.00,2020-12-31\n"
    )


def test_the_fields_of_a_wide_table_are_described_from_an_offset_on(
    client: Client, db: None
) -> None:
    names = [f"a_field_with_a_rather_long_name_{number:04}" for number in range(400)]
    wide = make_resource(f"{','.join(names)}\n{','.join('1' * 400)}\n")

    text = ask_tool(client, "describe_table", wide)
    offset = int(text.partition("ask again with offset ")[2].partition(".")[0])
    rest = ask_tool(client, "describe_table", wide, offset=offset)

    assert len(text) <= MAX_ANSWER_LETTERS
    assert f"\n{names[offset - 1]},int4" in text
    assert f"\n{names[offset]},int4" not in text
    assert f"\n{names[offset]},int4" in rest


def test_records_are_searched_as_by_the_action(client: Client, resource: Resource) -> None:
    assert ask_tool(
        client,
        "search_records",
        resource,
        q="river",
        filters={"amount": {"gte": 10.5}},
        fields=["code", "amount", "seen"],
        sort=["amount desc"],
    ) == ("Rows 1 to 1 of 1, as CSV.\n\ncode,amount,seen\n001,10.50,2019-01-02\n")


def test_an_answer_says_how_to_ask_for_the_next_records(client: Client, resource: Resource) -> None:
    assert ask_tool(client, "search_records", resource, limit=2, offset=1, fields=["code"]) == (
        "Rows 2 to 3 of 6, as CSV. For the next ones, ask again with offset 3.\n\ncode\n002\n003\n"
    )
    assert ask_tool(client, "search_records", resource, limit=0) == (
        "6 were found. No row is shown: see limit and offset."
    )


def test_an_answer_has_at_most_200_records(client: Client, db: None) -> None:
    rows = "".join(f"{number}\n" for number in range(300))
    long = make_resource(f"n\n{rows}")

    text = ask_tool(client, "search_records", long, limit=30_000)

    assert text.startswith("Rows 1 to 200 of 300, as CSV. For the next ones, ask again with offset")
    assert len(read_csv(text)) == 201


def test_an_answer_of_long_values_is_cut_and_can_be_continued(client: Client, db: None) -> None:
    rows = "".join(f"{number},{'x' * 3_000}\n" for number in range(150))
    long = make_resource(f"n,text\n{rows}")

    text = ask_tool(client, "search_records", long, limit=150)
    shown = read_csv(text)[1:]

    assert len(text) <= MAX_ANSWER_LETTERS
    assert 80 < len(shown) < 150
    assert f"ask again with offset {len(shown)}." in text
    assert "Values that end with “…” are cut" in text
    assert {row[2] for row in shown} == {"x" * 199 + "…"}


def test_one_long_value_is_shown_in_full_where_it_fits(client: Client, db: None) -> None:
    long = make_resource(f"n,text\n1,{'x' * 9_000}\n")

    text = ask_tool(client, "search_records", long, fields=["text"])

    assert read_csv(text) == [["text"], ["x" * 9_000]]


def test_records_larger_than_the_memory_for_them_are_refused(client: Client, db: None) -> None:
    large = make_resource("text\n" + f"{'x' * 900_000}\n" * 6)

    text, is_error = call_tool(client, "search_records", large)

    one = ask_tool(client, "search_records", large, limit=1)
    assert len(one) <= MAX_ANSWER_LETTERS
    assert is_error
    assert text == (
        "limit: The answer would have more than 4194304 bytes. Ask for fewer records or fields, or"
        " for the dump."
    )


def test_figures_are_computed_as_by_the_action(client: Client, resource: Resource) -> None:
    assert ask_tool(
        client,
        "aggregate_records",
        resource,
        group_by=["stage"],
        metrics=["count", "sum(amount)", {"metric": "percentile", "field": "amount",
                                          "percentile": 12.5}],
        having={"count": {"gt": 1}},
    ) == (
        "Rows 1 to 1 of 1, as CSV.\n\n"
        "stage,count,sum_amount,percentile_amount\nactive,4,39.75,9.375\n"
    )  # fmt: skip


def test_values_and_ranges_are_counted(client: Client, resource: Resource) -> None:
    assert ask_tool(
        client, "count_values", resource, facets=["stage", {"field": "amount", "bins": 2}]
    ) == (
        "6 records match.\n"
        '{"field":"stage","type":"text","nulls":0,"others":0,"distinct":3,"complete":true}\n'
        "value,count\nactive,4\nclosed,1\nplanned,1\n\n"
        '{"field":"amount","type":"numeric","nulls":1,"others":0,"min":0.0,"max":20.25,'
        '"complete":true}\n'
        "from,to,count\n0.00,10.125,3\n10.125,20.25,2\n"
    )


def test_many_long_values_of_facets_are_left_out_and_that_is_said(client: Client, db: None) -> None:
    rows = "".join(f"{number:04}{'x' * 200}\n" for number in range(200))
    long = make_resource(f"text\n{rows}")

    text = ask_tool(client, "count_values", long, facets=["text", "text"], limit=500)

    assert len(text) <= MAX_ANSWER_LETTERS
    assert text.startswith("200 records match. Values were left out or cut:")


def test_values_are_suggested_or_words_for_a_query_that_finds_nothing(
    client: Client, resource: Resource
) -> None:
    found = ask_tool(client, "suggest_values", resource, field="subject", prefix="wa")

    assert found == "value,count\nwatershed,2\n"
    assert '"q":"river"' in ask_tool(client, "suggest_values", resource, q="rivr")


# Permissions --------------------------------------------------------------------------------------


def test_a_private_table_answers_only_those_who_may_read_it(client: Client, db: None) -> None:
    secret, token = make_resource(title="Secret plans", private=True), make_token()

    for sent in (token, f"Bearer {token}", f"bearer  {token}"):
        assert not call_tool(client, "describe_table", secret, token=sent)[1]
    for sent in ("", "wrong", "Bearer wrong", "Bearer ", f"Basic {token}"):
        answer = call_tool(client, "describe_table", secret, token=sent)
        assert answer[1]
        assert not re.search("Secret|amount", answer[0])


# Failures -----------------------------------------------------------------------------------------


def test_wrong_arguments_are_an_error_in_the_language_of_the_path(
    client: Client, resource: Resource
) -> None:
    for language, message in (("en", "Must be a natural number"), ("vi", "Phải là số tự nhiên")):
        arguments: dict[str, Any] = {"limit": -1, "sort": ["amount up"]}
        path = f"/{language}{ROUTE}"
        text, is_error = call_tool(client, "search_records", resource, path=path, **arguments)

        assert is_error
        assert f"limit: {message}" in text.splitlines()


def test_an_unknown_argument_or_table_is_named(client: Client, resource: Resource) -> None:
    argument = call_tool(client, "search_records", resource, where="1")

    assert argument == ("There is no parameter “where”.", True)
    table = call_tool(client, "search_records", resource_id="nope")
    assert table == ("Not found: Resource “nope” was not found.", True)


def test_a_slow_search_ends_by_the_limit_of_anonymous_ones(
    client: Client, db: None, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(seconds=0.2)
    slow = make_resource()
    make_slow(slow)

    text, is_error = call_tool(client, "search_records", slow)

    assert is_error
    assert text == "Search took too long"


# Schemas ------------------------------------------------------------------------------------------


def test_every_tool_describes_each_of_its_arguments(client: Client, db: None) -> None:
    listed = {tool["name"]: tool for tool in list_tools(client)}

    assert list(listed) == list(get_tools())
    for name, tool in listed.items():
        schema = tool["inputSchema"]
        assert list(schema["properties"]) == list(get_tools()[name].names)
        assert set(get_tools()[name].required) <= schema["properties"].keys()
        assert all(
            each["description"] and "](" not in each["description"]
            for each in schema["properties"].values()
        )
        assert tool["annotations"]["readOnlyHint"] is True


def test_arguments_are_described_in_the_language_of_the_path(client: Client, db: None) -> None:
    meanings = {}
    for language in ("en", "vi"):
        tools_by_name = {each["name"]: each for each in list_tools(client, f"/{language}{ROUTE}")}
        schema = tools_by_name["search_records"]["inputSchema"]
        meanings[language] = schema["properties"]["sort"]["description"]

    assert meanings["en"].startswith("A key is a field, then `asc` or `desc`")
    with translation.override("vi"):
        assert meanings["vi"].startswith(str(SearchParameters().get_fields()["sort"].help_text))
    assert meanings["vi"] != meanings["en"]


# The reference ------------------------------------------------------------------------------------

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "agents.md"


def test_the_reference_has_every_tool_with_its_arguments() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", REFERENCE.read_text(), re.MULTILINE)

    assert {name: re.findall(r"`(\w+)`", cell) for name, cell in rows if name in get_tools()} == {
        name: [*tool.names] for name, tool in get_tools().items()
    }


@pytest.mark.parametrize(
    "limit",
    [
        f"at most {MAX_ANSWER_LETTERS:,} characters",
        f"is {DEFAULT_ROWS} if not given, and at most {MAX_ROWS}",
        f"`find_tables` is {DEFAULT_TABLES} if not given, and at most {MAX_TABLES}",
    ],
)
def test_the_reference_says_every_limit(limit: str) -> None:
    assert limit in " ".join(REFERENCE.read_text().split())
