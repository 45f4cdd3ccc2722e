"""
What was deleted, or overwritten, is nowhere: no public door shows a value that no record has.

Every door of ``test_access`` is opened before the change, so that whatever keeps answers has kept
them, and again after it.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from datastore_search.contrib.pages.models import SavedView
from datastore_search.database.statements import execute
from datastore_search.filters import parse_filters
from datastore_search.models import Alias, Resource
from datastore_search.writing import open_writer
from datastore_search.writing.records import Method

from .builders import act, create_resource, make_writer_token
from .files.builders import load_text
from .test_access import (
    DOORS,
    KINDS,
    PUBLIC_LISTING,
    PUBLIC_LISTS,
    Door,
    Portal,
    Send,
    Visitor,
    call_list,
    call_tool,
    open_page,
    send_action,
)

#: What only one person's records have: a name, a salary, a birthday.
NAME: Final = "Quibblethwaite"
TRACES: Final = re.compile("quibblethwaite|73519284|1907-03-19|19/03/1907", re.IGNORECASE)

_OTHERS = "".join(
    f"Smith,Ada,{number},2000-01-0{number},{number}.5,10{number}\n" for number in range(1, 10)
)
CSV = (
    "code,zqname,amount,born,latitude,longitude\n"
    + f"{NAME},{NAME} {NAME},73519284,1907-03-19,21.03,105.85\n" * 3
    + _OTHERS
)

#: Questions in which values that no record has could come back.
QUERIES: dict[str, dict[str, str]] = {
    "resource": {"q": "Quibblethwait"},
    "chart": {"show": "max", "of": "amount", "by": "code"},
    "about": {"columns": "1"},
    "map": {"q": "Quibblethwait"},
}


def open_list(name: str) -> Send:
    address = reverse(f"datastore_search:{name}")
    return lambda _portal, visitor: visitor.open_client().get(address)


def list_doors() -> Iterator[Door]:
    for door in DOORS.values():
        if door.verb == "view" and not door.is_admin:
            yield door
    for action, sent in PUBLIC_LISTING.items():
        yield Door(action, "view", call_list(action, sent))
    for name in PUBLIC_LISTS:
        yield Door(name, "view", open_list(name))
    for page, query in QUERIES.items():
        yield Door(f"{page} {query}", "view", open_page(page, query))
    for facet in ("code", "amount", "born"):
        query = {"facet": facet}
        yield Door(f"facet {facet}", "view", open_page("resource", query))
        yield Door(
            f"facets {facet}", "view", send_action("post", "datastore_facets", {"facets": [facet]})
        )
    asked = {"q": "Quibblethwait", "suggest": True}
    yield Door("did you mean", "view", send_action("post", "datastore_search", asked))
    for form in ("csv", "svg"):
        drawn = {"by": "code", "format": form}
        yield Door(f"chart {form}", "view", open_page("chart", drawn))
    yield Door("form", "view", open_page("resource", {"facet": "code", "find": "Quibble"}))
    prefix = {"field": "code", "prefix": "Quibble"}
    yield Door("suggest", "view", send_action("post", "datastore_suggest", prefix))
    yield Door(
        "tool suggest", "view", call_tool("suggest_values", {"field": "code", "prefix": "Q"})
    )


def read_all(response: Any) -> str:
    """Read the headers and the body of an answer; of a workbook, its parts."""
    body = b"".join(response.streaming_content) if response.streaming else response.content
    if body.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            body = b"\n".join(map(archive.read, archive.namelist()))
    text = f"{[*response.items()]}\n{body.decode(errors='replace')}"
    return re.sub(r"(?<=\d),(?=\d)", "", text)


def find_traces(portal: Portal) -> dict[str, str]:
    """Open every door, and return what those show that show a trace."""
    found = {}
    for door in list_doors():
        response = door.send(portal, Visitor(KINDS["nobody"]))
        if trace := TRACES.search(read_all(response)):
            found[door.name] = trace[0]
    return found


def write(resource: Resource, action: str, **sent: Any) -> None:
    token = make_writer_token()
    sent = {"resource_id": str(resource.pk), "force": True, **sent}
    assert act(Client(), f"datastore_{action}", sent, token).status_code == 200


def overwrite(resource: Resource) -> None:
    record = {"code": "x", "zqname": "y", "amount": 1, "born": "2000-01-01"}
    write(resource, "upsert", records=[{"_id": number, **record} for number in (1, 2, 3)])


def delete_in_python(resource: Resource) -> None:
    with open_writer(resource) as writer:
        writer.delete(parse_filters({"code": NAME}))


def overwrite_in_python(resource: Resource) -> None:
    given = [
        {"_id": number, "code": "x", "zqname": "y", "amount": 1, "born": None}
        for number in (1, 2, 3)
    ]
    with open_writer(resource) as writer:
        writer.write(given, Method.UPSERT)


def delete_in_sql(resource: Resource) -> None:
    """Delete records as an operator does, and give the resource a new version."""
    table = f"datastore_search_record_{resource.table_version_id}"
    execute(connection, f"DELETE FROM {table} WHERE data ->> 'code' = %s", [NAME])
    Resource.objects.filter(pk=resource.pk).update(modified_at=timezone.now())


def delete_in_the_admin(resource: Resource) -> None:
    """Delete the resource in the admin."""
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("ada"))
    path = reverse("admin:datastore_search_resource_delete", args=[resource.pk])
    assert client.post(path, {"post": "yes"}).status_code == 302


CHANGES: dict[str, Callable[[Resource], object]] = {
    "delete all records": lambda each: write(each, "records_delete", filters={}),
    "delete some records": lambda each: write(each, "records_delete", filters={"code": NAME}),
    "delete by filters": lambda each: write(each, "delete", filters={"code": NAME}),
    "delete the table": lambda each: write(each, "delete"),
    "delete the fields": lambda each: write(
        each, "create", fields=[{"id": "latitude"}, {"id": "longitude"}], delete_fields=True
    ),
    "overwrite": overwrite,
    "delete in Python": delete_in_python,
    "overwrite in Python": overwrite_in_python,
    "delete in SQL": delete_in_sql,
    "delete in the admin": delete_in_the_admin,
    "replace by a file": lambda each: load_text(each, CSV.partition("\n")[0] + "\n" + _OTHERS),
}


@pytest.fixture
def portal(transactional_db: None) -> Portal:
    resource = create_resource(name="zqname", title="People", tags=["people"])
    load_text(resource, CSV)
    Alias.objects.create(resource=resource, name="door")
    view = SavedView.objects.create(resource=resource, title="A view")
    return Portal(resource, None, None, None, view, {})  # type: ignore[arg-type] # what no public door needs


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_deleted_is_behind_no_public_door(portal: Portal, change: str) -> None:
    before = find_traces(portal)

    CHANGES[change](portal.hidden)

    assert len(before) > 50
    assert find_traces(portal) == {}
