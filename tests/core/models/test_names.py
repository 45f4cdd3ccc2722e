"""Names, ids and aliases of resources share one space: none is taken from another resource."""

from __future__ import annotations

import threading
import uuid
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.scale.standbys import wait_until
from datastore_search import interface
from datastore_search.database.statements import execute
from datastore_search.messages.writing import TakenAlias
from datastore_search.models import Alias, Resource
from datastore_search.web.tokens import issue_token
from datastore_search.writing import open_writer

from ...builders import (
    READING,
    act,
    ask,
    check_error,
    get_result,
    grant,
    make_listed_resource,
    make_resource,
    make_user,
    make_writer_token,
)
from ...processes import count_waiting_sessions

pytestmark = pytest.mark.django_db

ANYONE = AnonymousUser()

ALIASES = {"aliases-INITIAL_FORMS": 0, "aliases-MIN_NUM_FORMS": 0, "aliases-MAX_NUM_FORMS": 1000}


def show(client: Client, action: str, name: str) -> str:
    result = get_result(client.get(f"/api/3/action/{action}?id={name}"))
    return str(result["id"])


# Aliases ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.needs("catalogue")
def test_a_user_who_may_change_one_resource_takes_no_other_name(
    client: Client, guardian: None, private: bool
) -> None:
    survey = make_listed_resource("survey", private=private)
    Alias.objects.create(resource=survey, name="door")
    mine, user = make_resource(name="mine"), make_user()
    grant(user, "change", mine)
    token = issue_token(user)

    for name in ("survey", "door"):
        sent = {"resource_id": str(mine.pk), "aliases": ["free", name], "force": True}
        error = check_error(act(client, "datastore_create", sent, token), 409)
        assert error == {"aliases": [f"The alias “{name}” is taken."]}

    assert not mine.aliases.exists()
    assert Resource.objects.named("door").get() == survey
    if not private:
        assert show(client, "package_show", "survey") == str(survey.pk)
        assert show(client, "resource_show", "survey") == str(survey.pk)


def test_the_own_name_may_be_an_alias(client: Client) -> None:
    mine, token = make_resource(name="mine"), make_writer_token()

    for _number in range(2):
        sent = {"resource_id": str(mine.pk), "aliases": ["mine", "other"], "force": True}
        assert act(client, "datastore_create", sent, token).status_code == 200

    assert [alias.name for alias in mine.aliases.all()] == ["mine", "other"]


def test_an_alias_is_not_taken_by_a_writer_that_waits(transactional_db: None) -> None:
    mine = make_resource(name="mine")
    failures: list[str] = []

    def take_alias() -> None:
        try:
            with open_writer(mine) as writer:
                writer.set_aliases(["survey"])
        except TakenAlias as error:
            failures.append(str(error))
        finally:
            connections.close_all()

    writer = threading.Thread(target=take_alias, daemon=True)
    with transaction.atomic():
        Resource.objects.create(name="survey")
        writer.start()
        wait_until(count_waiting_sessions)
    writer.join(30)

    assert failures == ["The alias “survey” is taken."]
    assert not Alias.objects.exists()


# Names --------------------------------------------------------------------------------------------


@pytest.fixture
def survey(db: None) -> Resource:
    """A private resource with an alias."""
    survey = make_listed_resource("survey", private=True)
    Alias.objects.create(resource=survey, name="door")
    return survey


@pytest.mark.needs("catalogue")
def test_a_new_dataset_takes_no_name_of_another(client: Client, survey: Resource) -> None:
    token = make_writer_token()

    for name in ("survey", "door", str(survey.pk)):
        sent = {"id": str(uuid.uuid4()), "package_id": name}
        error = check_error(act(client, "resource_create", sent, token), 409)
        assert list(error) == ["package_id"]

    assert Resource.objects.get() == survey


@pytest.mark.parametrize("action", ["resource_create", "datastore_create"])
def test_a_new_id_is_not_the_name_of_another(client: Client, action: str) -> None:
    new_id, token = str(uuid.uuid4()), make_writer_token()
    named = Resource.objects.create(name=new_id)
    key = "id" if action == "resource_create" else "resource_id"

    error = check_error(act(client, action, {key: new_id}, token), 409)

    reason = "The resource cannot be created: A resource with this id already exists."
    assert error in ({"id": [reason]}, {"resource": [reason]})
    assert Resource.objects.get() == named


