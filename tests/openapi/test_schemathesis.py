"""
The server answers any request as the document says.

Schemathesis generates requests that the document allows, and requests that it does not.  Each
answer has a status, a content type and a body that the document describes, and none is a server
error.  That a request which the document does not allow is refused is not asked for: the API also
accepts forms of parameters that the document leaves out.
``FUZZ_EXAMPLES`` is the number of requests of each kind per operation; it also makes them random.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
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

from datastore_search.contrib.openapi.examples import SURVEY, select_examples

from ..builders import act
from .portals import roll_back

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "15"))

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

# The server runs in the process of the tests, so that changes of a request can be rolled back.
schema = schemathesis.openapi.from_wsgi("/en/api/schema/?format=json", get_wsgi_application())
OPERATIONS = {
    operation.label: operation
    for result in schema.get_all_operations()
    if isinstance(result, Ok) and (operation := result.ok())
}

#: A table that an example creates.
BIRDS = select_examples("datastore_create")[0].sent

#: Texts that Schemathesis cannot know, with which requests pass the first checks.
IDS = (SURVEY, BIRDS["resource_id"])
NAMES = ("_id", "project_code", "subject", "start_date", "updated_at", "budget", "open_data")
NAMES += tuple(field["id"] for field in BIRDS["fields"])

#: Names of members, operators and choices.
DOCUMENTED = {*re.findall(r'"([^"]*)"', json.dumps(schema.raw_schema["components"]["schemas"]))}


def replace_unknown(value: Any, known: tuple[str, ...]) -> Any:
    """Replace four of five unknown texts by a known one, each always by the same."""
    if isinstance(value, list):
        return [replace_unknown(each, known) for each in value]
    if isinstance(value, dict):
        return {
            replace_unknown(name, known): replace_unknown(each, known)
            for name, each in value.items()
        }
    if not isinstance(value, str) or value in DOCUMENTED:
        return value
    if value[:1] in ("[", "{"):  # the JSON text of a parameter
        with suppress(ValueError):
            return json.dumps(replace_unknown(json.loads(value), known))
    digest = zlib.crc32(value.encode(errors="surrogatepass"))
    return value if digest % 5 == 4 else known[digest % len(known)]


def replace_in_parameters(context: HookContext, parameters: Any) -> Any:
    """Replace unknown texts in parameters, and name a resource beside several others."""
    if not isinstance(parameters, dict):
        return parameters
    assert context.operation is not None
    if "datastore_" in context.operation.path and len(parameters) > 1 and "id" not in parameters:
        parameters = {"resource_id": SURVEY, **parameters}
    return {
        name: replace_unknown(value, IDS if name in ("resource_id", "id") else NAMES)
        for name, value in parameters.items()
    }


schema.hook("map_query")(replace_in_parameters)
schema.hook("map_body")(replace_in_parameters)


@schema.hook
def map_path_parameters(context: HookContext, path_parameters: dict[str, Any]) -> object:
    return replace_unknown(path_parameters, IDS)


@pytest.fixture
def token(portal: str) -> Iterator[str]:
    """The token of a portal that also has the table of birds."""
    assert act(Client(), "datastore_create", BIRDS, portal).status_code == 200
    # Requests would close the connection whose transaction the test runs in.
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield portal
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_the_server_answers_as_the_document_says(
    label: str, mode: GenerationMode, token: str
) -> None:
    operation = OPERATIONS[label]
    if mode.is_negative and not (operation.query or operation.body):
        return  # no request is invalid

    @settings(
        # Requests that the document does not allow take long to generate.
        max_examples=EXAMPLES // 3 if mode.is_negative else EXAMPLES,
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
