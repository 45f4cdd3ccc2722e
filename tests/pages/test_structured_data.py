"""What search engines read of a page: schema.org's words as JSON-LD."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, date, datetime
from typing import Any

from django.test import Client

from datastore_search.contrib.catalogue.published import MAX_FIELDS_BYTES
from datastore_search.models import Field, Resource

from ..builders import describe, make_resource

CATALOGUE = "/en/datastore/"


DESCRIBED: dict[str, Any] = {
    "title": "Waters </script><script>alert(1)</script> & more",
    "description": "All waters of the province, measured once a month since 2019.",
    "license": "CC-BY-4.0",
    "source": "https://example.org/waters",
    "publisher": "Office of waters",
    "contact": "Desk 3",
    "contact_email": "office@example.org",
    "tags": ["water", "rivers"],
    "content_language": "en",
    "temporal_start": date(2019, 1, 1),
    "spatial": "Hà Nội",
    "version_date": date(2021, 2, 3),
}


def build_path(resource: Resource, locale: str = "en") -> str:
    return f"/{locale}/datastore/{resource.pk}/"


def read_data(client: Client, path: str, **headers: Any) -> Any:
    page = client.get(path, **headers).content.decode()
    (found,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)
    return json.loads(found)


def test_a_resource_is_a_dataset_of_schema_org(client: Client, db: None) -> None:
    resource = make_resource("code,day\nA,2024-02-29\n", name="waters", **DESCRIBED)
    Field.objects.filter(resource=resource, name="day").update(label="Day", notes="Of the visit")

    data = read_data(client, build_path(resource))

    page = f"http://testserver/en/datastore/{resource.pk}/"
    dump = f"http://testserver/en/datastore/dump/{resource.pk}"
    assert data["@context"] == "https://schema.org/"
    assert (data["@type"], data["@id"], data["url"]) == ("Dataset", page, page)
    assert data["name"] == DESCRIBED["title"]
    assert data["description"] == DESCRIBED["description"]
    assert data["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert data["isBasedOn"] == "https://example.org/waters"
    assert data["keywords"] == ["rivers", "water"]
    assert data["temporalCoverage"] == "2019-01-01/.."
    assert data["spatialCoverage"] == {"@type": "Place", "name": "Hà Nội"}
    assert data["version"] == "2021-02-03"
    assert data["publisher"] == {
        "@type": "Organization",
        "name": "Office of waters",
        "contactPoint": {"@type": "ContactPoint", "name": "Desk 3", "email": "office@example.org"},
    }
    assert data["includedInDataCatalog"]["@id"] == "http://testserver/en/datastore/"
    assert data["distribution"][0] == {
        "@type": "DataDownload",
        "name": "CSV",
        "encodingFormat": "text/csv",
        "contentUrl": f"{dump}?format=csv",
    }
    assert data["variableMeasured"] == [
        {"@type": "PropertyValue", "name": "code"},
        {
            "@type": "PropertyValue",
            "name": "day",
            "alternateName": "Day",
            "description": "Of the visit",
        },
    ]


def test_a_description_has_the_length_that_search_engines_ask_for(client: Client, db: None) -> None:
    resource = make_resource("code,day\n1,2\n", title="Waters")
    Field.objects.filter(resource=resource, name="day").update(label="Day of the visit to the lake")
    fields = "A table with the fields code, Day of the visit to the lake."

    for description, expected in (
        ("", f"Waters. {fields}"),
        ("Rivers.", f"Rivers. {fields}"),
        ("x" * 10_000, "x" * 4_000),
    ):
        Resource.objects.update(description=description)
        found = read_data(client, build_path(resource))["description"]
        assert found.startswith(expected)
        assert 50 <= len(found) <= 5_000


def test_texts_are_those_of_the_language_of_the_path(client: Client, db: None) -> None:
    resource = make_resource(
        "a\n1\n",
        title="Waters",
        content_language="en",
        translations={"vi": {"title": "Sông", "description": "Các sông. " * 10}},
    )
    Field.objects.update(translations={"vi": {"label": "Cột"}})

    data = read_data(client, build_path(resource, "vi"))

    assert (data["name"], data["description"]) == ("Sông", "Các sông. " * 10)
    assert data["variableMeasured"][0]["alternateName"] == "Cột"
    assert data["@id"] == f"http://testserver/en/datastore/{resource.pk}/"
    assert data["url"] == f"http://testserver/vi/datastore/{resource.pk}/"


def test_a_wide_table_is_described_by_its_first_fields(client: Client, db: None) -> None:
    names = [f"f{number}" for number in range(150)]
    resource = make_resource(f"{','.join(names)}\n{',' * 149}1\n", description="Wide. " * 20)

    data = read_data(client, build_path(resource))

    described = data["variableMeasured"]
    assert [each["name"] for each in described] == names[: len(described)]
    size = sum(len(json.dumps(each)) for each in described)
    assert MAX_FIELDS_BYTES - len(json.dumps(described[-1])) < size <= MAX_FIELDS_BYTES


def test_only_the_plain_address_of_a_page_has_data(client: Client, db: None) -> None:
    resource = make_resource("a\n1\n", name="waters")

    for path in (build_path(resource), CATALOGUE):
        for query in ("?q=1", "?page=1&q=1", "?embed=1"):
            assert "ld+json" not in client.get(f"{path}{query}", follow=True).content.decode()


def test_the_catalogue_is_a_data_catalog_with_the_name_of_the_portal(
    client: Client, no_resource: None, settings: Any
) -> None:
    settings.DATASTORE_SEARCH_SITE_TITLE = "Portal of waters"
    settings.DATASTORE_SEARCH_SITE_DESCRIPTION = "All rivers"

    assert read_data(client, "/vi/datastore/") == {
        "@context": "https://schema.org/",
        "@type": "DataCatalog",
        "@id": "http://testserver/en/datastore/",
        "name": "Portal of waters",
        "description": "All rivers",
        "url": "http://testserver/en/datastore/",
    }


def test_a_resource_is_cited_with_its_date_and_version(client: Client, db: None) -> None:
    resource = make_resource("a\n1\n", title="Rates {100 %} & more")
    describe(resource, publisher="River_authority")
    moment = datetime.fromtimestamp(Resource.objects.get(pk=resource.pk).version // 10**6, UTC)
    version = f"{moment:%Y-%m-%dT%H:%M:%SZ}"

    page = client.get(f"/en/datastore/{resource.pk}/about/").content.decode()

    address = f"http://testserver/en/datastore/{resource.pk}/"
    words = f"River_authority: Rates {{100 %}} & more. Version {version}, "
    assert html.escape(words) in page
    assert f" {moment:%Y}. {address}</bdi>" in page
    arabic = client.get(f"/ar/datastore/{resource.pk}/about/").content.decode()
    assert f"<bdi>{version}</bdi>" in arabic  # else its day joins that of the date
    assert html.escape("  title = {{Rates \\{100 \\%\\} \\& more}},") in page
    assert html.escape("  publisher = {{River\\_authority}},") in page
    (written,) = re.findall(r"<code>(\[.*?)</code>", page, re.DOTALL)
    (csl,) = json.loads(html.unescape(written))
    assert csl["issued"] == {"date-parts": [[moment.year, moment.month, moment.day]]}
    assert (csl["version"], csl["URL"], csl["type"]) == (version, address, "dataset")
