"""
The server answers as the document says, whatever is asked.

Schemathesis makes requests that the document allows, and requests that it does not; a request is
answered with a status, a content type and a body that the document has, and without a fault of the
server.  ``FUZZ_EXAMPLES`` says how many of each kind are sent to each operation.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode, HookContext
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.result import Ok
from schemathesis.generation.meta import FuzzingPhaseData
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
    data = case.meta.phase.data if case.meta else None
    if not isinstance(data, FuzzingPhaseData):
        return True
    body = case.body if isinstance(case.body, dict) else {}
    if case.media_type == FORM and "{" in json.dumps([*body.values()]):
        return False  # Schemathesis says that it sends an object in a form, and does not
    sent = {**case.query, **body}
    wrong = {
        mutation.schema_pointer.split("/")[2] if "/" in mutation.schema_pointer else ""
        for mutation in data.mutations
        # The token, a header, is sent all the same.
        if mutation.parameter_location is not ParameterLocation.HEADER
    }
    absent = {name for name, value in sent.items() if value in ("", None, [], {})}
    return bool(wrong - LENIENT - absent)


def examples_of(operation: APIOperation, mode: GenerationMode) -> int:
    """How many to send: conditions in a query string that are none take a second each to find."""
    is_slow = mode.is_negative and operation.method == "get" and "filters" in operation.query
    return max(1, EXAMPLES // 4) if is_slow else EXAMPLES


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_the_server_answers_as_the_document_says(
    label: str, mode: GenerationMode, token: str
) -> None:
    operation = OPERATIONS[label]
    if mode.is_negative and not (operation.query or operation.body):
        pytest.skip("Nothing can be wrong where nothing is sent.")

    @settings(
        max_examples=examples_of(operation, mode),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case) -> None:
        headers = {} if case.method == "GET" else {"Authorization": token}
        with undone():
            response = case.call(headers=headers)
        rejection = [negative_data_rejection] if is_rejectable(case) else []
        case.validate_response(response, checks=[*CHECKS, *rejection])

    ask()
