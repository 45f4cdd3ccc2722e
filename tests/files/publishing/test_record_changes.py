"""Files that are merged change records by the same rules as the API."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from datastore_search.contrib.files.jobs import LoadOptions, load_file
from datastore_search.models import Resource
from datastore_search.writing.changes import MAX_INDEXED_VALUE_BYTES

from ...core.writing.test_record_changes import (
    FITTING,
    Write,
    check_fitting_value,
    check_longer_value,
    check_version,
    make_ordered,
    read_state,
)
from ..builders import load_csv

pytestmark = pytest.mark.usefixtures("read_here", "db")


def merge(resource: Resource, value: str, mode: str) -> None:
    quoted = value.replace('"', '""')
    with TemporaryDirectory() as folder:
        path = Path(folder, "more.csv")
        path.write_text(f'code,name\n{2 if mode == "append" else 1},"{quoted}"\n')
        load_file(resource, path, options=LoadOptions(mode=mode))


def append_file(resource: Resource, value: str) -> None:
    merge(resource, value, "append")


def upsert_file(resource: Resource, value: str) -> None:
    merge(resource, value, "upsert")


each_door = pytest.mark.parametrize("write", [append_file, upsert_file])


@each_door
@pytest.mark.parametrize("value", FITTING.values(), ids=FITTING)
def test_a_value_that_fits_keeps_the_order_index(write: Write, value: str) -> None:
    check_fitting_value(write, value)


@each_door
def test_a_longer_value_is_stored_and_drops_the_order_index(write: Write) -> None:
    check_longer_value(write)


@pytest.mark.parametrize(("write", "added"), [(append_file, 1), (upsert_file, 0)])
def test_every_change_counts_and_gives_a_new_version(write: Write, added: int) -> None:
    check_version(write, added=added)


def test_a_load_that_replaces_the_records_stores_longer_values_without_the_index() -> None:
    ordered = make_ordered()
    longer = "x" * (MAX_INDEXED_VALUE_BYTES + 1)
    rows = "".join(f"{code},n{code}\n" for code in range(2_100))

    load_csv(ordered, f"code,name\n{rows}x,y\n")
    assert read_state(ordered)[0]  # of a table that is large enough
    load_csv(ordered, f"code,name\n{rows}x,{longer}\n")

    has_order_index, _indexes, names = read_state(ordered)
    assert (has_order_index, names[-1]) == (False, longer)
