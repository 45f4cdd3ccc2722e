"""
The server answers as the document says, whatever is asked.

Schemathesis makes requests that the document allows, and requests that it does not; a request is
answered with a status, a content type and a body that the document has, and without a fault of the
server.  ``FUZZ_EXAMPLES`` says how many of each kind are sent to each operation; they are then
others each time.
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

from .portals import Portal, one_connection, undone
from .seeds import BIRD_TABLE, IDS, exchanged, led
from .test_document import FORM

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "15"))

# The server itself, in the process of the tests, so that what a request changes can be undone.
schema = schemathesis.openapi.from_wsgi("/en/api/schema/?format=json", get_wsgi_application())
OPERATIONS = {
    operation.label: operation
    for found in schema.get_all_operations()
    if isinstance(found, Ok) and (operation := found.ok())
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
#: Parameters that take any value at all, and so refuse none.
LENIENT = {
    name
    for parameters in PARAMETERS
    for name, field in parameters().get_fields().items()
    if isinstance(field, BooleanField | IgnoredField)
}


@schema.hook
def map_query(context: HookContext, query: object) -> object:
    return led(query)


@schema.hook
def map_body(context: HookContext, body: object) -> object:
    return led(body)


@schema.hook
def map_path_parameters(context: HookContext, path_parameters: dict[str, str] | None) -> object:
    return {name: exchanged(value, IDS) for name, value in (path_parameters or {}).items()}


@pytest.fixture
def token(portal: Portal) -> Iterator[str]:
    """The token of a portal that has a table of the API too."""
    made = Client().post(
        "/en/api/3/action/datastore_create",
        json.dumps(BIRD_TABLE),
        content_type="application/json",
        headers={"Authorization": portal.token},
    )
    assert made.status_code == 200
    with one_connection():
        yield portal.token


def is_rejectable(case: Case) -> bool:
    """Tell whether a request is wrong in more than parameters that take anything."""
    body = {} if isinstance(case.body, NotSet) else case.body
    if not isinstance(body, dict):
        return True
    if case.media_type == FORM and "{" in json.dumps([*body.values()]):
        return False  # Schemathesis says that it sends an object in a form, and does not
    sent = {name: value for name, value in {**case.query, **body}.items() if name not in LENIENT}
    if sent.get("id"):
        sent.pop("resource_id", None)  # nobody looks at it
    counted = {name: value for name, value in sent.items() if value not in ("", None, [], {})}
    return not Draft202012Validator(parameters_of(case)).is_valid(counted)


def parameters_of(case: Case) -> dict[str, Any]:
    """The schema of all that a request sends besides its path."""
    described = case.operation.definition.raw
    if case.method == "POST":
        found = described["requestBody"]["content"][case.media_type]["schema"]
    else:
        found = {
            "additionalProperties": False,
            "properties": {
                each["name"]: each.get("schema") or {} for each in described.get("parameters", [])
            },
        }
    return {**found, "components": schema.raw_schema["components"]}


def select_examples(operation: APIOperation, mode: GenerationMode) -> int:
    """How many to send: conditions in a query string that are none take a second each to find."""
    is_slow = mode.is_negative and operation.method == "get" and "filters" in operation.query
    return max(1, EXAMPLES // 4) if is_slow else EXAMPLES


#: Nothing can be wrong where nothing is sent.
ASKED = [
    pytest.param(label, mode, id=f"{label}-{mode.value}")
    for label, operation in OPERATIONS.items()
    for mode in GenerationMode
    if not mode.is_negative or operation.query or operation.body
]


@pytest.mark.parametrize(("label", "mode"), ASKED)
def test_the_server_answers_as_the_document_says(
    label: str, mode: GenerationMode, token: str
) -> None:
    operation = OPERATIONS[label]

    @settings(
        max_examples=select_examples(operation, mode),
        derandomize="FUZZ_EXAMPLES" not in os.environ,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case) -> None:
        headers = {} if case.method == "GET" else {"Authorization": token}
        with undone():
            response = case.call(headers=headers)
        # A dump begins with a byte order mark when it is asked to, which the check cannot read.
        response.content = response.content.removeprefix(codecs.BOM_UTF8)
        is_refused = response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        rejection = [negative_data_rejection] if is_rejectable(case) and not is_refused else []
        case.validate_response(response, checks=[*CHECKS, *rejection])

    ask()
