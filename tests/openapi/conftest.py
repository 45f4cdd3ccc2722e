"""The document as the example portal serves it, and a portal that it can be tried on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from .portals import Portal, make_portal


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """The document, under the locale ``en``."""
    served = Client().get("/en/api/schema/", {"format": "json"})
    assert served.status_code == 200
    found: dict[str, Any] = json.loads(served.content)
    return found


@pytest.fixture(scope="module")
def portal(django_db_setup: None, django_db_blocker: Any) -> Iterator[Portal]:
    """A portal that all tests of a module share, each of which is marked with ``django_db``."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield make_portal()
        transaction.set_rollback(True)
