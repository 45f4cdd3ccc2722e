"""
The server answers any request as the document says.

Schemathesis generates requests that the document allows, and requests that it does not, of which
the API accepts some.  Each answer has a status, a content type and a body that the document
describes, and none is a server error.
``FUZZ_EXAMPLES`` is the number of requests of each kind per operation; it also makes them random.
"""

from __future__ import annotations

import codecs
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
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

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
        max_examples=EXAMPLES,
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
        case.validate_response(response, checks=CHECKS)

    ask()
