"""Each download format, section of the data page and setting is in every entrance."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import Client

from datastore_search.api.parameters import ChoiceField
from datastore_search.conf import list_settings
from datastore_search.contrib.pages.models import SavedView
from datastore_search.contrib.pages.sections import sections
from datastore_search.downloads.formats import formats
from datastore_search.downloads.parameters import DumpParameters

from ..builders import describe, make_resource
from ..files.builders import load_new_resource
from ..test_docs import REFERENCE, find_table, parse_tables, read_text

PLACES = "name,lat,lon\nriver at Hue,16.46,107.59\nriver at Ha Noi,21.03,105.85\n"


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
    choice = DumpParameters.get_declared()["format"]
    assert isinstance(choice, ChoiceField)
    assert name in choice.choices
    assert name in find_table(read_text(REFERENCE / "dump.md"), "`format`").names


#: The query of a page that has the section, and a text of the section.
SHOWN = {
    "first_view": ("", "All rivers"),
    "facts": ("about/", "<dt"),
    "unstated": ("about/", "No licence is stated. No contact is stated."),
    "cite": ("about/", "@misc{"),
    "origin": ("", "The river authority"),
    "structured_data": ("", "application/ld+json"),
    "facets": ("", 'id="facets"'),
    "wider": ("?contains.name=hué", "ignoring accents"),
    "did_you_mean": ("?q=rivr", "river"),
}


@pytest.mark.parametrize("name", sections)
def test_a_section_is_shown(client: Client, db: None, name: str) -> None:
    resource = load_new_resource(PLACES)
    describe(resource, source="The river", publisher="The river authority")
    if name == "first_view":
        SavedView.objects.create(resource=resource, title="All rivers")
    query, text = SHOWN[name]
    page = client.get(f"/en/datastore/{resource.pk}/{query}")

    assert page.status_code == 200
    assert sections[name].template in [template.name for template in page.templates]
    assert text in page.content.decode()


@pytest.mark.parametrize("name", list_settings())
def test_a_setting_is_in_every_entrance(settings: Any, name: str) -> None:
    described = {
        each for table in parse_tables(read_text(REFERENCE / "settings.md")) for each in table.names
    }
    setattr(settings, name, object())

    assert name in described
    assert any(name in str(each.msg) for each in run_checks())
