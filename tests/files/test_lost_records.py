"""Loads into resources whose records are lost."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.contrib.files.models import LoadState, Mode
from datastore_search.models import Resource

from ..builders import SURVEY, ask, check_error, search
from ..core.search.test_lost_records import DELETE, DROP, MISSING, TRUNCATE, execute_on_table

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.mark.parametrize(
    ("statement", "mode"),
    [(TRUNCATE, Mode.REPLACE), (DROP, Mode.APPEND), (DELETE, Mode.REPLACE), (DELETE, Mode.APPEND)],
)
def test_a_file_whose_records_are_gone_is_not_unchanged(
    db: None, client: Client, tmp_path: Path, statement: str, mode: Mode
) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    resource = Resource.objects.create(name="survey")
    load_file(resource, path)
    assert load_file(resource, path).state == LoadState.UNCHANGED
    resource.refresh_from_db()
    execute_on_table(statement, resource)

    load = load_file(resource, path, options=LoadOptions(mode=mode.value))

    assert load.state == LoadState.READY
    if statement == DROP or mode == Mode.REPLACE:
        assert search(client, resource).json()["result"]["total"] == 6


@pytest.mark.django_db(transaction=True)
def test_after_loaddata_a_resource_says_that_its_records_are_missing_until_they_are_loaded(
    client: Client, tmp_path: Path
) -> None:
    path, fixture = tmp_path / "survey.csv", tmp_path / "fixture.json"
    path.write_text(SURVEY)
    before = Resource.objects.create(name="survey", description="Said")
    load_file(before, path)
    before.refresh_from_db()
    call_command("dumpdata", "datastore_search", output=str(fixture), verbosity=0)
    before.delete()
    call_command("loaddata", str(fixture), verbosity=0)

    resource = Resource.objects.get()
    name = {"resource_id": str(resource.pk)}
    searched = ask(client, name)
    dumped = client.get(f"/en/datastore/dump/{resource.pk}")
    out = StringIO()
    call_command("load_resource", str(path), "--name", "survey", stdout=out)

    assert (resource.table_version_id, resource.description) == (before.table_version_id, "Said")
    message = MISSING.format(name=resource.pk)
    assert check_error(searched, 404) == {"message": message}
    assert (dumped.status_code, json.loads(dumped.content)["error"]["message"]) == (404, message)
    assert out.getvalue().startswith(f"Resource {resource.pk} (survey): 6 records.")
    assert ask(client, name).json()["result"]["total"] == 6
    Resource.objects.get().delete()
