"""Datasets of the portal's own: the documented examples, and every list of them."""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from time import sleep
from types import ModuleType
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.db.models.signals import post_delete, post_save
from django.dispatch import Signal
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rdflib import Graph

from datastore_search.contrib.catalogue.models import Dataset
from datastore_search.contrib.catalogue.sync import delete_dataset, sync_dataset
from datastore_search.models import Resource

from ..agents.exchange import ask_tool
from ..builders import (
    act,
    check_error,
    get_result,
    make_listed_resource,
    make_resource,
    make_token,
    make_writer_token,
)
from ..processes import count_waiting_sessions
from ..shared import ModuleTransaction
from .test_actions import get

OFFICE = {"name": "statistics", "title": "Office of Statistics", "id": "org-1"}
PEOPLE = {"name": "people", "title": "People"}
CENSUS_ID, ROADS_ID = "census-id", "roads-id"


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


def build_census(**values: Any) -> Dataset:
    given: dict[str, Any] = {
        "id": CENSUS_ID,
        "name": "census",
        "title": "Census",
        "notes": "The people of each district, by age and by household, counted once a decade.",
        "content_language": "en",
        "translations": {"vi": {"title": "Điều tra dân số", "notes": "Người dân"}},
        "organization": OFFICE,
        "groups": [PEOPLE],
        "tags": ["people", "age"],
        "license": "CC-BY-4.0",
        "source": "https://example.org/census",
        "version_name": "3",
        "author": "A. Writer",
        "author_email": "writer@example.org",
        "contact": "Desk",
        "contact_email": "desk@example.org",
        "frequency": "yearly",
        "spatial": "All districts",
        "temporal_start": date(2020, 1, 1),
        "extras": {"method": "register"},
        "metadata_created": datetime(2020, 1, 2, tzinfo=UTC),
    }
    return Dataset(**given | values)


@pytest.fixture
def portal(ages: Resource, homes: Resource, hidden: Resource) -> None:
    """Three datasets: one has a private resource, too, one has none, one has that alone."""
    secret = make_listed_resource("zqhidden-too", title="Zqhidden too", private=True)
    sync_dataset(build_census(), [hidden, homes, ages])
    sync_dataset(
        Dataset(
            id=ROADS_ID,
            name="plans",
            title="Plans of roads",
            is_public=True,
            tags=["roads"],
            organization={"name": "roads", "title": "Office of Roads"},
        )
    )
    sync_dataset(
        Dataset(
            id="zqsecret",
            name="zqsecret",
            title="Zqsecret",
            tags=["zqtag"],
            groups=[{"name": "zqgroup"}],
            organization={"name": "zqoffice"},
        ),
        [secret],
    )


def list_headings(page: str, tag: str) -> list[str]:
    found = re.findall(rf"<{tag}>.*?</{tag}>", page, re.DOTALL)
    return [re.sub(r"<[^>]*>", "", each).strip() for each in found]


def search(client: Client, **sent: str) -> list[str]:
    found = get(client, "package_search", **sent)
    assert found["count"] == len(found["results"])
    return [each["name"] for each in found["results"]]


# The documented example ---------------------------------------------------------------------------


def read_example(name: str) -> str:
    text = (Path(__file__).parents[2] / "docs/reference/catalogue.md").read_text()
    (code,) = re.findall(rf"```python\n(# portal/{name}\.py\n.*?)```", text, re.DOTALL)
    return str(code)


class Survey(models.Model):
    """The model of the first example, in the tests' own database."""

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    summary = models.TextField()
    tables = models.JSONField(default=list)

    class Meta:
        app_label = "portal"

    def __str__(self) -> str:
        return self.title


class SurveyPage(Survey):
    """Stands for a page of Wagtail, which sends the same signals with the same attributes."""

    search_description = "Counted by age"
    first_published_at = datetime(2024, 5, 6, tzinfo=UTC)

    class Meta:
        app_label = "portal"
        proxy = True

    def __str__(self) -> str:
        return self.title


