"""The Table Schema of a resource, for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.test import Client

from datastore_search.loading.jobs import LoadOptions, load_file
from datastore_search.loading.typing.schema import parse_table_schema
from datastore_search.models import Field, Resource

from ..builders import make_resource, make_user


def build_path(resource: Resource) -> str:
    return f"/en/datastore/{resource.pk}/schema.json"


def test_the_schema_has_types_titles_descriptions_and_key(client: Client, db: None) -> None:
    resource = make_resource("code,day,n\n007,2024-02-29,1\n")
    Field.objects.filter(name="day").update(label="Ngày", notes="Of the visit")

    response = client.get(build_path(resource))

    assert response["Content-Type"] == "application/json"
    assert response.json() == {
        "$schema": "https://datapackage.org/profiles/2.0/tableschema.json",
        "fields": [
            {"name": "_id", "type": "integer"},
            {"name": "code", "type": "string", "datastoreType": "text"},
            {
                "name": "day",
                "type": "date",
                "title": "Ngày",
                "description": "Of the visit",
                "datastoreType": "date",
            },
            {"name": "n", "type": "integer", "datastoreType": "int4"},
        ],
        "missingValues": [""],
        "primaryKey": ["_id"],
    }
    assert "Ngày" in response.content.decode()


def test_a_schema_that_was_written_is_read_as_the_same_types(db: None) -> None:
    header = "small,big,exact,double,truth,day,moment,hour,doc,words,text"
    types = {
        "small": "int2", "big": "int8", "exact": "numeric", "double": "float8", "truth": "bool",
        "day": "date", "moment": "timestamptz", "hour": "time", "doc": "json", "words": "_text",
        "text": "text",
    }  # fmt: skip
    resource = make_resource(f"{header}\n{',' * 10}\n,,,,,,,,,,x\n", types=types)
    schema_json: Any = Client().get(build_path(resource)).json()

    schema = parse_table_schema(schema_json)

    assert schema.types == types
    assert (schema.primary_key, schema.missing_values, schema.notices) == (None, (), ())


def test_a_dump_can_be_loaded_again_by_its_schema(client: Client, db: None, tmp_path: Path) -> None:
    resource = make_resource("n,truth,day,t\n1,true,2024-02-29,x\n,,,y\n")
    Field.objects.filter(resource=resource, name="n").update(label="Number", notes="Of things")
    schema: Any = client.get(build_path(resource)).json()
    dump = client.get(f"/en/datastore/dump/{resource.pk}?format=csv").getvalue().decode()
    without_id = "".join(line.partition(",")[2] for line in dump.splitlines(keepends=True))

    path = tmp_path / "dump.csv"
    path.write_text(without_id)
    copy = Resource.objects.create(name="again")
    load_file(copy, path, options=LoadOptions(schema=schema))

    fields = [(f.name, f.type, f.label, f.notes) for f in copy.fields.all()]
    assert fields == [(f.name, f.type, f.label, f.notes) for f in resource.fields.all()]


def test_the_schema_of_a_private_resource_is_for_its_readers(client: Client, db: None) -> None:
    resource = make_resource(private=True)

    assert client.get(build_path(resource)).status_code == 403
    client.force_login(make_user(permissions=("view_resource",)))
    response = client.get(build_path(resource))
    assert response.status_code == 200
    assert "private" in response["Cache-Control"]


def test_an_unchanged_schema_is_304(client: Client, resource: Resource) -> None:
    tag = client.get(build_path(resource))["ETag"]

    assert client.get(build_path(resource), headers={"if-none-match": tag}).status_code == 304
    Field.objects.filter(resource=resource, name="seen").update(label="Day")
    assert client.get(build_path(resource), headers={"if-none-match": tag}).status_code == 200


def test_a_resource_without_records_has_no_schema(client: Client, db: None) -> None:
    unloaded = Resource.objects.create(name="unloaded")

    assert client.get(build_path(unloaded)).status_code == 404
    assert client.post(build_path(unloaded)).status_code == 405
