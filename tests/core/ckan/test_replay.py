"""
Our API answers each case like CKAN, or with a documented difference.

The answers of CKAN are recorded (``record.py``); the differences are in ``differences.py``.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from datastore_search.api.actions import actions
from datastore_search.models import Resource

from ...builders import act, make_writer_token
from ...shared import ModuleTransaction
from .cases import CASES, READING, WRITING, Case, Request
from .comparison import Comparison
from .differences import DIFFERENCES
from .exchange import (
    ANSWERS,
    build_wire_request,
    compute_fingerprint,
    map_field_types,
    read_json,
    select_compared_parts,
    store_made_id,
    write_json,
)
from .tables import TABLES, list_create_parameters
from .writing import FINAL_SEARCH

_REFERENCE = (
    Path(__file__).parents[3].joinpath("docs/reference/ckan-compatibility.md").read_text()
).splitlines()
_HEADER, *_LINES = map(read_json, ANSWERS.read_text().splitlines())
RECORDED = {line["case"]: line for line in _LINES}
_STEPS = [name for case in CASES for name, _ in case.steps]


#: Parts of about the same size, each named after the group with which it begins.
_PARTS: dict[str, list[Case]] = {
    group: [] for group in ("limit", "filter", "q", "create", "alias", "value", "insert")
}
_part = ""
for _case in CASES:
    if _case.name == "resource/unknown dataset" and "package_create" not in actions:
        continue  # without the catalogue, there are no datasets
    _group = _case.name.partition("/")[0]
    _part = _group if _group in _PARTS else _part
    _PARTS[_part].append(_case)


class Site:
    """Our own API, with the tables of the cases."""

    def __init__(self) -> None:
        self.client = Client(raise_request_exception=False)
        self.token = make_writer_token()
        self.ids = {"dataset": f"dataset-{uuid.uuid4()}"}
        if "package_create" in actions:
            sent = {"name": self.ids["dataset"]}
            assert act(self.client, "package_create", sent, self.token).status_code == 200
        for table in TABLES:
            self.make_resource(table.name)
        for table in TABLES:
            answer = self.ask(Request(table.creation, "datastore_create"))
            assert answer["status"] == 200, answer

    def make_resource(self, name: str) -> None:
        self.ids[name] = str(Resource.objects.create(name=name, indexes=["filters"]).pk)

    def ask(self, request: Request) -> dict[str, Any]:
        wire = build_wire_request(request, self.ids)
        answer = self.client.generic(
            wire.method,
            wire.path,
            wire.body,
            wire.content_type or "application/octet-stream",
            headers={"Authorization": self.token} if request.needs_token else {},
        )
        text = answer.content.decode()
        store_made_id(request, text, self.ids)
        return select_compared_parts(answer.status_code, text, self.ids)

    def compare(self, case: Case) -> Iterator[Comparison]:
        """Send the requests of a case, and roll their changes back."""
        with transaction.atomic():
            if case.writes:
                self.make_resource("own")
            recorded = RECORDED[case.name]["answers"]
            for (name, request), ckan in zip(case.steps, recorded, strict=True):
                yield Comparison(name, request, ckan, self.ask(request))
            transaction.set_rollback(True)


@pytest.fixture(scope="module")
def site(module_transaction: ModuleTransaction) -> Site:
    return Site()


@pytest.mark.parametrize("part", _PARTS)
def test_ckan_answers_the_same_or_the_difference_is_documented(
    db: None, site: Site, part: str
) -> None:
    compared = [comparison for case in _PARTS[part] for comparison in site.compare(case)]
    differing = [each for each in compared if each.differing]

    assert "\n\n".join(describe(each) for each in differing if not is_documented(each)) == ""
    expected = _find_patterns([each.name for each in compared])
    assert expected - _find_patterns([each.name for each in differing]) == set()
    _check_that_fields_are_answered(compared, min_count=40 if part == "create" else 0)


def _find_patterns(names: list[str]) -> set[str]:
    """Find the patterns of documented differences that match one of these names."""
    patterns = {pattern for difference in DIFFERENCES for pattern in difference.cases}
    return {each for each in patterns if any(re.fullmatch(each, name) for name in names)}


def is_documented(comparison: Comparison) -> bool:
    matching = [difference for difference in DIFFERENCES if difference.is_about(comparison.name)]
    return len(matching) == 1 and matching[0].holds(comparison)


def describe(comparison: Comparison) -> str:
    return "\n".join(
        (
            f"{comparison.request.action} {write_json(comparison.request.sent)[:1500]}",
            f"CKAN: {write_json(comparison.ckan)[:1500]}",
            f"Ours: {write_json(comparison.ours)[:1500]}",
            f"Differing: {sorted(comparison.differing)}",
        )
    )


def test_the_cases_were_recorded_as_they_are_sent() -> None:
    assert _HEADER["tables"] == compute_fingerprint(list_create_parameters())
    assert {name: line["asked"] for name, line in RECORDED.items()} == {
        case.name: compute_fingerprint(case.sent) for case in CASES
    }


def test_there_are_many_cases_with_unique_names() -> None:
    assert len(READING) > 1000
    assert len(WRITING) > 150
    assert len(_STEPS) == len(set(_STEPS))


def test_each_reason_is_in_the_reference() -> None:
    rows = {line.split("|")[1].strip() for line in _REFERENCE if line.startswith("|")}

    assert {difference.reason for difference in DIFFERENCES} - rows == set()
    patterns = {pattern for difference in DIFFERENCES for pattern in difference.cases}
    assert _find_patterns(_STEPS) == patterns


def _check_that_fields_are_answered(compared: list[Comparison], *, min_count: int) -> None:
    """Expect that ``datastore_create`` answers with the fields that the table then has."""
    fields_of_creates = [
        (create.name, create.ours["result"]["fields"], look.ours["result"]["fields"][1:])
        for create, look in pairwise(compared)
        if create.request.action == "datastore_create" and create.ours["status"] == 200
        if look.request.sent == FINAL_SEARCH and look.ours["status"] == 200
    ]

    assert len(fields_of_creates) >= min_count
    for name, fields, looked in fields_of_creates:
        assert map_field_types(fields) == map_field_types(looked), name
