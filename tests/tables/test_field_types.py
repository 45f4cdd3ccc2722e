"""Each type of fields is known wherever fields are made, read, asked for or described."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.files.types.field_formats import field_formats
from datastore_search.downloads.formats import formats
from datastore_search.downloads.table_schema import build_table_schema
from datastore_search.field_types import field_types
from datastore_search.models import Resource

from ..builders import act, get_result
from ..files.builders import load_new_resource
from ..test_docs import TYPES, find_table, read_text
from ..typed import CELLS


@pytest.fixture(params=field_types)
def name(request: pytest.FixtureRequest) -> str:
    """The name of a type, and of the field of that type in the resource ``typed``."""
    return str(request.param)


def search(client: Client, resource: Resource, **parameters: Any) -> dict[str, Any]:
    asked = {"resource_id": str(resource.pk), **parameters}
    return get_result(act(client, "datastore_search", asked))


def test_the_actions_know_it(client: Client, typed: Resource, name: str) -> None:
    kind = field_types[name]
    found = search(client, typed, fields=[name], limit=1, filters={name: {"isnull": False}})
    value = found["records"][0][name]
    same = search(client, typed, fields=[name], limit=1, filters={name: {"eq": value}})
    info = get_result(act(client, "datastore_info", {"resource_id": str(typed.pk)}))
    (described,) = (each for each in info["fields"] if each["id"] == name)

    assert found["fields"] == [{"id": name, "type": name}]
    assert found["total"] == len(CELLS[name]) or name == "text"
    assert same["records"] == [{name: value}]
    assert described["schema"]["native_type"] == name
    assert described["schema"]["sortable"] == kind.is_sortable


def test_it_is_sorted_grouped_and_counted_if_it_can_be(
    client: Client, typed: Resource, name: str
) -> None:
    kind, asked = field_types[name], {"resource_id": str(typed.pk)}
    answers = {
        act(client, "datastore_search", {**asked, "sort": name}).status_code: kind.is_sortable,
        act(client, "datastore_facets", {**asked, "facets": [name]}).status_code: kind.is_sortable,
    }

    assert answers == {200 if kind.is_sortable else 409: kind.is_sortable}


@pytest.mark.parametrize("format_name", [name for name in formats if name != "geojson"])
def test_each_download_format_writes_all_of_them(
    client: Client, typed: Resource, format_name: str
) -> None:
    dump = client.get(f"/en/datastore/dump/{typed.pk}", {"format": format_name})

    assert dump.status_code == 200
    assert b"".join(dump)


def test_the_page_shows_it_in_words(client: Client, typed: Resource, name: str) -> None:
    page = client.get(f"/en/datastore/{typed.pk}/", {"fields": name, "empty." + name: "no"})

    assert page.status_code == 200
    assert str(field_types[name].label) in page.content.decode()


def test_a_file_can_have_it(db: None, name: str) -> None:
    cell = json.dumps(CELLS[name][1][0]) if field_types[name].is_nested else CELLS[name][0][1]
    quoted = '"' + cell.replace('"', '""') + '"'
    resource = load_new_resource(f"a,b\n{quoted},1\n", types={"a": name})

    assert name in field_formats
    assert resource.fields.get(name="a").type == name


def test_it_is_described(name: str, typed: Resource, document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    schema = {each["name"]: each["type"] for each in build_table_schema(typed)["fields"]}

    assert name in schemas["DatastoreFieldType"]["examples"]
    assert schema[name] == field_types[name].table_schema_type
    assert name in find_table(read_text(TYPES), "Type", "Other names").names