@pytest.fixture
def signals(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Signal]]:
    """Run the examples in a portal with their models; give the signals of Wagtail."""
    signals = {"page_published": Signal(), "page_unpublished": Signal()}
    modules: dict[str, dict[str, Any]] = {
        "portal": {},
        "portal.models": {"Survey": Survey, "SurveyPage": SurveyPage},
        "wagtail": {},
        "wagtail.signals": signals,
    }
    for name, members in modules.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    with connection.schema_editor() as editor:
        editor.create_model(Survey)
    connected = [(signal, [*signal.receivers]) for signal in (post_save, post_delete)]
    run: dict[str, Any] = {}
    for name in ("datasets", "wagtail_datasets"):
        exec(read_example(name), run)
    yield signals
    for signal, receivers in connected:
        signal.receivers = receivers
        signal.sender_receivers_cache.clear()


def test_the_documented_model_keeps_its_dataset(
    client: Client, signals: Any, ages: Resource, homes: Resource
) -> None:
    tables = [str(ages.pk), str(homes.pk)]
    survey = Survey(slug="census", title="Census", summary="People", tables=tables)
    survey.save()

    (found,) = get(client, "package_search", q="census")["results"]
    assert (found["id"], found["notes"]) == (f"survey-{survey.pk}", "People")
    assert found["organization"]["title"] == "Office of Statistics"
    assert [each["id"] for each in found["resources"]] == [str(ages.pk), str(homes.pk)]
    assert {each["package_id"] for each in found["resources"]} == {found["id"]}
    before = list_versions()
    survey.save()
    assert list_versions() == before
    survey.slug, survey.tables = "census-2024", [str(ages.pk)]
    survey.save()
    assert get(client, "package_list") == ["census-2024", "homes"]
    survey.delete()
    assert get(client, "package_list") == ["ages", "homes"]


def test_the_documented_page_is_a_dataset_while_it_is_published(
    client: Client, signals: dict[str, Signal], ages: Resource
) -> None:
    page = SurveyPage(pk=7, slug="census", title="Census", tables=[ages.pk])

    signals["page_published"].send(sender=SurveyPage, instance=page, revision=None)
    found = get(client, "package_show", id="census")
    assert (found["id"], found["notes"]) == ("page-7", "Counted by age")
    assert found["metadata_created"] == "2024-05-06T00:00:00.000000"
    signals["page_unpublished"].send(sender=SurveyPage, instance=page)
    assert "census" not in get(client, "package_list")
    signals["page_published"].send(sender=SurveyPage, instance=page, revision=None)
    post_delete.send(sender=SurveyPage, instance=page, using="default", origin=page)
    assert not Dataset.objects.filter(pk="page-7").exists()


# Actions ------------------------------------------------------------------------------------------


