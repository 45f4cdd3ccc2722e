"""
The server answers any request as the document says.

Schemathesis generates requests that the document allows, and requests that it does not.  Each
answer has a status, a content type and a body that the document describes, and none is a server
error.
``FUZZ_EXAMPLES`` is the number of requests of each kind per operation; it also makes them random.
"""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis import Case, GenerationMode, HookContext
from schemathesis.checks import not_a_server_error
from schemathesis.core import NotSet
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from datastore_search.api.actions import actions
from datastore_search.api.dumping.parameters import DumpParameters
from datastore_search.api.parameter_types import BooleanField, IgnoredField
from datastore_search.api.parameters import ActionParameters

from .portals import Portal, keep_connection_open, roll_back
from .seeds import BIRD_TABLE, IDS, replace_unknown, replace_unknown_names

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "15"))

# The server runs in the process of the tests, so that changes of a request can be rolled back.
schema = schemathesis.openapi.from_wsgi("/en/api/schema/?format=json", get_wsgi_application())
OPERATIONS = {
    operation.label: operation
    for result in schema.get_all_operations()
    if isinstance(result, Ok) and (operation := result.ok())
}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

PARAMETERS: list[type[ActionParameters]] = [
    DumpParameters,
    *(action.parameters for action in actions.values()),
]
#: Parameters that accept any value.
LENIENT = {
    name
    for parameters in PARAMETERS
    for name, field in parameters().get_fields().items()
    if isinstance(field, BooleanField | IgnoredField)
}


@schema.hook
def map_query(context: HookContext, query: object) -> object:
    return replace_unknown_names(query)


@schema.hook
def map_body(context: HookContext, body: object) -> object:
    return replace_unknown_names(body)


@schema.hook
def map_path_parameters(context: HookContext, path_parameters: dict[str, str] | None) -> object:
    return {name: replace_unknown(value, IDS) for name, value in (path_parameters or {}).items()}


@pytest.fixture
def token(portal: Portal) -> Iterator[str]:
    """The token of a portal that also has a table of the API."""
    response = Client().post(
        "/en/api/3/action/datastore_create",
        json.dumps(BIRD_TABLE),
        content_type="application/json",
        headers={"Authorization": portal.token},
    )
    assert response.status_code == 200
    with keep_connection_open():
        yield portal.token


def is_rejectable(case: Case) -> bool:
    """Return whether a request is invalid, apart from parameters that accept any value."""
    body = {} if isinstance(case.body, NotSet) else case.body
    if not isinstance(body, dict):
        return True
    parameters = {
        name: value for name, value in {**case.query, **body}.items() if name not in LENIENT
    }
    if parameters.get("id"):
        for unused in ("resource_id", "name_or_id"):
            parameters.pop(unused, None)
    filled = {name: value for name, value in parameters.items() if value not in ("", None, [], {})}
    schema = build_parameters_schema(case)
    if case.method == "GET":
        filled = {
            name: read_list(value, schema["properties"].get(name, {}))
            for name, value in filled.items()
        }
    return not Draft202012Validator(schema).is_valid(filled)


def read_list(value: Any, schema: dict[str, Any]) -> Any:
    """Return a list for one text of a query string, ``?fields=name``, where a list is expected."""
    return [value] if schema.get("type") == "array" and isinstance(value, str) else value


def build_parameters_schema(case: Case) -> dict[str, Any]:
    """Return the schema of all parameters of a request outside of its path."""
    operation = case.operation.definition.raw
    if case.method == "POST":
        result = operation["requestBody"]["content"][case.media_type]["schema"]
    else:
        result = {
            "additionalProperties": False,
            "properties": {
                each["name"]: each.get("schema") or {} for each in operation.get("parameters", [])
            },
        }
    return {**result, "components": schema.raw_schema["components"]}


def choose_example_count(operation: APIOperation, mode: GenerationMode) -> int:
    """Return the number of requests: each invalid filter in a query string takes a second."""
    is_slow = mode.is_negative and operation.method == "get" and "filters" in operation.query
    return max(1, EXAMPLES // 4) if is_slow else EXAMPLES


#: An operation without parameters has no invalid requests.
OPERATIONS_AND_MODES = [
    pytest.param(label, mode, id=f"{label}-{mode.value}")
    for label, operation in OPERATIONS.items()
    for mode in GenerationMode
    if not mode.is_negative or operation.query or operation.body
]


@pytest.mark.slow
@pytest.mark.parametrize(("label", "mode"), OPERATIONS_AND_MODES)
def test_the_server_answers_as_the_document_says(
    label: str, mode: GenerationMode, token: str
) -> None:
    operation = OPERATIONS[label]

    @settings(
        max_examples=choose_example_count(operation, mode),
        derandomize="FUZZ_EXAMPLES" not in os.environ,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case) -> None:
        headers = {} if case.method == "GET" else {"Authorization": token}
        with roll_back():
            response = case.call(headers=headers)
        # The check cannot read the byte order mark of a dump.
        response.content = response.content.removeprefix(codecs.BOM_UTF8)
        is_refused = response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        rejection = [negative_data_rejection] if is_rejectable(case) and not is_refused else []
        case.validate_response(response, checks=[*CHECKS, *rejection])

    ask()
