"""``resource_create``, ``resource_update``, ``resource_patch``: what a resource says of itself."""

from __future__ import annotations

import uuid
from datetime import date
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.catalogue.descriptions import METADATA
from datastore_search.contrib.catalogue.models import Dataset
from datastore_search.models import Resource

from ..builders import (
    act,
    check_error,
    get_result,
    make_listed_resource,
    make_user_token,
    make_writer_token,
)
from .test_publishing import refuse, run

ABOUT: dict[str, Any] = {
    "license": "CC-BY-4.0",
    "source": "https://example.org/levels",
    "publisher": "Office of Water",
    "contact": "Water desk",
    "contact_email": "water@example.org",
    "tags": ["rivers", "levels"],
    "temporal_start": "2024-01-01",
    "temporal_end": "2024-12-31",
    "spatial": "Hue",
    "frequency": "monthly",
    "version_date": "2025-01-15",
}

#: The columns of ``ABOUT`` and of an empty one.
FULL = {
    **ABOUT,
    "temporal_start": date(2024, 1, 1),
    "temporal_end": date(2024, 12, 31),
    "version_date": date(2025, 1, 15),
}
DATES = {"temporal_start", "temporal_end", "version_date"}
EMPTY: dict[str, Any] = {name: None if name in DATES else "" for name in METADATA} | {"tags": []}


@pytest.fixture
def token(db: None) -> str:
    return make_writer_token()


@pytest.fixture
def levels(db: None) -> Resource:
    return make_listed_resource("levels", title="Levels", description="Of rivers", **FULL)


def read_metadata(resource: Resource) -> dict[str, Any]:
    return dict(Dataset.objects.filter(resource=resource).values(*METADATA).get())


# resource_create ----------------------------------------------------------------------------------


def test_a_resource_is_made_with_all_that_it_says_of_itself(client: Client, token: str) -> None:
    sent = {"name": "Levels", "description": "Of rivers", "name_fr": "Niveaux", **ABOUT}

    result = run(client, "resource_create", sent, token)

    made = Resource.objects.get()
    assert read_metadata(made) == FULL
    assert (made.name, made.title, made.description) == (str(made.pk), "Levels", "Of rivers")
    assert made.translations == {"fr": {"title": "Niveaux"}}
    assert not made.private
    assert result["id"] == result["package_id"] == str(made.pk)
    assert result["datastore_active"] is False
    assert {name: result[name] for name in METADATA} == ABOUT


def test_what_is_made_is_shown_and_then_filled(client: Client, token: str) -> None:
    made = run(client, "resource_create", ABOUT, token)

    assert run(client, "resource_show", {"id": made["id"]}, token) == made
    sent = {"resource_id": made["id"], "records": [{"a": 1}]}
    assert act(client, "datastore_create", sent, token).status_code == 200
    address = f"/api/3/action/package_show?id={made['id']}"
    dataset = get_result(client.get(address))
    assert dataset["license_id"] == "CC-BY-4.0"
    assert dataset["resources"][0]["datastore_active"] is True
    assert dataset["resources"][0]["contact"] == "Water desk"


def test_a_resource_has_the_id_that_is_sent(client: Client, token: str) -> None:
    sent: dict[str, Any] = {"id": str(uuid.uuid4()), "private": True}

    made = run(client, "resource_create", sent, token)

    assert (made["id"], made["name"]) == (sent["id"], sent["id"])
    assert Resource.objects.get(pk=sent["id"]).private


