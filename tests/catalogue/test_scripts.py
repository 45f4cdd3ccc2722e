"""
The requests of the kinds of scripts that publish, of which no client runs in ``tests/clients``.

Each sends what the scripts send, in their forms, and asserts what they read of the answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from datastore_search.web.tokens import issue_token

from ..builders import make_user

pytestmark = pytest.mark.django_db

FORM = "application/x-www-form-urlencoded"
CSV = b"station,level\nBen Ngu,1.5\n"
GEOJSON = (
    b'{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"a": 1},'
    b' "geometry": {"type": "Point", "coordinates": [107.6, 16.5]}}]}'
)


@dataclass
class Script:
    """A client that sends JSON, or a form of several parts where there is a file."""

    headers: dict[str, str]

    def __call__(self, action: str, **sent: Any) -> Any:
        answer = self.ask(action, sent)
        assert answer.status_code == 200, answer.content
        return answer.json()["result"]

    def refuse(self, action: str, status: int, **sent: Any) -> Any:
        answer = self.ask(action, sent)
        assert answer.status_code == status, answer.content
        return answer.json()["error"]

    def ask(self, action: str, sent: dict[str, Any]) -> Any:
        path = f"/api/action/{action}"
        if any(isinstance(value, SimpleUploadedFile) for value in sent.values()):
            return Client().post(path, sent, headers=self.headers)
        return Client().post(path, sent, "application/json", headers=self.headers)


@pytest.fixture
def send() -> Script:
    token = issue_token(make_user("publisher", is_superuser=True))
    script = Script({"Authorization": token, "X-CKAN-API-Key": token})
    script("package_create", name="gauges", title="Gauges")
    return script


def make_file(name: str = "levels.csv", content: bytes = CSV) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def test_a_publishing_tool_downloads_what_it_sent_and_describes_its_fields(send: Script) -> None:
    sent = {"package_id": "gauges", "name": "levels", "url": "", "url_type": "datastore"}
    made = send("resource_create", **sent, description="d")
    info = {"label": "Station", "notes": "n", "type_override": "text"}
    fields = [{"id": "station", "type": "text", "info": info}]
    send("datastore_create", resource_id=made["id"], force="True", fields=fields)
    filled = send("resource_show", id=made["id"])
    changed = send("resource_update", id=made["id"], name="levels", upload=make_file())

    downloaded = Client().get(changed["url"], headers=send.headers)

    assert made["last_modified"] is None
    assert filled["last_modified"] == filled["metadata_modified"]
    assert b"".join(downloaded.streaming_content) == CSV  # type: ignore[attr-defined]  # of files
    assert send("package_delete", id="gauges") is None
    assert send("package_show", id="gauges")["state"] == "deleted"
    assert send.refuse("package_show", 404, id="nope")["__type"] == "Not Found Error"


def test_an_etl_program_fills_a_resource_that_it_describes_afterwards(send: Script) -> None:
    sent = {"url": "#", "name": "levels", "url_type": "datapusher", "format": "CSV"}
    made = send("resource_create", package_id="gauges", **sent)
    fields = [{"id": "station", "type": "text"}, {"id": "level", "type": "numeric"}]
    records = [{"station": "Ben Ngu", "level": 1.5}, {"station": "Kim Long", "level": 0.25}]

    indexes = [["station", "level"], "level"]
    table = {"resource_id": made["id"], "force": True}
    created = send("datastore_create", **table, fields=fields, indexes=indexes)
    send("datastore_upsert", **table, method="insert", records=records)
    sent = {"url": "https://example.org/levels", "last_modified": "2026-01-01T00:00:00"}
    patched = send("resource_patch", id=made["id"], url_type="", **sent)

    assert (created["resource_id"], created["indexes"]) == (made["id"], ["station", "level"])
    assert (patched["url"], patched["last_modified"]) == (sent["url"], "2026-01-01T00:00:00")
    assert send("datastore_search", resource_id=made["id"])["total"] == 2
    found = send("datastore_search_sql", sql=f'SELECT station FROM public."{made["id"]}"')
    assert found["records"] == [{"station": "Ben Ngu"}, {"station": "Kim Long"}]
    assert send("datastore_delete", **table)


def test_ckanr_creates_a_file_and_a_table(send: Script) -> None:
    members = {"resource_type": "file", "mimetype": "text/csv", "size": "25", "hash": "abc"}
    times = {"created": "2026-01-01T00:00:00", "last_modified": "2026-01-02T00:00:00"}
    sent = {"package_id": "gauges", "name": "levels", "format": "CSV", "url": "upload"}
    made = send("resource_create", **sent, **members, **times, upload=make_file())
    table = send("resource_create", package_id="gauges", name="table", url="")
    records = json.dumps([{"code": "a"}, {"code": "b"}])
    body = {"resource_id": table["id"], "force": "TRUE", "records": records, "primary_key": "code"}
    response = Client().post("/api/3/action/datastore_create", body, headers=send.headers)

    assert response.json()["result"]["primary_key"] == ["code"], response.content
    assert (made["resource_type"], made["hash"]) == ("file", "abc")
    assert send("datastore_search", resource_id=table["id"])["total"] == 2


def test_ckanr_describes_a_user_and_lists_its_groups(send: Script) -> None:
    flags = ("include_extras", "include_tags", "include_groups", "include_users", "all_fields")
    sent = dict.fromkeys(flags, "false")
    own = {"type": "group", "include_dataset_count": "true", "available_only": "false"}

    user = send("user_show", id="publisher", include_datasets=False, include_num_followers=False)

    assert user["name"] == "publisher"
    assert send("group_list_authz", **sent, **own, am_member="false") == []


def test_a_pipeline_of_a_city_replaces_a_table_and_makes_another(send: Script) -> None:
    described = {"package_id": "gauges", "name": "levels", "format": "csv", "is_preview": True}
    sent = {"resource": {**described, "is_zipped": False}, "fields": [{"id": "station"}]}
    made = send("datastore_create", **sent, records=[])["resource_id"]
    fields = send("datastore_search", id=made, limit=0)["fields"]
    send("datastore_delete", id=made, force=True)
    kept = [each for each in fields if each["id"] != "_id"]
    send("datastore_create", id=made, fields=kept, force=True)

    for start in (0, 20_000):
        records = [{"station": str(number)} for number in range(start, start + 3)]
        send("datastore_create", id=made, records=records, force=True)

    assert send("datastore_search", id=made, limit=0)["total"] == 6
    assert send("package_show", id="gauges")["resources"][0]["is_preview"] is True
    assert send("resource_delete", id=made) is None


def test_an_uploader_by_manifest_makes_organizations_and_compares_texts(send: Script) -> None:
    organization = send("organization_create", name="water-office", title="Water office")
    sent = {"name": "dams", "title": "Dams", "owner_org": organization["id"]}
    extras = json.dumps([{"key": "k", "value": "v"}])
    made = send("package_create", **sent, extras=extras, groups=[{"name": "water"}])
    file = {"name": "levels", "format": "CSV", "mimetype": "text/csv"}
    uploaded = send("resource_create", package_id="dams", **file, upload=make_file())

    taken = send.refuse("organization_create", 409, name="water-office")
    found = send("resource_search", query="name:levels")

    assert "already exists" in taken["name"][0]
    assert [each["id"] for each in found["results"]] == [uploaded["id"]]
    assert made["extras"] == [{"key": "k", "value": "v"}]
    assert send("package_delete", id="dams") is send("dataset_purge", id="dams") is None
    assert send("organization_delete", id="water-office") is None
    assert send("organization_show", id="water-office")["state"] == "deleted"
    assert send("organization_purge", id="water-office") is None
    assert "dams" not in send("package_list")


def test_a_converter_and_a_regional_publisher_keep_views(send: Script) -> None:
    sent = {"name": "levels", "format": "csv", "url": "x.csv", "url_type": "upload"}
    made = send("resource_create", package_id="gauges", **sent)
    view = {"resource_id": made["id"], "view_type": "recline_view", "title": "Data"}
    created = send("resource_view_create", **view, description="d")
    size = {"size": 25, "mimetype": "text/csv", "last_modified": "2026-01-01T00:00:00"}
    changed = send("resource_update", id=made["id"], name="levels", url="x.csv", **size)
    (listed,) = send("resource_view_list", id=made["id"])
    updated = send("resource_view_update", id=listed["id"], **{**view, "title": "Levels"})

    assert (changed["id"], changed["size"]) == (made["id"], 25)
    assert (listed["id"], listed["view_type"]) == (created["id"], "recline_view")
    assert updated["title"] == "Levels"


def test_a_java_uploader_sends_the_key_alone_and_the_file_twice(
    send: Script, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_AUTHENTICATION_CLASSES = [
        f"datastore_search.api.authentication.{name}"
        for name in ("BareTokenAuthentication", "CkanKeyAuthentication")
    ]
    script = Script({"X-CKAN-API-Key": send.headers["X-CKAN-API-Key"]})
    sent = {"package_id": "gauges", "name": "levels", "key": "levels", "url": "levels.csv"}

    made = script("resource_create", **sent, file=make_file(), upload=make_file())
    query = urlencode({"query": "name:levels"})
    found = Client().get(f"/api/action/resource_search?{query}", headers=script.headers).json()
    again = script("resource_update", **{**sent, "id": made["id"]}, upload=make_file())

    assert (found["result"]["count"], found["result"]["results"][0]["id"]) == (1, made["id"])
    assert again["id"] == made["id"]


def test_shell_scripts_send_json_as_a_form_and_replace_geojson(send: Script) -> None:
    made = send("resource_create", package_id="gauges", name="areas", url="any")
    sent = {"package_id": "gauges", "id": made["id"], "url": "https://example.org/a?b=1&c"}
    body = json.dumps({**sent, "format": "GeoJSON", "name": "areas", "description": "d"})
    answer = Client().post("/api/3/action/resource_update", body, FORM, headers=send.headers)
    assert answer.json()["result"]["url"] == sent["url"], answer.content

    assert send("resource_delete", id=made["id"]) is None
    file = make_file("areas.geojson", GEOJSON)
    new = {"package_id": "gauges", "format": "GeoJSON", "name": "areas", "url": "any"}
    replaced = send("resource_create", **new, upload=file)

    (shown,) = send("package_show", id="gauges")["resources"]
    assert (shown["id"], shown["name"], shown["format"]) == (replaced["id"], "areas", "GeoJSON")
    assert shown["datastore_active"] is True
