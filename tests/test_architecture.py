"""The map in the architecture: its names are those of the code, in the order in which it runs."""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.test import Client

from datastore_search.contrib.files.jobs import load_file
from datastore_search.guards import shares
from datastore_search.guards.watchdog import Watched
from datastore_search.models import Resource
from datastore_search.signals import request_answered

from .builders import SURVEY, act, get_result, make_writer_token
from .files.builders import make_loaded_resource
from .test_layers import list_core

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "datastore_search"
PAGE = ROOT / "docs" / "architecture.md"

#: These run in a process of their own, of which the test sees nothing.
IN_THE_CHILD = ("contrib/files/formats/child.py", "contrib/files/formats/delimited")


class Stop(NamedTuple):
    """A numbered line of a way: ``1. `file.py` · `function` …``."""

    file: str
    function: str


def parse_ways() -> dict[str, list[Stop]]:
    parts = re.split(r"^### The way of (.+)$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    line = re.compile(r"^\d+\. `([\w/]+\.(?:py|sql))` · `([\w.]+)`", re.MULTILINE)
    return {
        title: [Stop(*match) for match in line.findall(text.split("\n## ")[0])]
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


WAYS = parse_ways()
STOPS = [pytest.param(stop, id=f"{title}: {stop}") for title in WAYS for stop in WAYS[title]]


@cache
def list_functions(file: str) -> frozenset[str]:
    """The qualified names of what a file defines."""
    if file.endswith(".sql"):
        text = (PACKAGE / file).read_text()
        return frozenset(re.findall(r"CREATE (?:OR REPLACE )?FUNCTION (\w+)", text))
    names: set[str] = set()

    def add(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(prefix + child.name)
                add(child, f"{prefix}{child.name}.")

    add(ast.parse((PACKAGE / file).read_text()), "")
    return frozenset(names)


@pytest.mark.parametrize("stop", STOPS)
def test_every_stop_is_in_the_code(stop: Stop) -> None:
    assert stop.function in list_functions(stop.file)


def test_the_page_names_files_that_are_there() -> None:
    named = re.findall(r"`([\w/]+(?:/|\.py|\.sql))`", PAGE.read_text())

    assert len(named) > 20
    for file in named:
        assert any((folder / file).exists() for folder in (PACKAGE, ROOT)), file


def test_the_page_names_every_room_of_the_core_and_every_app_on_three_screens() -> None:
    text = PAGE.read_text()
    rooms = {
        name
        for cell in re.findall(r"^\| (`.*?) \|", text.partition("\n## The apps")[0], re.MULTILINE)
        for name in re.findall(r"`(\w+)`", cell)
    }
    apps = set(re.findall(r"^\| \[`(\w+)`\]\(apps/", text, re.MULTILINE))

    assert {name.partition(".")[2] for name in list_core()} - rooms == {
        "migrations",
        "templatetags",
    }
    assert apps == {path.parent.name for path in PACKAGE.glob("contrib/*/apps.py")}
    assert len(text.splitlines()) <= 160


# The order ----------------------------------------------------------------------------------------


@contextmanager
def record_calls() -> Iterator[list[Stop]]:
    """Record every function of the package that is called meanwhile, in any thread."""
    calls: list[Stop] = []
    prefix = f"{PACKAGE}/"

    def record_call(frame: FrameType, event: str, _argument: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(prefix):
            calls.append(Stop(file.removeprefix(prefix), frame.f_code.co_qualname))

    threading.setprofile(record_call)
    sys.setprofile(record_call)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def post(action: str, token: str = "", **parameters: Any) -> None:
    get_result(act(Client(), action, parameters, token))


def search(**parameters: Any) -> Callable[[Path], None]:
    def run(_folder: Path) -> None:
        resource = make_loaded_resource(SURVEY)
        post("datastore_search", resource_id=str(resource.pk), **parameters)

    return run


def load(folder: Path) -> None:
    path = folder / "survey.csv"
    path.write_text(SURVEY)
    load_file(Resource.objects.create(name="survey"), path)


def upsert(_folder: Path) -> None:
    token = make_writer_token()
    resource = Resource.objects.create(name="stock")
    ids = {"resource_id": str(resource.pk), "force": True}
    fields = [{"id": "code", "type": "text"}, {"id": "amount", "type": "int"}]
    post("datastore_create", token, **ids, fields=fields, primary_key=["code"])
    post("datastore_upsert", token, **ids, records=[{"code": "a", "amount": 1}])


RUNS: dict[str, Callable[[Path], None]] = {
    "`q`": search(q="river"),
    "`filters`": search(filters={"subject": ["watershed", "air"]}),
    "a CSV file": load,
    "an upsert": upsert,
}


@pytest.mark.django_db
@pytest.mark.parametrize("title", WAYS)
def test_a_way_is_walked_in_the_order_of_its_stops(title: str, tmp_path: Path) -> None:
    with record_calls() as calls:
        RUNS[title](tmp_path)

    rest = iter(calls)
    assert RUNS.keys() == WAYS.keys()
    for stop in WAYS[title]:
        if stop.file.endswith(".py") and not stop.file.startswith(IN_THE_CHILD):
            assert stop in rest, f"{stop} is not called, or before the stop above it"


# How much is read to follow a way -----------------------------------------------------------------

#: Parts of the function that has them.
PARTS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


@pytest.fixture
def without_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report no answer: another test may have imported the counters of the metrics."""
    monkeypatch.setattr(request_answered, "receivers", [])


@pytest.mark.usefixtures("without_counters")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("action", "sent", "max_functions", "max_files"),
    [
        ("datastore_search", {"q": "river"}, 96, 21),
        ("datastore_search", {"filters": {"subject": "watershed"}}, 121, 23),
        ("datastore_upsert", {"records": [{"_id": 1, "title": "A"}], "force": True}, 85, 20),
    ],
)
def test_a_warm_request_runs_few_functions_in_few_files(
    action: str, sent: dict[str, Any], max_functions: int, max_files: int
) -> None:
    token, resource = make_writer_token(), make_loaded_resource(SURVEY)
    asked = {"resource_id": str(resource.pk), **sent}
    check_calls(lambda: post(action, token, **asked), max_functions, max_files)


@pytest.mark.usefixtures("without_counters")
@pytest.mark.django_db(transaction=True)
def test_a_warm_page_runs_few_functions_in_few_files() -> None:
    resource = make_loaded_resource(SURVEY)

    def ask() -> None:
        assert Client().get(f"/en/datastore/{resource.pk}/?q=river").status_code == 200

    check_calls(ask, 285, 52)


def check_calls(ask: Callable[[], None], max_functions: int, max_files: int) -> None:
    for _request in range(3):  # the first ones fill the caches
        ask()
    # Some requests do more, such as one that is slow, and is logged: what all run counts.
    seen = []
    for _request in range(3):
        # As in a portal that is asked all the time, nothing wakes the watchdog.
        with Watched(connection, shares.Client({})), record_calls() as calls:
            ask()
        seen.append({each for each in calls if not each.function.endswith(PARTS)})

    functions = set.intersection(*seen)
    assert len(functions) <= max_functions
    assert len({each.file for each in functions}) <= max_files
