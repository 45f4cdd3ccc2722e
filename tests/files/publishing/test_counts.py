"""The numbers of records with common values: totals of searches that no statement counts."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from datastore_search.contrib.files.publishing import publish
from datastore_search.models import TableVersion

from ...builders import ask, get_result, search
from ...core.writing.tables import Table
from ..builders import make_loaded_table

ROWS = 'x,1,"é"\n' * 5 + '"",2,b\n' * 4 + ",3,c\n" * 3 + "rare,4,d\n"


@pytest.fixture
def table(db: None, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setattr(publish, "_MIN_RECORDS_OF_COUNTED_VALUE", 3)
    return make_loaded_table(f"a,n,t\n{ROWS}")


@pytest.mark.parametrize("value", ["x", "", None])
def test_common_texts_are_counted_by_the_load(table: Table, value: str | None) -> None:
    counts = TableVersion.objects.get().value_counts

    asked: dict[str, Any] = {"resource_id": str(table.resource.pk), "filters": {"a": value}}
    total = get_result(ask(Client(), asked))["total"]
    assert counts == {"a": {'"x"': 5, '""': 4, "null": 3}, "t": {'"é"': 5, '"b"': 4, '"c"': 3}}
    assert total == {"x": 5, "": 4, None: 3}[value]


def test_a_write_leaves_no_counts(table: Table) -> None:
    table.run("records_delete", filters={"a": "x"}, force=True)

    assert TableVersion.objects.get().value_counts == {}
    total = get_result(search(Client(), table.resource, filters={"a": "x"}))
    assert total["total"] == 0
