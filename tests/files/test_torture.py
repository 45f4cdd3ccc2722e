"""Every file of the torture folder is loaded."""

from __future__ import annotations

import importlib
import pkgutil
from contextlib import nullcontext

import pytest
from django.test import Client

from datastore_search.contrib.files.jobs import load_file
from datastore_search.contrib.files.messages import LoadFailed
from datastore_search.contrib.files.models import Load
from datastore_search.models import Resource

from ..builders import get_result, search
from . import torture
from .builders import render_messages
from .reading import read_in_test_process
from .torture.cases import FILES, Case

#: Their reading is ended by the limits of a process of its own.
_ENDED = ("repeated.ods", "stray_cell.xlsx")

CASES: list[Case] = [
    case
    for module in pkgutil.iter_modules(torture.__path__)
    for case in getattr(importlib.import_module(f"{torture.__name__}.{module.name}"), "CASES", ())
]


def load_here(case: Case, resource: Resource) -> None:
    reading = nullcontext() if case.file in _ENDED else read_in_test_process(workbooks=True)
    with reading:
        load_file(resource, case.path, options=case.options)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}: {case.trap}")
def test_a_file_has_exactly_this_outcome(db: None, client: Client, case: Case) -> None:
    resource = Resource.objects.create(name="torture")

    if case.failure:
        with pytest.raises(LoadFailed) as refusal:
            load_here(case, resource)
        assert str(refusal.value) == str(case.failure)
        assert not Resource.objects.get(pk=resource.pk).table_version_id
    else:
        load_here(case, resource)
        described = get_result(search(client, resource, limit=1000))
        fields = {field["id"]: field["type"] for field in described["fields"][1:]}
        assert ", ".join(f"{name}: {kind}" for name, kind in fields.items()) == case.fields
        records = [[record[name] for name in fields] for record in described["records"]]
        assert records == [list(record) for record in case.records]
        labels = {field.name: field.label for field in resource.fields.all() if field.label}
        assert labels == case.labels

    load = Load.objects.get(resource=resource)
    assert render_messages(load.notices) == list(case.notices)
    row_errors = [(row.line, row.field, row.value, row.reason) for row in load.row_errors.all()]
    assert row_errors == list(case.row_errors)


def test_every_file_has_a_case() -> None:
    assert {path.name for path in FILES.iterdir()} == {case.file for case in CASES}
