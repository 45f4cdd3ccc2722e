"""The engine finds the same records as PostgreSQL, by every operator over fields of every type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, seed

from datastore_search.models import Resource

from .records import answered, check, filters, quickly, slowly

pytestmark = pytest.mark.django_db


@given(asked=filters)
@quickly
def test_a_question(typed: Resource, asked: dict[str, Any]) -> None:
    check(typed, asked)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_ten_thousand_questions(typed: Resource, part: int) -> None:
    @seed(part)
    @slowly
    @given(asked=filters)
    def ask(asked: dict[str, Any]) -> None:
        check(typed, asked)

    ask()


def test_the_engine_answers_most_of_them() -> None:
    assert answered[0] > answered[1] / 3
