"""The programs that a data page prints: run as printed, they get the records of the page."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.pages.question import format_filters
from datastore_search.filters import And, Comparison, Condition, In, Or, parse_filters
from datastore_search.models import Resource

from ..builders import make_resource, make_token, make_user
from .parsing import parse_table

PROGRAM = re.compile(
    r"<summary>([^<]*)</summary><pre dir=\"ltr\" tabindex=\"0\"><code>(.*?)</code>", re.DOTALL
)
ANSWER = re.compile(r'<pre dir="ltr" tabindex="0"><code>(\{.*?)</code>', re.DOTALL)

#: Quotes of every language, characters of the shells, a control of direction, letters of scripts.
HOSTILE = 'it\'s "5" 50% `id` $HOME $(id) \\n ’‘ %s {x} 小 \u202e đỗ 😀'

#: A stand-in for the part of pandas that the program uses, as pandas is too large to install.
PANDAS = """
import json

def DataFrame(records):
    return json.dumps(records)
"""


@pytest.fixture
def table(transactional_db: None) -> Iterator[Resource]:
    """Thirty records, of which five on the second page have the hostile value."""
    cell = HOSTILE.replace('"', '""')
    rows = "".join(f'{n},"{cell}",{n}.50\n' for n in range(30))
    yield make_resource(f"n,a%b,amount\n{rows}other,other,1.00\n", private=True)
    Resource.objects.all().delete()


def list_programs(page: str) -> dict[str, str]:
    return {html.unescape(name): html.unescape(code) for name, code in PROGRAM.findall(page)}


def run(arguments: list[str], folder: Path, token: str) -> str:
    done = subprocess.run(
        arguments,
        check=False,
        env={**os.environ, "TOKEN": token, "LC_ALL": "C.UTF-8"},
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_every_program_gets_the_records_of_the_page(
    client: Client, table: Resource, live_server: Any, tmp_path: Path
) -> None:
    user = make_user(permissions=("view_resource",))
    token = make_token(user)
    client.force_login(user)
    address = f"/en_GB/datastore/{table.pk}/api/"
    query = {"q": "it's 50", "field.a%b": HOSTILE, "from.amount": "2.5", "page": "2"}
    data_page = client.get(address.removesuffix("api/"), query)
    expected = [int(row[0]) for row in parse_table(data_page)[1:]]
    assert expected == [28, 29, 30]
    response = client.get(address, query, headers={"Host": live_server.url.split("//")[1]})
    programs = list_programs(response.content.decode())
    assert len(programs) == 6
    (tmp_path / "pandas.py").write_text(PANDAS)
    files = {
        "Python: requests": ("a.py", [sys.executable]),
        "Python: pandas": ("b.py", [sys.executable]),
        "Python: ckanapi": ("c.py", [sys.executable, "-W", "ignore"]),
        "R: httr2": ("d.R", ["Rscript"]),
        "JavaScript: fetch": ("e.mjs", ["node"]),
    }

    printed = {"curl": run(["sh", "-c", programs["curl"]], tmp_path, token)}
    for name, (file, command) in files.items():
        (tmp_path / file).write_text(programs[name], encoding="utf-8")
        printed[name] = run([*command, file], tmp_path, token)

    numbers = {name: re.findall(r"_id['\"]: ?(\d+)", text) for name, text in printed.items()}
    r_rows = re.findall(r"^\d+ +(\d+) ", printed["R: httr2"], re.MULTILINE)
    # The programs in Python read all pages.
    shown = client.get(address.removesuffix("api/"), {**query, "page": "1"}, follow=True)
    first = parse_table(shown)[1:]
    everything = [*(int(row[0]) for row in first), *expected]
    assert {**numbers, "R: httr2": r_rows} == {
        name: [*map(str, everything if name.startswith("Python") else expected)] for name in printed
    }
    assert "other" not in "".join(printed.values())


def test_javascript_sends_a_filter_on_a_field_of_any_name(
    client: Client, db: None, tmp_path: Path
) -> None:
    resource = make_resource('__proto__,constructor,"a""__proto__"\nx,y,z\n')
    value = 'v"__proto__":\\'
    filters = {
        "__proto__": ["x", value],
        "constructor": ["y"],
        'a"__proto__': {"ne": '"__proto__":'},
    }
    query = {"filters": json.dumps(filters)}

    page = client.get(f"/en/datastore/{resource.pk}/api/", query).content.decode()

    program = list_programs(page)["JavaScript: fetch"]
    shown = "globalThis.fetch = (address, { body }) => { console.log(body); process.exit(); };\n"
    (tmp_path / "a.mjs").write_text(shown + program, encoding="utf-8")
    sent = json.loads(run(["node", "a.mjs"], tmp_path, ""))
    assert sent["filters"] == filters


def test_the_beginning_of_the_answer_is_shown(client: Client, db: None) -> None:
    resource = make_resource("a,b\n1,<x>\n2,y\n")
    page = client.get(f"/en/datastore/{resource.pk}/api/").content.decode()

    (answer,) = map(html.unescape, ANSWER.findall(page))
    assert json.loads(answer.replace(",\n      …", "").replace(",\n    …", "")) == {
        "success": True,
        "result": {"total": 2, "records": [{"_id": 1, "a": 1, "b": "<x>"}]},
    }
    (link,) = re.findall(r'<a href="([^"]*)" rel="nofollow">The whole answer</a>', page)
    result = client.get(html.unescape(link)).json()["result"]
    assert [record["_id"] for record in result["records"]] == [1, 2]


def test_a_question_that_is_refused_leads_to_the_data_page(
    client: Client, resource: Resource
) -> None:
    response = client.get(f"/en/datastore/{resource.pk}/api/", {"from.amount": "many"})

    assert response.headers["Location"] == f"/en/datastore/{resource.pk}/?from.amount=many"


# Filters as the API takes them -------------------------------------------------------------------

SMALL, LARGE = Comparison("n", "lt", 5), Comparison("n", "gte", Decimal("1.50"))


@pytest.mark.parametrize(
    ("conditions", "filters"),
    [
        ((), {}),
        ((In("a", ("x",)), In("b", (None, 5))), {"a": ["x"], "b": [None, 5]}),
        ((In("a", ()),), {"a": []}),
        ((In("$a", (1,)), In("$$b", (2,))), {"$$a": [1], "$$$b": [2]}),
        ((In("doc", ({"gt": 5}, 1)),), {"doc": {"in": [{"gt": 5}, 1]}}),
        ((In("doc", ([1],)),), {"doc": [[1]]}),
        ((SMALL,), {"n": {"lt": 5}}),
        (
            (Or((SMALL, And((LARGE, In("a", (True,)))))),),
            {"$or": [{"n": {"lt": 5}}, {"$and": [{"n": {"gte": Decimal("1.50")}}, {"a": [True]}]}]},
        ),
    ],
)
def test_filters_say_what_they_were_read_from(
    conditions: tuple[Condition, ...], filters: dict[str, object]
) -> None:
    assert format_filters(conditions) == filters
    assert parse_filters(format_filters(conditions)) == conditions


@pytest.mark.parametrize(
    "conditions", [(SMALL, LARGE), (In("a", (1,)), In("a", (2,))), (Or((SMALL,)), Or((LARGE,)))]
)
def test_two_conditions_of_one_name_both_hold(conditions: tuple[Condition, ...]) -> None:
    assert parse_filters(format_filters(conditions)) == (And(conditions),)
