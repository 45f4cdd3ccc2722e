"""Datasets that a function of the portal gives: the documented example, and every list of them."""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rdflib import Graph

from datastore_search.contrib.catalogue.dataset import Dataset, Group, Organization
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

from ..agents.exchange import ask_tool
from ..builders import (
    act,
    check_error,
    get_result,
    make_listed_resource,
    make_resource,
    make_token,
    make_user,
    make_writer_token,
)
from ..shared import ModuleTransaction

OFFICE = Organization("statistics", "Office of Statistics", id="org-1")
PEOPLE = Group("people", "People")
CENSUS_ID, ROADS_ID = "census-id", "roads-id"

Datasets = Callable[[Any], Iterable[Dataset]]
Use = Callable[[Datasets], None]


@pytest.fixture
def use(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Use:
    """Let a function give the portal's datasets."""

    def use_function(function: Datasets) -> None:
        module = ModuleType("portal_of_a_test")
        module.list_datasets = function  # type: ignore[attr-defined] # a module made for the test
        monkeypatch.setitem(sys.modules, module.__name__, module)
        settings.DATASTORE_SEARCH_DATASETS = "portal_of_a_test.list_datasets"

    return use_function


@pytest.fixture(scope="module")
def _tables(module_transaction: ModuleTransaction) -> tuple[Resource, Resource]:
    ages = make_resource("age,persons\n1,20\n", name="ages", title="Ages", description="By year")
    return ages, make_resource("district,homes\nA,5\n", name="homes", title="Homes")


@pytest.fixture
def ages(_tables: tuple[Resource, Resource], db: None) -> Resource:
    return _tables[0]


@pytest.fixture
def homes(_tables: tuple[Resource, Resource], db: None) -> Resource:
    return _tables[1]


@pytest.fixture
def hidden(db: None) -> Resource:
    return make_listed_resource(
        "hidden", title="Zqhidden incomes", description="zqincome", private=True
    )


@pytest.fixture
def portal(use: Use, ages: Resource, homes: Resource, hidden: Resource) -> dict[str, Dataset]:
    """Two datasets; the first one has a private resource, and one resource is in none."""
    make_listed_resource("alone", title="Alone")
    given = {
        "census": Dataset(
            id=CENSUS_ID,
            name="census",
            title="Census",
            notes="The people of each district, by age and by household, counted once a decade.",
            content_language="en",
            translations={"vi": {"title": "Điều tra dân số", "notes": "Người dân"}},
            resources=[hidden.pk, homes.pk, ages.pk],
            organization=OFFICE,
            groups=[PEOPLE],
            tags=["people", "age"],
            license="CC-BY-4.0",
            url="https://example.org/census",
            version="3",
            author="A. Writer",
            author_email="writer@example.org",
            maintainer="Desk",
            maintainer_email="desk@example.org",
            frequency="yearly",
            spatial="All districts",
            temporal_start=date(2020, 1, 1),
            extras={"method": "register"},
            metadata_created=datetime(2020, 1, 2, tzinfo=UTC),
        ),
        "plans": Dataset(
            id=ROADS_ID,
            name="plans",
            title="Plans of roads",
            is_public=True,
            tags=["roads"],
            organization=Organization("roads", "Office of Roads"),
        ),
        "secret": Dataset(
            id="zqsecret",
            name="zqsecret",
            title="Zqsecret",
            resources=[hidden.pk],
            tags=["zqtag"],
            groups=[Group("zqgroup")],
            organization=Organization("zqoffice"),
        ),
    }
    use(lambda _user: given.values())
    return given


def get(client: Client, action: str, **sent: str) -> Any:
    return get_result(client.get(f"/api/3/action/{action}", sent), action)


def list_headings(page: str, tag: str) -> list[str]:
    found = re.findall(rf"<{tag}>.*?</{tag}>", page, re.DOTALL)
    return [re.sub(r"<[^>]*>", "", each).strip() for each in found]


def search(client: Client, **sent: str) -> list[str]:
    found = get(client, "package_search", **sent)
    assert found["count"] == len(found["results"])
    return [each["name"] for each in found["results"]]


# The documented example ---------------------------------------------------------------------------


def read_example() -> str:
    text = (Path(__file__).parents[2] / "docs/reference/catalogue.md").read_text()
    (code,) = re.findall(r"```python\n(# portal/datasets\.py\n.*?)```", text, re.DOTALL)
    return str(code)


def test_the_documented_function_gives_a_dataset(
    client: Client, no_resource: None, use: Use
) -> None:
    tables = [make_listed_resource(name, tags=["census"]) for name in ("ages", "homes")]
    make_listed_resource("roads")
    names: dict[str, Any] = {}
    exec(read_example(), names)
    use(names["list_datasets"])

    (found,) = get(client, "package_search", q="census")["results"]

    assert found["name"] == "census-2024"
    assert found["organization"]["title"] == "Office of Statistics"
    assert [each["id"] for each in found["resources"]] == [str(each.pk) for each in tables]
    assert {each["package_id"] for each in found["resources"]} == {found["id"]}
    assert get(client, "package_show", id=found["id"]) == found
    assert get(client, "package_list") == ["census-2024"]


# Actions ------------------------------------------------------------------------------------------


def test_a_dataset_has_its_own_members(
    client: Client, portal: Any, ages: Resource, homes: Resource
) -> None:
    found = get(client, "package_show", id="census")

    assert found["id"] == CENSUS_ID
    assert found["title"] == "Census"
    assert found["num_resources"] == 2
    assert [each["id"] for each in found["resources"]] == [str(homes.pk), str(ages.pk)]
    assert [each["position"] for each in found["resources"]] == [0, 1]
    assert found["license_title"] == "Creative Commons Attribution 4.0"
    assert (found["isopen"], found["private"]) == (True, False)
    assert found["organization"]["id"] == found["owner_org"] == "org-1"
    assert [each["name"] for each in found["groups"]] == ["people"]
    assert [each["name"] for each in found["tags"]] == ["age", "people"]
    assert found["url"] == "https://example.org/census"
    assert (found["version"], found["author"]) == ("3", "A. Writer")
    assert found["maintainer_email"] == "desk@example.org"
    assert {each["key"]: each["value"] for each in found["extras"]} == {
        "frequency": "yearly",
        "method": "register",
        "spatial_text": "All districts",
        "temporal_start": "2020-01-01",
    }
    assert found["metadata_created"] == "2020-01-02T00:00:00.000000"
    homes.refresh_from_db()
    ages.refresh_from_db()
    latest = max(ages.modified_at, homes.modified_at)
    assert found["metadata_modified"] == latest.isoformat().replace("+00:00", "")


def test_a_dataset_has_the_texts_of_the_language(client: Client, portal: Any) -> None:
    found = get_result(client.get("/vi/api/3/action/package_show?id=census"), "package_show")

    assert (found["title"], found["notes"]) == ("Điều tra dân số", "Người dân")
    for q in ("title:Điều", "notes:Người"):
        answer = client.get("/vi/api/3/action/package_search", {"q": q})
        (each,) = get_result(answer, "package_search")["results"]
        assert each == found


def test_lists_have_the_datasets(client: Client, portal: Any, ages: Resource) -> None:
    assert get(client, "package_list") == ["census", "plans"]
    listed = get(client, "current_package_list_with_resources")
    assert [each["name"] for each in listed] == ["census", "plans"]
    assert get(client, "organization_list") == ["roads", "statistics"]
    (office,) = get(client, "organization_list", organizations='["statistics"]', all_fields="true")
    assert (office["package_count"], office["id"]) == (1, "org-1")
    shown = get(client, "organization_show", id="org-1", include_datasets="true")
    assert [each["id"] for each in shown["packages"]] == [CENSUS_ID]
    assert get(client, "group_list") == ["people"]
    (group,) = get(client, "group_list", all_fields="true")
    assert (group["title"], group["package_count"]) == ("People", 1)
    assert get(client, "tag_list") == ["age", "people", "roads"]
    plans = get(client, "package_show", id=ROADS_ID)
    assert (plans["resources"], plans["metadata_modified"], plans["url"]) == ([], None, None)
    assert plans["private"] is False


def test_a_resource_names_its_dataset(client: Client, portal: Any, ages: Resource) -> None:
    shown = get(client, "resource_show", id="ages")
    found = get(client, "resource_search", query="name:age")

    assert (shown["package_id"], shown["position"]) == (CENSUS_ID, 1)
    assert (found["count"], found["results"][0]["package_id"]) == (1, CENSUS_ID)


def test_a_resource_of_no_dataset_is_in_no_list(client: Client, portal: Any) -> None:
    assert get(client, "resource_show", id="alone")["package_id"] is None
    assert get(client, "resource_search", query="name:alone")["count"] == 0
    assert search(client, q="alone") == []
    assert "alone" not in client.get("/en/datastore/").content.decode().lower()
    check_error(client.get("/api/3/action/package_show?id=alone"), 404, "Not Found Error")


SEARCHES: list[tuple[dict[str, str], list[str]]] = [
    ({"q": "*:*"}, ["census", "plans"]),
    ({"q": "DISTRICT"}, ["census"]),
    ({"q": "dân"}, ["census"]),
    ({"q": "homes"}, ["census"]),  # the title of a resource
    ({"q": "persons"}, ["census"]),  # a field of a resource
    ({"q": "zqincome"}, []),  # a text of a private one
    ({"q": "census zqhidden"}, []),
    ({"q": "roads OR census"}, ["census", "plans"]),
    ({"q": "-census"}, ["plans"]),
    ({"fq": "tags:people"}, ["census"]),
    ({"fq": "tags:(people OR roads) -tags:age"}, ["plans"]),
    ({"fq": "organization:statistics"}, ["census"]),
    ({"fq": "owner_org:org-1"}, ["census"]),
    ({"fq": "groups:people"}, ["census"]),
    ({"fq": "groups:*"}, ["census"]),
    ({"fq": 'license_id:"CC-BY-4.0"'}, ["census"]),
    ({"fq": "res_format:CSV"}, ["census"]),
    ({"fq": "res_name:ages"}, ["census"]),
    ({"fq": "res_description:income"}, []),
    ({"fq": "title:plan"}, ["plans"]),
    ({"q": "title:Điều"}, []),
    ({"fq": "name:cen*"}, ["census"]),
    ({"fq": f"id:{ROADS_ID}"}, ["plans"]),
    ({"fq": "author:*"}, ["census"]),
    ({"fq": "state:active AND type:dataset"}, ["census", "plans"]),
    ({"fq": "type:harvest"}, []),
    ({"fq": "private:true"}, []),
    ({"fq": "capacity:public"}, ["census", "plans"]),
    ({"fq": "metadata_created:[2020-01-01 TO 2020-02-01]"}, ["census"]),
    ({"fq": "metadata_modified:[* TO 2020-02-01]"}, []),
    ({"fq": "metadata_modified:*"}, ["census"]),
    ({"sort": "title desc"}, ["plans", "census"]),
    ({"sort": "metadata_modified asc"}, ["plans", "census"]),
]


def test_datasets_are_searched(client: Client, portal: Any) -> None:
    for sent, names in SEARCHES:
        assert search(client, **sent) == names, sent


def test_pages_and_facets_of_datasets(client: Client, portal: Any) -> None:
    names = '["tags","organization","groups","license_id","res_format","other"]'
    found = get(client, "package_search", rows="1", start="1", **{"facet.field": names})

    assert (found["count"], [each["name"] for each in found["results"]]) == (2, ["plans"])
    assert found["facets"] == {
        "tags": {"age": 1, "people": 1, "roads": 1},
        "organization": {"roads": 1, "statistics": 1},
        "groups": {"people": 1},
        "license_id": {"CC-BY-4.0": 1},
        "res_format": {"CSV": 1},
        "other": {},
    }
    assert found["search_facets"]["organization"]["items"][1]["display_name"] == OFFICE.title


# Permissions --------------------------------------------------------------------------------------


def test_readers_see_what_they_may_read(client: Client, portal: Any, hidden: Resource) -> None:
    token = make_token()

    found = act(client, "package_search", {"include_private": True}, token).json()["result"]

    assert {each["name"] for each in found["results"]} == {"census", "plans", "zqsecret"}
    (census,) = [each for each in found["results"] if each["name"] == "census"]
    assert census["resources"][0]["id"] == str(hidden.pk)
    (secret,) = [each for each in found["results"] if each["name"] == "zqsecret"]
    assert secret["private"] is True
    shown = act(client, "package_show", {"id": "zqsecret"}, token)
    assert shown.status_code == 200
    assert "public" not in shown.get("Cache-Control", "")
    place = act(client, "resource_show", {"id": "ages"}, token).json()["result"]
    assert (place["package_id"], place["position"]) == (CENSUS_ID, 2)


def test_a_dataset_of_which_nothing_may_be_read_is_not_found(client: Client, portal: Any) -> None:
    for name in ("zqsecret", "nowhere"):
        message = check_error(
            client.get(f"/api/3/action/package_show?id={name}"), 404, "Not Found Error"
        )
        assert message["message"] == f"Not found: Dataset “{name}” was not found."


def test_the_function_gets_the_user(client: Client, use: Use, ages: Resource) -> None:
    users: list[Any] = []

    def list_datasets(user: Any) -> list[Dataset]:
        users.append(user)
        return []

    use(list_datasets)
    reader = make_user("reader")
    act(client, "package_search", {"include_private": True}, issue_token(reader))
    act(client, "package_search", {}, issue_token(reader))

    assert users == [reader, AnonymousUser()]


# Pages and machines -------------------------------------------------------------------------------


def test_the_catalogue_page_lists_datasets_with_their_tables(client: Client, portal: Any) -> None:
    page = client.get("/en/datastore/").content.decode()

    assert list_headings(page, "h2") == ["Census", "Plans of roads"]
    assert list_headings(page, "h3") == ["Homes", "Ages"]
    assert f'id="dataset-{CENSUS_ID}"' in page
    assert "zq" not in page.lower()
    for q, titles in (("census", ["Census"]), (CENSUS_ID, ["Census"]), ("zqincome", [])):
        found = client.get("/en/datastore/", {"q": q}).content.decode()
        assert list_headings(found, "h2") == titles


def test_dcat_has_the_datasets_with_all_their_files(
    client: Client, portal: Any, ages: Resource, homes: Resource
) -> None:
    response = client.get("/en/datastore/catalog.jsonld")
    graph = json.loads(response.content)["@graph"]

    datasets = {each["dct:identifier"]: each for each in graph if each["@type"] == "dcat:Dataset"}
    assert datasets.keys() == {CENSUS_ID, ROADS_ID}
    census = datasets[CENSUS_ID]
    assert census["@id"] == f"http://testserver/en/datastore/#dataset-{CENSUS_ID}"
    assert census["dct:title"] == [
        {"@value": "Census", "@language": "en"},
        {"@value": "Điều tra dân số", "@language": "vi"},
    ]
    files = [each["dcat:downloadURL"]["@id"] for each in census["dcat:distribution"]]
    for table in (ages, homes):
        assert f"http://testserver/en/datastore/dump/{table.pk}?format=csv" in files
    assert "zq" not in response.content.decode().lower()
    turtle = Graph().parse(data=client.get("/en/datastore/catalog.ttl").content, format="turtle")
    assert len(turtle) > len(datasets)
    assert (
        client.get(
            "/en/datastore/catalog.jsonld", headers={"If-None-Match": response["ETag"]}
        ).status_code
        == 304
    )


def test_sitemap_and_feed_have_the_resources_of_datasets(
    client: Client, portal: Any, ages: Resource, homes: Resource
) -> None:
    alone = Resource.objects.get(name="alone")

    for path in ("sitemap.xml", "changes.atom"):
        text = client.get(f"/en/datastore/{path}").content.decode()
        assert str(ages.pk) in text
        assert str(homes.pk) in text
        assert str(alone.pk) not in text


def test_a_page_says_to_search_engines_what_it_is_part_of(
    client: Client, portal: Any, settings: Any, ages: Resource
) -> None:
    settings.DATASTORE_SEARCH_PAGES_VERSION = "1"
    path = f"/en/datastore/{ages.pk}/"
    response = client.get(path)
    pattern = r'<script type="application/ld\+json">(.*?)</script>'
    scripts = map(json.loads, re.findall(pattern, response.content.decode()))
    (data,) = [each for each in scripts if each.get("@type") == "Dataset"]

    assert data["isPartOf"]["name"] == "Census"
    assert data["isPartOf"]["@type"] == "Dataset"
    assert data["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert data["creator"]["name"] == OFFICE.title
    again = client.get(path, headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304


def test_agents_find_the_tables_of_datasets(client: Client, portal: Any) -> None:
    by_dataset = ask_tool(client, "find_tables", q="census")
    by_table = ask_tool(client, "find_tables", q="census persons")

    assert "Ages" in by_dataset
    assert "Homes" in by_dataset
    assert "Ages" in by_table
    assert "Homes" not in by_table
    assert "Alone" not in ask_tool(client, "find_tables")
    for q in ("alone", "zqincome", "zqsecret"):
        answer = ask_tool(client, "find_tables", q=q)
        assert "Alone" not in answer
        assert "Zq" not in answer


# Values and costs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {"resources": ["5b6f1c8e-2d8b-4c0e-9d0a-1f4a7f0c2a11"]},
        {"metadata_modified": datetime(2020, 1, 1)},  # noqa: DTZ001 - what is refused
    ],
)
def test_values_of_other_types_are_refused(values: Any) -> None:
    with pytest.raises(TypeError):
        Dataset(id="1", name="one", **values)


def test_the_number_of_datasets_costs_no_statements(
    client: Client, use: Use, ages: Resource
) -> None:
    counts: list[int] = []
    given: list[Dataset] = []
    use(lambda _user: given)
    for number in (1, 30):
        given[:] = [
            Dataset(id=str(each), name=f"n{each}", title=f"T{each}", resources=[ages.pk])
            for each in range(number)
        ]
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/api/3/action/package_search?q=T0&rows=30").status_code == 200
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_an_unknown_resource_in_a_dataset_is_left_out(
    client: Client, use: Use, ages: Resource
) -> None:
    use(lambda _user: [Dataset(id="1", name="one", resources=[uuid.uuid4(), ages.pk, ages.pk])])

    found = get(client, "package_show", id="one")

    assert [each["id"] for each in found["resources"]] == [str(ages.pk)]


def test_a_resource_is_added_to_no_dataset_of_the_portal(
    client: Client, use: Use, ages: Resource
) -> None:
    use(lambda _user: [Dataset(id=CENSUS_ID, name="census", resources=[ages.pk])])
    token = make_writer_token()

    for name, sent in (
        ("resource_create", {"package_id": "census"}),
        ("resource_create", {"package_id": CENSUS_ID}),
        ("datastore_create", {"resource": {"package_id": "census"}}),
    ):
        check_error(act(client, name, sent, token), 409, "Validation Error")

    assert {*Resource.objects.values_list("name", flat=True)} == {"ages", "homes"}