#: What CKAN's ``resource_create`` documents and the app does not store, and other members.
OTHERS: dict[str, Any] = {
    "format": "XLSX", "hash": "abc", "resource_type": "api", "mimetype": "text/html",
    "mimetype_inner": "text/html", "cache_url": "https://example.org/cache", "size": 5,
    "created": "2024-01-31T00:00:00", "last_modified": "2024-01-31T00:00:00",
    "cache_last_updated": "2024-01-31T00:00:00", "upload": "a", "state": "deleted",
    "url_type": "upload", "position": 3, "owner": "Hue", "name_xx": "Levels", "name_fr": 5,
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_a_member_that_is_not_stored_is_refused(
    client: Client, token: str, levels: Resource, name: str
) -> None:
    sent, reason = {name: OTHERS[name]}, "This cannot be set: leave it out."

    assert refuse(client, "resource_create", sent, token) == {name: [reason]}
    assert refuse(client, "datastore_create", {"resource": sent}, token) == {
        "resource": [f"The resource cannot be created: “{name}”: {reason}"]
    }
    assert Resource.objects.get() == levels
    if name in {"hash", "url_type"}:
        return  # pushers send their own
    for action in ("resource_update", "resource_patch"):
        assert refuse(client, action, {"id": "levels", **sent}, token) == {name: [reason]}


def test_a_member_as_it_will_be_shown_is_accepted(client: Client, token: str) -> None:
    sent = {"format": "csv", "mimetype": "text/csv", "state": "active", "url_type": "datastore"}
    empty = dict.fromkeys(OTHERS) | {"size": "", "url": None}

    result = run(client, "resource_create", {**empty, **sent}, token)

    assert result["format"] == "CSV"
    assert result["url"].endswith(f"/datastore/dump/{result['id']}")


def test_an_address_is_stored_as_the_source(client: Client, token: str) -> None:
    address = "https://example.org/a.csv"
    about = {"url": address, "source": None}

    made = run(client, "datastore_create", {"resource": about, "records": [{"a": 1}]}, token)

    assert Dataset.objects.get(resource=made["resource_id"]).source == address
    for source in ("", address):
        about = {"url": address, "source": source}
        assert run(client, "resource_create", about, token)["source"] == address
    error = refuse(client, "resource_create", {"url": address, "source": "Office"}, token)
    assert error == {"url": ["This cannot be set: leave it out."]}


LIST, TEXT, LICENSE = (
    "Must be a list of texts.",
    "Must be text.",
    "This is neither an SPDX id nor an address.",
)
MANY = "List contains 51 items, it should contain no more than 50."


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tags", "air", LIST),
        ("tags", [5], LIST),
        ("tags", {"name": "air"}, LIST),
        ("tags", [f"{number}" for number in range(51)], MANY),
        ("tags", [""] * 51, MANY),
        (
            "tags",
            ["é" * 101],
            (
                "Item 1 in the array did not validate: Ensure this value has at most 100"
                " characters (it has 101)."
            ),
        ),
        ("version_date", 20240101, TEXT),
        ("version_date", False, TEXT),
        (
            "temporal_end",
            "31.12.2024",
            "“31.12.2024” value has an invalid date format. It must be in YYYY-MM-DD format.",
        ),
        ("license", "free for all", LICENSE),
        ("license", "ftp://example.org/l", LICENSE),
        ("contact_email", "desk", "Enter a valid email address."),
        ("publisher", ["Hue"], TEXT),
        ("name", ["Levels"], TEXT),
        ("content_language", "xx", "Must be the code of a language."),
        ("source", "a\0", "The text contains a character that cannot be stored."),
        ("id", "levels", "The resource cannot be created: “id” must be a UUID."),
    ],
)
def test_each_member_that_cannot_be_stored_is_named(
    client: Client, token: str, name: str, value: Any, message: str
) -> None:
    assert refuse(client, "resource_create", {name: value}, token) == {name: [message]}
    assert not Resource.objects.exists()


def test_a_resource_of_its_own_takes_no_other(client: Client, token: str, levels: Resource) -> None:
    for name in ("levels", str(levels.pk)):
        error = refuse(client, "resource_create", {"package_id": name}, token)
        assert error == {
            "package_id": [
                "No client can change this dataset: it is a single resource, or the portal’s own."
            ]
        }


@pytest.mark.parametrize("action", ["resource_create", "resource_patch"])
@pytest.mark.usefixtures("levels")
def test_a_translation_that_cannot_be_stored_is_refused(
    client: Client, token: str, action: str
) -> None:
    sent = {"name_fr": "\0", **({"id": "levels"} if action == "resource_patch" else {})}

    assert refuse(client, action, sent, token) == {
        "__extras": ["The text contains a character that cannot be stored."]
    }


def test_an_empty_member_is_no_value(client: Client, token: str) -> None:
    sent = dict.fromkeys(METADATA) | {"license": "", "tags": ["", " a ", "a"], "spatial": "  "}

    run(client, "resource_create", sent, token)

    assert read_metadata(Resource.objects.get()) == {**EMPTY, "tags": ["a"]}


# resource_update, resource_patch ------------------------------------------------------------------


def test_an_update_empties_what_is_not_sent(client: Client, token: str, levels: Resource) -> None:
    sent = {"id": "levels", "license": "CC0-1.0"}

    result = run(client, "resource_update", sent, token)

    levels.refresh_from_db()
    assert read_metadata(levels) == {**EMPTY, "license": "CC0-1.0"}
    assert (levels.title, levels.description, levels.name) == ("Levels", "", "levels")
    assert result["license"] == "CC0-1.0"


