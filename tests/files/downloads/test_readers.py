"""Readers that are given the address of a download: pandas, pyarrow and DuckDB over HTTP."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import duckdb
import pandas as pd
import pytest

from datastore_search.models import Resource

from ...builders import make_resource
from ...core.downloads.files import build_address

#: The formats of text with a header, and their delimiters in English.
DELIMITED = {"csv": ",", "csv-excel": ",", "tsv": "\t"}

_KNOWN = (
    "auto_detect=false, header=true,"
    " columns={'_id': 'BIGINT', 'a, b': 'VARCHAR', 'n': 'BIGINT', 'day': 'DATE'}"
)

CSV = 'name,n,f,ok,at\n"Đắk, Lắk",1.50,0.25,true,2020-02-29T12:34:56\n"",,,false,\n'

TYPES = {"n": "numeric", "f": "float8", "ok": "bool", "at": "timestamp"}


@pytest.fixture
def address(live_server: Any) -> Iterator[str]:
    """The address of the dump of two records, on a running server."""
    resource = make_resource(CSV, types=TYPES)
    yield live_server.url + build_address(resource)
    Resource.objects.all().delete()


def test_pandas_reads_parquet_and_csv_from_the_address(address: str) -> None:
    frame = pd.read_parquet(f"{address}?format=parquet")

    assert list(frame["name"]) == ["Đắk, Lắk", ""]
    assert list(frame["n"]) == [Decimal("1.50"), None]
    assert list(frame["ok"]) == [True, False]
    assert frame["at"][0] == pd.Timestamp("2020-02-29T12:34:56")
    assert math.isnan(frame["f"][1])
    for query, packing in (("", None), ("?format=csv&gzip=true", "gzip")):
        read = pd.read_csv(
            address + query,
            compression=packing,
            parse_dates=["at"],
            true_values=["t"],
            false_values=["f"],
        )
        assert list(read.columns) == ["_id", "name", "n", "f", "ok", "at"]
        assert (read["name"][0], read["n"][0]) == ("Đắk, Lắk", 1.5)
        assert list(read["ok"]) == [True, False]
        assert read["at"][0] == frame["at"][0]


@pytest.mark.slow
@pytest.mark.parametrize("is_sniffed", [True, False])
@pytest.mark.parametrize("name", DELIMITED)
def test_duckdb_reads_each_delimited_file(
    address: str, tmp_path: Path, name: str, is_sniffed: bool
) -> None:
    Resource.objects.all().delete()
    cells = ["Đắk, Lắk", "two\nlines", "two\r\nlines", 'say ""x""', "a;b\tc", ""]
    rows = "".join(f'"{cell}",{n},2020-01-02\n' for n, cell in enumerate(cells * 50))
    resource = make_resource(f'"a, b",n,day\n{rows}')
    path = tmp_path / f"file.{name}"
    with urlopen(f"{address.rpartition('/')[0]}/{resource.pk}?format={name}") as answer:
        path.write_bytes(answer.read())
    options = "" if is_sniffed else f", delim='{DELIMITED[name]}', quote='\"', {_KNOWN}"

    with duckdb.connect() as connection:
        relation = connection.execute(f"SELECT * FROM read_csv('{path}'{options})")
        columns = [column[0] for column in relation.description or ()]
        found = relation.fetchall()

    assert columns == ["_id", "a, b", "n", "day"]
    expected = [cell.replace('""', '"') for cell in cells] * 50
    assert [row[1] or "" for row in found] == expected
    assert [row[2] for row in found] == list(range(300))
