"""The index of substrings in the tables of loads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.contrib.files.models import Mode

from ...backups.servers import find_machine_programs, run_server
from ...builders import SURVEY, act, get_result, make_writer_token
from ...core.search.test_substrings import KINDS, find_ids, list_substring_indexes, open_portal
from ..builders import load_csv, make_loaded_resource


@pytest.fixture
def portal(django_db_blocker: Any) -> Iterator[None]:
    with (
        django_db_blocker.unblock(),
        run_server(find_machine_programs()) as server,
        open_portal(server, "portal"),
    ):
        yield


def test_loads_and_writes_keep_the_index(portal: None, tmp_path: Path) -> None:
    resource = make_loaded_resource(indexes=KINDS)
    token = make_writer_token()

    load_csv(resource, SURVEY + "007,air,,Quayside,1,\n")
    assert len(list_substring_indexes(resource)) == 1
    assert find_ids(resource, q="aysid", substrings=True) == [7]

    path = tmp_path / "more.csv"
    path.write_text(SURVEY.split("\n", maxsplit=1)[0] + "\n008,air,active,Dockyard,1,2024-01-02\n")
    load_file(resource, path, options=LoadOptions(mode=Mode.APPEND))
    record = {"code": "009", "title": "Boatyard"}
    sent = {"resource_id": str(resource.pk), "records": [record], "method": "insert", "force": True}
    get_result(act(Client(), "datastore_upsert", sent, token))

    resource.refresh_from_db()
    assert len(list_substring_indexes(resource)) == 1
    assert find_ids(resource, q="yard", substrings=True) == [8, 9]


def test_without_the_extension_a_load_leaves_the_index_out_and_says_so(db: None) -> None:
    version = make_loaded_resource(indexes=KINDS).table_version
    assert version is not None

    assert version.indexes == ["filters", "words"]
    assert [each["code"] for each in version.loads.get().notices] == [
        "notice.substrings_not_indexed"
    ]
