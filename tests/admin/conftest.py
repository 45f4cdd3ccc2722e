"""The user of the tests of the admin."""

from __future__ import annotations

import pytest
from django.test import Client

from ..builders import make_user


@pytest.fixture
def staff(client: Client, db: None) -> Client:
    """The client of a superuser."""
    client.force_login(make_user("boss", is_staff=True, is_superuser=True))
    return client
