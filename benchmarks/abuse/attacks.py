"""The attacks: what is sent, how often, and how the answer is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase
from typing import Any, Literal
from urllib.parse import urlencode

from ..calls import Call, build_action_call
from ..data import FIELDS
from ..failures import BenchmarkError

_TEXTS = [name for name, type_ in FIELDS.items() if type_ == "text"]
_CSRF = "a" * 32


@dataclass(frozen=True, slots=True)
class Target:
    """
    A server (host and port), and its resources.

    ``writer`` is the token of a user who may change ``own_table``, ``stranger`` of a user who has
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
class Attack:
    """
    Requests at a rate, from ``clients`` at once.

    ``build`` makes the request with a number.  A client waits for the answer, hangs up after 0.2 s,
    or reads one kilobyte a second.
    """

    name: str
    per_second: float
    build: Callable[[Target, int], Call]
    clients: int = 8
    way: Literal["wait", "hang up", "read slowly"] = "wait"


def get_page(target: Target, path: str) -> Call:
    """Build a request of a page."""
    return Call(target.server, "GET", path)


def _search(**parameters: Any) -> Callable[[Target, int], Call]:
    """Build the same search each time."""

    @cache
    def build(target: Target) -> Call:
        return build_action_call(
            target.server, "datastore_search", {"resource_id": target.table, **parameters}
        )

    return lambda target, _number: build(target)


def _find_nothing(number: int) -> dict[str, Any]:
    """Build ten conditions that look into every text of the table, different each time."""
    return {
        "$or": [{"Description": {"icontains": f"no such {number}-{each}"}} for each in range(10)]
    }


def _aggregate(target: Target, number: int) -> Call:
    metrics = [f"count_distinct({name})" for name in FIELDS]
    metrics += [f"median({name})" for name in ("Installed-Size", "Size", "Share", "Score")]
    filters = {"Size": {"gte": number}}
    group_by = ["Package", "Version"]
    parameters = {"group_by": group_by, "metrics": metrics, "filters": filters}
    return build_action_call(
        target.server, "datastore_aggregate", {"resource_id": target.table, **parameters}
    )


def _count_facets(target: Target, number: int) -> Call:
    parameters = {"facets": _TEXTS, "filters": {"Size": {"gte": number}}}
    return build_action_call(
        target.server, "datastore_facets", {"resource_id": target.table, **parameters}
    )


def _find_parts(target: Target, number: int) -> Call:
    parameters = {"resource_id": target.table, "filters": _find_nothing(number)}
    return build_action_call(target.server, "datastore_search", parameters)


def _find_beginnings(target: Target, number: int) -> Call:
    letters = [f"{first}{second}" for first in ascii_lowercase for second in ascii_lowercase]
    words = " | ".join(f"{letters[(number + each) % len(letters)]}:*" for each in range(100))
    return build_action_call(
        target.server, "datastore_search", {"resource_id": target.table, "q": words, "plain": False}
    )


def _sort_deep(target: Target, number: int) -> Call:
    offset = max(0, target.rows - 10 - number % 100)
    parameters = {"sort": "Homepage, Description desc", "offset": offset}
    return build_action_call(
        target.server, "datastore_search", {"resource_id": target.table, **parameters}
    )


@cache
def _build_records(target: Target) -> Call:
    records: list[dict[str, Any]] = [{}] * 3_300_000
    parameters = {"resource_id": target.own_table, "method": "insert", "records": records}
    return build_action_call(target.server, "datastore_upsert", parameters, target.stranger)


def _log_in(target: Target, number: int) -> Call:
    form = {"username": f"admin{number}", "password": "guess", "csrfmiddlewaretoken": _CSRF}
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"csrftoken={_CSRF}"}
    body = urlencode(form).encode()
    return Call(target.server, "POST", "/en/admin/login/", headers, body)


def _delete(target: Target, number: int) -> Call:
    parameters = {"resource_id": target.own_table, "filters": _find_nothing(number), "force": True}
    return build_action_call(target.server, "datastore_records_delete", parameters, target.writer)


def _download(target: Target, _number: int) -> Call:
    return get_page(target, f"/en/datastore/dump/{target.table}")


def _ask_much(target: Target, _number: int) -> Call:
    conditions = "&".join(f"field.Size={number}" for number in range(1_000, 1_500))
    return get_page(target, f"/en/datastore/{target.table}/?{conditions}")


ATTACKS = {
    attack.name: attack
    for attack in (
        Attack("aggregate", 0.5, _aggregate),
        Attack("facets", 1, _count_facets),
        Attack("substrings", 2, _find_parts),
        Attack("beginnings", 1, _find_beginnings),
        Attack("deep-sort", 1, _sort_deep),
        Attack("long-sort", 1, _search(sort=["a"] * 250_000)),
        Attack("empty-filters", 1, _search(filters=[{}] * 345_000)),
        Attack("long-q", 6, _search(q=["a"] * 250_000)),
        Attack("records", 0.5, lambda t, _: _build_records(t)),
        Attack("schema", 2, lambda t, _: get_page(t, "/en/api/schema/")),
        Attack("logins", 4, _log_in),
        Attack("health", 50, lambda t, _: get_page(t, "/health/ready")),
        Attack("metrics", 50, lambda t, _: get_page(t, "/metrics")),
        Attack("deletes", 1, _delete),
        Attack("slow-readers", 4, _download, way="read slowly"),
        Attack("hang-ups", 20, _find_parts, way="hang up"),
        Attack("conditions", 2, _ask_much),
    )
}
