"""
What ``filters`` and ``q`` mean in SQL.

A ``Clause`` is a piece of a WHERE with its parameters.  Names of fields and values only ever travel
as parameters: a condition is containment of a JSON document that holds both, which is what the
index answers and the planner estimates (``docs/decisions/0004``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from psycopg import sql

from .exceptions import InvalidFilterValue, UnknownField, UnsupportedFilter
from .field_types import FieldType, JsonScalar, NotOfType, as_json, field_types

Value = JsonScalar | None

#: Letters of a value that a message repeats.
_LETTERS_SHOWN = 100

#: Up to this many values, each is looked up in the index; above, the field is compared with all.
_VALUES_BY_INDEX = 10

_ID_TYPE = field_types["int8"]


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition in SQL and its parameters, in order."""

    text: sql.Composable
    parameters: list[Any] = field(default_factory=list)


_NOTHING = Clause(sql.SQL("false"))


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A field equals one of some values; none of none."""

    field: str
    values: tuple[Value, ...]


def parse_filters(filters: Mapping[str, object]) -> tuple[AnyOf, ...]:
    """
    Read the parameter ``filters``: field → a value, or a list of values.

    Raises: ``UnsupportedFilter`` when a condition is neither.
    """
    return tuple(_condition(name, condition) for name, condition in filters.items())


def _condition(name: str, condition: object) -> AnyOf:
    values = condition if isinstance(condition, list) else [condition]
    if not all(isinstance(value, str | int | Decimal | bool | None) for value in values):
        raise UnsupportedFilter(field=name)
    return AnyOf(name, tuple(cast("list[Value]", values)))


def all_of(clauses: Iterable[Clause]) -> Clause:
    """Join clauses by AND; none at all are always met."""
    return _joined(list(clauses), " AND ", sql.SQL("true"))


def meets(condition: AnyOf, types: Mapping[str, str]) -> Clause:
    """
    Say a condition in SQL over a record table's ``_id`` and ``data``.

    ``types`` maps the names of the resource's fields to the names of their types.

    Raises: ``UnknownField``; ``InvalidFilterValue`` when a value cannot be of the field's type.
    """
    if condition.field == "_id":
        return _id_in([_equal(condition, _ID_TYPE, value) for value in condition.values])
    if condition.field not in types:
        raise UnknownField(field=condition.field)
    kind = field_types[types[condition.field]]
    texts = [_equal(condition, kind, value) for value in condition.values]
    return _field_in(condition.field, [text for text in texts if text is not None])


def asks(q: str, language: str) -> Clause:
    """Say a full-text query in SQL over a record table's ``search``."""
    return Clause(sql.SQL("search @@ datastore_search_question(%s, %s::regconfig)"), [q, language])


def _equal(condition: AnyOf, kind: FieldType, value: Value) -> str | None:
    if value is None:
        return "null"
    try:
        return kind.equal_to(value)
    except NotOfType:
        raise InvalidFilterValue(
            field=condition.field, type=kind.name, value=_shown(value)
        ) from None


def _shown(value: JsonScalar) -> str:
    text = str(value) if isinstance(value, Decimal) else as_json(value)
    return text if len(text) <= _LETTERS_SHOWN else text[:_LETTERS_SHOWN] + "…"


def _id_in(texts: Sequence[str | None]) -> Clause:
    numbers = [int(text) for text in texts if text not in (None, "null")]
    return Clause(sql.SQL("_id = ANY(%s::bigint[])"), [numbers]) if numbers else _NOTHING


def _field_in(name: str, texts: list[str]) -> Clause:
    if len(texts) > _VALUES_BY_INDEX:
        return Clause(sql.SQL("data -> %s = ANY(%s::jsonb[])"), [name, texts])
    key = as_json(name)
    return _joined(
        [Clause(sql.SQL("data @> %s::jsonb"), [f"{{{key}:{text}}}"]) for text in texts],
        " OR ",
        _NOTHING.text,
    )


def _joined(clauses: list[Clause], word: str, empty: sql.Composable) -> Clause:
    if len(clauses) <= 1:
        return clauses[0] if clauses else Clause(empty)
    return Clause(
        sql.SQL("({})").format(sql.SQL(word).join(clause.text for clause in clauses)),
        [parameter for clause in clauses for parameter in clause.parameters],
    )
