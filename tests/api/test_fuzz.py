"""Nothing that a client sends gives a 500, nor a word of SQL."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote, urlencode

from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datastore_search.models import Resource

PATH = "/vi/api/action/datastore_search"
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "300"))

SQL = [
    "'",
    '"',
    "\\",
    ";--",
    "%s",
    "%",
    "%(a)s",
    "{}",
    "' OR 1=1",
    "$1",
    "::regclass",
    "\0",
    "\ud800",
]
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
filters = st.dictionaries(
    st.sampled_from(NAMES) | texts, scalars | st.lists(scalars, max_size=14) | values
)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "limit": scalars,
        "offset": scalars,
        "q": values,
        "filters": filters | values,
        "include_total": values,
        "id": values,
        "sort": texts,
    },
)  # fmt: skip

fuzzing = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check(response: Any) -> None:
    body = response.content.decode()
    assert response.status_code in (200, 400, 404, 409), body
    answer = json.loads(body)
    assert answer["success"] is (response.status_code == 200)
    if not answer["success"]:
        for word in ("SELECT", "regconfig", "psycopg", "LINE 1", "Traceback"):
            assert word not in body.replace("::regclass", "")


@fuzzing
@given(sent=parameters)
def test_no_json_breaks_anything(client: Client, resource: Resource, sent: dict[str, Any]) -> None:
    body = json.dumps({"resource_id": str(resource.pk), **sent})

    check(client.post(PATH, body, content_type="application/json"))


@fuzzing
@given(sent=st.dictionaries(st.sampled_from(["limit", "q", "filters", "id", "x"]), texts))
def test_no_query_string_breaks_anything(
    client: Client, resource: Resource, sent: dict[str, str]
) -> None:
    query = urlencode(
        {"resource_id": str(resource.pk), **sent}, quote_via=quote, errors="surrogatepass"
    )

    check(client.get(f"{PATH}?{query}"))


@fuzzing
@given(body=st.binary(max_size=200) | texts.map(lambda text: text.encode(errors="surrogatepass")))
def test_no_body_breaks_anything(client: Client, resource: Resource, body: bytes) -> None:
    for kind in ("application/json", "application/x-www-form-urlencoded", "multipart/form-data"):
        check(client.post(PATH, body, content_type=kind))


@fuzzing
@given(text=texts, kind=st.sampled_from(["code", "amount", "seen", "_id"]))
def test_every_text_is_found_or_refused(
    client: Client, resource: Resource, text: str, kind: str
) -> None:
    for sent in ({"q": text}, {"filters": {kind: text}}, {"filters": {kind: [text] * 12}}):
        body = json.dumps({"resource_id": str(resource.pk), **sent})
        check(client.post(PATH, body, content_type="application/json"))
