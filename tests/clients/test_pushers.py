"""The requests with which datapusher loads a file, as its source sends them, in their order."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from ..builders import make_writer_token
from .rivers import FINDINGS, PATHS, RIVERS_ID

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("path", PATHS)
def test_datapusher_replaces_the_records_and_updates_the_resource(path: str, portal: str) -> None:
    """
    Source: ``push_to_datastore`` in ``datapusher/jobs.py`` of datapusher.

    It names the table ``id`` where it reads and deletes, and sends the resource back as it was
    described, with another ``hash``.
    """
    token = make_writer_token("datapusher")

    def post(action: str, sent: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        answer = requests.post(
            f"{portal}{path}/api/3/action/{action}",
            json=sent,
            headers={"Content-Type": "application/json", "Authorization": token},
            timeout=60,
        )
        return answer.status_code, answer.json()

    resource_id = str(RIVERS_ID)
    shown = post("resource_show", {"id": resource_id})[1]["result"]
    existing = post("datastore_search", {"id": resource_id, "limit": 0})[1]["result"]
    deleted = post("datastore_delete", {"id": resource_id, "force": True})
    fields = [
        {"id": "code", "type": "text"},
        {"id": "level", "type": "numeric"},
        {"id": "seen", "type": "timestamp"},
    ]
    statuses = [
        post(
            "datastore_create",
            {
                "resource_id": resource_id,
                "fields": fields,
                "force": True,
                "records": [{"code": code, "level": "1.50", "seen": "2026-02-03T00:00:00"}],
                "calculate_record_count": is_last,
            },
        )[0]
        for code, is_last in (("004", False), ("005", True))
    ]
    updated = post("resource_update", {**shown, "hash": "abc", "url_type": "datapusher"})
    found = post("datastore_search", {"id": resource_id, "sort": "code"})[1]["result"]

    assert [each["id"] for each in existing["fields"]] == ["_id", *FINDINGS["fields"]]
    assert (deleted[0], statuses, updated[0]) == (200, [200, 200], 200), (deleted, updated)
    assert updated[1]["result"]["id"] == resource_id
    assert [record["code"] for record in found["records"]] == ["004", "005"]
    assert found["total"] == 2
