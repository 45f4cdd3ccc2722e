"""The clients that people use, against a running server."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
import requests
from ckanapi import NotAuthorized, NotFound, RemoteCKAN, ValidationError

from datastore_search.models import Resource

from ..builders import make_resource, make_token

ASKED = {"limit": 3, "q": "no", "filters": {"stage": ["active", "planned"]}}


@pytest.fixture
def served(live_server: Any) -> Any:
    resource = make_resource(private=True)
    yield live_server.url, str(resource.pk), make_token()
    Resource.objects.all().delete()


def by_curl(base: str, *arguments: str) -> Any:
    done = subprocess.run(
        ["curl", "--silent", "--show-error", f"{base}/vi/api/action/datastore_search", *arguments],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def test_all_clients_get_the_same_records(served: Any) -> None:
    base, resource_id, token = served
    asked = {"resource_id": resource_id, **ASKED}
    authorization = f"Authorization: {token}"
    body = json.dumps(asked)

    answers = [
        by_curl(base, "-H", authorization, "-H", "Content-Type: application/json", "-d", body),
        by_curl(base, "-H", authorization, "-d", body),
        by_curl(
            base,
            "-H",
            authorization,
            "-G",
            "-d",
            f"resource_id={resource_id}",
            "-d",
            "limit=3",
            "-d",
            "q=no",
            "--data-urlencode",
            f"filters={json.dumps(ASKED['filters'])}",
        ),
        requests.post(
            f"{base}/en_GB/api/3/action/datastore_search",
            json=asked,
            headers={"Authorization": token},
            timeout=60,
        ).json(),
        requests.get(
            f"{base}/en-gb/api/action/datastore_search",
            params={**asked, "filters": json.dumps(ASKED["filters"])},
            headers={"Authorization": token},
            timeout=60,
        ).json(),
    ]
    with RemoteCKAN(f"{base}/vi", apikey=token) as ckan:
        results = [ckan.action.datastore_search(**asked)]
    results += [answer["result"] for answer in answers]

    first = results[0]["records"]
    assert {record["_id"] for record in first} <= {4, 5, 6}
    assert first
    for result in results:
        assert result["records"] == first


def test_ckanapi_raises_its_own_exceptions(served: Any) -> None:
    base, resource_id, token = served

    with RemoteCKAN(f"{base}/vi") as anonymous:
        with pytest.raises(NotAuthorized):
            anonymous.action.datastore_search(resource_id=resource_id)
        with pytest.raises(NotFound):
            anonymous.action.datastore_search(resource_id="nope")
    with RemoteCKAN(f"{base}/vi", apikey=token) as ckan:
        with pytest.raises(ValidationError) as refusal:
            ckan.action.datastore_search(resource_id=resource_id, limit=-1)
        assert "limit" in refusal.value.error_dict


def test_ckanapi_reads_by_get_too(served: Any) -> None:
    base, resource_id, token = served

    with RemoteCKAN(f"{base}/fr", apikey=token, get_only=True) as ckan:
        assert ckan.action.datastore_search(resource_id=resource_id, limit=1)["total"] == 6
