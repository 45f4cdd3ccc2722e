"""
The interface for a portal's own Python code: read, search and write records as a user.

Each function runs the action of the API, with the same parameters, permissions and limits.  Its
first argument is the user, or the request of one.  A request counts as its client: its share of the
work is the client's, and its search ends when the client is gone.  A user without a request counts
as a client of its own.

What ``docs/python.md`` names is stable; all else of this package is private.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from typing import Any, TypedDict, Unpack

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.http import HttpRequest
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from .api.actions import actions
from .api.authentication import check_may_read, check_may_write
from .api.parameters import make_printable
from .conf import conf
from .downloads.dump import join_blocks
from .downloads.parameters import DumpParameters, build_dump_query, complete_query
from .field_types import field_types
from .guards import shares
from .guards.shares import Client
from .messages import DatastoreError
from .messages.access import AccessDenied, UnknownResource
from .messages.availability import QueryTooSlow, TemporarilyUnavailable
from .messages.parameters import InvalidParameter, InvalidParameters, RefusedValue
from .messages.requests import UnknownAction
from .models import Reader, Resource
from .search import ConsistentRead, RawJson, RecordCopy, RecordsFormat, Stream, parse_raw_json
from .search.records import Spool

__all__ = [  # what else it imports is private
    "AccessDenied",
    "DatastoreError",
    "InvalidParameters",
    "QueryTooSlow",
    "TemporarilyUnavailable",
    "UnknownResource",
    "create",
    "delete",
    "get_resource",
    "iterate",
    "list_resources",
    "run_action",
    "search",
    "upsert",
]

#: For whom something is done: a user, or a request of Django or REST framework, for its ``user``.
Caller = HttpRequest | Request | Reader

#: The id of a resource, its name, or one of its aliases.
Name = uuid.UUID | str

#: A value of a parameter: what JSON has, and dates, times, floats and UUIDs.
Record = Mapping[str, Any]
Filters = Mapping[str, Any] | Sequence[Mapping[str, Any]]


# Parameters, by their names in the API ------------------------------------------------------------


class QueryOptions(TypedDict, total=False):
    filters: Filters
    geo: Mapping[str, Any]
    q: str | Mapping[str, str]
    full_text: str
    plain: bool
    websearch: bool
    substrings: bool
    language: str
    limit: int
    offset: int
    fields: str | Sequence[str]
    sort: str | Sequence[str]
    distinct: bool


class SearchOptions(QueryOptions, total=False):
    """The parameters of ``datastore_search``, beside the resource; apps may add others."""

    include_total: bool
    include_next_page: bool


class _WriteOptions(TypedDict, total=False):
    include_records: bool
    force: bool


class CreateOptions(_WriteOptions, total=False):
    resource_id: Name
    resource: Mapping[str, Any]
    private: bool
    fields: Sequence[Mapping[str, Any]]
    records: Sequence[Record]
    primary_key: str | Sequence[str]
    indexes: str | Sequence[str]
    index_substrings: bool
    aliases: str | Sequence[str]
    delete_fields: bool


class UpsertOptions(_WriteOptions, total=False):
    method: str
    dry_run: bool


class DeleteOptions(TypedDict, total=False):
    include_deleted_records: bool
    force: bool


# Reading ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchResult:
    """
    The answer to a search.

    ``records`` have Python's values; ``fields`` maps their names to the names of their types.
    ``total`` is the number of matches, None without ``include_total``.  ``members`` are the other
    members of the API's answer, such as ``next_page``, or what a parameter of an app adds.
    """

    records: list[dict[str, Any]]
    fields: dict[str, str]
    total: int | None
    members: Mapping[str, Any]


def list_resources(caller: Caller) -> QuerySet[Resource]:
    """
    Return the resources with a table whose records a user may read.

    If a backend cannot list its objects, only the first 1,000 private resources are checked.
    """
    resources = Resource.objects.filter(table_version__isnull=False)
    return resources.filter(resources.readable_by(build_request(caller).user).condition)


def get_resource(caller: Caller, resource_id: Name, *, verb: str = "view") -> Resource:
    """
    Get a resource that a user may ``view``, ``change`` or ``delete``, perhaps without a table.

    Raises: ``UnknownResource``; ``AccessDenied``.
    """
    request, name = build_request(caller), str(resource_id)
    resource = Resource.objects.named(name).first()
    if verb != "view":
        return check_may_write(request, resource, name, verb)
    if resource is None:
        raise UnknownResource(resource=make_printable(name))
    check_may_read(request, resource, name)
    return resource


def search(caller: Caller, resource_id: Name, **options: Unpack[SearchOptions]) -> SearchResult:
    """
    Search the records of a resource, as ``datastore_search`` does: 100 without a ``limit``.

    Raises: ``UnknownResource``; ``AccessDenied``; ``InvalidParameters``; ``QueryTooSlow``;
    ``TemporarilyUnavailable``.
    """
    members = run_action(caller, "datastore_search", resource_id=resource_id, **options)
    records, fields = members.pop("records"), members.pop("fields")
    types = {field["id"]: field["type"] for field in fields}
    return SearchResult(records, types, members.pop("total", None), members)


def iterate(
    caller: Caller, resource_id: Name, **options: Unpack[QueryOptions]
) -> Generator[dict[str, Any]]:
    """
    Iterate over all records that a query finds, in the order of ``_id`` unless there is a ``sort``.

    They come from one snapshot, over a connection of its own, and few are in memory at a time;
    within a transaction they are copied into a file first.  Close the iterator, or read it to its
    end, in the same thread: until then it holds one of the slots of downloads.

    Raises: as ``search``, at once.
    """
    request, name, types = build_request(caller), str(resource_id), dict[str, str]()

    def begin(read: ConsistentRead) -> Generator[bytes]:
        check_may_read(request, read.resource, name)
        complete = complete_query(query, read.relation)
        records = RecordCopy(read, replace(complete, records_format=RecordsFormat.OBJECTS))
        types.update(records.fields)
        with records.open_texts() as rows:
            yield from join_blocks(rows)

    with _translate_errors():
        query = build_dump_query(DumpParameters.parse(convert_to_json(options)))
        stream = Stream.open(name, begin, Client.from_request(request))
    return _read_lines(stream, types)


def _read_lines(stream: Stream, types: Mapping[str, str]) -> Generator[dict[str, Any]]:
    rest = b""
    with closing(stream):
        for block in stream:
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield _read_record(parse_raw_json(RawJson([line])), types)


# Writing ------------------------------------------------------------------------------------------


def create(caller: Caller, **options: Unpack[CreateOptions]) -> dict[str, Any]:
    """
    Create a table, or add fields and records to one, as ``datastore_create`` does.

    Returns the result of the action; its ``resource_id`` is that of the resource.

    Raises: ``AccessDenied``; ``InvalidParameters``; ``TemporarilyUnavailable``.
    """
    return dict(run_action(caller, "datastore_create", **options))


def upsert(
    caller: Caller, resource_id: Name, records: Sequence[Record], **options: Unpack[UpsertOptions]
) -> dict[str, Any]:
    """
    Add records, or change those with the same key, as ``datastore_upsert`` does.

    Returns the result of the action.

    Raises: as ``create``; ``UnknownResource``.
    """
    parameters = {"resource_id": resource_id, "records": records, **options}
    return dict(run_action(caller, "datastore_upsert", **parameters))


def delete(
    caller: Caller, resource_id: Name, filters: Filters, **options: Unpack[DeleteOptions]
) -> dict[str, Any]:
    """
    Delete the records that match the filters, as ``datastore_records_delete`` does.

    An empty object deletes all records, and never the table.  Returns the result of the action.

    Raises: as ``upsert``.
    """
    parameters = {"resource_id": resource_id, "filters": filters, **options}
    return dict(run_action(caller, "datastore_records_delete", **parameters))


# Every action -------------------------------------------------------------------------------------


def run_action(caller: Caller, action: str, /, **parameters: object) -> Any:
    """
    Run any action by its name in the API, and return its ``result``.

    The parameters are those of the API; records are returned as dicts with Python's values.

    Raises: ``DatastoreError``: what the API answers with an error; Django's errors of a database.
    """
    if action not in actions:
        raise UnknownAction(action=action, actions=", ".join(sorted(actions)))
    request = build_request(caller)
    client = Client.from_request(request) if actions[action].is_writing else None
    with _translate_errors(), shares.process_shares.hold(client, conf.WRITE_TIMEOUT):
        answer = actions[action].run(request, convert_to_json(parameters))
    if not isinstance(answer.result, Mapping):
        return answer.result
    result = {
        name: parse_raw_json(value) if isinstance(value, RawJson | Spool) else value
        for name, value in answer.result.items()
    }
    for name in ("records", "deleted_records"):
        if name in result and result.get("records_format", "objects") == "objects":
            # An answer to a write has types only with new fields.
            types = {field["id"]: field["type"] for field in result.get("fields", ())}
            types = types or Resource.objects.described(result["resource_id"]).types
            result[name] = [_read_record(record, types) for record in result[name]]
    return result


def build_request(caller: Caller) -> Request:
    """Build the request of an action; without one, addresses begin with the portal's first host."""
    user: Any = caller
    if isinstance(caller, HttpRequest | Request):
        user, sent = getattr(caller, "user", None), copy(getattr(caller, "_request", caller))
    else:
        sent = HttpRequest()
        sent.path = sent.path_info = "/"
        hosts = [host.lstrip(".") for host in settings.ALLOWED_HOSTS if host != "*"]
        sent.META = {
            "REMOTE_ADDR": f"user {caller.pk}",
            "SERVER_NAME": hosts[0] if hosts else "localhost",
            "SERVER_PORT": "80",
        }
    sent.method = "POST"  # the answer is not compared with what a client has cached
    sent.resolver_match = None
    request = Request(sent)
    request.user = user or AnonymousUser()
    return request


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except InvalidParameter as error:
        raise InvalidParameters([error]) from error
    except ValidationError as error:
        detail: Any = error.detail
        raise InvalidParameters(
            RefusedValue(parameter=name, reason=reason)
            for name, reasons in (detail if isinstance(detail, dict) else {"": detail}).items()
            for reason in reasons
        ) from error


# Values -------------------------------------------------------------------------------------------


def convert_to_json(value: Any) -> Any:
    """Convert what JSON has no values for, at any depth, to what the API reads."""
    if isinstance(value, Mapping):
        return {name: convert_to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset | QuerySet):
        return [convert_to_json(each) for each in value]
    if isinstance(value, float):
        number = Decimal(repr(value))
        return number if number.is_finite() else str(number)
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value


#: The types whose values JSON has no values for; the rank is a ``float``.
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "float": float,
    **{kind.name: kind.read_python for kind in field_types.values() if kind.read_python},
}


def _read_record(record: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Read the values of a record by their types; what Python cannot hold stays as it is."""
    values = {**record}
    for name, value in record.items():
        read = _READERS.get(types.get(name, ""))
        if read is not None and value is not None:
            with suppress(ValueError):  # a date after the year 9999, or 24:00
                values[name] = read(value)
    return values
