"""The portal that every client starts at, of which it knows nothing but the address."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pytest_django.live_server_helper import LiveServer

from datastore_search.models import Resource

from ..files.builders import make_loaded_resource
from .rivers import RIVERS, RIVERS_ID


@pytest.fixture
def portal(live_server: LiveServer) -> Iterator[str]:
    """The address of a server with one public table."""
    made = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    resource = make_loaded_resource(
        RIVERS,
        types={"code": "text", "seen": "timestamp"},
        pk=RIVERS_ID,
        name="rivers",
        title="River levels",
        description="Levels of rivers, by station.",
        license="CC-BY-4.0",
        publisher="City of Huế",
        contact="Water office",
        contact_email="water@portal.example",
        tags=["rivers", "water"],
    )
    Resource.objects.filter(pk=resource.pk).update(created_at=made)
    yield live_server.url.replace("localhost", "127.0.0.1")
    Resource.objects.all().delete()