def test_a_dataset_has_its_own_members(
    client: Client, portal: None, ages: Resource, homes: Resource
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


def test_a_dataset_has_the_texts_of_the_language(client: Client, portal: None) -> None:
    found = get_result(client.get("/vi/api/3/action/package_show?id=census"))

    assert (found["title"], found["notes"]) == ("Điều tra dân số", "Người dân")
    for q in ("title:Điều", "notes:Người"):
        answer = client.get("/vi/api/3/action/package_search", {"q": q})
        (each,) = get_result(answer)["results"]
        assert each == found


def test_lists_have_the_datasets(client: Client, portal: None, ages: Resource) -> None:
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


def test_a_part_names_its_dataset_and_is_none_by_itself(
    client: Client, portal: None, ages: Resource
) -> None:
    shown = get(client, "resource_show", id="ages")
    found = get(client, "resource_search", query="name:age")

    assert (shown["package_id"], shown["position"]) == (CENSUS_ID, 1)
    assert (found["count"], found["results"][0]["package_id"]) == (1, CENSUS_ID)
    for name in ("ages", str(ages.pk)):
        check_error(client.get(f"/api/3/action/package_show?id={name}"), 404)
    assert search(client, q=str(ages.pk)) == ["census"]


def test_a_resource_outside_is_its_own_dataset(client: Client, portal: None) -> None:
    alone = make_listed_resource("alone", title="Alone")

    assert get(client, "package_list") == ["alone", "census", "plans"]
    assert get(client, "resource_show", id="alone")["package_id"] == str(alone.pk)
    assert get(client, "package_show", id="alone")["id"] == str(alone.pk)


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
    ({"fq": "tags:Peo*"}, ["census"]),
    ({"fq": "tags:eople"}, []),
    ({"fq": "tags:*"}, ["census", "plans"]),
    ({"fq": "tags:(people OR roads) -tags:age"}, ["plans"]),
    ({"fq": "organization:statistics"}, ["census"]),
    ({"fq": "owner_org:org-1"}, ["census"]),
    ({"fq": "groups:people"}, ["census"]),
    ({"fq": "groups:*"}, ["census"]),
    ({"fq": "-groups:people"}, ["plans"]),
    ({"fq": "-organization:statistics"}, ["plans"]),
    ({"fq": "-license_id:*"}, ["plans"]),
    ({"fq": "-name:census"}, ["plans"]),
    ({"fq": "-res_name:ages"}, ["plans"]),
    ({"fq": "-res_format:CSV"}, ["plans"]),
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


def test_datasets_are_searched(client: Client, portal: None) -> None:
    for sent, names in SEARCHES:
        assert search(client, **sent) == names, sent


def test_pages_and_facets_of_datasets(client: Client, portal: None) -> None:
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
    assert found["search_facets"]["organization"]["items"][1]["display_name"] == OFFICE["title"]


# Permissions --------------------------------------------------------------------------------------


def test_readers_see_what_they_may_read(client: Client, portal: None, hidden: Resource) -> None:
    token = make_token()

    found = act(client, "package_search", {"include_private": True}, token).json()["result"]

    assert {each["name"] for each in found["results"]} == {"census", "plans", "zqsecret"}
    assert found["count"] == 3
    (census,) = [each for each in found["results"] if each["name"] == "census"]
    assert census["resources"][0]["id"] == str(hidden.pk)
    (secret,) = [each for each in found["results"] if each["name"] == "zqsecret"]
    assert secret["private"] is True
    shown = act(client, "package_show", {"id": "zqsecret"}, token)
    assert shown.status_code == 200
    assert "public" not in shown.get("Cache-Control", "")
    place = act(client, "resource_show", {"id": "ages"}, token).json()["result"]
    assert (place["package_id"], place["position"]) == (CENSUS_ID, 2)


def test_a_dataset_of_which_nothing_may_be_read_is_not_found(client: Client, portal: None) -> None:
    for name in ("zqsecret", "nowhere"):
        message = check_error(client.get(f"/api/3/action/package_show?id={name}"), 404)
        assert message["message"] == f"Not found: Dataset “{name}” was not found."


# Pages and machines -------------------------------------------------------------------------------


def test_the_catalogue_page_lists_datasets_with_their_tables(client: Client, portal: None) -> None:
    page = client.get("/en/datastore/?sort=").content.decode()

    assert list_headings(page, "h2") == ["Census", "Plans of roads"]
    assert list_headings(page, "h3") == ["Homes", "Ages"]
    assert f'id="dataset-{CENSUS_ID}"' in page
    assert "zq" not in page.lower()
    for q, titles in (("census", ["Census"]), (CENSUS_ID, ["Census"]), ("zqincome", [])):
        found = client.get("/en/datastore/", {"q": q}).content.decode()
        assert list_headings(found, "h2") == titles


def test_dcat_has_the_datasets_with_all_their_files(
    client: Client, portal: None, ages: Resource, homes: Resource
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
    client: Client, portal: None, ages: Resource, homes: Resource
) -> None:
    for path in ("sitemap.xml", "changes.atom"):
        text = client.get(f"/en/datastore/{path}").content.decode()
        assert str(ages.pk) in text
        assert str(homes.pk) in text
        assert "zq" not in text.lower()


def test_a_page_says_to_search_engines_what_it_is_part_of(
    client: Client, portal: None, settings: Any, ages: Resource
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
    assert data["creator"]["name"] == OFFICE["title"]
    again = client.get(path, headers={"If-None-Match": response["ETag"]})
    assert again.status_code == 304


def test_agents_find_the_tables_of_datasets(client: Client, portal: None) -> None:
    by_dataset = ask_tool(client, "find_tables", q="census")
    by_table = ask_tool(client, "find_tables", q="census persons")

    assert "Ages" in by_dataset
    assert "Homes" in by_dataset
    assert "Ages" in by_table
    assert "Homes" not in by_table
    for q in ("zqincome", "zqsecret"):
        assert "Zq" not in ask_tool(client, "find_tables", q=q)


# Costs --------------------------------------------------------------------------------------------


def test_the_number_of_datasets_costs_no_statements(client: Client, ages: Resource) -> None:
    counts: list[int] = []
    for number in (1, 30):
        for each in range(number):
            parts = [make_listed_resource(f"t{number}-{each}")]
            sync_dataset(Dataset(id=f"i{number}-{each}", name=f"n{number}-{each}"), parts)
        with CaptureQueriesContext(connection) as queries:
            assert (
                client.get(f"/api/3/action/package_search?q=n{number}&rows=30").status_code == 200
            )
        counts.append(len(queries))

    assert counts[0] == counts[1]


_SAME = (
    *("", "q=ages", "q=-ages", "q=office", "q=zqincome", "q=res_name:ages", "q=id:*"),
    *("fq=tags:health", "fq=tags:*", "fq=organization:office", "fq=license_id:CC*"),
    *("fq=author:office", "fq=maintainer:desk", "fq=url:*", "fq=private:true", "fq=groups:*"),
    *("fq=res_format:csv", "fq=-title:ages", "fq=name:h*", "fq=metadata_modified:[2020 TO *]"),
    *("sort=title+asc", "sort=name+desc", "sort=id+asc", "include_private=true", "start=1"),
)


@pytest.mark.parametrize("query", _SAME)
def test_a_hidden_dataset_of_the_portal_changes_no_answer(
    query: str, client: Client, ages: Resource, homes: Resource, hidden: Resource
) -> None:
    described = {"license": "CC-BY-4.0", "source": "https://example.org/", "contact": "Desk"}
    row = Dataset.objects.get(resource=ages)
    for name, value in {**described, "publisher": "Office", "tags": ["health"]}.items():
        setattr(row, name, value)
    row.save()
    facets = '["tags","organization","license_id","res_format","groups"]'
    paths = [
        f"/api/3/action/package_search?{query}&facet.field={facets}",
        *(f"/api/3/action/{name}" for name in ("package_list", "organization_list", "tag_list")),
        "/api/3/action/current_package_list_with_resources",
        "/en/datastore/?q=ages",
    ]

    def read() -> list[bytes]:
        return [client.get(path).content for path in paths]

    before = read()
    sync_dataset(Dataset(id="unseen", name="unseen", title="Ages", tags=["health"]))

    assert read() == before


# Synchronization ----------------------------------------------------------------------------------


def list_versions() -> list[Any]:
    rows = [*Dataset.objects.order_by("pk").values_list("version", flat=True)]
    return [*rows, *Resource.objects.order_by("pk").values_list("version", flat=True)]


def test_what_is_as_it_was_is_not_written(portal: None, ages: Resource, homes: Resource) -> None:
    hidden = Resource.objects.get(name="hidden")
    before = list_versions()

    assert not sync_dataset(build_census(), [hidden.pk, str(homes.pk), ages, ages])

    assert list_versions() == before
    assert sync_dataset(build_census(temporal_start="2020-01-02"), [hidden, homes, ages])
    assert not sync_dataset(build_census(temporal_start=date(2020, 1, 2)), [hidden, homes, ages])


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: sync_dataset(build_census(title="New"), parts),
        lambda parts: sync_dataset(build_census(), parts[::-1]),
        lambda parts: sync_dataset(build_census(), parts[:1]),
        lambda _parts: delete_dataset(CENSUS_ID),
        lambda _parts: Dataset.objects.filter(pk=CENSUS_ID).update(license="CC0-1.0"),
    ],
)
def test_a_change_changes_the_versions_of_the_resources_and_of_the_catalogue(
    client: Client, portal: None, homes: Resource, change: Any
) -> None:
    hidden, ages = Resource.objects.get(name="hidden"), Resource.objects.get(name="ages")
    paths = ["catalog.jsonld", f"{ages.pk}/datapackage.json", "changes.atom"]
    tags = [client.get(f"/en/datastore/{path}")["ETag"] for path in paths]

    assert change([hidden, homes, ages])

    versions = [client.get(f"/en/datastore/{path}")["ETag"] for path in paths]
    assert not {*versions} & {*tags}


