"""The attacks: one action of a client for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product, repeat
from string import ascii_lowercase
from typing import Any

from ..data import FIELDS
from .clients import Client, Target

_SEARCH = "/en/api/3/action/datastore_search"
_JSON = {"Content-Type": "application/json"}

#: Maximum requests of a client.
MAX_REQUESTS = 10_000

_HANG_UP_SECONDS = 0.2
_BYTES_PER_SECOND = 1024
_UPLOAD_BYTES = 1_500 * 2**20
_BLOCK = bytes(2**20)
_ID_BLOCK = b"x" * 10**6
_BOUNDARY = "boundary"


@dataclass(frozen=True, slots=True)
class Attack:
    """Actions of ``clients`` at once, at most ``requests`` each; ``act`` returns the outcome."""

    name: str
    description: str
    clients: int
    act: Callable[[Client], str]
    requests: int = MAX_REQUESTS


# Expensive queries --------------------------------------------------------------------------------


@cache
def build_expensive_queries(rows: int) -> list[dict[str, Any]]:
    """
    List the parameters of the most expensive searches in a table of this size.

    The first three exceed the portal's limits, the next three are just within them.
    """
    prefixes = ["".join(letters) for letters in product(ascii_lowercase, repeat=2)]
    terms = [f"{begin}{letter}:*" for letter in "ae" for begin in prefixes][:1_000]
    texts = [{"Description": {"icontains": f"no such text {number}"}} for number in range(98)]
    return [
        {"q": " | ".join(terms), "plain": False},
        {"filters": texts},
        {"q": dict.fromkeys(list(FIELDS)[:10], "a")},
        {"q": " | ".join(terms[:100]), "plain": False},
        {"filters": texts[:10]},
        {"q": dict.fromkeys(list(FIELDS)[:5], "a")},
        {"q": "the"},
        {"sort": "Description desc", "limit": 1_000},
        {"sort": "Homepage, Description", "offset": max(0, rows - 10)},
    ]


def _build_expensive_query(client: Client, number: int) -> bytes:
    queries = build_expensive_queries(client.target.rows)
    return _build_body(client.target.table, **queries[number % len(queries)])


def _build_body(table: str, **parameters: Any) -> bytes:
    return json.dumps({"resource_id": table, **parameters}).encode()


def send_query_and_hang_up(client: Client) -> str:
    """Send the client's own expensive query, and do not wait for the answer."""
    return client.send_and_hang_up(
        _SEARCH, _build_expensive_query(client, client.number), _HANG_UP_SECONDS
    )


def send_query_and_wait(client: Client) -> str:
    """Send the client's own expensive query."""
    return client.request("POST", _SEARCH, _build_expensive_query(client, client.number), **_JSON)


# Slowness -----------------------------------------------------------------------------------------


def read_slowly(client: Client) -> str:
    """Read a dump, or the largest page, at one kilobyte a second."""
    table = client.target.table
    page = f"{_SEARCH}?resource_id={table}&limit=32000"
    path = page if client.number % 2 else f"/en/datastore/dump/{table}"
    return client.read_slowly(path, _BYTES_PER_SECOND)


def send_slowly(client: Client) -> str:
    """Send a body at one byte a second."""
    return client.send_slowly(_SEARCH, 60_000)


# Size ---------------------------------------------------------------------------------------------


def request_fat_records(client: Client) -> str:
    """Request 1,000 records of 110 kB."""
    body = _build_body(client.target.fat_table, limit=1_000)
    return client.request("POST", _SEARCH, body, **_JSON)


def request_long_id(client: Client) -> str:
    """Request a resource with an id of 10 MB."""
    begin, end = f'{{"resource_id": "{client.number}'.encode(), b'"}'
    blocks = (begin, *repeat(_ID_BLOCK, 10), end)
    size = len(begin) + 10 * len(_ID_BLOCK) + len(end)
    return client.send_blocks(_SEARCH, blocks, size, _JSON)


def upload_file(client: Client) -> str:
    """Send a file of 1.5 GB, as far as the server accepts it."""
    head = (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n'
        "Content-Type: text/csv\r\n\r\n"
    ).encode()
    blocks = (head, *repeat(_BLOCK, _UPLOAD_BYTES // len(_BLOCK)))
    headers = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
    return client.send_blocks(_SEARCH, blocks, len(head) + _UPLOAD_BYTES + 100, headers)


def filter_by_many_values(client: Client) -> str:
    """Filter by 800,000 values."""
    return client.request("POST", _SEARCH, _build_many_values(client.target), **_JSON)


def sort_by_long_text(client: Client) -> str:
    """Sort by a text of 9 MB."""
    return client.request("POST", _SEARCH, _build_long_sort(client.target), **_JSON)


@cache
def _build_many_values(target: Target) -> bytes:
    return _build_body(
        target.table, filters={"Package": [f"p{number}" for number in range(800_000)]}
    )


@cache
def _build_long_sort(target: Target) -> bytes:
    key = "Package, "
    return _build_body(target.table, sort=key * (9 * 10**6 // len(key)) + "Package")


ATTACKS = {
    attack.name: attack
    for attack in (
        Attack("hang-ups", "expensive queries; hangs up at once", 16, send_query_and_hang_up),
        Attack("expensive-queries", "expensive queries; waits for answers", 6, send_query_and_wait),
        Attack("slow-readers", "dumps and large pages that are read slowly", 8, read_slowly),
        Attack("slow-bodies", "bodies that are sent at a byte a second", 8, send_slowly),
        Attack("fat-pages", "pages of 1,000 records of 110 kB", 8, request_fat_records),
        Attack("long-ids", "ids of 10 MB", 60, request_long_id, requests=1),
        Attack("upload", "a form of 1.5 GB", 1, upload_file, requests=1),
        Attack("many-values", "filters of 800,000 values", 2, filter_by_many_values),
        Attack("long-sort", "sort keys of 9 MB", 2, sort_by_long_text),
    )
}
