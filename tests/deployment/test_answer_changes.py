"""The signal that names the surrogate keys of a change: loads, datasets, the admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.catalogue.models import Dataset
from datastore_search.contrib.catalogue.sync import delete_dataset, sync_dataset
from datastore_search.contrib.files.models import Mode
from datastore_search.models import Resource
from datastore_search.signals import CATALOGUE_KEY, answers_changed

from ..builders import act, get_result, make_resource, make_user, make_writer_token, receive
from ..files.builders import load_text


def load_file(resource: Resource) -> None:
    load_text(resource, "code\n1\n")


def append_file(resource: Resource) -> None:
    load_text(resource, "code\n1\n", Mode.APPEND)


def insert_record(resource: Resource) -> None:
    sent = {"method": "insert", "records": [{"code": 8}]}
    write(resource, "datastore_upsert", sent)


def delete_records(resource: Resource) -> None:
    write(resource, "datastore_records_delete", {"filters": {"code": 7}})


def write(resource: Resource, action: str, sent: dict[str, Any]) -> None:
    sent |= {"resource_id": str(resource.pk), "force": True}
    get_result(act(Client(), action, sent, make_writer_token()))


def describe(resource: Resource) -> None:
    row = Dataset.objects.get(resource=resource)
    row.publisher = "Office"
    row.save()


def put_into_dataset(resource: Resource) -> None:
    sync_dataset(Dataset(id="home", name="home", title="Home"), [resource])


def rename_dataset(resource: Resource) -> None:
    put_into_dataset(resource)
    sync_dataset(Dataset(id="home", name="home", title="Another"), [resource])


def drop_dataset(resource: Resource) -> None:
    put_into_dataset(resource)
    delete_dataset("home")


def change_in_the_admin(resource: Resource) -> None:
    client = Client()
    client.force_login(make_user("boss", is_staff=True, is_superuser=True))
    address = f"/en/admin/datastore_search/resource/{resource.pk}/delete/"
    assert client.post(address, {"post": "yes"}).status_code == 302


@pytest.mark.parametrize(
    "change",
    [load_file, append_file, insert_record, delete_records, describe, put_into_dataset,
     rename_dataset, drop_dataset, change_in_the_admin],
)  # fmt: skip
def test_every_change_names_its_resource(
    transactional_db: None, change: Callable[[Resource], None]
) -> None:
    resource = make_resource("code\n7\n")

    with receive(answers_changed) as calls:
        change(resource)

    keys = [set(each["keys"]) for each in calls]
    assert set().union(*keys) == {str(resource.pk), CATALOGUE_KEY}
    assert {str(resource.pk), CATALOGUE_KEY} in keys[-3:]