def test_a_dataset_without_resources_changes_the_catalogue(client: Client, portal: None) -> None:
    path = "/en/datastore/catalog.jsonld"
    tags = [client.get(path)["ETag"]]
    Dataset.objects.filter(pk=ROADS_ID).update(title="Other plans")
    tags.append(client.get(path)["ETag"])
    assert delete_dataset(ROADS_ID)
    tags.append(client.get(path)["ETag"])

    assert len({*tags}) == 3


def test_what_leaves_a_dataset_is_its_own_again(
    client: Client, portal: None, ages: Resource
) -> None:
    hidden, homes = Resource.objects.get(name="hidden"), Resource.objects.get(name="homes")

    assert sync_dataset(build_census(title="", tags=[]), [homes])

    assert get(client, "package_list") == ["ages", "census", "plans"]
    found = get(client, "package_show", id="census")
    assert (found["title"], found["tags"], found["num_resources"]) == ("census", [], 1)
    assert delete_dataset(CENSUS_ID)
    assert not delete_dataset(CENSUS_ID)
    assert get(client, "package_list") == ["ages", "homes", "plans"]
    assert Resource.objects.filter(pk=hidden.pk).exists()


def test_a_resource_keeps_its_metadata_in_a_dataset_until_it_is_deleted(
    client: Client, portal: None
) -> None:
    token = make_writer_token()
    sent = {"id": "ages", "license": "CC0-1.0", "contact": "Ann"}

    shown = get_result(act(client, "resource_patch", sent, token))

    assert (shown["license"], shown["package_id"]) == ("CC0-1.0", CENSUS_ID)
    assert get(client, "package_show", id="census")["license_id"] == "CC-BY-4.0"
    Resource.objects.get(name="ages").delete()
    found = get(client, "package_show", id="census")
    assert [each["name"] for each in found["resources"]] == ["Homes"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name"),
    ({"name": None}, "name"),
    ({"name": "two words"}, "name"),
    ({"name": "plans"}, "name"),
    ({"name": ROADS_ID}, "name"),
    ({"name": "alone"}, "name"),
    ({"id": "alone"}, "id"),
    ({"id": ""}, "id"),
    ({"license": "a b"}, "license"),
    ({"tags": ["x" * 101]}, "tags"),
    ({"tags": ["x"] * 51}, "tags"),
    ({"contact_email": "nobody"}, "contact_email"),
    ({"content_language": "xx"}, "content_language"),
    ({"title": "x" * 301}, "title"),
    ({"translations": {"vi": {"name": "x"}}}, "__all__"),
    ({"organization": {"title": "Office"}}, "organization"),
    ({"organization": "Office"}, "organization"),
    ({"groups": [{"name": "a", "colour": "red"}]}, "groups"),
    ({"groups": {"name": "a"}}, "groups"),
    ({"extras": {"a": 1}}, "extras"),
    ({"extras": ["a"]}, "extras"),
    ({"metadata_modified": datetime(2020, 1, 1)}, "metadata_modified"),  # noqa: DTZ001 - what is refused
]


