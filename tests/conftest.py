"""What all tests share."""

from __future__ import annotations

import pytest
from django.conf import settings

from datastore_search.models import Resource

from .builders import make_resource

# A password of a test protects nothing; hashing it as Django does takes a third of a second.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def resource(db: None) -> Resource:
    """A public resource with the records of ``builders.SURVEY``."""
    return make_resource()
