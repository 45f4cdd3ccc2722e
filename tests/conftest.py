"""What all tests share."""

from __future__ import annotations

import pytest

from datastore_search.models import Resource

from .builders import make_resource


@pytest.fixture
def resource(db: None) -> Resource:
    """A public resource with the records of ``builders.SURVEY``."""
    return make_resource()
