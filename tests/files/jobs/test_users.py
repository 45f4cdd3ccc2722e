"""Who has started a load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import router
from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, load_file, retry_load
from datastore_search.contrib.files.models import Load
from datastore_search.models import Resource
from datastore_search.writing import history

from ..admin.forms import FORM, make_file


@pytest.fixture
def path(tmp_path: Path, db: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(history, "_entries", {})
    path = tmp_path / "survey.csv"
    path.write_text("code\na\nb\n")
    return path


@pytest.fixture
def user(db: None) -> Any:
    return get_user_model().objects.create_user("loader")


def test_a_load_carries_its_user_and_leaves_an_entry(path: Path, user: Any) -> None:
    resource = Resource.objects.create(name="rivers")

    load = load_file(resource, path, user=user)
    load_file(resource, path, options=LoadOptions(force=True), user=user)

    entry = LogEntry.objects.get(user=user)
    assert (load.user, load.starter, entry.object_id) == (user, user, str(resource.pk))
    assert entry.get_change_message() == "Added records “4”. Deleted records “2”."


def test_a_load_of_a_command_has_no_user_and_no_entry(path: Path) -> None:
    call_command("load_resource", str(path), verbosity=0)

    assert Load.objects.get().starter is None
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["here", "in another database"])
def test_a_load_outlives_its_user(
    path: Path, user: Any, monkeypatch: pytest.MonkeyPatch, is_elsewhere: bool
) -> None:
    load = load_file(Resource.objects.create(name="rivers"), path, user=user)
    if is_elsewhere:
        monkeypatch.setattr(router, "allow_migrate_model", lambda *_arguments: False)

    user.delete()

    load = Load.objects.get(pk=load.pk)
    assert load.starter is None
    assert (load.user_id is None) is not is_elsewhere


def test_staff_who_upload_are_the_user(admin_client: Client, db: None) -> None:
    resource = Resource.objects.create(name="rivers")
    address = f"/en/admin/datastore_search/resource/{resource.pk}/load/"

    admin_client.post(address, {**FORM, "file": make_file("code\na\n")})

    load = Load.objects.get()
    assert load.starter == get_user_model().objects.get(username="admin")
    page = admin_client.post(f"/en/admin/datastore_search_files/load/{load.pk}/retry/", follow=True)
    assert page.status_code == 200


def test_who_loads_again_is_the_user_of_the_new_load(path: Path, user: Any) -> None:
    load = load_file(Resource.objects.create(name="rivers"), path)
    Load.objects.filter(pk=load.pk).update(url="https://files.example/a.csv")

    assert retry_load(load, user=user).starter == user
