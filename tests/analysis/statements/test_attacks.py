"""Statements that must not be answered are refused, or end at the limits."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from datastore_search.contrib.analysis.engine.process import engine
from datastore_search.models import Resource

from ...builders import act, make_resource
from ...shared import ModuleTransaction
from .attacks import ENDED, ORDINARY, REFUSED, TOO_LARGE

pytestmark = pytest.mark.django_db

#: What only the engine, the server and this machine would say.
_INTERNAL = re.compile(
    r"duckdb|traceback|/home|/tmp|/usr|k_[0-9a-f]{32}|\bc[0-9]+\b", re.IGNORECASE
)


@pytest.fixture(scope="module")
def target(module_transaction: ModuleTransaction) -> Resource:
    make_resource("n,name\n1,a\n", name="u")
    rows = "".join(f"{i},{'a' * 20}{i}\n" for i in range(2_000))
    return make_resource("n,name,price\n" + rows.replace("\n", ",1.5\n"), name="target")


def send(client: Any, target: Resource, statement: str) -> tuple[int, dict[str, Any]]:
    text = statement.replace('"T"', f'"{target.pk}"')
    response = act(client, "datastore_search_sql", {"sql": text})
    answer = json.loads(response.content)
    said = json.dumps(answer.get("error", ""), ensure_ascii=False)
    assert not [each for each in _INTERNAL.findall(said) if each.lower() not in text.lower()]
    return response.status_code, answer


@pytest.mark.parametrize("statement", [*REFUSED, *TOO_LARGE.values()], ids=[*REFUSED, *TOO_LARGE])
def test_an_attack_is_refused(client: Any, target: Resource, statement: str) -> None:
    asked = engine.ask
    status, answer = send(client, target, statement)

    assert status in {400, 403, 404, 409}, answer
    assert answer["success"] is False
    assert engine.ask == asked


@pytest.mark.parametrize("statement", ENDED.values(), ids=ENDED)
def test_a_large_question_ends_and_the_next_one_works(
    client: Any, target: Resource, statement: str, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(seconds=2)

    status, answer = send(client, target, statement)

    assert status in {409, 503}, answer
    assert send(client, target, 'SELECT count(*) AS n FROM "T"')[1]["result"]["records"] == [
        {"n": 2000}
    ]


@pytest.mark.parametrize("statement", ORDINARY)
def test_an_ordinary_statement_is_answered(client: Any, target: Resource, statement: str) -> None:
    status, answer = send(client, target, statement)

    assert status == 200, answer
