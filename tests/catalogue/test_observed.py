"""
The calls of scripts that publish, with the answers of CKAN 2.12 to them (``publishing.jsonl``).

They are sent in their order, with our ids in place of CKAN's.  Each answer has the members that
CKAN's has, with the same values, but for times and the listed differences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client

from datastore_search.web.tokens import issue_token

from ..builders import make_user

CALLS = [
    json.loads(line)
    for line in Path(__file__).with_name("publishing.jsonl").read_text("utf-8").splitlines()
]

#: A pattern of what differs, and the reason, which ``docs/reference/catalogue.md`` has, too.
DIFFERENCES = {
    r"4 package_create: 200, not 409": "a dataset may have no organization",
    r"11 resource_create: 200, not 409": "a resource may be in no dataset",
    r"2[34] resource_view_create: 200, not 409": "views of unknown types are kept",
    r"3 organization_list_for_user.result: ": "the other portal has more organizations",
    r"1 .*users\[\]\.(email_hash|last_active|number_created_packages) is missing": "privacy",
    r".*creator_user_id: None": "privacy",
    r".*organization\.created: None": "a dataset has the name, texts and id of its organization",
    r".*mimetype: 'text/csv', not None": "it is known from the address for every resource",
    r".*datastore_active: True, not False": "a file that is a table is loaded at once",
    r".*url: 'http://testserver/en/dataset/": "addresses are below the language",
    r"19 .*changed_entities is missing": "no client reads it",
    r"12 .*message: 'Access denied: changing a resource requires": "says what to do",
    r"2[78] .*message: 'Not found: Resource “.*” was not found": "names the resource",
    r"35 .*message: 'Organization cannot be deleted while": "one text for both actions",
}

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

#: What differs between two portals.
_TIMES = ("created", "last_modified", "metadata_created", "metadata_modified", "last_updated")


def compare(path: str, theirs: Any, ours: Any, ids: dict[str, str]) -> Iterator[str]:
    """Yield the paths at which answers differ, and note which of our ids is which of CKAN's."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        yield from (f"{path}.{name} is missing" for name in theirs.keys() - ours.keys())
        for name in theirs.keys() & ours.keys():
            yield from compare(f"{path}.{name}", theirs[name], ours[name], ids)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for one, other in zip(theirs, ours, strict=True):
            yield from compare(f"{path}[]", one, other, ids)
    elif isinstance(theirs, str) and isinstance(ours, str):
        if _UUID.fullmatch(theirs):
            ids.setdefault(theirs, ours)
        if replace(theirs, ids) != ours and path.rpartition(".")[2] not in _TIMES:
            yield f"{path}: {ours!r}, not {theirs!r}"
    elif type(theirs) is not type(ours) or theirs != ours:
        yield f"{path}: {ours!r}, not {theirs!r}"


def replace(text: str, ids: dict[str, str]) -> str:
    text = _UUID.sub(lambda match: ids.get(match[0], match[0]), text)
    return text.replace("http://ckan.example", "http://testserver")


@pytest.mark.django_db
def test_each_call_is_answered_as_by_ckan() -> None:
    ids, found = dict[str, str](), list[str]()
    token = issue_token(make_user("peeradmin", is_superuser=True))
    for number, call in enumerate(CALLS, 1):
        name = f"{number} {call['call']}"
        with transaction.atomic():
            response = send(call, ids, "" if name == "12 resource_update" else token)
            is_same = response.status_code == call["status"]
            transaction.set_rollback(not is_same)
        if is_same:
            found += [f"{name}{each}" for each in compare("", call["answer"], response.json(), ids)]
        else:
            found.append(f"{name}: {response.status_code}, not {call['status']} {response.json()}")
    used = {each: next((d for d in DIFFERENCES if re.match(d, each)), "") for each in found}
    assert [each for each, pattern in used.items() if not pattern] == []
    assert DIFFERENCES.keys() - used.values() == set()


def send(call: dict[str, Any], ids: dict[str, str], token: str) -> Any:
    client, path = Client(headers={"Authorization": token}), f"/api/3/action/{call['call']}"
    sent = json.loads(replace(json.dumps(call["sent"]), ids))
    if not call["files"]:
        return client.post(path, sent, "application/json")
    shown = call["answer"].get("result", {"url": "a.csv", "size": 4})
    content = {4: b"a\n1\n", 8: b"a,b\n1,2\n"}[shown["size"]]
    file = SimpleUploadedFile(shown["url"].rpartition("/")[2], content)
    return client.post(path, {**sent, "upload": file})
