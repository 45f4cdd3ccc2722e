"""Numbers, ids and booleans of machines are ASCII: other digits and blanks are never a 500."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from datastore_search.api.actions import actions
from datastore_search.api.parameters import NonNegativeIntegerField
from datastore_search.models import Resource

from ...builders import act, check_error, get_result, make_resource, make_user_token, search

#: What ``str.strip``, ``\s`` or ``\d`` take, and ``int``, ``Decimal`` or PostgreSQL may not.
BLANKS = "\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000\ufeff\u200b"
DIGITS = "\u0667\u06f7\u0967\uff17\u00b2\u2077\u2082\u2460\u2167\U0001d7d5"
#: Those that an address can have.
SENT = [
    *(f"{blank}7" for blank in BLANKS),
    *(f"7{blank}" for blank in BLANKS),
    *DIGITS,
    *(f"7{digit}" for digit in DIGITS),
    *("7\x1c7", "+\u0667", "--7", "1__0"),
]
ODD = [*SENT, "7\x00", "\ud800"]


@pytest.fixture
def table(db: None) -> Resource:
    return make_resource("n,x,day,at,yes,code\n7,7.5,2024-02-29,2024-02-29T01:02:03,true,a\n")


def list_sent(table: Resource) -> Iterator[tuple[str, str, bool]]:
    """List each action and each of its parameters, and whether this is an integer."""
    for name, action in actions.items():
        for parameter, field in action.parameters().fields.items():
            if parameter not in {"resource_id", "id"} or name.startswith("datastore"):
                yield name, parameter, isinstance(field, NonNegativeIntegerField)


def test_no_parameter_of_an_action_is_a_500(client: Client, table: Resource) -> None:
    token = make_user_token("writer", "view", "add", "change", "delete")
    for action, parameter, is_integer in list_sent(table):
        for text in SENT if is_integer else ("\x1c7", "7\x85", "\u0667", "\uff17", "\u00b2"):
            sent = {"resource_id": str(table.pk), "id": str(table.pk), "dry_run": True}
            known = actions[action].parameters().fields
            sent = {name: value for name, value in sent.items() if name in known}
            response = act(client, action, {**sent, parameter: text}, token)
            assert response.status_code != 500, (action, parameter, text)
            if is_integer:
                assert response.status_code == 409, (action, parameter, text)
            if not actions[action].is_writing:
                query = "&".join(
                    f"{n}={quote(str(v))}" for n, v in {**sent, parameter: text}.items()
                )
                response = client.get(f"/en/api/3/action/{action}?{query}")
                assert response.status_code != 500, (action, parameter, text)


@pytest.mark.parametrize("blank", ["", " ", "\t", "\n", "\r", "\f", "\v"])
def test_a_number_may_have_blanks_of_ascii_around_it(
    client: Client, table: Resource, blank: str
) -> None:
    result = get_result(search(client, table, limit=f"{blank}7{blank}"))

    assert result["limit"] == 7


@pytest.mark.parametrize("field", ["_id", "n", "x", "day", "at", "yes"])
def test_no_value_of_a_filter_or_record_is_a_500(
    client: Client, table: Resource, field: str
) -> None:
    token = make_user_token("writer", "view", "change")
    texts = [*ODD, "2024-02-2\u0669", "\x1c2024-02-29", "2024-02-29\u3000", "true\x1c", "7.\u0665"]
    for text in texts:
        for condition in (text, [text], {"gte": text}, {"in": [text, 7]}, {"eq": text}):
            sent: dict[str, Any] = {"resource_id": str(table.pk), "filters": {field: condition}}
            response = client.post(
                "/en/api/3/action/datastore_search", json.dumps(sent), "application/json"
            )
            assert response.status_code in {200, 400, 409}, (field, condition)
        sent = {"id": str(table.pk), "force": True, "dry_run": True, "records": [{field: text}]}
        response = act(client, "datastore_upsert", sent, token)
        assert response.status_code in {200, 400, 409}, (field, text)
        if field in {"_id", "n", "x"} and text in SENT:
            check_error(response, 409)


@pytest.mark.parametrize(
    "address",
    [
        "/en/datastore/{id}/?page={text}",
        "/en/datastore/{id}/?limit={text}",
        "/en/datastore/{id}/?columns={text}",
        "/en/datastore/{id}/?n={text}&n__gte={text}&x={text}&day={text}&at={text}&yes={text}",
        "/en/datastore/{id}/?filters=%7B%22n%22%3A%22{text}%22%7D",
        "/en/datastore/{id}/r/{text}/",
        "/en/datastore/{id}/r/1/?position={text}&place={text}",
        "/en/datastore/{id}/chart/?show=count&by=n&bins={text}&step={text}&limit={text}",
        "/en/datastore/{id}/map/?lat={text}&limit={text}&width={text}",
        "/en/datastore/{text}/",
        "/en/datastore/?page={text}&limit={text}",
        "/en/datastore/changes.atom?page={text}&limit={text}",
        "/en/datastore/dump/{id}?limit={text}&offset={text}&bom={text}&gzip={text}",
        "/en/datastore/dump/{text}",
        "/en/admin/datastore_search_files/load/progress/?load={text}",
        "/en/admin/datastore_search/resource/{text}/change/",
        "/en/admin/datastore_search_files/load/{text}/change/",
    ],
)
@pytest.mark.needs("pages", "files")
def test_no_parameter_of_a_page_is_a_500(
    admin_client: Client, table: Resource, address: str
) -> None:
    for text in SENT:
        response: Any = admin_client.get(address.format(id=table.pk, text=quote(text)))
        assert response.status_code != 500, (address, text)
        response.getvalue()
