"""Downloads of a resource's records."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from datastore_search.downloads.formats import formats
from datastore_search.models import Resource

#: The formats of any table, with places or without.
FORMATS = [name for name, kind in formats.items() if not kind.needs_places]

#: The types of fields that typed files are tested with.
TYPES = {
    "i": "int4",
    "big": "int8",
    "n": "numeric",
    "f": "float8",
    "ok": "bool",
    "day": "date",
    "at": "timestamp",
    "zoned": "timestamptz",
    "clock": "time",
    "doc": "json",
}


def build_address(resource: Resource, locale: str = "en") -> str:
    return f"/{locale}/datastore/dump/{resource.pk}"


def request_file(
    client: Client, resource: Resource, name: str, locale: str = "en", **parameters: Any
) -> Any:
    if "filters" in parameters:
        parameters["filters"] = json.dumps(parameters["filters"])
    return client.get(build_address(resource, locale), {"format": name, **parameters})


def read_file(response: Any) -> bytes:
    assert response.status_code == 200, response.content
    return bytes(response.getvalue())