@pytest.mark.parametrize("name", ["survey", "door", "ID"])
def test_the_admin_gives_no_name_of_another(
    admin_client: Client, survey: Resource, name: str
) -> None:
    name = str(survey.pk) if name == "ID" else name
    inlines = {"aliases-TOTAL_FORMS": 0, "dataset-TOTAL_FORMS": 0, "dataset-INITIAL_FORMS": 0}
    form = {"language": "english", **inlines, **ALIASES}

    answer = admin_client.post(
        "/en/admin/datastore_search/resource/add/", {**form, "title": "T", "name": name}
    )

    assert "Resource with this Name already exists." in answer.content.decode()
    assert Resource.objects.get() == survey


def test_the_database_refuses_what_no_program_has_checked(survey: Resource) -> None:
    mine = Resource.objects.create(name="mine")
    named = Resource.objects.create(name=str(uuid.uuid4()))

    Alias.objects.create(resource=mine, name="mine")

    for change in (
        lambda: Resource.objects.create(name="door"),
        lambda: Resource.objects.create(name=str(survey.pk)),
        lambda: Resource.objects.create(name=str(survey.pk).upper()),
        lambda: Resource.objects.create(name="new", pk=uuid.UUID(named.name)),
        lambda: Resource.objects.filter(pk=mine.pk).update(name="door"),
        lambda: Alias.objects.create(resource=mine, name="survey"),
        lambda: Alias.objects.filter(name="mine").update(resource=survey),
        lambda: Alias.objects.filter(name="mine").update(name="survey"),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()


# Old cases ----------------------------------------------------------------------------------------


def add_old_alias(resource: Resource, name: str) -> None:
    """Give a resource an alias that is the name of another one, as was once possible."""
    change = "ALTER TABLE datastore_search_alias {} TRIGGER datastore_search_name"
    execute(connection, change.format("DISABLE"))
    Alias.objects.create(resource=resource, name=name)
    execute(connection, f"SET CONSTRAINTS ALL IMMEDIATE; {change.format('ENABLE')}")


@pytest.mark.needs("catalogue")
def test_the_name_wins_over_an_old_alias(client: Client) -> None:
    survey, mine = make_listed_resource("survey"), make_listed_resource("mine")
    add_old_alias(mine, "survey")

    assert show(client, "package_show", "survey") == str(survey.pk)


# Names as identifiers -----------------------------------------------------------------------------


@pytest.fixture
def hidden(db: None) -> Resource:
    """A private resource with records, a name and an alias."""
    hidden = make_resource(name="hidden", private=True)
    Alias.objects.create(resource=hidden, name="Cellar")
    return hidden


@pytest.mark.parametrize("action", list(READING))
def test_every_reading_action_takes_a_name(client: Client, db: None, action: str) -> None:
    survey, sent = make_resource(name="survey"), READING[action]

    answers = [
        act(client, action, {"resource_id": name, **sent}).json()["result"]
        for name in (str(survey.pk), "survey")
    ]

    for answer in answers:
        answer.pop("resource_id", None), answer.pop("_links", None)
    assert answers[0] == answers[1]


def test_every_writing_action_takes_a_name(client: Client, db: None) -> None:
    survey, token = make_resource(name="survey"), make_writer_token()
    force = {"resource_id": "survey", "force": True}

    for action, sent in (
        ("datastore_create", {"fields": [{"id": "added", "type": "text"}], "records": [{}]}),
        ("datastore_upsert", {"records": [{"added": "x"}], "method": "insert"}),
        ("datastore_records_delete", {"filters": {"added": "x"}}),
        ("datastore_delete", {}),
    ):
        answer = act(client, action, {**force, **sent}, token)
        assert get_result(answer)["resource_id"] == str(survey.pk)
    check_error(act(client, "datastore_upsert", {**force, "records": []}, token), 404)


def test_python_takes_a_name(db: None) -> None:
    survey = make_resource(name="survey")

    assert interface.get_resource(ANYONE, "survey") == survey
    assert interface.search(ANYONE, "survey").total == 6
    assert len(list(interface.iterate(ANYONE, "survey"))) == 6


@pytest.mark.parametrize("sent", ["", "limit=1"])
def test_a_dump_takes_a_name(client: Client, db: None, sent: str) -> None:
    survey = make_resource(name="survey")

    dumps = [
        b"".join(client.get(f"/en/datastore/dump/{name}?{sent}").streaming_content)  # type: ignore[attr-defined] # Django's stub
        for name in (survey.pk, "survey")
    ]

    assert dumps[0] == dumps[1]


@pytest.mark.parametrize("action", list(READING))
def test_a_private_name_is_refused_as_an_alias_is(
    client: Client, hidden: Resource, action: str
) -> None:
    messages = []
    for name in ("hidden", "Cellar"):
        answer = act(client, action, {"resource_id": name, **READING[action]})
        error = check_error(answer, 403)
        assert str(hidden.pk) not in answer.content.decode()
        messages.append(error["message"].replace(name, "NAME"))
    assert messages[0] == messages[1]
    answer = act(client, action, {"resource_id": "Hidden", **READING[action]})
    check_error(answer, 404)


def test_a_name_that_changes_takes_its_answers_along(client: Client, db: None) -> None:
    survey, other = make_resource(name="survey"), make_resource(name="other")

    for _attempt in range(2):
        assert get_result(ask(client, {"resource_id": "survey"}))["resource_id"] == str(survey.pk)
    Resource.objects.filter(pk=survey.pk).update(name="old")
    check_error(ask(client, {"resource_id": "survey"}), 404)
    assert get_result(ask(client, {"resource_id": "old"}))["resource_id"] == str(survey.pk)
    Resource.objects.filter(pk=other.pk).update(name="survey")
    assert get_result(ask(client, {"resource_id": "survey"}))["resource_id"] == str(other.pk)
    Resource.objects.filter(pk=other.pk).update(name="other")
    Alias.objects.create(resource=survey, name="other2")
    Alias.objects.create(resource=survey, name="survey")
    assert get_result(ask(client, {"resource_id": "survey"}))["resource_id"] == str(survey.pk)


def test_an_old_alias_wins_over_a_name(client: Client, db: None) -> None:
    make_resource(name="survey")
    mine = make_resource(name="mine")
    add_old_alias(mine, "survey")

    for _attempt in range(2):
        assert get_result(ask(client, {"resource_id": "survey"}))["resource_id"] == str(mine.pk)
    assert Resource.objects.named("survey").get() == mine


def test_ids_and_aliases_read_no_name(client: Client, db: None) -> None:
    survey = make_resource(name="survey")
    Alias.objects.create(resource=survey, name="Door")

    for identifier in (str(survey.pk), "Door"):
        ask(client, {"resource_id": identifier})
        with CaptureQueriesContext(connection) as captured:
            get_result(ask(client, {"resource_id": identifier}))
        assert not [query for query in captured if "name = 'survey'" in query["sql"]]
    execute(connection, "SET LOCAL enable_seqscan = off")  # the tables are small
    assert "Seq Scan" not in Resource.objects.named("Door").explain()


@pytest.mark.needs("pages")
@pytest.mark.parametrize(
    "rest", ["", "about/", "api/", "chart/", "?q=river&limit=10", "about/?x=%C3%BC"]
)
def test_an_address_with_a_name_leads_to_the_page(client: Client, db: None, rest: str) -> None:
    survey = make_resource(name="survey")
    Alias.objects.create(resource=survey, name="Cấp nước")

    for name in ("survey", quote("Cấp nước"), str(survey.pk).upper()):
        answer = client.get(f"/en/datastore/{name}/{rest}")
        assert answer.status_code == 302
        assert answer["Location"] == f"/en/datastore/{survey.pk}/{rest}"
        assert "no-store" in answer["Cache-Control"]
        assert "Surrogate-Key" not in answer


@pytest.mark.needs("pages")
def test_an_address_with_a_private_name_is_refused(client: Client, hidden: Resource) -> None:
    for name in ("hidden", "Cellar"):
        answer = client.get(f"/en/datastore/{name}/about/")
        assert answer.status_code == 403
        assert str(hidden.pk) not in answer.content.decode()
    for name in ("Hidden", "none", "x" * 300, "%00", "a%0Ab", "..", str(uuid.uuid4())):
        assert client.get(f"/en/datastore/{name}/about/").status_code == 404
    client.force_login(make_user(permissions=("view_resource",)))
    assert client.get("/en/datastore/hidden/")["Location"] == f"/en/datastore/{hidden.pk}/"


# Invalid names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a b", "", "é", "a/b", "a\n", "x" * 101, None])
def test_an_invalid_name_is_not_saved(db: None, name: Any) -> None:
    resource = Resource.objects.create(name="good")

    with pytest.raises(ValidationError) as raised:
        Resource(name=name).save()
    assert list(raised.value.message_dict) == ["name"]
    with pytest.raises(ValidationError):
        Resource.objects.create(name=name)
    resource.name = name
    for options in ({}, {"update_fields": ["name"]}):
        with pytest.raises(ValidationError):
            resource.save(**options)
    assert Resource.objects.get().name == "good"


def test_a_row_with_an_old_name_can_be_saved(db: None) -> None:
    Resource.objects.filter(pk=Resource.objects.create(name="old").pk).update(name="an old one")
    resource = Resource.objects.get()

    resource.title = "New"
    resource.save()
    Resource.objects.defer("name").get().save()

    assert Resource.objects.get().title == "New"
