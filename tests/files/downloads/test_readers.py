"""
Readers that are given the address of a download: pandas, pyarrow, wget and curl over HTTP.

DuckDB reads files here: its extension for HTTP is a download of its own.
"""

from __future__ import annotations

import io
import math
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from shutil import which
from typing import Any, cast
from urllib.request import Request, urlopen

import duckdb
import pandas as pd
import pyarrow.parquet as pq
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


# Parts of a stored file ---------------------------------------------------------------------------


@pytest.fixture
def stored_address(live_server: Any, settings: Any) -> Iterator[str]:
    """The address of the dump of many records, whose file is stored."""
    settings.DATASTORE_SEARCH_MAX_DOWNLOADS_BYTES = 2**30
    rows = "".join(f"{n},{n}.25,Name {n} {hash(n) % 977:x}\n" for n in range(20_000))
    resource = make_resource(f"code,n,name\n{rows}", types={"n": "numeric", "code": "int4"})
    yield live_server.url + build_address(resource)
    Resource.objects.all().delete()


@pytest.mark.parametrize(
    "command",
    [("wget", "--quiet", "--continue", "--output-document"),
     ("curl", "--silent", "--fail", "--continue-at", "-", "--output")],
    ids=lambda command: command[0],
)  # fmt: skip
def test_a_broken_download_is_resumed(
    stored_address: str, tmp_path: Path, command: tuple[str, ...]
) -> None:
    if which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    with urlopen(f"{stored_address}?format=csv") as answer:
        whole = answer.read()
    path = tmp_path / "file.csv"
    path.write_bytes(whole[:100_000])

    subprocess.run([*command, str(path), f"{stored_address}?format=csv"], check=True)

    assert path.read_bytes() == whole


class HttpFile(io.RawIOBase):
    """A file at an address, of which only the parts are fetched that are read."""

    def __init__(self, address: str) -> None:
        self._address, self._position, self.fetched_bytes = address, 0, 0
        with urlopen(Request(address, method="HEAD")) as answer:
            self.size, self._etag = int(answer.headers["Content-Length"]), answer.headers["ETag"]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + (0, self._position, self.size)[whence]
        return self._position

    def readinto(self, buffer: Any) -> int:
        end = min(self._position + len(buffer), self.size)
        if end == self._position:
            return 0
        wanted = {"Range": f"bytes={self._position}-{end - 1}", "If-Range": self._etag}
        with urlopen(Request(self._address, headers=wanted)) as answer:
            assert answer.status == 206
            found = answer.read()
        buffer[: len(found)] = found
        self._position += len(found)
        self.fetched_bytes += len(found)
        return len(found)


def test_pyarrow_reads_only_the_columns_that_it_needs(stored_address: str) -> None:
    remote = HttpFile(f"{stored_address}?format=parquet")

    with pq.ParquetFile(cast(Any, remote)) as file:
        codes = file.read(columns=["code"])["code"].to_pylist()

    assert codes == list(range(20_000))
    assert remote.fetched_bytes < 0.8 * remote.size
