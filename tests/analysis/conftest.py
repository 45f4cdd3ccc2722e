"""Resources that the tests of facets and aggregates share."""

from __future__ import annotations

import pytest

from datastore_search.models import Resource

from ..shared import ModuleTransaction
from .tables import make_repeated_resource


@pytest.fixture(scope="module")
def _repeated(module_transaction: ModuleTransaction) -> Resource:
    return make_repeated_resource()


@pytest.fixture
def repeated(_repeated: Resource, db: None) -> Resource:
    """A resource whose values are repeated, and a table ``repeated`` that holds the same."""
    return _repeated
