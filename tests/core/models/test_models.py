"""What a plain ``save`` may change, and what it leaves to loading and writing."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.db import IntegrityError
from django.test import Client

from datastore_search.models import Field, Resource, TableVersion

from ...builders import SURVEY, act, ask, fill_table, get_ids, make_resource, make_token, make_user


@pytest.fixture
def stale(db: None) -> Resource:
    """A resource as it was read before it had records."""
    resource = Resource.objects.create(name="survey")
    fill_table(Resource.objects.get(), SURVEY)
    assert resource.table_version_id is None
    return resource


def test_a_stale_save_leaves_what_is_published(stale: Resource, client: Client) -> None:
    stale.title = "A title"
    stale.save()

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
    found = resource.primary_key, resource.options, resource.indexes
    assert found == (["a"], {"delimiter": ";"}, ["filters"])


@pytest.mark.parametrize(
    "save",
    [
        lambda _stale: Resource.objects.get_or_create(name="survey")[0].save(),
        lambda _stale: Resource.objects.update_or_create(name="survey", defaults={"private": True}),
        lambda stale: Resource.objects.bulk_update([stale], ["title"]),
        lambda _stale: Resource.objects.only("title").get().save(),
    ],
    ids=["get_or_create", "update_or_create", "bulk_update", "deferred"],
)
def test_no_way_to_save_takes_the_published_back(
    stale: Resource, save: Callable[[Resource], object]
) -> None:
    stale.title = "A title"

    save(stale)

    assert Resource.objects.get().table_version_id == TableVersion.objects.get().pk


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


def test_a_stale_field_leaves_its_type_and_position(db: None) -> None:
    resource = make_resource("a,b\n1,2\n")
    stale = {field.name: field for field in resource.fields.all()}
    Field.objects.filter(name="b").update(type="text", position=0)

    stale["b"].label = "B"
    stale["b"].save()

    field = Field.objects.get(name="b")
    assert (field.label, field.type, field.position) == ("B", "text", 0)
