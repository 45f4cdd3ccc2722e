"""The contrib apps: what each needs, and what is said where that is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django.apps import apps
from django.core.checks import run_checks

import datastore_search
from datastore_search.api.parameters import TextField
from datastore_search.apps import ContribAppConfig, DatastoreSearchConfig
from datastore_search.contributions import Contribution, receive
from datastore_search.downloads.parameters import DumpParameters
from datastore_search.signals import request_answered

from .builders import run_command

CONTRIB = Path(datastore_search.__file__).parent / "contrib"
NAMES = sorted(path.parent.name for path in CONTRIB.glob("*/apps.py"))


def list_messages() -> set[tuple[str | None, str]]:
    return {(each.id, each.msg) for each in run_checks()}


def test_django_takes_the_configuration_of_the_core() -> None:
    assert isinstance(apps.get_app_config("datastore_search"), DatastoreSearchConfig)


@pytest.mark.parametrize("name", NAMES)
def test_django_takes_the_configuration_of_each_app(name: str) -> None:
    config = apps.get_app_config(f"datastore_search_{name}")

    assert isinstance(config, ContribAppConfig)
    assert config.name == f"datastore_search.contrib.{name}"


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_package_is_e021(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = apps.get_app_config(f"datastore_search_{name}")
    monkeypatch.setattr(type(config), "packages", {"no_such_package": "such"}, raising=False)

    expected = f"{config.name} needs packages that are not installed."
    assert ("datastore_search.E021", expected) in list_messages()


# What each adds ----------------------------------------------------------------------------------


class NotesConfig(ContribAppConfig):
    """The app of a portal."""

    name = "notes"

    def contribute(self) -> Iterator[Contribution]:
        yield DumpParameters.entries(level=TextField(help_text="The level."))
        yield receive(request_answered, print)


def test_what_an_app_of_a_portal_adds_is_entered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = DumpParameters.get_declared()
    monkeypatch.setattr(DumpParameters, "_declared_fields", {**declared})
    app = NotesConfig("notes", sys.modules[__name__])

    app.ready()
    app.ready()

    assert (app.name, app.label) == ("notes", "notes")
    assert [*DumpParameters.get_declared()] == [*declared, "level"]
    assert [(each.kind, each.names) for each in app.contributions] == [
        ("DumpParameters", ("level",)),
        ("receivers of signals", ("builtins.print",)),
    ]
    assert request_answered.disconnect(print)
    assert not request_answered.disconnect(print)


def test_the_doctor_prints_what_each_app_adds() -> None:
    printed = run_command("datastore_doctor", "--tables")[0].splitlines()

    assert "datastore_search.contrib.files · download formats: xlsx, parquet" in printed
    assert "datastore_search.contrib.analysis · SearchParameters: highlight" in printed
    assert len(printed) > 15
    found = {line.split()[0].rpartition(".")[2] for line in printed}
    assert found == {"analysis", "catalogue", "files", "pages", "scale"}


# Walks --------------------------------------------------------------------------------------------


def find_failures(names: Iterable[str]) -> list[str]:
    """Walk through a portal with these apps, in a process and a database of its own."""
    database = f"walk_{uuid4().hex}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.contrib_walk", database],
        env={**os.environ, "CONTRIB_APPS": " ".join(names)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    failures: list[str] = json.loads(done.stdout.splitlines()[-1])
    return failures


def test_the_core_works_alone() -> None:
    assert find_failures([]) == []


@pytest.mark.parametrize("name", NAMES)
def test_each_app_works_alone(name: str) -> None:
    assert find_failures([name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_others_work_without_each_app(name: str) -> None:
    assert find_failures(each for each in NAMES if each != name) == []
