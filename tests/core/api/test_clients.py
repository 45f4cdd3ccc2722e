"""
The clients that people use, against a running server.

``samples`` holds what the “Data API” panel of a portal prints for each of them, in our own words:
programs, which are run, and for R and PowerShell their code with the request that it makes, which
is sent byte for byte.  Only the address, the id and the token are put in.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPResponse
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from ckanapi import NotAuthorized, NotFound, RemoteCKAN, ValidationError
from django.contrib.auth import get_user_model
from django.core.management import call_command

from datastore_search.api.actions import actions
from datastore_search.models import Resource

from ...builders import make_resource, make_token, make_user

SAMPLES = Path(__file__).with_name("samples")

TABLE: dict[str, Any] = {
    "fields": [{"id": name, "type": "text"} for name in ("code", "subject", "stage", "title")],
    "primary_key": "code",
    "private": True,
    "records": [
        {"code": "001", "subject": "watershed", "stage": "active", "title": "Bridge of Jones"},
        {"code": "002", "subject": "survey", "stage": "active", "title": "Foxes"},
        {"code": "003", "subject": "watershed", "stage": "closed", "title": "Sông Hồng, JONES"},
        {"code": "004", "subject": "jones", "stage": "active", "title": "Air"},
    ],
}

#: The codes that each kind of reading sample prints.
EXPECTED_CODES = {"search": ["001", "003", "004"], "filter": ["001", "002"]}

_NEW = {"code": "005", "subject": "air", "stage": None, "title": "Độ ẩm & mây = sương"}
_CLOSED = {**TABLE["records"][1], "stage": "closed"}

#: The records of the table after each kind of writing sample.
EXPECTED_RECORDS = {
    "insert": [*TABLE["records"], _NEW],
    "update": [TABLE["records"][0], _CLOSED, *TABLE["records"][2:], _NEW],
    "delete": [TABLE["records"][0], _CLOSED, TABLE["records"][3], _NEW],
}


@dataclass(frozen=True)
class Portal:
    """A running server, a private table, and the token of a user with all permissions."""

    base: str
    table: str
    token: str

    def ask(self, action: str, **sent: Any) -> requests.Response:
        return requests.post(
            f"{self.base}/api/action/{action}",
            json={"resource_id": self.table, **sent},
            headers={"Authorization": self.token},
            timeout=60,
        )

    def records(self) -> list[dict[str, Any]]:
        found = self.ask("datastore_search", sort="code").json()["result"]["records"]
        return [{name: value for name, value in each.items() if name != "_id"} for each in found]


@pytest.fixture
def base(live_server: Any) -> Iterator[str]:
    """The address of a running server as an IP address: Node 18 resolves localhost to ::1 only."""
    yield live_server.url.replace("localhost", "127.0.0.1")
    Resource.objects.all().delete()


@pytest.fixture
def token(base: str) -> str:
    verbs = ("view", "add", "change", "delete")
    return make_token(make_user("writer", permissions=tuple(f"{verb}_resource" for verb in verbs)))


@pytest.fixture
def portal(base: str, token: str) -> Portal:
    answer = requests.post(
        f"{base}/api/action/datastore_create",
        json={**TABLE, "resource": {"name": "Survey"}},
        headers={"Authorization": token},
        timeout=60,
    )
    return Portal(base, answer.json()["result"]["resource_id"], token)


# Samples ------------------------------------------------------------------------------------------


#: The samples of each client, by name; a name begins with the kind of the sample.
CLIENTS = {
    folder.name: {path.stem: path for path in sorted(folder.iterdir())}
    for folder in sorted(SAMPLES.iterdir())
}


def get_kind(name: str) -> str:
    return name.partition("-")[0]


def run(sample: Path, portal: Portal, folder: Path) -> Any:
    """Run a sample and parse its output, or send its request and parse the answer."""
    text = (
        sample.read_text(encoding="utf-8")
        .replace("RESOURCE_ID", portal.table)
        .replace("API_TOKEN", portal.token)
    )
    if sample.suffix == ".http":
        return json.loads(send(text, portal.base))
    program = folder / sample.name
    program.write_text(text.replace("https://portal.example", portal.base), encoding="utf-8")
    interpreters = {".sh": "sh", ".mjs": "node", ".py": sys.executable}
    done = subprocess.run(
        [interpreters[sample.suffix], program], check=True, capture_output=True, timeout=60
    )
    return json.loads(done.stdout)


def send(text: str, base: str) -> bytes:
    """Send the request of a sample; the lines with “#” above it are its code."""
    server = urlsplit(base).netloc
    code, head, *body = text.rstrip("\n").replace("\n", "\r\n").split("\r\n\r\n", 2)
    assert all(line.startswith("#") for line in code.splitlines())
    content = "".join(body).encode()
    if "multipart" in head:
        content += b"\r\n"
    if head.startswith("POST"):
        head += f"\r\nContent-Length: {len(content)}"
    host, port = server.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(f"{head}\r\n\r\n".replace("portal.example", server).encode())
        if "Expect: 100-continue" in head:
            assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(content)
        with HTTPResponse(connection) as answer:
            answer.begin()
            return answer.read()


