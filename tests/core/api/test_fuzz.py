"""No request causes a 500 or an answer with SQL."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings, strategies as st

from datastore_search.api.actions import actions
from datastore_search.api.actions.search import SearchParameters
from datastore_search.field_types import field_types
from datastore_search.filters.operators import operators
from datastore_search.models import Resource

from ...builders import act, make_writer_token

PATH = "/vi/api/action/datastore_search"
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))

SQL = [
    "'", '"', "\\", ";--", "%s", "%", "%(a)s", "{}", "' OR 1=1", "$1", "::regclass", "\0", "\ud800",
]  # fmt: skip
NAMES = ["code", "subject", "amount", "seen", "_id", "rank", "data", "nope", "", *SQL]

texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(SQL),
    st.text(st.characters(), max_size=10),
    st.sampled_from(
        ["NaN", "Infinity", "1e400", "2024-02-30", "ｆｕｌｌ", ":x", "a:*b", "&|!()<->", "ß", "İ"]
    ),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 2**31, 2**63, -(2**63) - 1, 10**40]),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)
names = st.sampled_from(NAMES) | texts
names_of_operators = st.sampled_from([*operators, "like", "", "$in"])
asked = st.dictionaries(names_of_operators, values, max_size=3)
conditions = scalars | st.lists(scalars | asked, max_size=14) | asked | values
flat_filters = st.dictionaries(names, conditions, max_size=5)
filters = st.recursive(
    flat_filters,
    lambda inner: st.dictionaries(
        st.sampled_from(["$or", "$and", "$nor", "$$or"]), st.lists(inner, max_size=4) | inner
    ),
    max_leaves=8,
)
modifiers = st.sampled_from(
    ["", " desc", " ASC ", " nulls first", " desc nulls last", " nulls", "  "]
)
keys = st.builds(lambda name, modifier: name + modifier, names, modifiers)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "limit": scalars,
        "offset": scalars,
        "q": values | st.dictionaries(names, texts, max_size=3),
        "full_text": scalars,
        "plain": st.booleans() | scalars,
        "language": st.sampled_from(["simple", "german", "a'b"]) | texts,
        "filters": filters | st.lists(filters, max_size=3) | values,
        "include_total": values,
        "include_next_page": values,
        "records_format": st.sampled_from(["csv", "lists", "tsv", "objects"]) | scalars,
        "distinct": st.booleans() | values,
        "fields": st.lists(names, max_size=4) | texts | values,
        "sort": st.lists(keys, max_size=4) | keys | values,
        "id": values,
        "callback": texts,
    },
)  # fmt: skip

PARAMETERS = list(dict(SearchParameters().get_fields()))

#: A table for the changes, whose fields have all types.
TYPED = {name: name for name in field_types}
records = st.lists(
    st.dictionaries(st.sampled_from([*TYPED, "_id"]) | texts, values, max_size=4), max_size=4
)
fields = st.lists(
    st.fixed_dictionaries(
        {"id": names},
        optional={"type": st.sampled_from([*TYPED, "int", "nope"]) | values, "info": values},
    ),
    max_size=3,
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "records": records | values,
        "fields": fields | values,
        "method": st.sampled_from(["insert", "update", "upsert"]) | values,
        "primary_key": st.lists(st.sampled_from([*TYPED]), max_size=2) | values,
        "aliases": st.lists(texts, max_size=2) | values,
        "indexes": values,
        "filters": filters | values,
        "delete_fields": st.booleans(),
        "include_records": st.booleans(),
        "include_deleted_records": st.booleans(),
        "dry_run": st.booleans(),
        "force": values,
        "calculate_record_count": values,
        "private": values,
    },
)  # fmt: skip

fuzzing = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check_answer(response: Any) -> None:
    body = response.content.decode()
    assert response.status_code in (200, 400, 403, 404, 409), body
    answer = json.loads(body)
    assert answer["success"] is (response.status_code == 200)
    if not answer["success"]:
        for word in ("SELECT", "regconfig", "psycopg", "LINE 1", "Traceback"):
            assert word not in body.replace("::regclass", "")


@fuzzing
@given(sent=parameters)
def test_no_json_breaks_anything(client: Client, resource: Resource, sent: dict[str, Any]) -> None:
    body = json.dumps({"resource_id": str(resource.pk), **sent})

    check_answer(client.post(PATH, body, content_type="application/json"))


@pytest.mark.slow
@fuzzing
@given(
    sent=st.dictionaries(
        st.sampled_from([*PARAMETERS, "x"]).filter(lambda name: name != "resource_id"),
        texts | filters.map(json.dumps),
    )
)
def test_no_query_string_breaks_anything(
    client: Client, resource: Resource, sent: dict[str, str]
) -> None:
    query = urlencode(
        {"resource_id": str(resource.pk), **sent}, quote_via=quote, errors="surrogatepass"
    )

    check_answer(client.get(f"{PATH}?{query}"))


@pytest.mark.slow
@fuzzing
@given(body=st.binary(max_size=200) | texts.map(lambda text: text.encode(errors="surrogatepass")))
def test_no_body_breaks_anything(client: Client, resource: Resource, body: bytes) -> None:
    for kind in ("application/json", "application/x-www-form-urlencoded", "multipart/form-data"):
        check_answer(client.post(PATH, body, content_type=kind))


@pytest.mark.slow
@fuzzing
@given(name=st.sampled_from(sorted(actions)), sent=changes, parts=st.lists(records, min_size=2))
def test_no_change_breaks_anything(
    client: Client, typed: str, name: str, sent: dict[str, Any], parts: list[Any]
) -> None:
    with transaction.atomic():
        check_answer(act(client, name, {"resource_id": TABLE, **sent}, typed))
        for part in parts:
            check_answer(
                act(client, "datastore_upsert", {"resource_id": TABLE, "records": part}, typed)
            )
        found = act(client, "datastore_search", {"resource_id": TABLE, "limit": 1000}, typed)
        if found.status_code == 200:
            result = found.json()["result"]
            assert result["total"] == len(result["records"])
        transaction.set_rollback(True)


#: What facets and aggregates take beside what a search takes.
options = st.fixed_dictionaries(
    {"field": st.sampled_from([*TYPED]) | names},
    optional={
        "limit": st.integers(0, 5) | values,
        "sort": st.sampled_from(["count", "value desc"]) | values,
        "min_count": st.integers(0, 2) | values,
        "bins": st.integers(1, 100) | values,
        "interval": st.sampled_from(["year", "week", "hour"]) | values,
        "time_zone": st.sampled_from(["UTC", "Asia/Ho_Chi_Minh"]) | texts,
        "width": st.sampled_from([1, "0.1", "1e-400", 1e300, "NaN"]) | values,
        "as": names,
    },
)
metrics = st.fixed_dictionaries(
    {
        "metric": st.sampled_from(["count", "sum", "avg", "min", "median", "percentile", "stddev"])
        | texts
    },
    optional={
        "field": st.sampled_from([*TYPED]) | names,
        "percentile": st.floats(0, 1) | values,
        "as": names,
    },
)
analysed = st.fixed_dictionaries(
    {},
    optional={
        "facets": st.lists(options | st.sampled_from([*TYPED]), max_size=3) | values,
        "exclude_own": values,
        "field": st.sampled_from([*TYPED]) | values,
        "prefix": texts | values,
        "group_by": st.lists(options | st.sampled_from([*TYPED]), max_size=3) | values,
        "metrics": st.lists(metrics | texts, max_size=3) | values,
        "having": filters | values,
        "sort": st.lists(keys, max_size=2) | values,
    },
)


@pytest.mark.slow
@fuzzing
@given(
    name=st.sampled_from(["datastore_facets", "datastore_aggregate", "datastore_suggest"]),
    asked=parameters,
    sent=analysed,
)
def test_every_type_takes_every_analysis(
    client: Client, typed: str, name: str, asked: dict[str, Any], sent: dict[str, Any]
) -> None:
    taken = set(actions[name].parameters().get_fields()) - {"id"}
    sent = {key: value for key, value in {**asked, **sent}.items() if key in taken}

    check_answer(act(client, name, {**sent, "resource_id": TABLE}, typed))
    written = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in sent.items()
    }
    query = urlencode({**written, "resource_id": TABLE}, quote_via=quote, errors="surrogatepass")
    address = PATH.replace("datastore_search", name)
    check_answer(client.get(f"{address}?{query}", headers={"Authorization": typed}))


@pytest.mark.slow
@fuzzing
@given(sent=parameters)
def test_every_type_takes_every_search(client: Client, typed: str, sent: dict[str, Any]) -> None:
    check_answer(act(client, "datastore_search", {"resource_id": TABLE, **sent}, typed))


TABLE = "3d1f3b5c-6d0e-4c3e-9a59-2f6d0a5f1d11"


@pytest.fixture
def typed(client: Client, db: None) -> str:
    """A token, and a table of all types with a record in it."""
    token = make_writer_token()
    response = act(
        client,
        "datastore_create",
        {
            "resource_id": TABLE,
            "fields": [{"id": name, "type": kind} for name, kind in TYPED.items()],
            "records": [
                {"text": "ünïcode", "int4": 5, "numeric": "1.50", "date": "2020-02-29"},
                {"json": {"a": [1, None]}, "_text": ["x", None], "timestamp": "2020-01-01T01:02"},
            ],
        },
        token,
    )
    assert response.status_code == 200, response.content
    return token
