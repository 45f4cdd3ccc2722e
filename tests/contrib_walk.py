"""
Walk through every entrance of a portal with some of the contrib apps, and print what fails.

    CONTRIB_APPS="files pages" python -m tests.contrib_walk NAME

``NAME`` is that of a new database, which is deleted in the end.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

import django
from django.core.management import call_command

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.contrib_settings"

#: The question of a field of text, of what is written, and of what is sent.
FIELDS = [{"id": "code", "type": "text"}, {"id": "amount", "type": "numeric"}]
RECORDS = [{"code": "001", "amount": "10.50"}, {"code": "002 river", "amount": None}]

_MAX_PAGES = 80


class Walk:
    """The portal, its clients, and what has failed."""

    def __init__(self) -> None:
        from django.contrib.auth import get_user_model  # noqa: PLC0415 - once Django is set up
        from django.test import Client  # noqa: PLC0415

        from datastore_search.web.tokens import issue_token  # noqa: PLC0415

        user = get_user_model().objects.create_superuser("boss", password="secret")
        self.visitor, self.staff = Client(), Client()
        self.staff.force_login(user)
        self.token = issue_token(user)
        self.failures: list[str] = []

    def check(self, response: Any, address: str, statuses: tuple[int, ...] = (200,)) -> Any:
        if response.status_code not in statuses:
            body = b"".join(response) if response.streaming else response.content
            self.failures.append(f"{address}: {response.status_code} {body[:300]!r}")
        return response

    def act(self, action: str, **parameters: Any) -> Any:
        """Call an action with the token, and return its result."""
        address = f"/en/api/3/action/{action}"
        response = self.visitor.post(
            address,
            json.dumps(parameters),
            content_type="application/json",
            headers={"Authorization": self.token},
        )
        return self.check(response, f"{address} {parameters}").json().get("result")

    def crawl(self, client: Any, *starts: str) -> None:
        """Follow the links of pages within the portal; none may be dead."""
        left, seen = list(starts), set(starts)
        while left and len(seen) < _MAX_PAGES:
            address = left.pop(0)
            response = self.check(client.get(address), address, (200, 302))
            if response.streaming or "html" not in response.get("Content-Type", ""):
                if response.streaming:
                    b"".join(response)
                continue
            for link in self.list_links(response.content.decode(), address):
                if link not in seen:
                    seen.add(link)
                    left.append(link)

    def list_links(self, page: str, address: str) -> Iterator[str]:
        """
        List the links of a page within the portal, but not those that sign out.

        Nor that of the admin to the first page of the portal, which this portal has not.
        """
        for found in re.findall(r'(?:href|action)="([^"]*)"', page):
            link = urljoin(address, unescape(found))
            parts = urlsplit(link)
            if parts.netloc not in {"", "testserver"} or "logout" in parts.path:
                continue
            if parts.path.startswith(("/static/", "/i18n/")) or parts.path in {"", "/"}:
                continue
            yield link.partition("#")[0].removeprefix("http://testserver")


def walk() -> list[str]:
    """Use the portal: write, search, dump, open every page; return what has failed."""
    from datastore_search.api.actions import actions  # noqa: PLC0415 - once Django is set up
    from datastore_search.downloads.formats import formats  # noqa: PLC0415

    here = Walk()
    made = here.act(
        "datastore_create", resource={"name": "Rivers"}, fields=FIELDS, records=RECORDS, force=True
    )
    resource = made["resource_id"]
    here.act("datastore_upsert", resource_id=resource, method="insert", records=RECORDS, force=True)
    found = here.act("datastore_search", resource_id=resource, q="river", limit=1)
    if [record["code"] for record in found["records"]] != ["002 river"]:
        here.failures.append(f"datastore_search: {found}")
    for action in actions:
        here.act("help_show", name=action)
    here.act("status_show")
    here.act("datastore_info", id=resource)
    for name, kind in formats.items():
        address = f"/en/datastore/dump/{resource}?format={name}"
        response = here.visitor.get(address)
        here.check(response, address, (409,) if kind.needs_places else (200,))
        b"".join(response) if response.streaming else None
    # A parameter of an app that is not installed is unknown, as any other name.
    address = f"/en/api/3/action/datastore_search?resource_id={resource}&q=river&highlight=true"
    here.check(
        here.visitor.get(address), address, (200,) if "datastore_facets" in actions else (409,)
    )
    if "datastore_facets" in actions:
        here.act("datastore_facets", resource_id=resource, facets=["code"])
        here.act("datastore_aggregate", resource_id=resource, group_by=["code"])
        here.act("datastore_suggest", resource_id=resource, field="code")
    if "package_search" in actions:
        here.act("package_search")
        here.act("package_show", id=resource)
        here.act("resource_show", id=resource)
    here.crawl(here.visitor, *list_pages(resource))
    here.crawl(
        here.staff,
        "/en/admin/datastore_search/resource/",
        f"/en/admin/datastore_search/resource/{resource}/change/",
    )
    here.check(here.visitor.get("/en/datastore/nowhere/"), "/en/datastore/nowhere/", (404,))
    call_command("datastore_cleanup", verbosity=0)
    here.act("datastore_delete", resource_id=resource, force=True)
    return here.failures


def list_pages(resource: str) -> list[str]:
    """List the addresses of the app that need a resource or nothing."""
    from django.urls import NoReverseMatch, reverse  # noqa: PLC0415 - once Django is set up

    from datastore_search.urls import urlpatterns  # noqa: PLC0415

    found = []
    for pattern in urlpatterns:
        if pattern.name == "unknown":  # of all other addresses
            continue
        for arguments in ([], [resource]):
            try:
                found.append(reverse(f"datastore_search:{pattern.name}", args=arguments))
            except NoReverseMatch:
                continue
    found += [f"/{name}" for name in ("health/live", "health/ready", "metrics", "en/api/schema/")]
    return [address for address in found if is_address(address)]


def is_address(address: str) -> bool:
    """Return whether the portal has an address, but not of an action without a name."""
    from django.urls import Resolver404, resolve  # noqa: PLC0415 - once Django is set up

    try:
        return "action" not in resolve(address).kwargs
    except Resolver404:
        return False


if __name__ == "__main__":
    django.setup()
    from django.db import connection
    from django.test.utils import setup_test_environment

    setup_test_environment()
    connection.settings_dict["TEST"]["NAME"] = sys.argv[1]
    before = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        call_command("check", fail_level="WARNING", databases=["default"])
        sys.stdout.write(json.dumps(walk()))
    finally:
        connection.creation.destroy_test_db(before, verbosity=0)
