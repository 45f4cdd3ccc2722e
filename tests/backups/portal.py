"""
A portal with all kinds of resources: its answers, and writes and loads after a restore.

It runs as ``python -m tests.backups.portal ACTION``, against the database of ``DATABASE_URL``.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import django
from django.conf import settings

django.setup()

# ruff: noqa: E402 - models can be imported only now
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.database.statements import execute
from datastore_search.models import Alias, Resource

from ..builders import SURVEY, act, ask, create_resource, make_token
from ..files.builders import load_csv

settings.ALLOWED_HOSTS = ["testserver"]

SURVEY_ID, STATIONS_ID, API_ID, SIMPLE_ID, PRIVATE_ID = (
    str(uuid.UUID(int=number)) for number in range(1, 6)
)
#: Beyond 2,000 rows the order of fields is indexed, beyond 10,000 a load uses connections.
STATIONS = "number,name,since,level\n" + "".join(
    f"{n},{'Sông Hồng' if n % 3 else 'Bridge'} {n % 50},20{n % 24:02}-0{n % 9 + 1}-11,{n / 8}\n"
    for n in range(10_100)
)


def fill_portal() -> None:
    prepare_portal()
    survey = create_resource(
        pk=SURVEY_ID,
        name="survey",
        title="Survey",
        content_language="en",
        translations={"vi": {"title": "Khảo sát"}},
        license="CC-BY-4.0",
        tags=["water"],
    )
    load_csv(survey, SURVEY)
    Alias.objects.create(resource=survey, name="the survey")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "stations.csv"
        path.write_text(STATIONS)
        stations = Resource.objects.create(pk=STATIONS_ID, name="stations")
        load_file(stations, path, options=LoadOptions(key=("number",)))
    load_csv(Resource.objects.create(pk=SIMPLE_ID, name="simple", language="plain"), SURVEY)
    load_csv(Resource.objects.create(pk=PRIVATE_ID, name="private", private=True), SURVEY)
    admin = get_user_model().objects.create_superuser("admin", password="secret")
    fields = [
        {"id": "code", "type": "text", "info": {"label": "Code", "label_vi": "Mã", "unit": ["m"]}},
        {"id": "more", "type": "json"},
        {"id": "list", "type": "_text"},
    ]
    records = [
        {"code": "a", "more": {"deep": [1, "Hà Nội"]}, "list": ["x", "y"]},
        {"code": "b", "more": None, "list": []},
        {"code": "c"},
    ]
    token = make_token(admin)
    created = act(
        Client(),
        "datastore_create",
        {
            "resource": {"id": API_ID, "name": "api"}, "fields": fields, "records": records,
            "primary_key": ["code"], "indexes": ["list"], "aliases": ["written"],
        },
        token,
    )  # fmt: skip
    assert created.status_code == 200, created.json()
    deleted = act(
        Client(), "datastore_delete", {"resource_id": API_ID, "filters": {"code": "c"}}, token
    )
    assert deleted.status_code == 200, deleted.json()


def collect_answers() -> dict[str, Any]:
    client = Client()
    answers: dict[str, Any] = {}

    def record_search(**parameters: Any) -> None:
        answers[json.dumps(parameters)] = ask(client, parameters).json()

    for name in (SURVEY_ID, STATIONS_ID, API_ID, SIMPLE_ID, PRIVATE_ID):
        record_search(resource_id=name)
        record_search(resource_id=name, limit=0)
        info = act(client, "datastore_info", {"id": name}).json()
        for size in ("size", "idx_size", "db_size"):
            info.get("result", {}).get("meta", {}).pop(size, None)
        answers[f"info {name}"] = info
        dump = client.get(f"/en/datastore/dump/{name}")
        answers[f"dump {name}"] = (
            b"".join(dump.streaming_content) if dump.streaming else dump.content  # type: ignore[attr-defined] # Django's stubs
        ).decode()
    response = client.get("/en/api/3/action/datastore_search", {"resource_id": SURVEY_ID})
    answers["etag"] = response["ETag"]
    record_search(resource_id="the survey", q="hà nội")
    record_search(resource_id="written", q="ha noi")
    record_search(resource_id=SURVEY_ID, q="foxes", fields=["title", "rank"])
    record_search(resource_id=SURVEY_ID, q={"title": "nuoc"})
    record_search(resource_id=SIMPLE_ID, q="running")
    record_search(resource_id=API_ID, sort="list desc")
    record_search(resource_id=STATIONS_ID, limit=3, sort="level desc")
    record_search(resource_id=STATIONS_ID, limit=3, sort="since", offset=4_000)
    record_search(resource_id=STATIONS_ID, limit=3, filters={"name": "Sông Hồng 1"})
    record_search(resource_id=STATIONS_ID, limit=3, offset=9_000)
    record_search(resource_id=STATIONS_ID, limit=5, fields=["name"], distinct=True, sort="name")
    record_search(resource_id=STATIONS_ID, limit=3, q="song hong", records_format="csv")
    record_search(resource_id="_table_metadata")
    return answers


def prepare_portal() -> None:
    """Create a portal without resources, and the text search configuration of one."""
    call_command("migrate", verbosity=0)
    execute(connection, "CREATE TEXT SEARCH CONFIGURATION plain (COPY = simple)")


def write_and_load() -> list[Any]:
    """Write and load, and return the results: ids continue where they were."""
    token = make_token(get_user_model().objects.get(username="admin"))
    client = Client()
    upsert: dict[str, Any] = {
        "resource_id": API_ID, "records": [{"code": "d", "list": ["z"]}], "method": "upsert",
        "include_records": True,
    }  # fmt: skip
    dry_run = act(client, "datastore_upsert", {**upsert, "dry_run": True}, token).json()
    written = act(client, "datastore_upsert", upsert, token).json()
    again = act(client, "datastore_upsert", {**upsert, "method": "insert"}, token)
    Alias.objects.create(resource_id=API_ID, name="another alias")
    survey = load_csv(Resource.objects.get(pk=SURVEY_ID), SURVEY + "007,air,,Ozone,1,\n")
    records = ask(client, {"resource_id": SURVEY_ID, "q": "ozone"}).json()["result"]["records"]
    version = survey.table_version
    return [
        dry_run["result"]["records"],
        written["result"]["records"],
        again.status_code,
        records,
        version and version.record_count,
        ask(client, {"resource_id": "another alias", "limit": 0}).json()["result"]["total"],
    ]


def lose_resources() -> None:
    """Delete all resources, as a person may by mistake."""
    for resource in Resource.objects.all():
        resource.delete()


_ACTIONS: dict[str, Callable[..., Any]] = {
    "fill": fill_portal,
    "prepare": prepare_portal,
    "answers": collect_answers,
    "write_and_load": write_and_load,
    "lose": lose_resources,
}

if __name__ == "__main__":
    json.dump(_ACTIONS[sys.argv[1]](*sys.argv[2:]), sys.stdout, sort_keys=True)
