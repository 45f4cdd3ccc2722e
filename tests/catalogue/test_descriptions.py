"""The descriptions of a resource for programs: schema, Data Package, metadata of its CSV."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import frictionless
import pytest
from django.test import Client

from datastore_search.contrib.files.types.schema import parse_table_schema
from datastore_search.models import Field, Resource

from ..builders import act, get_result, make_resource, make_writer_token


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


def test_an_unchanged_schema_is_304(client: Client, resource: Resource) -> None:
    tag = client.get(build_path(resource))["ETag"]

    assert client.get(build_path(resource), headers={"if-none-match": tag}).status_code == 304
    Field.objects.filter(resource=resource, name="seen").update(label="Day")
    assert client.get(build_path(resource), headers={"if-none-match": tag}).status_code == 200


# Data Package ------------------------------------------------------------------------------------


DESCRIBED: dict[str, Any] = {
    "title": "Waters",
    "description": "All waters",
    "translations": {"vi": {"title": "Sông"}},
    "license": "CC-BY-4.0",
    "source": "https://example.org/a b",
    "publisher": "Office of waters",
    "contact_email": "office@example.org",
    "tags": ["water", "rivers"],
    "version_date": date(2021, 2, 3),
}


def test_a_resource_is_a_data_package_with_one_table(client: Client, db: None) -> None:
    resource = make_resource("code\nA\n", name="Waters_1", **DESCRIBED)
    path = f"/vi/datastore/{resource.pk}/datapackage.json"

    package = client.get(path).json()

    [table] = package.pop("resources")
    created = resource.created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    texts = {"title": "Waters", "description": "All waters", "title@vi": "Sông"}
    assert package == {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "waters_1",
        "id": str(resource.pk),
        **texts,
        "homepage": f"http://testserver/vi/datastore/{resource.pk}/",
        "version": "2021-02-03",
        "created": created,
        "keywords": ["rivers", "water"],
        "licenses": [{"name": "CC-BY-4.0", "path": "https://creativecommons.org/licenses/by/4.0/"}],
        "sources": [{"title": "https://example.org/a b", "path": "https://example.org/a%20b"}],
        "contributors": [
            {"title": "Office of waters", "roles": ["publisher"]},
            {"title": "office@example.org", "email": "office@example.org", "roles": ["contact"]},
        ],
    }
    assert table == {
        "name": "waters_1",
        "type": "table",
        "path": f"http://testserver/vi/datastore/dump/{resource.pk}?format=csv",
        **texts,
        "scheme": "http",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "schema": client.get(build_path(resource)).json(),
    }


@pytest.mark.parametrize("values", [DESCRIBED, {}])
def test_frictionless_loads_and_validates_a_data_package(
    live_server: Any, values: dict[str, Any]
) -> None:
    types = {
        "n": "int8", "x": "numeric", "f": "float8", "yes": "bool", "day": "date",
        "moment": "timestamp", "zoned": "timestamptz", "hour": "time", "doc": "json",
        "words": "_text", "Tên, “x”": "text",
    }  # fmt: skip
    times = "2024-02-29,2024-02-29T01:02:03,2024-02-29T01:02:03Z,04:05:06"
    rows = [
        ",".join(f'"{name}"' for name in types),
        f'''7,1.50,0.25,true,{times},"{{""a"":1}}","[""b""]","Hà ""Nội"""''',
        ",".join('""' for _name in types),
    ]
    resource = make_resource("\n".join(rows) + "\n", types=types, name="waters", **values)

    package = frictionless.Package(f"{live_server.url}/en/datastore/{resource.pk}/datapackage.json")
    report = package.validate()

    assert report.valid, report.flatten(["type", "note"])
    table: Any = package.resources[0]
    first, second = table.read_rows()
    assert first.to_dict() == {
        "_id": 1,
        "n": 7,
        "x": Decimal("1.50"),
        "f": Decimal("0.25"),
        "yes": True,
        "day": date(2024, 2, 29),
        "moment": datetime(2024, 2, 29, 1, 2, 3),  # noqa: DTZ001 - the field has no time zone
        "zoned": datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC),
        "hour": time(4, 5, 6),
        "doc": '{"a": 1}',
        "words": ["b"],
        "Tên, “x”": 'Hà "Nội"',
    }
    assert set(second.to_dict().values()) == {2, None}


@pytest.mark.parametrize(
    ("license_id", "expected", "address"),
    [
        ("cc-by", {"name": "cc-by"}, "http://www.opendefinition.org/licenses/cc-by"),
        ("MIT", {"name": "MIT"}, "https://spdx.org/licenses/MIT"),
        ("ODC-By-1.0", {"name": "ODC-By-1.0"}, "https://opendatacommons.org/licenses/by/1-0/"),
        ("notspecified", {"name": "notspecified"}, None),
        ("other-open", {"name": "other-open"}, None),
        ("Ask the office", {"name": "Ask-the-office", "title": "Ask the office"}, None),
    ],
)
def test_a_table_is_described_with_what_its_dataset_says(
    client: Client, db: None, license_id: str, expected: dict[str, str], address: str | None
) -> None:
    token = make_writer_token()
    sent = {"name": "set", "license_id": license_id, "owner_org": "hue", "maintainer": "Desk"}
    home = get_result(act(client, "package_create", sent, token))["id"]
    link = {"package_id": home, "url": "ftp://example.org/a.csv"}
    act(client, "resource_create", link, token)
    table = {"resource": {"package_id": home}, "fields": [{"id": "a"}]}
    made = get_result(act(client, "datastore_create", table, token))["resource_id"]

    package = client.get(f"/en/datastore/{made}/datapackage.json").json()
    page = client.get(f"/en/datastore/{made}/").content.decode()
    [data] = re.findall(r'<script type="application/ld\+json">(.*)</script>', page)
    catalog = client.get("/en/datastore/catalog.jsonld").json()["@graph"]

    assert package["licenses"] == [{**expected, **({"path": address} if address else {})}]
    assert [each["title"] for each in package["contributors"]] == ["hue", "Desk"]
    assert json.loads(data)["publisher"]["contactPoint"]["name"] == "Desk"
    assert json.loads(data).get("license") == address
    [described] = [node for node in catalog if node.get("dct:identifier") == home]
    files = described["dcat:distribution"]
    assert {each.get("dct:license", {}).get("@id") for each in files} == {address}
    assert link["url"] in [each["dcat:accessURL"]["@id"] for each in files]


# Links -------------------------------------------------------------------------------------------


def test_a_page_and_its_dump_lead_to_the_descriptions(client: Client, db: None) -> None:
    resource = make_resource("a\n1\n")
    page = f"http://testserver/vi/datastore/{resource.pk}/"

    for path in (f"/vi/datastore/{resource.pk}/?q=1", f"/vi/datastore/dump/{resource.pk}"):
        response = client.head(path)
        assert response.status_code == 200
        assert response["Link"].split(", ") == [
            f'<{page}{name}>; rel="describedby"; type="{media_type}"; title="{title}"'
            for name, media_type, title in (
                ("schema.json", "application/json", "Table Schema"),
                ("datapackage.json", "application/json", "Data Package"),
            )
        ]


def test_each_link_of_the_catalogue_is_of_the_type_that_it_names(client: Client, db: None) -> None:
    links = client.get("/en/datastore/")["Link"].split(", ")

    for link in links:
        found = re.fullmatch(r'<http://testserver(.*)>; rel="alternate"; type="(.*)"', link)
        assert found
        response = client.get(found[1])
        assert response.status_code == 200
        assert response["Content-Type"].partition(";")[0] == found[2]
    assert len(links) == 3
