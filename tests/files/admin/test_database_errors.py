"""The admin on a database that cannot be written to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from datastore_search.contrib.files.models import LoadState
from datastore_search.database.statements import execute
from datastore_search.models import Resource

from ...builders import make_resource, make_user
from ...core.admin.test_resources import build_form
from ...shared import MAKE_READ_ONLY, MAKE_WRITABLE

ADMIN = "/en/admin/"
RESOURCES = f"{ADMIN}datastore_search/resource/"
LOADS = f"{ADMIN}datastore_search_files/load/"
READ_ONLY_MESSAGE = "The database is read-only at the moment. Nothing was changed."


@pytest.fixture
def staff(client: Client, transactional_db: None) -> Iterator[Client]:
    """A superuser of a portal whose database has become a standby."""
    resource = make_resource(name="survey")
    resource.loads.create(source="survey.csv", state=LoadState.READY)
    client.force_login(make_user("boss", is_staff=True, is_superuser=True))
    for statement in MAKE_READ_ONLY:
        execute(connection, statement)
    yield client
    for statement in MAKE_WRITABLE:
        execute(connection, statement)
    resource.delete()


def test_a_write_to_a_read_only_database_says_that_nothing_was_changed(staff: Client) -> None:
    resource = Resource.objects.get()
    load = resource.loads.get()
    form = build_form(name="a", **{"fields-TOTAL_FORMS": 0, "fields-INITIAL_FORMS": 0})
    file = SimpleUploadedFile("a.csv", b"a\n1\n")

    responses = [
        staff.post(f"{RESOURCES}add/", form),
        staff.post(f"{RESOURCES}{resource.pk}/change/", form),
        staff.post(f"{RESOURCES}{resource.pk}/delete/", {"post": "yes"}),
        staff.post(
            RESOURCES,
            {"action": "delete_selected", "_selected_action": [resource.pk], "post": "yes"},
        ),
        staff.post(
            f"{RESOURCES}{resource.pk}/load/",
            {"mode": "replace", "bad_rows": "refuse", "file": file},
        ),
        staff.post(f"{LOADS}{load.pk}/cancel/"),
        staff.post(f"{ADMIN}knox/authtoken/add/", {"user": User.objects.get().pk}),
    ]

    for response in responses:
        page = response.content.decode()
        assert response.status_code == 503, page
        assert response["Retry-After"] == "60"
        assert READ_ONLY_MESSAGE in page
        assert "cannot execute" not in page


def test_pages_that_only_read_are_shown(staff: Client) -> None:
    resource = Resource.objects.get()

    for page in (
        RESOURCES, f"{RESOURCES}{resource.pk}/change/", f"{RESOURCES}{resource.pk}/load/", LOADS,
        f"{LOADS}{resource.loads.get().pk}/change/", f"{ADMIN}knox/authtoken/add/",
    ):  # fmt: skip
        assert staff.get(page).status_code == 200, page


def test_any_other_database_error_is_500(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(make_user("boss", is_staff=True, is_superuser=True))
    client.raise_request_exception = False
    monkeypatch.setattr(
        "datastore_search.admin.resources.measure_record_tables", run_invalid_statement
    )

    assert client.get(RESOURCES).status_code == 500


def run_invalid_statement(*_arguments: Any) -> None:
    execute(connection, "SELECT nonsense")
