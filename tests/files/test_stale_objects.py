"""What a plain ``save`` leaves to loads."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, clean_up_loads, load_file
from datastore_search.contrib.files.jobs.queue import create_load
from datastore_search.contrib.files.jobs.runner import run_load
from datastore_search.contrib.files.models import Load
from datastore_search.models import Resource, TableVersion

from ..builders import SURVEY, get_ids, search

pytestmark = pytest.mark.usefixtures("read_here", "db")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    return path


def test_a_resource_that_was_read_before_its_first_load_leaves_what_is_published(
    path: Path, client: Client
) -> None:
    stale = Resource.objects.create(name="survey")
    load_file(stale, path)
    assert stale.table_version_id is None

    stale.title = "A title"
    stale.save()
    clean_up_loads()

    assert len(get_ids(search(client, stale))) == 6
    resource = Resource.objects.get()
    assert (resource.title, resource.table_version_id) == ("A title", TableVersion.objects.get().pk)


def test_a_stale_load_leaves_what_it_has_become(path: Path) -> None:
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
