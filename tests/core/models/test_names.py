"""Names, ids and aliases of resources share one space: none is taken from another resource."""

from __future__ import annotations

import threading
import uuid

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.test import Client

from benchmarks.scale.standbys import wait_until
from datastore_search.messages.writing import TakenAlias
from datastore_search.models import Alias, Resource
from datastore_search.web.tokens import issue_token
from datastore_search.writing import open_writer

from ...builders import (
    act,
    check_error,
    get_result,
    grant,
    make_listed_resource,
    make_resource,
    make_user,
    make_writer_token,
)

pytestmark = pytest.mark.django_db

ALIASES = {"aliases-INITIAL_FORMS": 0, "aliases-MIN_NUM_FORMS": 0, "aliases-MAX_NUM_FORMS": 1000}


def show(client: Client, action: str, name: str) -> str:
    result = get_result(client.get(f"/api/3/action/{action}?id={name}"), action)
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
        error = check_error(act(client, "datastore_create", sent, token), 409, "Validation Error")
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
        wait_until(is_blocked)
    writer.join(30)

    assert failures == ["The alias “survey” is taken."]
    assert not Alias.objects.exists()


def is_blocked() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return cursor.fetchone() is not None


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
        error = check_error(act(client, "resource_create", sent, token), 409, "Validation Error")
        assert list(error) == ["package_id"]

    assert Resource.objects.get() == survey


@pytest.mark.parametrize("action", ["resource_create", "datastore_create"])
def test_a_new_id_is_not_the_name_of_another(client: Client, action: str) -> None:
    new_id, token = str(uuid.uuid4()), make_writer_token()
    named = Resource.objects.create(name=new_id)
    key = "id" if action == "resource_create" else "resource_id"

    error = check_error(act(client, action, {key: new_id}, token), 409, "Validation Error")

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

    for values in (
        {"name": "door"},
        {"name": str(survey.pk)},
        {"name": str(survey.pk).upper()},
        {"name": "new", "pk": uuid.UUID(named.name)},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            Resource.objects.create(**values)
    with pytest.raises(IntegrityError), transaction.atomic():
        Resource.objects.filter(pk=mine.pk).update(name="door")
    with pytest.raises(IntegrityError), transaction.atomic():
        Alias.objects.create(resource=mine, name="survey")
    Alias.objects.create(resource=mine, name="mine")
    with pytest.raises(IntegrityError), transaction.atomic():
        Alias.objects.filter(name="mine").update(resource=survey)
    with pytest.raises(IntegrityError), transaction.atomic():
        Alias.objects.filter(name="mine").update(name="survey")


# Old cases ----------------------------------------------------------------------------------------


def add_old_alias(resource: Resource, name: str) -> None:
    """Give a resource an alias that is the name of another one, as was once possible."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE datastore_search_alias DISABLE TRIGGER datastore_search_name")
        Alias.objects.create(resource=resource, name=name)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE datastore_search_alias ENABLE TRIGGER datastore_search_name")


@pytest.mark.needs("catalogue")
def test_the_name_wins_over_an_old_alias(client: Client) -> None:
    survey, mine = make_listed_resource("survey"), make_listed_resource("mine")
    add_old_alias(mine, "survey")

    assert show(client, "package_show", "survey") == str(survey.pk)
