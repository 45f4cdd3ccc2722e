"""Each example of the document is sent, and answered as the document says."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from datastore_search import __version__
from datastore_search.api.actions import actions
from datastore_search.contrib.openapi.examples import (
    PORTAL,
    Example,
    list_examples,
    select_examples,
)

from .portals import roll_back
from .test_document import list_operations, resolve_reference

pytestmark = pytest.mark.django_db  # each test is rolled back

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
ACTIONS = "/en/api/3/action/"
EXAMPLES = [example for example in list_examples() if example.action in actions]

#: Members that differ between databases; a sequence is not rolled back.
VOLATILE = {
    *("size", "idx_size", "db_size", "rank", "_id", "made"),
    *("token", "table_id", "user_id", "created_at"),
    *("created", "last_modified", "metadata_created", "metadata_modified", "hash", "last_updated"),
}


def write_form(example: Example) -> dict[str, Any]:
    """Write the parameters of a form: a list of texts is repeated, objects are JSON."""
    return {name: write_text(value) for name, value in example.sent.items()}


def write_text(value: Any) -> Any:
    is_nested = isinstance(value, dict) or (
        isinstance(value, list) and not all(isinstance(each, str) for each in value)
    )
    return json.dumps(value, ensure_ascii=False) if is_nested else value


def ask(client: Client, example: Example, kind: str, token: str) -> Any:
    headers = {"Authorization": token} if example.with_token else {}
    path = ACTIONS + example.action
    if kind == "query":
        return client.get(path, write_form(example), headers=headers)
    body = json.dumps(example.sent) if kind == JSON else urlencode(write_form(example), doseq=True)
    return client.post(path, body, content_type=kind, headers=headers)


def list_request_kinds(example: Example) -> Iterator[str]:
    """Yield the kinds of requests; the changes of the last one remain for the next examples."""
    if not actions[example.action].is_writing:
        yield "query"
    yield FORM
    yield JSON


#: The actions whose ``id`` differs, too: of users, members and tokens.
OF_USERS = ("api_token_", "user_", "organization_", "group_")


def drop_volatile(value: Any, names: Collection[str] = VOLATILE) -> Any:
    """Replace the values that differ between servers by None."""
    if isinstance(value, dict):
        return {
            name: None
            if name in names and isinstance(member, int | float | str)
            else drop_volatile(member, names)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [drop_volatile(member, names) for member in value]
    if isinstance(value, str):
        return re.sub('"job_id": "[0-9]+"', "", value).replace("http://testserver", PORTAL)
    return value


def forbid_unknown_members(document: dict[str, Any]) -> dict[str, Any]:
    document = copy.deepcopy(document)
    for name, schema in document["components"]["schemas"].items():
        if not name.endswith("Parameters"):
            forbid_in_schema(schema)
    return document


def forbid_in_schema(schema: Any) -> None:
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for member in schema.values():
            forbid_in_schema(member)
    elif isinstance(schema, list):
        for member in schema:
            forbid_in_schema(member)


def build_schema(document: dict[str, Any], action: str, status: int) -> Draft202012Validator:
    response = document["paths"][ACTIONS + action]["post"]["responses"][str(status)]
    schema = resolve_reference(document, response)["content"][JSON]["schema"]
    return Draft202012Validator({**schema, "components": document["components"]})


@pytest.mark.slow
def test_every_example_is_answered_as_it_says(
    portal: str, client: Client, document: dict[str, Any]
) -> None:
    document = forbid_unknown_members(document)
    for example in EXAMPLES:
        for kind in list_request_kinds(example):
            check_example(client, document, example, kind, portal)


def check_example(
    client: Client, document: dict[str, Any], example: Example, kind: str, token: str
) -> None:
    if kind == JSON:
        response = ask(client, example, kind, token)
    else:
        with roll_back():
            response = ask(client, example, kind, token)
    answer = response.json()
    assert response.status_code == example.status, (example, kind, answer)
    names = VOLATILE | ({"id"} if example.action.startswith(OF_USERS) else set())
    if example.action == "api_token_list":
        names = names | {"name"}
    assert drop_volatile(answer, names) == drop_volatile(example.answer, names), (example, kind)
    build_schema(document, example.action, example.status).validate(answer)


def test_every_example_of_a_request_is_one_of_these(document: dict[str, Any]) -> None:
    shown = {
        name: operation["requestBody"]["content"][JSON]["examples"]
        for name in actions
        for operation in [document["paths"][ACTIONS + name]["post"]]
    }

    for name in actions:
        found = {example.name: example.sent for example in select_examples(name)}
        assert found
        assert {each: asked["value"] for each, asked in shown[name].items()} == found


def test_an_example_that_succeeds_has_the_form_of_a_request(document: dict[str, Any]) -> None:
    for example in EXAMPLES:
        content = document["paths"][ACTIONS + example.action]["post"]["requestBody"]["content"]
        schema = {**content[JSON]["schema"], "components": document["components"]}
        if example.status == 200:
            Draft202012Validator(schema).validate(example.sent)


def test_every_operation_has_an_example_of_its_request_and_its_result(
    document: dict[str, Any],
) -> None:
    for operation in list_operations(document):
        (content, *_others) = operation["responses"]["200"]["content"].values()
        assert "example" in content or content["examples"], operation["operationId"]
        asked = [
            *operation.get("requestBody", {}).get("content", {}).values(),
            *(
                parameter.get("content", {}).get(JSON, parameter)
                for parameter in operation.get("parameters", [])
            ),
        ]
        assert not asked or any(each.get("examples") for each in asked), operation["operationId"]


@pytest.mark.slow
def test_the_example_of_the_dump_is_its_file(portal: str, client: Client) -> None:
    (example,) = select_examples("dump")
    asked = {name: value for name, value in write_form(example).items() if name != "name"}

    response = client.get(f"/en/datastore/dump/{example.sent['name']}", asked)

    assert b"".join(response).decode() == example.answer
    assert response["Content-Type"].startswith("text/csv")


def test_the_examples_of_failures_have_their_form(document: dict[str, Any]) -> None:
    components = document["components"]
    assert len(components["responses"]) == 10
    for response in components["responses"].values():
        content = response["content"][JSON]
        schema = {**content["schema"], "components": components}
        Draft202012Validator(schema).validate(content["example"])


@pytest.mark.parametrize(
    ("status", "request_"),
    [
        (400, {"data": "[1]", "content_type": JSON}),
        (400, {"data": "{", "content_type": JSON}),
        (413, {"data": "{" + " " * 200 + "}", "content_type": JSON}),
        (415, {"data": "limit: 1", "content_type": "text/plain"}),
    ],
)
def test_a_request_that_cannot_be_read_is_answered_as_the_document_says(
    client: Client, document: dict[str, Any], status: int, request_: dict[str, Any], settings: Any
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100

    response = client.post(f"{ACTIONS}datastore_search", **request_)

    assert response.status_code == status
    build_schema(forbid_unknown_members(document), "datastore_search", status).validate(
        response.json()
    )


def test_the_example_of_the_status_is_of_this_release() -> None:
    (example,) = select_examples("status_show")

    assert example.answer["result"]["datastore_search_version"] == __version__
