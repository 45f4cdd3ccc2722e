"""The shared resource of tests of loads: its file has been loaded."""

from __future__ import annotations

import pytest

from datastore_search.models import Resource


@pytest.fixture
def resource(loaded: Resource) -> Resource:
    """A public resource with ``builders.SURVEY``, loaded from a file."""
    return loaded
