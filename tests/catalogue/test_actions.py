"""The actions of CKAN's catalogue: their members, their queries, and who may read what."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from datastore_search.contrib.catalogue import actions as actions_of_catalogue
from datastore_search.contrib.catalogue.models import Dataset, build_organization
from datastore_search.contrib.catalogue.sync import sync_dataset
from datastore_search.models import Resource
from datastore_search.web.tokens import issue_token

from ..builders import (
    act,
    check_error,
    create_resource,
    describe,
    get_result,
    make_listed_resource,
    make_resource,
    make_token,
    make_user,
)

#: Answers of a CKAN 2.12.0 for a dataset with three resources, one license, two tags.
RECORDING = Path(__file__).parents[1] / "core" / "ckan" / "catalogue.jsonl"
RECORDED = [json.loads(line) for line in RECORDING.read_text().splitlines()]

#: Members that CKAN gives and a catalogue without accounts and vocabularies does not.
OWN = {"users", "status_show.error_emails_to"}

WATER: dict[str, Any] = {
    "title": "River levels",
    "description": "About water",
    "license": "CC-BY-4.0",
    "publisher": "City of Hue",
    "contact": "Office",
    "contact_email": "office@example.org",
    "tags": ["air", "water"],
    "frequency": "monthly",
    "version_date": "2024-01-01",
}


@pytest.fixture
def water(db: None) -> Resource:
    resource = make_listed_resource("water", **WATER)
    resource.refresh_from_db()
    return resource


@pytest.fixture
def roads(db: None) -> Resource:
    return make_listed_resource("roads", title="Road works", publisher="Vinh", tags=["roads"])


@pytest.fixture
def hidden(db: None) -> Resource:
    return make_listed_resource(
        "secret", title="Secret river", private=True, publisher="Secret service", tags=["secret"]
    )


@pytest.fixture
def unloaded(db: None) -> Resource:
    return create_resource(
        name="unloaded", title="Unloaded river", publisher="Nobody", tags=["unloaded"]
    )


@pytest.fixture(params=[False, True])
def perhaps_own_dataset(db: None, request: pytest.FixtureRequest) -> None:
    """With a dataset of the portal's own, other SQL finds the datasets."""
    if request.param:
        sync_dataset(Dataset(id="z", name="z", tags=["z"], is_public=True))


def get(client: Client, action: str, **sent: str | list[str]) -> Any:
    return get_result(client.get(f"/api/3/action/{action}", sent))


def search(client: Client, **sent: str) -> list[str]:
    found = get(client, "package_search", **sent)
    assert found["count"] >= len(found["results"])
    return [each["name"] for each in found["results"]]


# Members ------------------------------------------------------------------------------------------


def find_recorded(action: str, **sent: str) -> Any:
    (found,) = [
        each["answer"]["result"]
        for each in RECORDED
        if each["action"] == action
        and each["status"] == 200
        and each["sent"].items() >= sent.items()
    ]
    return found


