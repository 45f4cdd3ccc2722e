"""The examples of the page on the Python interface run, and give what they say."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.apps import AppConfig
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.dispatch import Signal
from django.template import engines
from django.template.loaders.locmem import Loader
from django.test import Client

from datastore_search.api.actions import actions
from datastore_search.api.parameters import _get_serializer
from datastore_search.contrib.files.formats import InputFormat, input_formats
from datastore_search.contrib.files.jobs import LoadFailed, load_file
from datastore_search.contrib.files.signals import load_failed, resource_loaded
from datastore_search.contrib.pages.sections import sections
from datastore_search.downloads.formats import formats
from datastore_search.interface import AccessDenied, list_resources, search, upsert
from datastore_search.models import Resource
from datastore_search.signals import resource_written

from .builders import SURVEY, act, make_resource, make_user
from .files.reading import read_in_test_process

PAGE = Path(__file__).resolve().parent.parent / "docs" / "python.md"

#: Each example by its number, under its heading.
EXAMPLES = dict(
    re.findall(r"^## (\d)\. .*?\n```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
)

#: An expression and its value, in the same line or in the next one.
_VALUE = re.compile(r"^(\S.*?)(?:  |\n)# → (.+)$", re.MULTILINE)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def user() -> Any:
    return make_user("boss", is_superuser=True)


@pytest.fixture
def survey() -> Resource:
    resource = make_resource(SURVEY, name="survey-of-rivers", title="Survey")
    resource.aliases.create(name="survey")
    return resource


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Remove what an example adds to a table or connects to a signal."""
    tables: list[dict[str, Any]] = [actions, formats, sections]
    signals: list[Signal] = [resource_written, resource_loaded, load_failed]
    before = [{**table} for table in tables], [[*signal.receivers] for signal in signals]
    _get_serializer.cache_clear()
    yield
    for table, entries in zip(tables, before[0], strict=True):
        table.clear()
        table.update(entries)
    for signal, receivers in zip(signals, before[1], strict=True):
        signal.receivers = receivers
        signal.sender_receivers_cache.clear()
    _get_serializer.cache_clear()


def run_example(number: int, user: Any) -> dict[str, Any]:
    """Run an example, compare the values that it says, and return its names."""
    code = EXAMPLES[str(number)]
    names: dict[str, Any] = {
        "user": user,
        **{each.__name__: each for each in (date, Decimal, AppConfig, BaseBackend, Resource)},
    }
    start = 0
    for match in _VALUE.finditer(code):
        exec(code[start : match.start()], names)
        assert repr(eval(match[1], names)) == match[2], match[1]
        start = match.end()
    exec(code[start:], names)
    return names


def ready(names: dict[str, Any], name: str) -> None:
    """Start the app that an example configures."""
    sys.modules.setdefault("example", ModuleType("example")).__file__ = __file__
    names[name]("example", sys.modules["example"]).ready()


def test_there_are_nine_examples() -> None:
    assert [*EXAMPLES] == [*"123456789"]


@pytest.mark.parametrize("number", [1, 2, 3, 5])
@pytest.mark.usefixtures("survey")
def test_the_values_of_an_example_are_those_of_the_page(number: int, user: Any) -> None:
    run_example(number, user)

    assert "# → " in EXAMPLES[str(number)]


@pytest.mark.usefixtures("survey")
def test_a_file_is_loaded_for_a_user(
    user: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.csv").write_text(SURVEY)

    with read_in_test_process():
        run_example(4, user)
        with pytest.raises(AccessDenied):
            run_example(4, make_user())


def test_receivers_are_told_of_writes_loads_and_failures(
    user: Any, survey: Resource, tmp_path: Path, mailoutbox: list[Any], settings: Any
) -> None:
    settings.ADMINS = [("Admin", "admin@example.org")]
    names = run_example(6, user)
    key = f"figures:{survey.pk}"
    (tmp_path / "survey.csv").write_text(SURVEY)
    assert {"forget_figures", "report_failure"} <= {*names}

    cache.set(key, 1)
    upsert(user, "survey", [{"code": "7"}], method="insert", force=True)
    assert cache.get(key) is None

    cache.set(key, 1)
    with read_in_test_process():
        load_file(survey, tmp_path / "survey.csv")
        assert cache.get(key) is None
        with pytest.raises(LoadFailed):
            load_file(survey, tmp_path / "nothing.csv")
    assert [mail.subject for mail in mailoutbox] == [
        f"{settings.EMAIL_SUBJECT_PREFIX}Survey could not be loaded"
    ]


def test_a_format_and_an_action_are_offered(client: Client, user: Any, survey: Resource) -> None:
    ready(run_example(7, user), "PortalConfig")

    dump = client.get(f"/en/datastore/dump/{survey.pk}?format=psv&fields=code,stage&limit=1")
    assert b"".join(dump).decode() == "code|stage\n001|active\n"
    answer = act(client, "portal_titles", {"resource_id": "survey"})
    assert answer.json()["result"][0] == "River level at the old bridge"


def test_a_file_of_a_portals_format_is_loaded(
    user: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("portal.psv")
    vars(module).update(run_example(9, user))
    monkeypatch.setitem(sys.modules, "portal", ModuleType("portal"))
    monkeypatch.setitem(sys.modules, "portal.psv", module)
    module.is_psv.__module__ = module.__name__
    added = InputFormat("Pipes", module.is_psv, "portal.psv:read_psv")
    monkeypatch.setitem(input_formats, "Pipes", added)
    path = tmp_path / "rivers.psv"
    path.write_text("code|level\n007|12\n008|\n")

    with read_in_test_process():
        load_file(Resource.objects.create(name="rivers"), path)

    assert search(user, "rivers").records == [
        {"_id": 1, "code": "007", "level": 12},
        {"_id": 2, "code": "008", "level": None},
    ]


def test_a_section_is_shown(
    client: Client, user: Any, survey: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    (template,) = re.findall(r"`(<p>.*?</p>)`", PAGE.read_text())
    engine = engines["django"].engine  # type: ignore[attr-defined]
    loader = Loader(engine, {"notes/note.html": template})
    monkeypatch.setattr(engine, "template_loaders", [loader, *engine.template_loaders])
    ready(run_example(8, user), "NotesConfig")

    page = client.get(f"/en/datastore/{survey.pk}/").content.decode()

    assert "<p>6 records were counted.</p>" in page


def test_a_rule_of_permission_is_asked(user: Any, survey: Resource, settings: Any) -> None:
    backend = run_example(8, user)["GroupsBackend"]
    sys.modules.setdefault("example", ModuleType("example")).GroupsBackend = backend  # type: ignore[attr-defined]
    settings.AUTHENTICATION_BACKENDS = ["example.GroupsBackend"]
    Resource.objects.filter(pk=survey.pk).update(private=True)
    member, other = make_user("member"), make_user("other")
    member.groups.add(Group.objects.create(name="survey-of-rivers"))

    assert [*list_resources(member)] == [survey]
    assert survey.is_readable_by(member)
    assert [*list_resources(other)] == []
