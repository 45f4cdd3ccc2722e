"""The document of the example portal, and a portal for its requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from .portals import fetch_document, make_portal


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    return fetch_document()


@pytest.fixture(scope="module")
def portal(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """The token of a portal that all tests of a module share, which ``django_db`` marks."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_portal()
        transaction.set_rollback(True)