def test_a_patch_keeps_what_is_not_sent(client: Client, token: str, levels: Resource) -> None:
    sent = {"id": "levels", "license": None, "tags": ["a"], "name": "New"}

    run(client, "resource_patch", sent, token)

    levels.refresh_from_db()
    assert read_metadata(levels) == {**FULL, "license": "", "tags": ["a"]}
    assert (levels.title, levels.description) == ("New", "Of rivers")


def test_a_pusher_sends_back_what_it_was_shown_before_a_change(
    client: Client, token: str, levels: Resource
) -> None:
    shown = get_result(client.get("/fr/api/3/action/resource_show?id=levels"))
    levels.save()

    run(client, "resource_update", {**shown, "hash": "abc"}, token)

    sent = {**shown, "last_modified": "2024-01-31T00:00:00"}
    assert list(refuse(client, "resource_update", sent, token)) == [
        "last_modified",
        "metadata_modified",
    ]


@pytest.mark.parametrize("locale", ["en", "fr"])
def test_a_pusher_sends_back_what_it_was_shown(
    client: Client, token: str, levels: Resource, locale: str
) -> None:
    levels.title, levels.content_language = "", "en"
    levels.translations = {"fr": {"title": "Niveaux", "description": "Des rivières"}}
    levels.save()
    levels.refresh_from_db()
    shown = get_result(act(client, "resource_show", {"id": "levels"}, locale=locale))

    sent = {**shown, "url_type": "datapusher"}
    answer = act(client, "resource_update", sent, token, locale=locale)

    assert get_result(answer) == shown
    before = Resource.objects.filter(pk=levels.pk).values().get()
    assert before == {name: getattr(levels, name) for name in before}


def test_a_translation_is_added_to_the_others(client: Client, token: str, levels: Resource) -> None:
    Resource.objects.update(translations={"fr": {"title": "Niveaux"}, "de": {"title": "Stände"}})

    run(client, "resource_patch", {"id": "levels", "description_fr": "Des rivières"}, token)

    levels.refresh_from_db()
    assert levels.translations == {
        "fr": {"title": "Niveaux", "description": "Des rivières"},
        "de": {"title": "Stände"},
    }


def test_a_resource_becomes_private_and_never_public_by_itself(
    client: Client, token: str, levels: Resource
) -> None:
    private = []
    for sent in ({"private": True}, {}, {"private": None}, {"private": "false"}):
        run(client, "resource_update", {"id": "levels", **sent}, token)
        levels.refresh_from_db()
        private.append(levels.private)

    assert private == [True, True, True, False]


def test_a_change_that_changes_nothing_keeps_the_version(
    client: Client, token: str, levels: Resource
) -> None:
    levels.refresh_from_db()

    run(client, "resource_patch", {"id": "levels", **ABOUT}, token)

    assert Resource.objects.get().version == levels.version


@pytest.mark.parametrize("action", ["resource_update", "resource_patch"])
def test_an_id_is_required_and_known(client: Client, token: str, action: str) -> None:
    assert refuse(client, action, {}, token) == {"id": ["Missing value"]}
    error = check_error(act(client, action, {"id": "none"}, token), 404)
    assert error == {"message": "Not found: Resource “none” was not found."}


@pytest.mark.parametrize("action", ["resource_update", "resource_patch"])
def test_a_resource_without_records_is_found_by_those_who_may_change_it(
    client: Client, token: str, action: str
) -> None:
    Resource.objects.create(name="unloaded")
    reader = make_user_token("reader", "view")

    check_error(act(client, action, {"id": "unloaded"}, reader), 404)
    check_error(act(client, action, {"id": "unloaded"}), 404)
    assert act(client, action, {"id": "unloaded"}, token).status_code == 200


def test_writing_takes_the_permission_and_a_post(
    client: Client, db: None, levels: Resource
) -> None:
    changer, adder = make_user_token("changer", "change"), make_user_token("adder", "add")

    check_error(act(client, "resource_create", {}), 403)
    check_error(act(client, "resource_create", {}, changer), 403)
    check_error(act(client, "resource_update", {"id": "levels"}), 403)
    check_error(act(client, "resource_update", {"id": "levels"}, adder), 403)
    check_error(client.get("/api/3/action/resource_update?id=levels"), 400)


# datastore_create ---------------------------------------------------------------------------------


def test_each_member_of_a_new_table_that_cannot_be_stored_is_named(
    client: Client, token: str
) -> None:
    sent: dict[str, Any] = {"resource": {"tags": "air", "version_date": 5}, "records": [{"a": 1}]}

    assert refuse(client, "datastore_create", sent, token) == {
        "resource": [
            f"The resource cannot be created: “tags”: {LIST}",
            f"The resource cannot be created: “version_date”: {TEXT}",
        ]
    }
    assert not Resource.objects.exists()
