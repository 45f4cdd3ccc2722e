"""What a Data Package says of its resource, read and written."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from datastore_search.loading.typing.data_package import parse_package_metadata
from datastore_search.loading.typing.schema import parse_table_schema
from datastore_search.models import METADATA, Resource

from .test_options import load_text

pytestmark = pytest.mark.usefixtures("read_here")

SCHEMA = {"fields": [{"name": "day"}, {"name": "n"}, {"name": "code"}]}
PACKAGE: dict[str, Any] = {
    "licenses": [{"name": "CC-BY-4.0", "path": "https://creativecommons.org/licenses/by/4.0/"}],
    "sources": [{"title": "Gauges", "path": "https://example.org/gauges"}],
    "contributors": [
        {"title": "Ann", "role": "author"},
        {"title": "Office of Water", "roles": ["publisher"]},
        {"title": "Water desk", "email": "water@example.org", "role": "maintainer"},
    ],
    "keywords": ["rivers", "levels"],
    "temporal": {"start": "2024-01-01", "end": "2024-12-31"},
    "spatial": {"name": "Hue"},
    "frequency": "monthly",
    "version": "1.2.0",
    "created": "2025-01-15T08:00:00Z",
    "resources": [{"name": "levels", "path": "levels.csv", "schema": SCHEMA}],
}
FULL = {
    "license": "CC-BY-4.0",
    "source": "https://example.org/gauges",
    "publisher": "Office of Water",
    "contact": "Water desk",
    "contact_email": "water@example.org",
    "tags": ["rivers", "levels"],
    "temporal_start": date(2024, 1, 1),
    "temporal_end": date(2024, 12, 31),
    "spatial": "Hue",
    "frequency": "monthly",
    "version_date": date(2025, 1, 15),
}


def read_metadata(resource: Resource) -> dict[str, Any]:
    return dict(Resource.objects.filter(pk=resource.pk).values(*METADATA).get())


@pytest.mark.parametrize(
    ("properties", "values"),
    [
        ({"license": "CC0-1.0"}, {"license": "CC0-1.0"}),
        ({"licenses": [{"path": "https://x.org/l"}]}, {"license": "https://x.org/l"}),
        (
            {"licenses": [{"name": "free for all", "path": "https://x.org/l"}]},
            {"license": "https://x.org/l"},
        ),
        ({"sources": [{"title": "Gauges"}]}, {"source": "Gauges"}),
        ({"temporal": "2024-01-01/2024-06-30"}, {
            "temporal_start": date(2024, 1, 1), "temporal_end": date(2024, 6, 30)
        }),
        ({"temporal": {"start": "2024-01-01"}}, {"temporal_start": date(2024, 1, 1)}),
        ({"spatial": "Hue"}, {"spatial": "Hue"}),
        ({"version": "2025-02-01", "created": "2024-01-01"}, {"version_date": date(2025, 2, 1)}),
        ({"contributors": [{"title": "Ann"}]}, {}),
        ({"licenses": [], "keywords": None}, {}),
    ],
)  # fmt: skip
def test_each_form_of_a_property_is_read(
    properties: dict[str, Any], values: dict[str, Any]
) -> None:
    metadata = parse_package_metadata(properties)

    assert (metadata.values, metadata.ignored) == (values, ())


def test_a_property_of_the_resource_wins_over_that_of_the_package() -> None:
    inner = {"schema": SCHEMA, "spatial": "Vinh"}

    read = parse_table_schema({**PACKAGE, "resources": [inner]})

    assert read.metadata.values == {**FULL, "spatial": "Vinh"}


def test_values_that_cannot_be_stored_have_a_notice() -> None:
    wrong = {
        "licenses": [{"name": "free for all"}],
        "keywords": "rivers",
        "created": 2024,
        "contributors": ["Ann"],
        "spatial": {"code": 1},
        "sources": {"title": "Gauges"},
        "frequency": "monthly",
    }

    read = parse_table_schema({**wrong, "schema": SCHEMA})

    assert read.metadata.values == {"frequency": "monthly"}
    (notice,) = read.notices
    assert str(notice) == (
        "Properties of the Data Package are not used, as their values cannot be stored: licenses,"
        " sources, contributors, keywords, spatial, created."
    )


def test_a_load_fills_what_is_empty(db: None, tmp_path: Path) -> None:
    resource = Resource.objects.create(name="levels", publisher="Ours", tags=["own"])

    load_text(resource, tmp_path, schema=PACKAGE)

    assert read_metadata(resource) == {**FULL, "publisher": "Ours", "tags": ["own"]}


def test_days_follow_a_new_descriptor_and_no_old_one(db: None, tmp_path: Path) -> None:
    resource = Resource.objects.create(name="levels")
    load_text(resource, tmp_path, schema=PACKAGE)
    Resource.objects.update(version_date="2025-03-01", spatial="Vinh")

    load_text(resource, tmp_path, force=True)
    kept = read_metadata(resource)
    newer = {**PACKAGE, "created": "2025-06-01", "spatial": "Hanoi"}
    load_text(resource, tmp_path, schema=newer, force=True)

    assert kept == {**FULL, "version_date": date(2025, 3, 1), "spatial": "Vinh"}
    assert read_metadata(resource) == {
        **FULL, "version_date": date(2025, 6, 1), "spatial": "Vinh"
    }  # fmt: skip


def test_the_data_package_of_a_resource_describes_another_one(db: None, tmp_path: Path) -> None:
    first, second = (Resource.objects.create(name=name) for name in ("first", "second"))
    load_text(first, tmp_path, schema=PACKAGE)

    package = Client().get(f"/en/datastore/{first.pk}/datapackage.json").json()
    load_text(second, tmp_path, schema=package)

    assert read_metadata(second) == {**FULL, "tags": ["levels", "rivers"]}


TEXTS: dict[str, Any] = {
    "title": "Levels",
    "description": "All levels",
    "title@fr": "Niveaux",
    "description@pt-BR": "Todos",
    "title@xx": "of no language",
}


def read_texts(resource: Resource) -> tuple[str, str, Any]:
    resource.refresh_from_db()
    return resource.title, resource.description, resource.translations


def test_a_load_fills_empty_texts_and_translations(db: None, tmp_path: Path, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("fr", "French"), ("pt-br", "Portuguese")]
    empty = Resource.objects.create(name="empty")
    own = Resource.objects.create(
        name="own", title="Own", translations={"fr": {"title": "Propre", "description": "Tout"}}
    )
    for resource in (empty, own):
        load_text(resource, tmp_path, schema={**PACKAGE, **TEXTS})

    translations = {"fr": {"title": "Niveaux"}, "pt-br": {"description": "Todos"}}
    assert read_texts(empty) == ("Levels", "All levels", translations)
    assert read_texts(own) == (
        "Own",
        "All levels",
        {"fr": {"title": "Propre", "description": "Tout"}, "pt-br": {"description": "Todos"}},
    )


def test_texts_that_were_written_are_read_as_the_same(db: None, tmp_path: Path) -> None:
    texts: dict[str, Any] = {
        "title": "Levels", "description": "All", "translations": {"vi": {"title": "Mực nước"}}
    }  # fmt: skip
    first = Resource.objects.create(name="first", **texts)
    untitled = Resource.objects.create(name="untitled")
    load_text(first, tmp_path)
    load_text(untitled, tmp_path)

    for written, expected in ((first, tuple(texts.values())), (untitled, ("", "", {}))):
        package = Client().get(f"/en/datastore/{written.pk}/datapackage.json").json()
        copy = Resource.objects.create(name=f"copy-of-{written.name}")
        load_text(copy, tmp_path, schema=package)
        assert read_texts(copy) == expected


def test_texts_that_are_none_have_a_notice_and_long_titles_are_cut() -> None:
    metadata = parse_package_metadata({"title": "t" * 400, "description": ["no text"]})

    assert metadata.texts == {"title": "t" * 300}
    assert metadata.ignored == ("description",)
