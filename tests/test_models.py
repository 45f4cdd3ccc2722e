"""What a plain ``save`` may change, and what it leaves to loading and writing."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from django.db import IntegrityError
from django.test import Client

from datastore_search.loading.jobs import LoadOptions, clean_up_loads, load_file
from datastore_search.loading.jobs.queue import create_load
from datastore_search.loading.jobs.runner import run_load
from datastore_search.models import Field, Load, Resource, TableVersion

from .builders import SURVEY, act, ask, get_ids, load_csv, make_resource, make_token, make_user

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def stale(db: None, tmp_path: Path) -> Resource:
    """A resource as it was read before its first load."""
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    resource = Resource.objects.create(name="survey")
    load_file(resource, path)
    assert resource.table_version_id is None
    return resource


def test_a_stale_save_leaves_what_is_published(stale: Resource, client: Client) -> None:
    stale.title = "A title"
    stale.save()
    clean_up_loads()

    assert len(get_ids(ask(client, {"resource_id": str(stale.pk)}))) == 6
    resource = Resource.objects.get()
    assert (resource.title, resource.table_version_id) == ("A title", TableVersion.objects.get().pk)


def test_a_stale_save_leaves_the_key_and_how_files_are_read(db: None, client: Client) -> None:
    token = make_token(make_user(permissions=("add_resource", "change_resource")))
    resource = Resource.objects.create(name="written")
    sent = {
        "resource_id": str(resource.pk), "primary_key": ["a"],
        "fields": [{"id": "a", "type": "text"}], "records": [{"a": "1"}],
    }  # fmt: skip
    assert act(client, "datastore_create", sent, token).status_code == 200
    Resource.objects.update(options={"delimiter": ";"})

    resource.indexes = ["filters"]
    resource.save()

    resource = Resource.objects.get()
    assert (resource.primary_key, resource.options, resource.indexes) == (
        ["a"],
        {"delimiter": ";"},
        ["filters"],
    )


@pytest.mark.parametrize("change", ["get_or_create", "update_or_create", "bulk_update", "deferred"])
def test_no_way_to_save_takes_the_published_back(stale: Resource, change: str) -> None:
    if change == "get_or_create":
        found, _created = Resource.objects.get_or_create(name="survey")
        found.title = "A title"
        found.save()
    elif change == "update_or_create":
        Resource.objects.update_or_create(name="survey", defaults={"title": "A title"})
    elif change == "bulk_update":
        stale.title = "A title"
        Resource.objects.bulk_update([stale], ["title"])
    else:
        found = Resource.objects.only("title").get()
        found.title = "A title"
        found.save()

    resource = Resource.objects.get()
    assert (resource.title, resource.table_version_id) == ("A title", TableVersion.objects.get().pk)


def test_update_fields_are_saved(stale: Resource) -> None:
    stale.save(update_fields=["table_version"])

    assert Resource.objects.get().table_version_id is None


def test_a_new_object_is_saved_with_everything(db: None) -> None:
    wanted = uuid.uuid4()
    resource = Resource(pk=wanted, name="n", primary_key=["a"], options={"delimiter": ";"})
    resource.save()

    found = Resource.objects.get(pk=wanted)
    assert (found.primary_key, found.options) == (["a"], {"delimiter": ";"})
    with pytest.raises(IntegrityError):  # and takes no other's place
        Resource(pk=wanted, name="m").save()


def test_a_stale_load_leaves_what_it_has_become(db: None, tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    resource = Resource.objects.create(name="survey")
    load = create_load(resource, LoadOptions(), source="survey.csv")
    old = Load.objects.get(pk=load.pk)
    run_load(load, path)
    before = Load.objects.get(pk=load.pk)

    old.source = "another name"
    old.save()

    after = Load.objects.get(pk=load.pk)
    assert after.source == "another name"
    for name in ("state", "record_count", "progress", "notices", "finished_at", "checksum"):
        assert getattr(after, name) == getattr(before, name)


def test_a_stale_field_leaves_its_type_and_position(db: None) -> None:
    resource = make_resource("a,b\n1,2\n")
    stale = {field.name: field for field in resource.fields.all()}
    load_csv(resource, "b,a\nx,1\n")

    stale["b"].label = "B"
    stale["b"].save()

    field = Field.objects.get(name="b")
    assert (field.label, field.type, field.position) == ("B", "text", 0)
