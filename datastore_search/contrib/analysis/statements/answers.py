"""
``datastore_search_sql``, and its answer: over one version of each resource that a statement reads.

The user's right to read is checked before anything is said about a table.  What has changed
meanwhile is read again.

Source: CKAN, its action of this name, and its settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from math import inf, isfinite
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from sqlglot.errors import SqlglotError
from sqlglot.expressions import DType as Kind

from ....api.actions.action import Answer, build_action
from ....api.authentication import check_may_read
from ....api.parameters import ActionParameters, TextField
from ....api.schemas import BOOLEAN, FIELDS, RECORDS, TEXT, object_of, schema_ref
from ....conf import conf
from ....field_types import INT8, NUMERIC, field_types
from ....field_types.numbers import NUMBER
from ....filters.names import ID
from ....guards import shares
from ....guards.shares import Client
from ....search import ConsistentRead, Query, RawJson, with_consistent_read
from ....search.reads import with_client_timeout
from ..engine.process import (
    EngineUnavailable,
    NumbersOutOfRange,
    StatementRefused,
    TableClosed,
    engine,
)
from ..engine.source import Source
from .errors import InvalidStatement
from .functions import MOMENTS
from .grammar import MAX_LENGTH, Dialect, encode_name, parse
from .rewriting import TEXTS_OF
from .translate import Output, Translated, list_names, translate
from .types import TableColumn


class StatementParameters(ActionParameters):
    needed = ("sql",)

    sql = TextField(
        MAX_LENGTH,
        help_text=_(
            "One SELECT of PostgreSQL’s SQL. Its tables are ids, names or aliases of resources, in "
            "double quotes."
        ),
    )


@build_action(
    StatementParameters,
    _("Answer a SELECT over one or several resources."),
    result=schema_ref("DatastoreStatementAnswer"),
    build_schemas=lambda: {
        "DatastoreStatementAnswer": object_of(
            {"sql": TEXT, "fields": FIELDS, "records": RECORDS},
            optional={"records_truncated": {**BOOLEAN, "description": "There are more records."}},
        )
    },
)
def datastore_search_sql(request: Request, sent: Mapping[str, object]) -> Answer:
    text = StatementParameters.parse(sent)["sql"]

    def authorize(read: ConsistentRead, name: str) -> None:
        check_may_read(request, read.resource, name)

    found = answer_statement(text, authorize, Client.from_request(request), conf.MAX_LIMIT)
    names = [_dump(name) for name, _kind in found.fields]
    records = (
        "{" + ", ".join(map(": ".join, zip(names, row, strict=True))) + "}" for row in found.rows
    )
    result = {
        "sql": text,
        "fields": [{"id": name, "type": kind} for name, kind in found.fields],
        **({"records_truncated": True} if found.is_truncated else {}),
        "records": RawJson([b"[", ", ".join(records).encode(), b"]"]),
    }
    return Answer(result, record_count=len(found.rows))


# The answer ---------------------------------------------------------------------------------------

#: How often a statement is answered again after a change of its tables.
_MAX_ATTEMPTS = 5

#: Without a limit of the portal's.
_MAX_SECONDS = 60.0

#: Checks the right to read the resource of a read by the name that was given.
Authorize = Callable[[ConsistentRead, str], object]


class _TablesChanged(Exception):
    """The statement must be translated again."""


@dataclass(frozen=True, slots=True)
class StatementAnswer:
    """Rows with a JSON text for each value; ``is_truncated`` if there are more."""

    fields: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    is_truncated: bool


def answer_statement(
    text: str, authorize: Authorize, client: Client | None, max_rows: int
) -> StatementAnswer:
    """
    Answer one SELECT with at most ``max_rows``.

    Raises: ``InvalidStatement``; ``AccessDenied``; ``EngineUnavailable``; as
    ``with_consistent_read``.
    """
    tree = parse(text)
    names = list_names(tree)
    known: _Known = {}
    for _attempt in range(_MAX_ATTEMPTS):
        try:
            describe = partial(_describe, authorize, known)
            tables = {
                name: with_consistent_read(name, partial(describe, name), client=client)
                for name in names
            }
            made = translate(tree, tables, max_rows)
            found = _Reading(made, known, authorize, client).read(names)
        except (_TablesChanged, TableClosed):
            continue
        except (NumbersOutOfRange, StatementRefused):
            raise InvalidStatement("failed") from None
        except RecursionError:
            raise InvalidStatement("large") from None
        except SqlglotError:
            raise InvalidStatement("unsupported", word=tree.sql(Dialect, comments=False)) from None
        rows = [
            [_write(value, output) for value, output in zip(row, made.outputs, strict=True)]
            for row in found[:max_rows]
        ]
        fields = [(output.name, output.type) for output in made.outputs]
        return StatementAnswer(fields, rows, len(found) > max_rows)
    raise EngineUnavailable


#: Columns as the engine has them, by table, name and type.
_Known = dict[tuple[str, str, str], TableColumn]

#: As ``Engine.ask`` returns them.
_Rows = list[list[Any]]


def _describe(
    authorize: Authorize, known: _Known, name: str, read: ConsistentRead
) -> list[TableColumn]:
    authorize(read, name)
    types = {ID: INT8.name, **read.relation.types}
    return [
        known.get((name, field, type_name)) or TableColumn(field, type_name)
        for field, type_name in types.items()
    ]


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads of the tables of a statement, one within the other."""

    made: Translated
    known: _Known
    authorize: Authorize
    client: Client | None

    def read(self, names: Sequence[str], *sources: Source) -> _Rows:
        """Open the tables of names beside those of ``sources``, and ask the engine."""
        if not names and sources:
            return self._ask(sources, sources[0].seconds)
        if not names:
            return with_client_timeout(self.client, self._ask_alone)
        # The first read has the limits of the client, and the others are within it.
        client = None if sources else self.client
        return with_consistent_read(names[0], partial(self._open, names, sources), client=client)

    def _open(self, names: Sequence[str], sources: Sequence[Source], read: ConsistentRead) -> _Rows:
        name, columns = names[0], self.made.columns[names[0]]
        self.authorize(read, name)
        with read.session.hold_slot():
            types = {ID: INT8.name, **read.relation.types}
            if any(types.get(each.name) != each.type for each in columns):
                raise _TablesChanged
            source = Source(read, Query(limit=None), [each.name for each in columns])
            found = [
                TableColumn(each.name, each.type, stored.is_typed, stored.has_texts)
                if (stored := source.columns.get(each.name))
                else each  # ``_id``
                for each in columns
            ]
            self.known.update({(name, each.name, each.type): each for each in found})
            if found != columns:
                raise _TablesChanged
            return self.read(names[1:], *sources, source)

    def _ask(self, sources: Sequence[Source], seconds: float) -> _Rows:
        ctes = []
        for (name, key), source in zip(self.made.tables.items(), sources, strict=True):
            items = ["_id"]
            for column in self.made.columns[name]:
                if column.name != ID:
                    stored, encoded = source.columns[column.name], encode_name(column.name)
                    items.append(f"{stored.value} AS {quote(encoded)}")
                    items.append(f"{stored.text} AS {quote(TEXTS_OF + encoded)}")
            text = f"SELECT {', '.join(items)} FROM {source.relation} WHERE {source.where}"
            ctes.append(f"{quote(key)} AS NOT MATERIALIZED ({text})")
        ctes += self.made.ctes
        with_ = f"WITH {', '.join(ctes)} " if ctes else ""
        tables = [table for source in sources for table in source.tables]
        values = [value for source in sources for value in source.parameters]
        return engine.ask(tables, f"{with_}{self.made.text}", values, seconds, self.client)

    def _ask_alone(self, timeout: timedelta) -> _Rows:
        with shares.process_shares.hold(self.client, timeout):
            return self._ask((), timeout.total_seconds() or _MAX_SECONDS)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _write(value: Any, output: Output) -> str:
    """Write a value as JSON, numbers with all their digits."""
    if isinstance(value, str):
        if output.kind in MOMENTS and "(BC)" in value:
            raise InvalidStatement("failed")
        day, _blank, time = value.partition(" ")
        if output.kind in MOMENTS and time:
            time = f"{time:0<15}" if "." in time else time  # six decimals
            value = f"{day}T{time}" + ("+00:00" if output.kind is Kind.TIMESTAMPTZ else "")
        is_number = output.kind in {Kind.DECIMAL, Kind.BIGDECIMAL} and NUMBER.fullmatch(value)
        is_json = output.kind is Kind.OBJECT and field_types[output.type].is_nested
        return value if is_number or (is_json and _is_json(value)) else _dump(value)
    if isinstance(value, list) and output.type == f"_{NUMERIC.name}":
        return f"[{', '.join('null' if each is None else str(each) for each in value)}]"
    if isinstance(value, float) and not isfinite(value):
        value = {inf: "Infinity", -inf: "-Infinity"}.get(value, "NaN")
    return _dump(value)


def _is_json(text: str) -> bool:
    """Return whether a text is an object or a list; single values are known as texts alone."""
    try:
        return text[:1] in ("{", "[") and json.loads(text) is not None
    except (ValueError, RecursionError):
        return False


_dump = partial(json.dumps, ensure_ascii=False)
