"""
Clients that others wrote, unchanged, each from an empty start: find, describe, read, take away.

``programs`` has a program for each client.  Those of Python packages that the tests install run
here; those of others are recorded by ``record.py`` and sent again by ``test_recorded.py``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ..builders import make_token, make_user
from ..processes import run_program
from .rivers import FINDINGS, PATHS, RIVERS_ID

PROGRAMS = Path(__file__).with_name("programs")
CKANAPI = Path(sys.executable).with_name("ckanapi")

pytestmark = pytest.mark.django_db(transaction=True)


def run_ckanapi(base: str, *arguments: str) -> str:
    """Run the command ``ckanapi``, whose worker processes are found by ``PATH``."""
    path = os.pathsep.join([str(CKANAPI.parent), os.environ["PATH"]])
    done = run_program(CKANAPI, *arguments, "-r", base, PATH=path, PYTHONWARNINGS="ignore")
    assert done.returncode == 0, done.stderr
    return done.stdout


def call(base: str, action: str, *arguments: str) -> Any:
    return json.loads(run_ckanapi(base, "action", action, *arguments, "-j"))


@pytest.mark.parametrize("path", ["", pytest.param("/en_GB", marks=pytest.mark.slow)])
@pytest.mark.parametrize("client", ["ckanapi-python", "ckanapi-get", "frictionless-5"])
def test_a_python_client_finds_and_reads_the_table(client: str, path: str, portal: str) -> None:
    done = run_program(sys.executable, PROGRAMS / f"{client}.py", portal + path)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == FINDINGS


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_the_command_ckanapi_calls_actions_by_post_and_by_get(path: str, portal: str) -> None:
    base = portal + path

    (name,) = call(base, "package_list")
    (resource,) = call(base, "package_show", f"id={name}", "-g")["resources"]
    asked = [f"resource_id={resource['id']}", 'filters:{"code": ["001", "003"]}', "limit:1"]
    page = call(base, "datastore_search", *asked)
    rows = run_ckanapi(base, "action", "tag_list", "-J")

    assert resource["id"] == str(RIVERS_ID)
    assert (page["total"], [each["code"] for each in page["records"]]) == (2, ["001"])
    assert rows == '"rivers"\n"water"\n'


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_the_command_ckanapi_dumps_and_searches_datasets(
    path: str, portal: str, tmp_path: Path
) -> None:
    base = portal + path
    shown = call(base, "package_show", "id=rivers")

    dumped = run_ckanapi(base, "dump", "datasets", "--all", "--include-private", "-q")
    described = run_ckanapi(base, "dump", "datasets", "rivers", "-dR", "-q")
    searched = run_ckanapi(base, "search", "datasets", "q=river", "sort=name asc")
    found = run_ckanapi(base, "search", "datasets", "fq=tags:water", "rows:1", "-g")
    organizations = run_ckanapi(base, "dump", "organizations", "--all", "-q")
    run_ckanapi(base, "dump", "datasets", "--all", "-D", str(tmp_path), "-q")

    assert [json.loads(text) for text in (dumped, searched, found)] == [shown] * 3
    (resource,) = json.loads(described)["resources"]
    assert [each["id"] for each in resource["datastore_fields"]] == ["_id", *FINDINGS["fields"]]
    assert json.loads(organizations)["title"] == "City of Huế"
    package = json.loads((tmp_path / "rivers" / "datapackage.json").read_text(encoding="utf-8"))
    (taken,) = package["resources"]
    assert package["license"]["type"] == "CC-BY-4.0"
    assert taken["schema"]["fields"] == [
        {"name": "code", "type": "string"},
        {"name": "station", "type": "string"},
        {"name": "level", "type": "number"},
        {"name": "seen", "type": "datetime"},
    ]
    file = (tmp_path / "rivers" / taken["path"]).read_text(encoding="utf-8-sig")
    assert file.splitlines()[:2] == FINDINGS["file"]


def test_the_command_ckanapi_dumps_users(portal: str) -> None:
    token = make_token(make_user("anna"))

    (dumped,) = run_ckanapi(portal, "dump", "users", "--all", "-q", "-a", token).splitlines()

    assert json.loads(dumped)["name"] == "anna"


def test_ckanapi_asks_in_sql_by_post_and_by_get(portal: str) -> None:
    sql = f"sql=SELECT code, count(*) OVER () AS n FROM \"{RIVERS_ID}\" WHERE code = '001'"

    found = [call(portal, "datastore_search_sql", sql, *options) for options in ((), ("-g",))]

    assert [each["records"] for each in found] == [[{"code": "001", "n": 1}]] * 2
