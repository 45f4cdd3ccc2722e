"""The attacks: what is sent, how often, and how the answer is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from string import ascii_lowercase
from typing import Any, Literal
from urllib.parse import urlencode

from ..data import FIELDS
from ..failures import BenchmarkError

_TEXTS = [name for name, type_ in FIELDS.items() if type_ == "text"]
_CSRF = "a" * 32


@dataclass(frozen=True, slots=True)
class Target:
    """
    A server (host and port), and its resources.

    ``writer`` is the token of a user who may change ``own_table``, ``stranger`` that of one who has
    no permission.
    """

    server: str
    rows: int
    table: str
    own_table: str
    writer: str
    stranger: str

    def __post_init__(self) -> None:
        """
        Check that the server is on this machine.

        Raises: ``BenchmarkError`` for another machine.
        """
        if not self.server.startswith("127.0.0.1:"):
            raise BenchmarkError(f"{self.server} is not this machine.")


@dataclass(frozen=True, slots=True)
class Request:
    """A request; with a body it is a POST."""

    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attack:
    """
    Requests at a rate, from ``clients`` at once.

    ``build`` makes the request with a number.  A client waits for the answer, hangs up after 0.2 s,
    or reads one kilobyte a second.
    """

    name: str
    description: str
    per_second: float
    build: Callable[[Target, int], Request]
    clients: int = 8
    way: Literal["wait", "hang up", "read slowly"] = "wait"


def build_call(action: str, parameters: dict[str, Any], token: str = "") -> Request:
    """Build a request of an action."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = token
    body = json.dumps(parameters, separators=(",", ":")).encode()
    return Request(f"/en/api/3/action/{action}", body, headers)


def _search(**parameters: Any) -> Callable[[Target, int], Request]:
    """Build the same search each time."""

    @cache
    def build(target: Target) -> Request:
        return build_call("datastore_search", {"resource_id": target.table, **parameters})

    return lambda target, _number: build(target)


def _find_nothing(number: int) -> dict[str, Any]:
    """Build ten conditions that look into every text of the table, different each time."""
    return {
        "$or": [{"Description": {"icontains": f"no such {number}-{each}"}} for each in range(10)]
    }


def _aggregate(target: Target, number: int) -> Request:
    metrics = [f"count_distinct({name})" for name in FIELDS]
    metrics += [f"median({name})" for name in ("Installed-Size", "Size", "Share", "Score")]
    filters = {"Size": {"gte": number}}
    group_by = ["Package", "Version"]
    parameters = {"group_by": group_by, "metrics": metrics, "filters": filters}
    return build_call("datastore_aggregate", {"resource_id": target.table, **parameters})


def _count_facets(target: Target, number: int) -> Request:
    parameters = {"facets": _TEXTS, "filters": {"Size": {"gte": number}}}
    return build_call("datastore_facets", {"resource_id": target.table, **parameters})


def _find_parts(target: Target, number: int) -> Request:
    parameters = {"resource_id": target.table, "filters": _find_nothing(number)}
    return build_call("datastore_search", parameters)


def _find_beginnings(target: Target, number: int) -> Request:
    letters = [f"{first}{second}" for first in ascii_lowercase for second in ascii_lowercase]
    words = " | ".join(f"{letters[(number + each) % len(letters)]}:*" for each in range(100))
    return build_call("datastore_search", {"resource_id": target.table, "q": words, "plain": False})


def _sort_deep(target: Target, number: int) -> Request:
    offset = max(0, target.rows - 10 - number % 100)
    parameters = {"sort": "Homepage, Description desc", "offset": offset}
    return build_call("datastore_search", {"resource_id": target.table, **parameters})


@cache
def _build_records(target: Target) -> Request:
    records: list[dict[str, Any]] = [{}] * 3_300_000
    parameters = {"resource_id": target.own_table, "method": "insert", "records": records}
    return build_call("datastore_upsert", parameters, target.stranger)


def _log_in(_target: Target, number: int) -> Request:
    form = {"username": f"admin{number}", "password": "guess", "csrfmiddlewaretoken": _CSRF}
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": f"csrftoken={_CSRF}",
    }
    return Request("/en/admin/login/", urlencode(form).encode(), headers)


def _delete(target: Target, number: int) -> Request:
    parameters = {"resource_id": target.own_table, "filters": _find_nothing(number), "force": True}
    return build_call("datastore_records_delete", parameters, target.writer)


def _ask_much(target: Target, _number: int) -> Request:
    conditions = "&".join(f"field.Size={number}" for number in range(1_000, 1_500))
    return Request(f"/en/datastore/{target.table}/?{conditions}")


ATTACKS = {
    attack.name: attack
    for attack in (
        Attack("aggregate", "slow `datastore_aggregate`", 0.5, _aggregate),
        Attack("facets", "slow `datastore_facets`", 1, _count_facets),
        Attack("substrings", "a search with ten `icontains`", 2, _find_parts),
        Attack("beginnings", "`q` with the beginnings of 100 words", 1, _find_beginnings),
        Attack("deep-sort", "an order without an index, and its last page", 1, _sort_deep),
        Attack("long-sort", "`sort` of 250,000 names", 1, _search(sort=["a"] * 250_000)),
        Attack("empty-filters", "`filters` of 345,000 `{}`", 1, _search(filters=[{}] * 345_000)),
        Attack("long-q", "`q` as a list of 1 MB", 6, _search(q=["a"] * 250_000)),
        Attack(
            "records",
            "`records` of 3.3 million `{}`, without a permission",
            0.5,
            lambda t, _: _build_records(t),
        ),
        Attack("schema", "the OpenAPI document", 2, lambda _t, _n: Request("/en/api/schema/")),
        Attack("logins", "logins to the admin", 4, _log_in),
        Attack("health", "`/health/ready`", 50, lambda _t, _n: Request("/health/ready")),
        Attack("metrics", "`/metrics`", 50, lambda _t, _n: Request("/metrics")),
        Attack("deletes", "`datastore_records_delete` with ten `icontains`", 1, _delete),
        Attack(
            "slow-readers",
            "dumps that are read at one kilobyte a second",
            4,
            lambda target, _: Request(f"/en/datastore/dump/{target.table}"),
            way="read slowly",
        ),
        Attack("hang-ups", "slow searches; hangs up after 0.2 s", 20, _find_parts, way="hang up"),
        Attack("conditions", "a page with 500 conditions in its address", 2, _ask_much),
    )
}
