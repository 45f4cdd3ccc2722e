"""``package_create`` and the other actions by which clients publish datasets and resources."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from rdflib import Graph, URIRef

from datastore_search.contrib.catalogue.models import Dataset
from datastore_search.contrib.catalogue.resources import MAX_MEMBERS_BYTES
from datastore_search.contrib.catalogue.sync import sync_dataset
from datastore_search.database.statements import fetch_column
from datastore_search.models import Alias, Resource

from ..builders import (
    act,
    ask,
    check_error,
    get_result,
    grant,
    make_listed_resource,
    make_token,
    make_user,
    make_user_token,
    make_writer_token,
)

CHARACTER = "The text contains a character that cannot be stored."

TABLE = {"fields": [{"id": "a", "type": "int4"}], "records": [{"a": 1}]}


@pytest.fixture
def token(db: None) -> str:
    return make_writer_token()


def run(client: Client, action: str, sent: dict[str, Any], token: str = "") -> Any:
    return get_result(act(client, action, sent, token))


def refuse(client: Client, action: str, sent: dict[str, Any], token: str) -> dict[str, Any]:
    return check_error(act(client, action, sent, token), 409)


def check_unknown(client: Client, action: str, sent: dict[str, Any], token: str = "") -> str:
    error = check_error(act(client, action, sent, token), 404)
    return str(error["message"])


@pytest.fixture
def gauges(client: Client, token: str) -> dict[str, Any]:
    """A dataset with a table and a link."""
    sent: dict[str, Any] = {
        "name": "gauges",
        "title": "Gauges",
        "notes": "Levels of rivers",
        "license_id": "cc-by",
        "tags": [{"name": "a b"}],
        "extras": [{"key": "k", "value": "v"}],
        "resources": [{"name": "link", "url": "http://x.org/g.pdf"}],
    }
    run(client, "package_create", sent, token)
    sent = {"resource": {"package_id": "gauges", "name": "T", "is_preview": True}, **TABLE}
    run(client, "datastore_create", sent, token)
    shown: dict[str, Any] = run(client, "package_show", {"id": "gauges"})
    return shown


# Datasets -----------------------------------------------------------------------------------------


def test_datasets_are_found_and_counted_by_the_formats_of_their_resources(
    client: Client, token: str
) -> None:
    table = make_listed_resource("table")
    resources = [{"url": f"http://x.org/{name}"} for name in ("g.pdf", "h.pdf", "i.zip", "j")]
    run(client, "package_create", {"name": "papers", "resources": resources}, token)
    run(client, "package_create", {"name": "empty"}, token)

    def find(action: str, **sent: str) -> Any:
        return get_result(client.get(f"/api/3/action/{action}", sent))

    for query, names in (
        ("res_format:pdf", ["papers"]),
        ("res_format:(CSV OR PDF)", ["papers", table.name]),
        ("res_format:CSV", [table.name]),
        ("-res_format:CSV", ["empty", "papers"]),
        ("-res_format:*", ["empty"]),
        ("res_format:ZI%", []),
    ):
        found = find("package_search", fq=query, sort="name asc")["results"]
        assert [each["name"] for each in found] == names, query
    facets = find("package_search", **{"facet.field": "res_format"})["facets"]
    assert facets == {"res_format": {"CSV": 1, "PDF": 1, "ZIP": 1}}
    assert find("format_autocomplete", q="p") == ["pdf", "zip"]
    assert find("resource_search", query="format:pdf")["count"] == 2
    assert find("resource_search", query="format:csv")["count"] == 1


def test_a_dataset_is_shown_with_all_that_was_sent(client: Client, token: str) -> None:
    sent = {
        "name": "gauges",
        "title": "Gauges",
        "notes": "Levels",
        "url": "http://x.org",
        "version": 1.5,
        "author": "A",
        "author_email": "a@x.org",
        "maintainer": "M",
        "maintainer_email": "m@x.org",
        "license_id": "Some text",
        "own": {"a": [1, 2.5, None]},
        "type": "other",
        "groups": [{"name": "water"}],
        "owner_org": "city",
        "tags": ["b", {"name": "a c"}],
        "extras": [{"key": "n", "value": 5}, {"key": "m", "value": ""}],
    }

    made = run(client, "package_create", sent, token)

    assert run(client, "package_show", {"id": made["id"]}) == made
    same = ("name", "title", "notes", "url", "author", "author_email", "maintainer", "own", "type")
    assert {name: made[name] for name in same} == {name: sent[name] for name in same}
    assert (made["license_id"], made["license_title"]) == ("Some text", "Some text")
    assert (made["version"], made["state"], made["private"]) == ("1.5", "active", False)
    assert [tag["name"] for tag in made["tags"]] == ["a c", "b"]
    assert made["extras"] == [{"key": "m", "value": ""}, {"key": "n", "value": "5"}]
    assert [group["name"] for group in made["groups"]] == ["water"]
    assert made["organization"]["name"] == "city"
    assert made["owner_org"] == made["organization"]["id"]
    assert run(client, "package_search", {"q": "levels"})["results"] == [made]


def test_nested_values_may_be_text(client: Client, token: str) -> None:
    sent = {
        "name": "gauges",
        "tag_string": "xx, yy z",
        "extras": json.dumps([{"key": "k", "value": "v"}]),
        "resources": json.dumps([{"name": "r", "size": "12"}]),
        "private": "true",
    }
    response = client.post("/api/action/package_create", sent, headers={"Authorization": token})

    made = get_result(response)
    assert [tag["name"] for tag in made["tags"]] == ["xx", "yy z"]
    assert made["extras"] == [{"key": "k", "value": "v"}]
    assert (made["private"], made["resources"][0]["size"]) == (True, 12)


@pytest.mark.parametrize(
    ("sent", "name", "reason"),
    [
        ({}, "name", "Missing value"),
        ({"name": "p"}, "name", "Must be 2 to 100 of a-z, 0-9, - and _."),
        ({"name": "n" * 101}, "name", "Must be 2 to 100 of a-z, 0-9, - and _."),
        ({"name": "P1"}, "name", "Must be 2 to 100 of a-z, 0-9, - and _."),
        ({"name": "gauges"}, "name", "That URL is already in use."),
        ({"name": "river"}, "name", "That URL is already in use."),
        ({"name": "door"}, "name", "That URL is already in use."),
        ({"name": "new", "id": "x"}, "id", "Invalid id provided"),
        ({"name": "new", "extras": [{"key": "n"}, {"key": "n"}]}, "extras", None),
        ({"name": "new", "extras": "x"}, "extras", "Cannot parse JSON"),
        ({"name": "new", "maintainer_email": "no"}, "maintainer_email", None),
        ({"name": "new", "state": "draft"}, "state", "Value must be one of active, deleted"),
        ({"name": "new", "tags": [{"name": "t" * 101}]}, "tags", None),
        ({"name": "new", "tags": [{"name": str(n)} for n in range(51)]}, "tags", None),
        ({"name": "new", "groups": [{"title": "x"}]}, "groups", "Each of them needs a “name”."),
        (
            {"name": "new", "groups": [{"name": "a", "description": "x" * 10_001}]},
            "groups",
            "The text is longer than 10000 characters.",
        ),
        ({"name": "new", "license_id": "l" * 201}, "license_id", "At most 200 characters."),
        ({"name": "new", "own": "x" * MAX_MEMBERS_BYTES}, "__extras", None),
        ({"name": "new", "own": "\0"}, "__extras", None),
        ({"name": "new", "tags": '["\\u0000"]'}, "tags", CHARACTER),
        ({"name": "new", "groups": '["\\ud800"]'}, "groups", CHARACTER),
        ({"name": "new", "extras": '[{"key": "a", "value": "\\u0000"}]'}, "extras", CHARACTER),
    ],
)
@pytest.mark.usefixtures("gauges")
def test_a_dataset_that_cannot_be_made_is_refused_by_member(
    client: Client, token: str, sent: dict[str, Any], name: str, reason: str | None
) -> None:
    Alias.objects.create(resource=make_listed_resource("river"), name="door")

    error = refuse(client, "package_create", sent, token)

    assert list(error) == [name]
    assert reason is None or error[name] == [reason]
    assert Dataset.objects.filter(resource=None).count() == 1


def test_an_alias_is_no_name_of_another_dataset(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    lone, table = make_listed_resource("lone"), gauges["resources"][1]["id"]
    sent = {"aliases": ["gauges"], "force": True}

    refused = refuse(client, "datastore_create", {"id": str(lone.pk), **sent}, token)
    run(client, "datastore_create", {"id": table, **sent}, token)
    run(client, "package_delete", {"id": "gauges"}, token)
    run(client, "package_patch", {"id": gauges["id"], "state": "active"}, token)

    assert refused == {"aliases": ["The alias “gauges” is taken."]}
    for row in (Alias(resource=lone, name="gauges"), Resource(name="gauges")):  # as in the admin
        with pytest.raises(ValidationError, match="Name already exists"):
            row.full_clean()
    assert run(client, "package_show", {"id": "gauges"})["id"] == gauges["id"]


def test_an_update_drops_what_it_does_not_name_except_resources(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    updated = run(client, "package_update", {"id": "gauges", "title": "T3"}, token)

    assert gauges["license_title"] == "Creative Commons Attribution"
    assert gauges["isopen"] is True
    assert [each["id"] for each in updated["resources"]] == [e["id"] for e in gauges["resources"]]
    assert (updated["title"], updated["notes"], updated["license_id"]) == ("T3", None, None)
    assert (updated["tags"], updated["extras"], updated["name"]) == ([], [], "gauges")
    assert updated["metadata_created"] == gauges["metadata_created"]
    assert updated["metadata_modified"] > gauges["metadata_modified"]


def test_what_was_shown_can_be_sent_back(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    updated = run(client, "package_update", {**gauges, "title": "T2"}, token)

    def strip(shown: dict[str, Any]) -> dict[str, Any]:
        times = {"metadata_modified", "last_modified", "title"}
        kept = {name: value for name, value in shown.items() if name not in times}
        return {**kept, "resources": [*map(strip, kept.get("resources", []))]}

    assert strip(updated) == strip(gauges)


def test_a_patch_keeps_what_it_does_not_name(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    patched = run(client, "package_patch", {"id": "gauges", "own": 1, "notes": ""}, token)

    assert (patched["own"], patched["notes"]) == (1, None)
    for name in ("title", "license_id", "tags", "extras"):
        assert patched[name] == gauges[name]
    assert run(client, "package_patch", {"id": "gauges", "title": "x"}, token)["own"] == 1


def test_the_resources_of_an_update_are_all_that_stay(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    link = gauges["resources"][0]
    sent = [{"name": "new"}, {"id": link["id"], "url": "http://x.org/2.csv"}]

    updated = run(client, "package_update", {"id": "gauges", "resources": sent}, token)

    assert [each["name"] for each in updated["resources"]] == ["new", "link"]
    assert updated["resources"][1]["id"] == link["id"]
    assert (updated["resources"][1]["mimetype"], updated["resources"][1]["format"]) == (
        "text/csv",
        "PDF",
    )
    assert Resource.objects.count() == 2
    error = refuse(
        client, "package_patch", {"id": "gauges", "resources": [{}, {"size": "x"}]}, token
    )
    assert error == {"resources": [{}, {"size": ["Invalid integer"]}]}
    assert (
        run(client, "package_update", {"id": "gauges", "resources": []}, token)["resources"] == []
    )


def test_resources_are_put_in_order(client: Client, token: str, gauges: dict[str, Any]) -> None:
    first, second = [each["id"] for each in gauges["resources"]]

    result = run(client, "package_resource_reorder", {"id": "gauges", "order": [second]}, token)

    assert result == {"id": gauges["id"], "order": [second, first]}
    shown = run(client, "package_show", {"id": "gauges"})["resources"]
    assert [(each["id"], each["position"]) for each in shown] == [(second, 0), (first, 1)]
    error = refuse(client, "package_resource_reorder", {"id": "gauges", "order": ["x"]}, token)
    assert error == {"order": ["resource_id x can not be found"]}
    error = refuse(client, "package_resource_reorder", {"id": "gauges"}, token)
    assert error == {"order": ["Missing value"]}


def test_a_deleted_dataset_is_hidden_and_its_name_is_free(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    table = gauges["resources"][1]["id"]

    assert run(client, "package_delete", {"id": "gauges"}, token) is None

    assert check_unknown(client, "package_show", {"id": "gauges"})
    assert act(client, "datastore_search", {"resource_id": table}).status_code == 403
    assert act(client, "resource_show", {"id": table}).status_code == 403
    for sent in ({}, {"include_private": True}):
        assert run(client, "package_search", sent, token)["count"] == 0
        assert run(client, "package_list", sent, token) == []
    assert run(client, "package_show", {"id": "gauges"}, token)["state"] == "deleted"
    assert b"Gauges" not in client.get("/en/datastore/").content
    other = run(client, "package_create", {"name": "gauges"}, token)
    assert run(client, "package_show", {"id": "gauges"}, token)["id"] == other["id"]
    restore = {"id": gauges["id"], "state": "active"}
    assert refuse(client, "package_patch", restore, token) == {
        "name": ["That URL is already in use."]
    }
    assert run(client, "package_patch", {**restore, "name": "again"}, token)["state"] == "active"
    assert len(run(client, "package_show", {"id": "again"})["resources"]) == 2
    assert act(client, "datastore_search", {"resource_id": table}).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_purge_leaves_nothing(client: Client, token: str, gauges: dict[str, Any]) -> None:
    assert run(client, "dataset_purge", {"id": "gauges"}, token) is None

    assert not Dataset.objects.exists()
    assert not Resource.objects.exists()
    tables = "SELECT relname FROM pg_class WHERE relname ~ '^datastore_search_record_[0-9]+$'"
    assert fetch_column(connection, tables) == []
    assert check_unknown(client, "package_show", {"id": gauges["id"]}, token)


def test_a_private_dataset_has_private_resources(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    table = gauges["resources"][1]["id"]
    run(client, "package_patch", {"id": "gauges", "private": True}, token)
    run(client, "resource_create", {"package_id": "gauges", "name": "third"}, token)

    assert {*Resource.objects.values_list("private", flat=True)} == {True}
    assert act(client, "datastore_search", {"resource_id": table}).status_code == 403
    assert check_unknown(client, "package_show", {"id": "gauges"})
    found = run(client, "package_search", {"include_private": True}, token)
    assert len(found["results"][0]["resources"]) == 3
    run(client, "package_patch", {"id": "gauges", "private": "false"}, token)
    assert act(client, "datastore_search", {"resource_id": table}).status_code == 200


def test_a_table_is_answered_to_be_as_private_as_its_dataset(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    run(client, "package_patch", {"id": "gauges", "private": True}, token)

    for sent in ({"resource": {"package_id": "gauges"}}, {"id": gauges["resources"][1]["id"]}):
        more = {"fields": [{"id": "a"}], "private": False, "force": True}
        assert run(client, "datastore_create", {**sent, **more}, token)["private"] is True


def test_a_private_dataset_without_resources_is_seen_with_the_permission(
    client: Client, token: str
) -> None:
    run(client, "package_create", {"name": "gauges", "private": True}, token)

    assert run(client, "package_list", {"include_private": True}, token) == ["gauges"]
    adder = make_user_token("adder", "add", "change")
    for action in ("package_show", "package_patch", "package_delete", "dataset_purge"):
        assert check_unknown(client, action, {"id": "gauges"}, adder)
        assert check_unknown(client, action, {"id": "gauges"})
    assert check_unknown(client, "resource_create", {"package_id": "gauges"}, adder) == "Not found"


def test_datasets_are_found_by_a_part_of_the_name_or_title(
    client: Client, gauges: dict[str, Any]
) -> None:
    assert run(client, "package_autocomplete", {"q": "AUGE"}) == [
        {
            "match_displayed": "gauges",
            "match_field": "name",
            "name": "gauges",
            "title": gauges["title"],
        }
    ]
    assert run(client, "package_autocomplete", {"q": "x", "limit": 1}) == []


def test_pages_and_dcat_have_the_address_of_a_resource_without_a_table(
    client: Client, gauges: dict[str, Any]
) -> None:
    link, table = gauges["resources"]

    page = client.get("/en/datastore/").content.decode()
    turtle = client.get("/en/datastore/catalog.ttl").content.decode()

    assert f'<a href="{link["url"]}"><bdi>link</bdi></a>' in page
    assert f'href="/en/datastore/{table["id"]}/"' in page
    assert f"dcat:accessURL <{link['url']}>" in turtle
    assert "<https://www.iana.org/assignments/media-types/application/pdf>" in turtle
    assert link["id"] not in client.get("/en/datastore/sitemap.xml").content.decode()


def test_a_table_that_is_sent_back_as_it_was_shown_follows_its_records(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    table = gauges["resources"][1]
    resource = {**table, "description": "new"}
    sent = {**gauges, "private": True, "resources": [gauges["resources"][0], resource]}
    run(client, "package_update", sent, token)
    revised = {"match__name": "gauges", "update__resources__0__description": "new"}
    run(client, "package_revise", revised, token)
    run(client, "resource_update", run(client, "resource_show", {"id": table["id"]}, token), token)

    sent = {"resource_id": table["id"], "method": "insert", "records": [{"a": 2}], "force": True}
    run(client, "datastore_upsert", sent, token)

    shown = run(client, "resource_show", {"id": table["id"]}, token)
    assert shown["last_modified"] == shown["metadata_modified"]
    sent = {"id": table["id"], "last_modified": "2020-01-02T00:00:00", "hash": "own"}
    shown = run(client, "resource_patch", sent, token)
    assert (shown["last_modified"], shown["hash"]) == ("2020-01-02T00:00:00", "own")


def test_an_update_without_an_address_keeps_the_type_of_a_file(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    sent = {"package_id": "gauges", "name": "a", "url": "data.csv", "url_type": "upload"}
    made = run(client, "resource_create", sent, token)

    shown = run(client, "resource_update", {"id": made["id"], "name": "b"}, token)

    names = ("url", "url_type", "mimetype", "format")
    assert made["mimetype"] == "text/csv"
    assert [shown[name] for name in names] == [made[name] for name in names]


def test_the_page_of_a_resource_says_what_its_dataset_says(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    sent = {"id": "gauges", "owner_org": "Ministry of Water", "maintainer": "River office"}
    run(client, "package_patch", sent, token)
    table = gauges["resources"][1]["id"]

    for path in ("", "about/"):
        page = client.get(f"/en/datastore/{table}/{path}").content.decode()
        assert "<bdi>Ministry of Water</bdi>" in page
        assert 'href="http://www.opendefinition.org/licenses/cc-by"' in page
    assert "River office" in page
    assert "<bdi>Ministry of Water</bdi>" in client.get("/en/datastore/").content.decode()

    run(client, "resource_patch", {"id": table, "publisher": "Gauge office"}, token)
    page = client.get(f"/en/datastore/{table}/").content.decode()
    assert "<bdi>Gauge office</bdi>" in page
    assert "<bdi>Ministry of Water</bdi>" not in page


# Who may ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "verbs"),
    [
        ("package_create", {"add"}),
        ("package_update", {"change"}),
        ("package_patch", {"change"}),
        ("package_revise", {"change"}),
        ("package_resource_reorder", {"change"}),
        ("package_delete", {"delete"}),
        ("dataset_purge", {"delete"}),
        ("resource_create", {"add", "change"}),
        ("resource_delete", {"delete"}),
    ],
)
def test_only_users_with_the_permission_publish(
    client: Client, gauges: dict[str, Any], action: str, verbs: set[str]
) -> None:
    link = gauges["resources"][0]["id"]
    calls: dict[str, dict[str, Any]] = {
        "package_create": {"name": "new"},
        "package_revise": {"match__name": "gauges"},
        "package_resource_reorder": {"id": "gauges", "order": [link]},
        "resource_create": {"package_id": "gauges"},
        "resource_delete": {"id": link},
    }
    sent = calls.get(action, {"id": "gauges"})
    others = {"view", "add", "change", "delete"} - verbs
    for user in ("", make_user_token("other", *others)):
        check_error(act(client, action, sent, user), 403)

    assert run(client, "package_show", {"id": "gauges"}) == gauges
    assert act(client, action, sent, make_user_token("may", *verbs)).status_code == 200


@pytest.mark.parametrize("action", ["package_update", "package_patch", "package_revise"])
def test_whoever_deletes_by_the_state_needs_both_permissions(
    client: Client, gauges: dict[str, Any], action: str
) -> None:
    sent: dict[str, Any] = {"id": "gauges", "title": "New", "state": "deleted"}
    if action == "package_revise":
        sent = {"match__name": "gauges", "update": {"title": "New", "state": "deleted"}}
    for verb in ("change", "delete"):
        user = make_user_token(verb, "view", verb)
        check_error(act(client, action, sent, user), 403)

    assert run(client, "package_show", {"id": "gauges"}) == gauges
    run(client, action, sent, make_user_token("may", "view", "change", "delete"))
    assert Dataset.objects.get(name="gauges").state == "deleted"


def test_a_dataset_does_not_reveal_the_organizations_of_hidden_ones(
    client: Client, token: str
) -> None:
    sent = {"name": "hidden", "private": True, "owner_org": "Office of Floods"}
    hidden = run(client, "package_create", sent, token)["organization"]
    adder = make_user_token("adder", "add")

    for name, sender in (("first", token), ("second", adder)):
        sent = {"name": name, "private": sender == token, "owner_org": hidden["name"]}
        shown = run(client, "package_create", sent, sender)["organization"]
        assert shown["title"] == (hidden["title"] if sender == token else hidden["name"])
        assert shown["id"] == hidden["id"]


def test_a_deleted_dataset_keeps_the_organization_that_it_is_sent(
    client: Client, token: str
) -> None:
    sent = {"name": "gone", "owner_org": "Office of Floods"}
    made = run(client, "package_create", sent, token)
    run(client, "package_delete", {"id": "gone"}, token)
    shown = run(client, "package_show", {"id": "gone"}, token)

    again = run(client, "package_update", {**shown, "state": "active"}, token)

    assert again["organization"] == made["organization"]


@pytest.mark.usefixtures("guardian")
def test_permissions_for_each_resource_are_one_for_the_dataset(
    client: Client, gauges: dict[str, Any]
) -> None:
    resources = [*Resource.objects.all()]
    user = make_user("editor")
    grant(user, "change", resources[0])
    editor = make_token(user)
    sent = {"id": "gauges", "title": "Mine"}
    check_error(act(client, "package_patch", sent, editor), 403)
    grant(user, "change", resources[1])
    assert run(client, "package_patch", sent, editor)["title"] == "Mine"


def test_datasets_that_no_client_has_published_are_not_changed(client: Client, token: str) -> None:
    ages, _homes = make_listed_resource("ages"), make_listed_resource("homes")
    sync_dataset(Dataset(id="1", name="census"), [ages])

    for name in ("census", "homes"):
        for action in ("package_update", "package_delete", "dataset_purge"):
            assert list(refuse(client, action, {"id": name}, token)) == ["id"]
        sent = {"package_id": name}
        assert list(refuse(client, "resource_create", sent, token)) == ["package_id"]
    assert Resource.objects.count() == 2


# Resources ----------------------------------------------------------------------------------------


def test_a_resource_keeps_what_it_is_sent(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    sent = {
        "package_id": gauges["id"],
        "name": "r",
        "description": "d",
        "format": "xlsx",
        "url": "x.org/a.csv",
        "size": "8",
        "created": "2020-01-02",
        "last_modified": "2026-01-01T02:00:00+02:00",
        "hash": "h",
        "resource_type": "file",
        "key": "k",
        "own": {"a": [1, 2.5, None]},
        "none": None,
    }

    made = run(client, "resource_create", sent, token)

    assert run(client, "resource_show", {"id": made["id"]}) == made
    assert (
        made
        | {
            "format": "XLSX",
            "url": "http://x.org/a.csv",
            "size": 8,
            "created": "2020-01-02T00:00:00",
            "last_modified": "2026-01-01T00:00:00",
            "mimetype": "text/csv",
            "position": 2,
            "state": "active",
            "datastore_active": False,
            "url_type": None,
            "package_id": gauges["id"],
            **{
                name: sent[name] for name in ("name", "hash", "resource_type", "key", "own", "none")
            },
        }
        == made
    )
    shown = run(client, "package_show", {"id": "gauges"})
    assert shown["resources"][2] == made
    assert shown["metadata_modified"] > gauges["metadata_modified"]
    assert run(client, "resource_search", {"query": "name:r"})["results"] == [made]


def test_without_an_address_it_has_that_of_its_table(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    made = run(client, "resource_create", {"package_id": "gauges"}, token)
    assert (made["url"], made["url_type"], made["name"]) == ("", None, None)

    table = gauges["resources"][1]
    assert (table["url_type"], table["is_preview"]) == ("datastore", True)
    assert table["url"].endswith(f"/datastore/dump/{table['id']}")
    assert table["datastore_active"] is True


def test_an_update_keeps_what_ckan_keeps(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    sent = {"package_id": "gauges", "name": "r", "url": "http://x.org/a.csv", "hash": "h", "own": 1}
    made = run(client, "resource_create", {**sent, "description": "d"}, token)

    patched = run(client, "resource_patch", {"id": made["id"], "size": 5}, token)
    assert patched == made | {"size": 5, "metadata_modified": patched["metadata_modified"]}
    updated = run(client, "resource_update", {"id": made["id"], "url": "#"}, token)

    assert (updated["url"], updated["description"]) == ("http://#", None)
    assert (updated["name"], updated["hash"], updated["format"]) == ("r", "h", "CSV")
    assert "own" not in updated
    for name, reason in (("size", "Invalid integer"), ("created", "Date format incorrect")):
        error = refuse(client, "resource_patch", {"id": made["id"], name: "x"}, token)
        assert error == {name: [reason]}


def test_a_pusher_fills_a_resource_and_sends_it_back(client: Client, token: str) -> None:
    run(client, "package_create", {"name": "gauges"}, token)
    sent = {"package_id": "gauges", "url": "#", "url_type": "datapusher", "format": "CSV"}
    made = run(client, "resource_create", {**sent, "name": "D"}, token)

    run(client, "datastore_create", {"resource_id": made["id"], "force": "True", **TABLE}, token)
    shown = run(client, "resource_show", {"id": made["id"]}, token)
    assert (shown["datastore_active"], shown["url"]) == (True, "http://#")
    run(client, "datastore_delete", {"resource_id": made["id"], "force": True}, token)
    assert run(client, "resource_update", shown, token)["datastore_active"] is False
    assert run(client, "package_show", {"id": "gauges"})["num_resources"] == 1


def test_a_resource_is_deleted_with_its_table(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    link, table = gauges["resources"]

    assert run(client, "resource_delete", {"id": table["id"]}, token) is None

    assert check_unknown(client, "resource_show", {"id": table["id"]}, token)
    shown = run(client, "package_show", {"id": "gauges"})
    assert [each["id"] for each in shown["resources"]] == [link["id"]]
    assert shown["metadata_modified"] > gauges["metadata_modified"]
    assert check_unknown(client, "resource_delete", {"id": "nope"}, token)


def test_a_resource_is_not_added_to_what_there_is_not(client: Client, token: str) -> None:
    for action, sent in (
        ("resource_create", {"package_id": "nope", "name": "x"}),
        ("datastore_create", {"resource": {"package_id": "nope"}, **TABLE}),
    ):
        assert check_unknown(client, action, sent, token) == "Not found"
    assert not Resource.objects.exists()


# package_revise -----------------------------------------------------------------------------------


def test_a_revision_adds_and_changes_by_path(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    link = gauges["resources"][0]["id"]
    sent = {
        "match__name": "gauges",
        "match__resources__0__name": "link",
        "update__resources__extend": json.dumps([{"name": "rv", "url": "http://x.org/1"}]),
        f"update__resources__{link[:6]}__description": "new",
        "update": {"title": "T2", "extras": [{"value": "w"}]},
    }

    package = run(client, "package_revise", sent, token)["package"]

    assert [each["name"] for each in package["resources"]] == ["link", "T", "rv"]
    assert package["resources"][0]["description"] == "new"
    assert (package["title"], package["extras"]) == ("T2", [{"key": "k", "value": "w"}])
    assert (package["license_id"], package["notes"]) == ("cc-by", "Levels of rivers")


def test_a_revision_removes_by_path(client: Client, token: str, gauges: dict[str, Any]) -> None:
    sent = {"match": {"id": gauges["id"]}, "filter": ["-resources__0", "-notes", "-tags"]}

    run(client, "package_revise", sent, token)

    shown = run(client, "package_show", {"id": "gauges"})
    assert (shown["title"], shown["notes"], shown["tags"]) == ("Gauges", None, [])
    assert [each["name"] for each in shown["resources"]] == ["T"]


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ({"match__name": "gauges", "match__title": "Z"}, {"match": ["title"]}),
        ({"match": {"name": "gauges", "nope": 1}}, {"match": ["nope"]}),
        ({"match": {"name": "gauges", "resources": [{"name": "x"}]}}, {"match": ["resources"]}),
        ({"update": {}}, {"match__id": ["Missing value"]}),
        (
            {"match__name": "gauges", "update__resources__9__name": "x"},
            {"resources__9__name": ["Unmatched key resources__9__name"]},
        ),
    ],
)
def test_a_revision_that_does_not_match_changes_nothing(
    client: Client, token: str, gauges: dict[str, Any], sent: dict[str, Any], error: Any
) -> None:
    assert refuse(client, "package_revise", sent, token) == error
    assert run(client, "package_show", {"id": "gauges"}) == gauges
    assert check_unknown(client, "package_revise", {"match__name": "nope"}, token) == "Not found"


@pytest.mark.parametrize(
    ("action", "sent", "name"),
    [
        ("package_patch", '{"id": "gauges", "own": 1e400}', "__extras"),
        ("package_patch", '{"id": "gauges", "own": [{"a": -1e131071}]}', "__extras"),
        ("package_patch", '{"id": "gauges", "title": 1e999999}', "title"),
        (
            "package_patch",
            '{"id": "gauges", "extras": [{"key": "a", "value": 1e999999}]}',
            "extras",
        ),
        ("resource_create", '{"package_id": "gauges", "own": 1e400}', "__extras"),
    ],
)
def test_a_number_that_cannot_be_stored_is_refused(  # noqa: PLR0913, PLR0917 - a table
    client: Client, token: str, gauges: dict[str, Any], action: str, sent: str, name: str
) -> None:
    response = ask(client, sent, path=f"/en/api/3/action/{action}", Authorization=token)

    assert set(check_error(response, 409)) == {name}


@pytest.mark.parametrize(
    ("action", "sent", "name"),
    [
        ("package_resource_reorder", {"id": "gauges", "order": None}, "order"),
        (
            "resource_view_create",
            {"resource_id": {}, "title": "a", "view_type": "b"},
            "resource_id",
        ),
        ("resource_view_create", {"resource_id": "a", "title": "", "view_type": "b"}, "title"),
    ],
)
def test_a_required_value_that_means_none_is_missing(
    client: Client, token: str, action: str, sent: dict[str, Any], name: str
) -> None:
    assert refuse(client, action, sent, token) == {name: ["Missing value"]}


def test_a_part_of_a_private_dataset_stays_private(
    client: Client, token: str, gauges: dict[str, Any], admin_client: Client
) -> None:
    table = next(each for each in gauges["resources"] if each["datastore_active"])
    run(client, "package_patch", {"id": "gauges", "private": True}, token)

    sent = {"resource_id": table["id"], "private": False, "force": True}
    run(client, "datastore_create", sent, token)
    form = admin_client.get(f"/en/admin/datastore_search/resource/{table['id']}/change/")

    assert 'name="private"' not in form.content.decode()
    assert Resource.objects.get(pk=table["id"]).private
    Resource.objects.update(private=False)  # by a statement
    revised = {"match": {"name": "gauges"}, "update": {"title": "New"}}
    assert run(client, "package_revise", revised, token)["package"]["private"]


def test_no_format_or_media_type_breaks_the_catalogue_in_turtle(
    client: Client, token: str, gauges: dict[str, Any]
) -> None:
    link = next(each for each in gauges["resources"] if not each["datastore_active"])
    address = "http://example.org/a"
    text = f"<{address}> . <{address}> a <{address}>"
    sent = {"id": link["id"], "format": text, "mimetype": text, "url": "http://a.example/b"}
    run(client, "resource_patch", sent, token)

    graph = Graph().parse(data=client.get("/en/datastore/catalog.ttl").content, format="turtle")

    assert "distribution" in str({*graph.predicates()})
    assert URIRef(address) not in graph.all_nodes()


def test_as_many_new_resources_as_there_may_be_replace_the_others(
    client: Client, token: str, gauges: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datastore_search.contrib.catalogue.resources.MAX_RESOURCES", 2)

    sent = {"id": "gauges", "resources": [{"name": "a"}, {"name": "b"}]}
    changed = run(client, "package_patch", sent, token)

    assert [each["name"] for each in changed["resources"]] == ["a", "b"]
    assert not {each["id"] for each in changed["resources"]} & {
        each["id"] for each in gauges["resources"]
    }
