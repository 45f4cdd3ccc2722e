"""Clients that others wrote, unchanged, publish files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests
from ckanapi import RemoteCKAN

from datastore_search.contrib.files.models import Load, ResourceFile
from datastore_search.web.tokens import issue_token

from ..builders import make_user, make_writer_token
from ..processes import run_program
from .test_clients import CKANAPI, PROGRAMS, run_ckanapi

pytestmark = pytest.mark.django_db(transaction=True)

CSV = b"station,level\nBen Ngu,1.5\nKim Long,0.25\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "River Levels.csv"
    path.write_bytes(CSV)
    return path


@pytest.fixture
def token(portal: str) -> str:
    return make_writer_token("publisher")


def check_published(resource: dict[str, Any], *, content: bytes = CSV) -> None:
    """Assert that a file can be fetched and that its records can be read."""
    assert resource["url_type"] == "upload"
    assert requests.get(resource["url"], timeout=60).content == content
    base, _dataset, _rest = resource["url"].partition("/dataset/")
    found = requests.post(
        f"{base}/api/action/datastore_search", json={"resource_id": resource["id"]}, timeout=60
    ).json()["result"]
    assert found["records"][0]["station"] == "Ben Ngu"


def test_ckanapi_creates_a_resource_with_a_file_and_replaces_it(
    portal: str, token: str, file: Path
) -> None:
    """Source: row 1 of the scripts that publish; ckanapi sends a form without ``/3``."""
    client = RemoteCKAN(portal, apikey=token)
    dataset = client.action.package_create(name="rivers-2026", title="Rivers")
    with file.open("rb") as opened:
        made = client.action.resource_create(
            package_id=dataset["id"], url="upload", name="Levels", format="csv", upload=opened
        )
    check_published(made)
    assert made["url"].endswith("/download/river-levels.csv")

    file.write_bytes(CSV + b"Cam Le,2\n")
    with file.open("rb") as opened:
        changed = client.action.resource_patch(id=made["id"], upload=opened)

    check_published(changed, content=CSV + b"Cam Le,2\n")
    (shown,) = client.action.package_show(id="rivers-2026")["resources"]
    assert (shown["name"], shown["url"], shown["size"]) == ("Levels", made["url"], len(CSV) + 9)


def test_the_command_ckanapi_sends_a_file(portal: str, token: str, file: Path) -> None:
    made = RemoteCKAN(portal, apikey=token).action.resource_create(name="Levels")
    path = os.pathsep.join([str(CKANAPI.parent), os.environ["PATH"]])
    arguments = ["action", "resource_patch", f"id={made['id']}", f"upload@{file}", "-j"]

    done = run_program(
        CKANAPI, *arguments, "-r", portal, "-a", token, PATH=path, PYTHONWARNINGS="ignore"
    )

    assert done.returncode == 0, done.stderr
    check_published(json.loads(done.stdout))


def test_the_command_ckanapi_loads_dumps_and_deletes(portal: str, tmp_path: Path) -> None:
    """Source: row 16 of the scripts that publish: a portal is dumped, and loaded into another."""
    token = issue_token(make_user("publisher", is_superuser=True))
    lines: dict[str, dict[str, Any]] = {
        "organizations": {"name": "hue", "title": "City of Huế", "image_url": "", "users": []},
        "groups": {"name": "water", "title": "Water", "description": "Rivers and lakes"},
        "datasets": {
            "name": "dams",
            "title": "Dams",
            "owner_org": "hue",
            "groups": [{"name": "water"}],
            "resources": [{"name": "map", "url": "https://example.org/map.pdf", "format": "PDF"}],
        },
    }
    for kind, sent in lines.items():
        path = tmp_path / f"{kind}.jsonl"
        for title in (sent["title"], f"{sent['title']} 2026"):
            path.write_text(json.dumps({**sent, "title": title}), encoding="utf-8")
            run_ckanapi(portal, "load", kind, "-I", str(path), "-a", token, "-q")
        dumped = json.loads(run_ckanapi(portal, "dump", kind, str(sent["name"]), "-q"))
        assert dumped["title"] == f"{sent['title']} 2026"
        path.write_text(json.dumps(dumped), encoding="utf-8")
        run_ckanapi(portal, "load", kind, "-I", str(path), "-a", token, "-q")

    dams = RemoteCKAN(portal).action.package_show(id="dams")
    assert dams["organization"]["title"] == "City of Huế 2026"
    assert [each["display_name"] for each in dams["groups"]] == ["Water 2026"]
    assert [each["url"] for each in dams["resources"]] == ["https://example.org/map.pdf"]
    for kind in reversed(lines):
        run_ckanapi(portal, "delete", kind, str(lines[kind]["name"]), "-a", token, "-q")
    found = RemoteCKAN(portal, apikey=token)
    assert "dams" not in found.action.package_list()
    assert "hue" not in found.action.organization_list()
    assert "water" not in found.action.group_list()


def test_curl_sends_a_file_twice_as_a_java_client_does(portal: str, token: str, file: Path) -> None:
    address = f"{portal}/api/3/action/resource_create"
    fields = ["-F", "name=Levels", "-F", "key=k", "-F", f"file=@{file}", "-F", f"upload=@{file}"]

    done = subprocess.run(
        ["curl", "-sS", address, "-H", f"Authorization: {token}", *fields],
        capture_output=True,
        check=True,
    )

    check_published(json.loads(done.stdout)["result"])


def test_frictionless_publishes_a_package(portal: str, token: str, file: Path) -> None:
    program = PROGRAMS / "frictionless-5-publish.py"
    done = run_program(sys.executable, program, portal, token, str(file), PYTHONWARNINGS="ignore")
    assert done.returncode == 0, done.stderr

    shown = RemoteCKAN(portal).action.package_show(id="levels-2026")["resources"]

    table, descriptor = shown
    check_published(table)
    assert requests.get(descriptor["url"], timeout=60).json()["name"] == "levels-2026"
    assert descriptor["datastore_active"] is False
    assert not Load.objects.filter(resource=descriptor["id"]).exists()
    assert ResourceFile.objects.count() == 2


def test_a_program_that_reads_sees_the_state(portal: str, token: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_bytes(b"<html></html>")
    client = RemoteCKAN(portal, apikey=token)
    with path.open("rb") as opened:
        made = client.action.resource_create(name="Broken", upload=opened)

    task = client.action.task_status_show(
        entity_id=made["id"], task_type="datapusher", key="datapusher"
    )

    assert task["state"] == "error"
    assert json.loads(task["error"])["message"] == made["datastore_load"]["error"]