@pytest.mark.parametrize(("values", "name"), REFUSED)
def test_what_cannot_be_a_dataset_is_refused_by_its_field(
    portal: None, homes: Resource, values: dict[str, Any], name: str
) -> None:
    alone = make_listed_resource("alone")
    if values.get("id") == "alone":
        values = {"id": str(alone.pk)}
    before = [*Dataset.objects.order_by("pk").values()]

    with pytest.raises(ValidationError) as refused:
        sync_dataset(build_census(**{"id": "new", "name": "new", **values}))

    assert [*refused.value.message_dict] == [name]
    assert [*Dataset.objects.order_by("pk").values()] == before


def test_a_resource_that_is_unknown_or_elsewhere_is_refused(portal: None, ages: Resource) -> None:
    unknown, new = uuid.uuid4(), Dataset(id="new", name="new")

    for each, message in (
        (unknown, f"There is no resource “{unknown}”."),
        ("ages", "There is no resource “ages”."),
        (ages, f"The resource “{ages.pk}” is part of another dataset."),
    ):
        with pytest.raises(ValidationError) as refused:
            sync_dataset(new, [each])
        assert refused.value.message_dict == {"resources": [message]}
    assert not Dataset.objects.filter(pk="new").exists()


def test_a_dataset_may_have_the_name_of_one_of_its_resources(
    client: Client, ages: Resource, homes: Resource
) -> None:
    sync_dataset(Dataset(id="1", name="ages"), [ages])

    assert get(client, "package_show", id="ages")["id"] == "1"
    assert get(client, "package_list") == ["ages", "homes"]
    with pytest.raises(ValidationError):
        sync_dataset(Dataset(id="1", name="ages"), [homes])