def test_each_client_has_its_samples() -> None:
    kinds = {client: set(map(get_kind, samples)) for client, samples in CLIENTS.items()}

    everything = {*EXPECTED_CODES, *EXPECTED_RECORDS}
    assert kinds == {
        "curl": {*everything, "sql"},
        "javascript": everything,
        "powershell-5.1": everything,
        "powershell-7": everything,
        "python-ckanapi": everything,
        "python-requests": everything,
        "r-ckanr": {"search", "insert"},
        "r-httr": {*EXPECTED_CODES},
        "r-httr2": everything,
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_the_samples_of_a_client_find_and_change_records(
    client: str, portal: Portal, tmp_path: Path
) -> None:
    for name, path in CLIENTS[client].items():
        if get_kind(name) in EXPECTED_CODES:
            answer = run(path, portal, tmp_path)
            records = answer.get("result", answer)["records"]
            assert sorted(each["code"] for each in records) == EXPECTED_CODES[get_kind(name)], name
    for kind, left in EXPECTED_RECORDS.items():
        if kind in CLIENTS[client]:
            answer = run(CLIENTS[client][kind], portal, tmp_path)
            assert answer.get("result", answer)["resource_id"] == portal.table
            assert portal.records() == left


def test_the_sample_in_sql_is_answered_where_there_is_the_action(
    portal: Portal, tmp_path: Path
) -> None:
    answer = run(CLIENTS["curl"]["sql"], portal, tmp_path)

    if "datastore_search_sql" in actions:
        assert answer["success"] is True
        return
    assert answer["success"] is False
    assert answer["error"] == {
        "__type": "Bad Request",
        "message": "There is no action “datastore_search_sql”. There are: "
        f"{', '.join(sorted(actions))}.",
    }


# Examples of the documentation --------------------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-clients.md"

#: A stand-in for the parts of pandas that the examples use, as pandas is too large to install.
PANDAS = """
class DataFrame:
    def __init__(self, records):
        self.records = records

    def set_index(self, name):
        self.records = {record[name]: record for record in self.records}
        return self

    def describe(self):
        return len(self.records)
"""


def list_examples(language: str, suffix: str) -> list[tuple[str, str]]:
    text = PAGE.read_text(encoding="utf-8")
    code = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [(f"{language}-{number}{suffix}", block) for number, block in enumerate(code)]


@pytest.mark.slow
def test_the_examples_on_the_page_of_clients_run(base: str, tmp_path: Path) -> None:
    call_command("demo", stdout=StringIO())
    token = make_token(get_user_model().objects.get(username="admin"))
    (tmp_path / "pandas.py").write_text(PANDAS)
    printed = []
    for name, code in [*list_examples("python", ".py"), *list_examples("js", ".mjs")]:
        program = tmp_path / name
        program.write_text(code.replace("http://127.0.0.1:8000", base), encoding="utf-8")
        done = subprocess.run(
            ["node" if name.endswith(".mjs") else sys.executable, program],
            env={**os.environ, "TOKEN": token},
            capture_output=True,
            check=True,
            encoding="utf-8",
            timeout=60,
        )
        printed.append(done.stdout.strip())
    by_requests, by_ckanapi, by_pandas, by_analysis, by_catalogue, by_fetch = printed

    codes = [line.split()[0] for line in by_requests.splitlines()]
    assert len(codes) == 5
    assert (by_ckanapi, by_pandas) == ("104", "2000")
    stages, stage, queries = by_analysis.splitlines()
    assert stage in stages
    assert queries == "['wetland survey']"
    assert by_catalogue == "Gauges 2024-12-31 True"
    assert all(code in by_fetch for code in codes)


# Clients ------------------------------------------------------------------------------------------


@pytest.fixture
def read_table(base: str) -> tuple[str, str, str]:
    resource = make_resource(private=True)
    return base, str(resource.pk), make_token()


# ckanapi, the library -----------------------------------------------------------------------------


def test_ckanapi_raises_its_own_exceptions(read_table: tuple[str, str, str]) -> None:
    base, resource_id, token = read_table

    with RemoteCKAN(f"{base}/vi") as anonymous:
        with pytest.raises(NotAuthorized):
            anonymous.action.datastore_search(resource_id=resource_id)
        with pytest.raises(NotFound):
            anonymous.action.datastore_search(resource_id="nope")
    with RemoteCKAN(f"{base}/vi", apikey=token) as ckan:
        with pytest.raises(ValidationError) as refusal:
            ckan.action.datastore_search(resource_id=resource_id, limit=-1)
        assert "limit" in refusal.value.error_dict


@pytest.mark.parametrize("prefix", ["", "/en_GB/"])
@pytest.mark.needs("analysis")
def test_ckanapi_creates_changes_and_deletes_a_table(base: str, token: str, prefix: str) -> None:
    with RemoteCKAN(f"{base}{prefix}", apikey=token) as ckan:
        made = ckan.action.datastore_create(
            resource={"name": "Levels"},
            fields=[{"id": "code", "type": "text"}, {"id": "level", "type": "numeric"}],
            primary_key="code",
            records=[{"code": "a", "level": "1.50"}],
        )
        table = made["resource_id"]
        assert made["fields"] == [
            {"id": "code", "type": "text"},
            {"id": "level", "type": "numeric"},
        ]

        changed = ckan.action.datastore_upsert(
            resource_id=table, records=[{"code": "a", "level": 2}, {"code": "Đ"}]
        )
        assert (changed["resource_id"], changed["method"]) == (table, "upsert")

        found = ckan.action.datastore_search(resource_id=table, sort="code")
        assert found["total"] == 2
        assert found["records"] == [
            {"_id": 1, "code": "a", "level": 2},
            {"_id": 2, "code": "Đ", "level": None},
        ]

        marked = ckan.action.datastore_search(resource_id=table, q="Đ", highlight=True)
        assert marked["highlights"] == [{"code": [[0, 1]]}]

        described = ckan.action.datastore_info(id=table)
        assert [field["id"] for field in described["fields"]] == ["code", "level"]
        counted = ckan.action.datastore_facets(id=table, facets=["code", "level"], filters={})
        assert [facet["distinct"] for facet in counted["facets"]] == [2, 1]
        summed = ckan.action.datastore_aggregate(id=table, metrics=["sum(level)"])
        assert summed["records"] == [{"sum_level": 2}]
        suggested = ckan.action.datastore_suggest(id=table, field="code", prefix="A")
        assert suggested["values"] == [{"value": "a", "count": 1}]
        assert (described["meta"]["id"], described["meta"]["count"]) == (table, 2)

        gone = ckan.action.datastore_delete(resource_id=table, filters={"code": "a"})
        assert gone["filters"] == {"code": "a"}
        left = ckan.action.datastore_search(resource_id=table)
        assert [record["code"] for record in left["records"]] == ["Đ"]

        assert ckan.action.datastore_delete(resource_id=table)["resource_id"] == table
        with pytest.raises(NotFound) as refusal:
            ckan.action.datastore_search(resource_id=table)
        assert table in str(refusal.value)
