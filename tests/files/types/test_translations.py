"""Table Schemas with labels and notes in several languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.models import Resource

from ...test_translations import STATIONS
from ..builders import make_loaded_resource

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def translated(db: None) -> Resource:
    """A resource whose field “station” has texts in English, French and Arabic."""
    resource = make_loaded_resource(STATIONS, content_language="en")
    resource.fields.filter(name="station").update(
        label="Station",
        notes="Where",
        translations={"fr": {"label": "Gare"}, "ar": {"label": "محطة", "notes": "أين"}},
    )
    return resource


def test_a_load_with_a_schema_has_its_translations(translated: Resource, tmp_path: Path) -> None:
    schema: Any = Client().get(f"/en/datastore/{translated.pk}/schema.json").json()
    path = tmp_path / "stations.csv"
    path.write_text(STATIONS)

    copy = Resource.objects.create(name="copy")
    load_file(copy, path, options=LoadOptions(schema=schema))

    assert [field.info for field in copy.fields.all()] == [
        field.info for field in translated.fields.all()
    ]


def test_a_schema_leaves_translations_that_are_there(translated: Resource, tmp_path: Path) -> None:
    path = tmp_path / "stations.csv"
    path.write_text(STATIONS)
    given = {"name": "station", "title@fr": "Arrêt", "description@fr": "Où", "title@vi": "Trạm"}

    load_file(translated, path, options=LoadOptions(schema={"fields": [given]}, force=True))

    assert translated.fields.get(name="station").translations == {
        "fr": {"label": "Gare", "notes": "Où"},
        "ar": {"label": "محطة", "notes": "أين"},
        "vi": {"label": "Trạm"},
    }
