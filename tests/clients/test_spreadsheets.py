"""The requests of programs that open the file of a table by its address."""

from __future__ import annotations

import gzip

import pytest
import requests

from .rivers import FINDINGS, PATHS, RIVERS_ID

pytestmark = pytest.mark.django_db(transaction=True)

#: What Power Query of Excel and the network layer of QGIS send.
HEADERS = {
    "excel": {
        "Accept": "*/*",
        "Accept-Encoding": "gzip, deflate",
        "User-Agent": "Microsoft.Data.Mashup (https://go.microsoft.com/fwlink/?LinkID=304225)",
    },
    "qgis": {
        "Accept": "*/*",
        "Accept-Encoding": "gzip, deflate",
        "Accept-Language": "fr-FR,en,*",
        "User-Agent": "Mozilla/5.0 QGIS/33400/Debian GNU/Linux 12 (bookworm)",
    },
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("program", HEADERS)
def test_a_program_that_opens_an_address_gets_the_file(
    program: str, path: str, portal: str
) -> None:
    address = f"{portal}{path}/datastore/dump/{RIVERS_ID}"

    head = requests.head(address, headers=HEADERS[program], allow_redirects=True, timeout=60)
    answer = requests.get(address, headers=HEADERS[program], timeout=60, stream=True)
    content = answer.raw.read()
    if answer.headers.get("Content-Encoding") == "gzip":
        content = gzip.decompress(content)

    assert (head.status_code, head.content) == (200, b"")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == head.headers["Content-Type"]
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert content.decode("utf-8-sig").splitlines()[:2] == FINDINGS["file"]
    answer.close()
