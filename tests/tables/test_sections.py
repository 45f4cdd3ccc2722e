"""Each section of the data page is shown where its entry says."""

from __future__ import annotations

import pytest
from django.test import Client

from datastore_search.contrib.pages.sections import sections

from ..builders import describe
from ..files.files import load_new_resource

PLACES = "name,lat,lon\nriver at Hue,16.46,107.59\nriver at Ha Noi,21.03,105.85\n"

#: The query of a page that has the section, and a text of the section.
SHOWN = {
    "facts": ("about/", "<dt"),
    "origin": ("", "The river authority"),
    "structured_data": ("", "application/ld+json"),
    "facets": ("", 'id="facets"'),
    "without_accents": ("?contains.name=hué", "ignoring accents"),
    "did_you_mean": ("?q=rivr", "river"),
}


@pytest.mark.parametrize("name", sections)
def test_a_section_is_shown(client: Client, db: None, name: str) -> None:
    resource = load_new_resource(PLACES)
    describe(resource, source="The river", publisher="The river authority")
    query, text = SHOWN[name]
    page = client.get(f"/en/datastore/{resource.pk}/{query}")

    assert page.status_code == 200
    assert sections[name].template in [template.name for template in page.templates]
    assert text in page.content.decode()