def test_a_resource_is_added_to_no_dataset_of_the_portal(
    client: Client, ages: Resource, homes: Resource
) -> None:
    sync_dataset(Dataset(id=CENSUS_ID, name="census"), [ages])
    name = str(uuid.uuid4())
    sync_dataset(Dataset(id=name, name="other"), [homes])
    token = make_writer_token()

    for action, sent in (
        ("resource_create", {"package_id": "census"}),
        ("resource_create", {"package_id": CENSUS_ID}),
        ("resource_create", {"id": name}),
        ("datastore_create", {"resource": {"package_id": "census"}}),
        ("datastore_create", {"resource_id": name}),
    ):
        check_error(act(client, action, sent, token), 409)

    assert {*Resource.objects.values_list("name", flat=True)} == {"ages", "homes"}


# Rows ---------------------------------------------------------------------------------------------


def test_each_resource_has_a_row_however_it_is_made(db: None) -> None:
    Resource.objects.bulk_create([Resource(name="a"), Resource(name="b")])
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO datastore_search_resource SELECT (jsonb_populate_record(resource,"
            " jsonb_build_object('id', gen_random_uuid(), 'name', 'c'))).*"
            " FROM datastore_search_resource AS resource WHERE name = 'a'"
        )

    rows = Dataset.objects.order_by("resource__name")
    assert [(each.pk, each.shown_name) for each in rows] == [
        (str(each.pk), each.name) for each in Resource.objects.order_by("name")
    ]


def test_a_lost_row_is_a_resource_without_metadata(client: Client, ages: Resource) -> None:
    Dataset.objects.all().delete()
    token = make_writer_token()

    assert get(client, "resource_show", id="ages")["license"] is None
    act(client, "resource_patch", {"id": "ages", "license": "CC0-1.0"}, token)
    assert get(client, "package_search", q="ages")["results"][0]["license_id"] == "CC0-1.0"


def test_a_new_resource_is_changed_once(db: None) -> None:
    resource = Resource.objects.create(name="new")
    version = Resource.objects.get(name="new").version

    assert Dataset.objects.get(pk=str(resource.pk)).resource == resource
    assert Resource.objects.get(name="new").version == version


def create_census(dataset_id: str) -> bool:
    with closing(connection):
        return sync_dataset(Dataset(id=dataset_id, name="census", title="Census"))


@pytest.mark.django_db(transaction=True)
def test_a_dataset_that_two_processes_create_at_once_is_created_once() -> None:
    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            sync_dataset(Dataset(id=CENSUS_ID, name="census", title="Census"))
            same = pool.submit(create_census, CENSUS_ID)
            other = pool.submit(create_census, "another-id")
            for _attempt in range(500):
                if count_waiting_sessions() == 2:
                    break
                sleep(0.01)
        assert same.result() is False
        with pytest.raises(ValidationError, match="name"):
            other.result()
