"""The command that loads a file into a resource, as its options say."""

from __future__ import annotations

import uuid
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from datastore_search.models import Resource

from ...builders import SURVEY, ask, get_ids, run_command

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "My survey 2024.csv"
    path.write_text(SURVEY)
    return path


def test_load_resource_takes_id_name_privacy_and_types(db: None, path: Path) -> None:
    resource_id = uuid.uuid4()

    run_command(
        "load_resource", path, "--id", resource_id, "--name", "n", "--private",
        "--language", "simple", "--type", "amount=text", "--type", "code=int",
    )  # fmt: skip

    resource = Resource.objects.get(pk=resource_id)
    assert (resource.name, resource.private, resource.language) == ("n", True, "simple")
    types = {field.name: field.type for field in resource.fields.all()}
    assert (types["amount"], types["code"]) == ("text", "int4")


def test_load_resource_takes_the_indexes_of_this_and_all_later_loads(db: None, path: Path) -> None:
    run_command("load_resource", path, "--name", "n", "--index", "words", "--index", "dates")
    run_command("load_resource", path, "--name", "n")

    resource = Resource.objects.get()
    assert resource.indexes == ["words", "dates"]
    assert resource.table_version is not None
    assert resource.table_version.indexes == ["words", "dates"]
    assert resource.loads.count() == 2
    with pytest.raises(CommandError, match="colours"):
        run_command("load_resource", path, "--name", "n", "--index", "colours")


@pytest.mark.parametrize("name", ["new", "n"])
def test_load_resource_refuses_an_index_without_its_extension(
    db: None, path: Path, name: str
) -> None:
    Resource.objects.create(name="n")

    with pytest.raises(CommandError, match="pg_trgm"):
        run_command("load_resource", path, "--name", name, "--index", "substrings")
    assert not Resource.objects.exclude(name="n", indexes__isnull=True).exists()


def test_load_resource_replaces_an_existing_one(client: Client, db: None, path: Path) -> None:
    run_command("load_resource", path, "--name", "n", "--private")
    resource = Resource.objects.get()
    resource.private = False
    resource.save()
    path.write_text("a\n1\n2\n")

    run_command("load_resource", path, "--id", resource.pk, "--drop-missing-fields")
    run_command("load_resource", path, "--name", "n")

    assert Resource.objects.count() == 1
    assert get_ids(ask(client, {"resource_id": str(resource.pk)})) == [1, 2]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_printed_on_a_terminal_unless_it_is_silenced(db: None, path: Path) -> None:
    shown, silenced = Terminal(), Terminal()

    call_command("load_resource", path, stdout=StringIO(), stderr=shown)
    call_command("load_resource", path, stdout=StringIO(), stderr=silenced, verbosity=0)

    assert "6 of 6 records" in shown.getvalue()
    assert silenced.getvalue() == ""
    assert run_command("load_resource", path)[1] == ""  # no terminal