def compare_members(theirs: Any, ours: Any, path: str) -> None:
    """Assert that what CKAN answers has a counterpart of the same kind; null is of any kind."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict), path
        missing = set(theirs) - set(ours)
        assert {f"{path}.{name}" for name in missing} <= OWN, path
        for name in set(theirs) & set(ours):
            if name not in OWN:
                compare_members(theirs[name], ours[name], f"{path}.{name}")
    elif isinstance(theirs, list):
        assert isinstance(ours, list), path
        for each in ours[:1] if theirs else ():
            compare_members(theirs[0], each, f"{path}[]")
    elif theirs is not None and ours is not None:
        assert type(theirs) is type(ours), path


def test_a_dataset_has_the_members_of_ckan(client: Client, water: Resource) -> None:
    ours = get(client, "package_show", id="water")

    compare_members(find_recorded("package_show"), ours, "package_show")
    assert ours["id"] == ours["resources"][0]["id"] == str(water.pk)
    assert ours["license_title"] == "Creative Commons Attribution 4.0"
    assert ours["isopen"] is True
    assert [tag["name"] for tag in ours["tags"]] == ["air", "water"]
    assert ours["organization"]["name"] == "city-of-hue"
    assert ours["owner_org"] == ours["organization"]["id"]
    assert ours["maintainer_email"] == "office@example.org"
    assert ours["version"] == "2024-01-01"
    assert ours["extras"] == [{"key": "frequency", "value": "monthly"}]
    assert ours["metadata_modified"] == water.modified_at.isoformat().replace("+00:00", "")


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        ("resource_show", {"id": "water"}),
        ("resource_search", {"query": "name:river"}),
        ("organization_show", {"id": "city-of-hue"}),
        ("tag_list", {"all_fields": "true"}),
        ("license_list", {}),
        ("resource_view_list", {"id": "water"}),
        ("package_search", {"facet.field": '["tags"]'}),
    ],
)
def test_answers_have_the_members_of_ckan(
    client: Client, water: Resource, action: str, sent: dict[str, str]
) -> None:
    wanted = {"all_fields": "true"} if "all_fields" in sent else {}

    compare_members(find_recorded(action, **wanted), get(client, action, **sent), action)


@pytest.mark.parametrize("base", ["", "/vi", "/en_GB"])
def test_a_resource_names_its_dump(client: Client, db: None, base: str) -> None:
    resource = make_resource(name="own")
    answer = client.get(f"{base}/api/3/action/resource_show?id={resource.pk}")

    described = get_result(answer)

    assert described["datastore_active"] is True
    assert (described["format"], described["mimetype"]) == ("CSV", "text/csv")
    assert client.get(described["url"]).status_code == 200
    assert described["url"].startswith(f"http://testserver{base or '/en'}/datastore/dump/")


def test_status_has_the_name_of_the_portal(client: Client, db: None, settings: Any) -> None:
    settings.DATASTORE_SEARCH_SITE_TITLE = "Open Data"
    settings.DATASTORE_SEARCH_SITE_DESCRIPTION = "Tables of the city."

    status = get(client, "status_show")

    compare_members(find_recorded("status_show"), status, "status_show")
    assert status["site_title"] == "Open Data"
    assert status["site_description"] == "Tables of the city."


# Lists --------------------------------------------------------------------------------------------


def test_lists_have_members_in_order(client: Client, water: Resource, roads: Resource) -> None:
    assert get(client, "package_list") == ["roads", "water"]
    assert get(client, "package_list", limit="1", offset="1") == ["water"]
    assert get(client, "organization_list") == ["city-of-hue", "vinh"]
    assert get(client, "tag_list") == ["air", "roads", "water"]
    assert get(client, "tag_list", query="AT") == ["water"]
    assert get(client, "tag_list", vocabulary_id="x") == []
    assert get(client, "group_list") == []
    assert get(client, "organization_list", sort="title desc") == ["vinh", "city-of-hue"]
    (first, *_others) = get(client, "organization_list", all_fields="true")
    assert (first["title"], first["package_count"]) == ("City of Hue", 1)
    current = get(client, "current_package_list_with_resources", limit="1", page="2")
    assert [each["name"] for each in current] == ["water"]
    shown = get(client, "organization_show", id="city-of-hue", include_datasets="true")
    assert [each["name"] for each in shown["packages"]] == ["water"]
    assert get(client, "organization_show", id=shown["id"])["name"] == "city-of-hue"
    found = get(client, "resource_search", query="name:river,format:csv")
    assert [each["id"] for each in found["results"]] == [str(water.pk)]
    assert get(client, "resource_search", query="format:xml")["count"] == 0
    by_id = search(client, fq=f"id:({water.pk} OR {roads.pk})", sort="name asc")
    assert by_id == ["roads", "water"]


def test_the_publishers_with_the_most_datasets_come_first(
    client: Client, water: Resource, roads: Resource
) -> None:
    for each in range(2):
        make_listed_resource(f"more-{each}", publisher="Vinh")

    sent = {"sort": "package_count desc", "limit": "1", "all_fields": "true"}
    (first,) = get(client, "organization_list", **sent)

    assert (first["name"], first["package_count"]) == ("vinh", 3)


@pytest.mark.parametrize(
    ("sent", "names"),
    [
        ({"sort": "Name  DESC"}, ["vinh", "city-of-hue"]),
        ({"sort": "package_count"}, ["vinh", "city-of-hue"]),  # the most first, as in CKAN
        ({"sort": "package_count ASC"}, ["city-of-hue", "vinh"]),
        ({"order_by": "packages"}, ["vinh", "city-of-hue"]),
        ({"order_by": "packages", "sort": "title"}, ["city-of-hue", "vinh"]),
        ({"id": "water"}, ["city-of-hue", "vinh"]),  # as dpckan asks
        ({"q": "of HUE"}, ["city-of-hue"]),
        ({"q": "of-h"}, ["city-of-hue"]),
    ],
)
def test_organizations_are_sorted_and_found_as_by_ckan(
    client: Client, water: Resource, roads: Resource, sent: dict[str, str], names: list[str]
) -> None:
    make_listed_resource("more", publisher="Vinh")

    assert get(client, "organization_list", **sent) == names


@pytest.mark.parametrize("name", ["query", "q"])
def test_a_tag_has_all_texts_of_a_search(client: Client, water: Resource, name: str) -> None:
    found = get(client, "tag_search", **{name: ["At", " er "]})

    assert [each["name"] for each in found["results"]] == ["water"]
    assert get(client, "tag_autocomplete", **{name: ["at", "x"]}) == []


# package_search -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "names"),
    [
        ({}, ["roads", "water"]),
        ({"q": "*:*"}, ["roads", "water"]),
        ({"q": "river"}, ["water"]),
        ({"q": "river levels"}, ["water"]),
        ({"q": "river works"}, []),
        ({"q": "river OR works"}, ["roads", "water"]),
        ({"q": '"Road works"'}, ["roads"]),
        ({"q": "-river"}, ["roads"]),
        ({"q": "NOT river"}, ["roads"]),
        ({"q": "tags:water"}, ["water"]),
        ({"q": "hue"}, ["water"]),
        ({"q": "http://example.org"}, []),
        ({"q": "title:river"}, ["water"]),
        ({"fq": "+tags:water"}, ["water"]),
        ({"fq": 'tags:"water" AND tags:(air OR roads)'}, ["water"]),
        ({"fq": "organization:city-of-hue"}, ["water"]),
        ({"fq": "organization:(city-of-hue OR vinh)"}, ["roads", "water"]),
        ({"fq": "organization:nobody"}, []),
        ({"fq": "res_format:CSV"}, ["roads", "water"]),
        ({"fq": "res_format:PDF"}, []),
        ({"fq": "capacity:public"}, ["roads", "water"]),
        ({"fq": "name:roads"}, ["roads"]),
        ({"fq": "name:ro*"}, ["roads"]),
        ({"fq": "name:*oad*"}, ["roads"]),
        ({"fq": "name:*ads"}, ["roads"]),
        ({"fq": "name:*oad"}, []),
        ({"fq": "tags:*ate*"}, ["water"]),
        ({"fq": "tags:*ter"}, ["water"]),
        ({"fq": "-tags:*ter"}, ["roads"]),
        ({"q": "title:riv*"}, ["water"]),
        ({"fq": 'name:"what?"'}, []),
        ({"q": "works?"}, []),
        ({"fq_list": '["tags:water", "+name:(roads OR water)"]'}, ["water"]),
        ({"fq_list": '["tags:water", "name:roads"]'}, []),
        ({"fq_list": 'tags:"water, air"', "fq": "name:water"}, []),
        ({"fq_list": "tags:water"}, ["water"]),
        ({"fq": "metadata_modified:[NOW-7DAYS TO NOW]"}, ["roads", "water"]),
        ({"fq": "metadata_modified:[NOW-1MONTH/DAY TO *]"}, ["roads", "water"]),
        ({"fq": "metadata_modified:[NOW/YEAR-2YEARS TO NOW-1DAY]"}, []),
        ({"fq": "-metadata_modified:{* TO NOW-1HOUR}"}, ["roads", "water"]),
        ({"fq": f"metadata_modified:[0001-01-01{5 * '-900YEARS'} TO *]"}, ["roads", "water"]),
        (
            {"fq": "metadata_created:{2020-01-01T00:00:00Z+1YEAR/DAY TO NOW+1MINUTE]"},
            ["roads", "water"],
        ),
        ({"fq": "metadata_modified:[* TO 2020-01-01T00:00:00+02:00-1SECOND]"}, []),
        ({"fq": "metadata_modified:*"}, ["roads", "water"]),
        ({"fq": "license_id:CC-BY-4.0"}, ["water"]),
        ({"fq": "license_id:*"}, ["water"]),
        ({"fq": "dataset_type:dataset +state:active"}, ["roads", "water"]),
        ({"fq": "metadata_modified:[2020-01-01T00:00:00Z TO *]"}, ["roads", "water"]),
        ({"fq": "metadata_modified:[* TO 2020-01-01]"}, []),
        ({"fq": "id:(00000000-0000-0000-0000-000000000000 OR nothing)"}, []),
        ({"sort": "name desc"}, ["water", "roads"]),
        ({"sort": "title_string asc"}, ["water", "roads"]),
        ({"sort": "score desc, title_string desc, name asc"}, ["roads", "water"]),
        ({"rows": "1", "start": "1", "sort": "name asc"}, ["water"]),
        ({"rows": "0"}, []),
    ],
)
def test_datasets_are_found(
    client: Client, water: Resource, roads: Resource, sent: dict[str, str], names: list[str]
) -> None:
    assert search(client, **sent) == names


@pytest.mark.parametrize(
    ("tag", "sent", "is_found"),
    [
        ("Hà Nội", '"hà nội"', True),
        ("Hà Nội", '"HÀ NỘI"', True),
        ("Hà Nội", '"ha noi"', False),
        ("Hà Nội", '"Hà"', False),
        ("Hà Nội", "hÀ*", True),
        ("Hà Nội", "nội*", False),
        ("Hà Nội", "*", True),
        ('a "b"', r'"A \"B\""', True),
        ('a "b"', r'"a \"*"', True),
        ("a, b", '"a"', False),
        ("a, b", '"A, b"', True),
        (r"c\d", r"C\\d", True),
        (r"c\d", "cd", False),
        ("100%", "100%", True),
        ("100%", "1%", False),
        ("a_b", "axb", False),
        ("axb", "a_b", False),
        ("NULL", "null", True),
        ("{}", "{}", True),
    ],
)
@pytest.mark.usefixtures("perhaps_own_dataset")
def test_tags_are_found_whole_or_from_the_beginning_in_any_case(
    client: Client, roads: Resource, tag: str, sent: str, is_found: bool
) -> None:
    describe(roads, tags=["works", tag])

    found, others = search(client, fq=f"tags:{sent}"), search(client, fq=f"-tags:{sent}")

    assert ("roads" in found, "roads" in others) == (is_found, not is_found)


def test_a_text_is_found_in_translations_alone(client: Client, roads: Resource) -> None:
    roads.translations = {"en": {"title": "Streets"}}
    roads.save()

    assert search(client, q="streets") == search(client, q="title:STREETS") == ["roads"]
    assert search(client, q="-streets") == []


def test_values_are_counted(client: Client, water: Resource, roads: Resource) -> None:
    names = ["tags", "organization", "owner_org", "license_id", "res_format", "groups"]

    found = get(client, "package_search", **{"facet.field": json.dumps(names), "rows": "0"})

    assert found["count"] == 2
    assert found["facets"] == {
        "tags": {"air": 1, "roads": 1, "water": 1},
        "organization": {"city-of-hue": 1, "vinh": 1},
        "owner_org": {build_organization(name).id: 1 for name in ("City of Hue", "Vinh")},
        "license_id": {"CC-BY-4.0": 1},
        "res_format": {"CSV": 2},
        "groups": {},
    }
    assert found["search_facets"]["organization"]["items"][0] == {
        "name": "city-of-hue",
        "display_name": "City of Hue",
        "count": 1,
    }
    limited = get(client, "package_search", **{"facet.field": "tags", "facet.limit": "1"})
    assert limited["facets"] == {"tags": {"air": 1}}
    unlimited = get(client, "package_search", **{"facet.field": "tags", "facet.limit": "-1"})
    assert unlimited["facets"] == {"tags": {"air": 1, "roads": 1, "water": 1}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q", "("),
        ("q", "a OR"),
        ("q", ")"),
        ("fq", "tags:(a"),
        ("fq", "nothing:x"),
        ("fq", "tags:[a TO b]"),
        ("fq", "metadata_modified:[x TO *]"),
        ("fq", "metadata_modified:2024-01-01"),
        ("fq", 'metadata_modified:"NOW"'),
        ("fq", "metadata_modified:[NOW-7WEEKS TO *]"),
        ("fq", "metadata_modified:[NOW-DAYS TO *]"),
        ("fq", "metadata_modified:[NOW/7DAYS TO *]"),
        ("fq", "metadata_modified:[NOW-9999YEARS TO *]"),
        ("fq", "metadata_modified:[NOW-901YEARS TO *]"),
        ("fq", "metadata_modified:[-7DAYS TO *]"),
        ("fq", "metadata_modified:{2024-01-01}"),
        ("fq", "name:r*s"),
        ("fq", "name:r?ads"),
        ("q", "river~"),
        ("q", "river~0.8"),
        ("q", "title:river^2"),
        ("q", '"river levels"~5'),
        ("fq_list", '["tags:(a"]'),
        ("fq_list", json.dumps(["a"] * 11)),
        ("fq", "(" * 40 + "a" + ")" * 40),
        ("fq", " ".join(["a"] * 60)),
        ("sort", "nothing asc"),
        ("sort", "name up"),
    ],
)
def test_a_query_that_cannot_be_understood_is_refused(
    client: Client, db: None, name: str, text: str
) -> None:
    error = check_error(client.get("/api/3/action/package_search", {name: text}), 409)

    assert list(error) == [name]


@pytest.mark.parametrize(
    "address",
    ["package_search?fq=river&rows=1", "organization_show?id=city-of-hue&include_datasets=true"],
)
def test_two_statements_answer(client: Client, water: Resource, address: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(f"/api/3/action/{address}").status_code == 200

    assert len([each for each in queries if "datastore_search_resource" in each["sql"]]) == 2


# Limits -------------------------------------------------------------------------------------------

#: The actions that list, with their longest list.
LONGEST = {
    "package_list": "MAX_LISTED_NAMES",
    "tag_list": "MAX_LISTED_NAMES",
    "organization_list": "MAX_ROWS",
    "current_package_list_with_resources": "MAX_ROWS",
}


@pytest.mark.parametrize("action", LONGEST)
def test_lists_end_at_their_limit(
    client: Client, water: Resource, roads: Resource, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions_of_catalogue, LONGEST[action], 1)

    assert len(get(client, action, **({} if action == "tag_list" else {"limit": "5"}))) == 1
    assert len(get(client, action)) == 1


@pytest.mark.parametrize(
    ("action", "sent"), [("package_search", {}), ("resource_show", {"id": "water"})]
)
def test_an_action_ends_by_the_limit_of_anonymous_clients(
    client: Client, water: Resource, settings: Any, action: str, sent: dict[str, str]
) -> None:
    settings.DATASTORE_SEARCH_ANONYMOUS_STATEMENT_TIMEOUT = timedelta(seconds=0.1)
    table = Resource._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO slow")
        cursor.execute(f"CREATE VIEW {table} AS SELECT slow.* FROM slow, pg_sleep(30)")

    error = check_error(act(client, action, sent), 409)

    assert error == {"query": ["Search took too long"]}


# Who may read what --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        ("package_list", {"include_private": "true"}),
        ("package_search", {"q": "river", "include_private": "true"}),
        ("package_search", {"facet.field": '["tags", "organization"]'}),
        ("package_search", {"fq": "organization:secret-service"}),
        ("current_package_list_with_resources", {}),
        ("resource_search", {"query": "name:river"}),
        ("organization_list", {"all_fields": "true"}),
        ("tag_list", {}),
    ],
)
def test_private_and_unloaded_resources_are_in_no_list(
    client: Client, hidden: Resource, unloaded: Resource, action: str, sent: dict[str, str]
) -> None:
    text = client.get(f"/api/3/action/{action}", sent).content.decode()

    for word in ("ecret river", "nloaded", str(hidden.pk), str(unloaded.pk), "Nobody"):
        assert word not in text
    assert '"count":1' not in text


@pytest.mark.parametrize("action", ["package_show", "resource_show", "resource_view_list"])
def test_an_unloaded_resource_is_shown_to_those_who_may_change_it(
    client: Client, unloaded: Resource, action: str
) -> None:
    sent = {"id": str(unloaded.pk)}
    editor = issue_token(make_user("editor", permissions=("change_resource", "view_resource")))

    check_error(act(client, action, sent), 404)
    check_error(act(client, action, sent, make_token()), 404)
    assert act(client, action, sent, editor).status_code == 200


def test_a_dataset_is_not_sent_again_unchanged(client: Client, water: Resource) -> None:
    address = "/api/3/action/package_show?id=water"
    tag = client.get(address)["ETag"]

    assert client.get(address, headers={"If-None-Match": tag}).status_code == 304
    describe(water, tags=["other"])
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 200
