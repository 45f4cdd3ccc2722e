"""A resource that the tests of conditions and of pages share."""

from __future__ import annotations

import pytest

from datastore_search.models import Resource

from ...shared import ModuleTransaction
from .records import make_typed_resource


@pytest.fixture(scope="module")
def _resource(module_transaction: ModuleTransaction) -> Resource:
    return make_typed_resource()


@pytest.fixture
def typed(_resource: Resource, db: None) -> Resource:
    return _resource
