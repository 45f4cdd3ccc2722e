"""Each download format is offered and described wherever records are downloaded."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from datastore_search.downloads.formats import formats
from datastore_search.downloads.parameters import DumpParameters

from ..builders import make_resource
from ..test_docs import REFERENCE, find_table, read_text

PLACES = "name,lat,lon\nHue,16.46,107.59\nHa Noi,21.03,105.85\n"


@pytest.mark.parametrize("name", formats)
def test_a_format_is_in_every_entrance(
    client: Client, db: None, name: str, document: dict[str, Any]
) -> None:
    resource, kind = make_resource(PLACES), formats[name]
    dump = client.get(f"/en/datastore/dump/{resource.pk}", {"format": name})
    packed = client.get(f"/en/datastore/dump/{resource.pk}", {"format": name, "gzip": "true"})
    page = client.get(f"/en/datastore/{resource.pk}/").content.decode()
    dcat = client.get("/en/datastore/catalog.jsonld").content.decode()
    (path,) = (path for path in document["paths"] if "dump" in path)
    answer = document["paths"][path]["get"]["responses"]["200"]["content"]

    assert dump.status_code == packed.status_code == 200
    assert dump["Content-Type"] == kind.content_type
    assert f".{kind.extension}" in dump["Content-Disposition"]
    assert b"".join(dump)
    assert f'name=format value="{name}"' in page
    assert (kind.media_type in dcat) != kind.needs_places
    assert kind.content_type.partition(";")[0] in answer
    assert name in document["components"]["schemas"]["DatastoreFormat"]["enum"]
    assert name in DumpParameters.get_declared()["format"].choices  # type: ignore[attr-defined] # a choice
    assert name in find_table(read_text(REFERENCE / "dump.md"), "`format`").names
