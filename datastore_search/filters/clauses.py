"""
What a condition means in SQL, over a record table's ``_id`` and ``data``.

Equality is containment of a JSON document that holds field and value, which is what the index
answers and the planner estimates (``docs/decisions/0004``).  Everything else compares the key of
the field's type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

from psycopg import sql

from ..exceptions import (
    InvalidFilterOperand,
    InvalidFilterValue,
    InvalidParameter,
    InvalidParameters,
    UnknownField,
    UnsupportedOperator,
)
from ..field_types import Cast, FieldType, Json, Operators, as_json, field_types, readings
from ..field_types import NotOfType as NotStorable
from ..field_types import ValueNotOfType as NotOfType
from .grammar import And, Comparison, Condition, In, Or

#: Letters of a value that a message repeats.
_LETTERS_SHOWN = 100

#: Up to this many values, each is looked up in the index; above, the field is compared with all.
_VALUES_BY_INDEX = 10

_ID_TYPE = replace(field_types["int8"], name="int")
_ID_BOUND = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Types:
    """
    What a condition has to know: the fields and their types, and how PostgreSQL reads a text.

    ``names`` maps the names of the fields to the names of their types; those that are ``sparse``
    some records lack, which is as good as null.
    """

    names: Mapping[str, str]
    cast: Cast
    sparse: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of SQL and its parameters, in order."""

    text: sql.Composable
    parameters: list[Any] = field(default_factory=list)


_NOTHING = Clause(sql.SQL("false"))
_ANYTHING = Clause(sql.SQL("true"))


def join_by_and(clauses: Iterable[Clause]) -> Clause:
    """Join clauses by AND; none at all are always met."""
    return _joined(list(clauses), " AND ", _ANYTHING)


def compile_conditions(conditions: Iterable[Condition], types: Types) -> Clause:
    """
    Say that all conditions hold.

    Raises: ``InvalidParameters``, everything that does not fit the fields and their types.
    """
    faults: list[InvalidParameter] = []
    clause = _said(And(tuple(conditions)), types, faults)
    if faults:
        raise InvalidParameters(faults)
    return clause


def _said(condition: Condition, types: Types, faults: list[InvalidParameter]) -> Clause:
    if isinstance(condition, And | Or):
        clauses = [_said(member, types, faults) for member in condition.conditions]
        if isinstance(condition, And):
            return join_by_and(clauses)
        return _joined(clauses, " OR ", _NOTHING)
    try:
        return _of_field(condition, types)
    except InvalidParameter as fault:
        faults.append(fault)
        return _NOTHING


def _of_field(condition: In | Comparison, types: Types) -> Clause:
    if condition.field == "_id":
        return _of_id(condition, types.cast)
    if condition.field not in types.names:
        raise UnknownField(field=condition.field[:_LETTERS_SHOWN])
    kind = field_types[types.names[condition.field]]
    if isinstance(condition, In):
        texts = _read(condition.field, kind, kind.equals, condition.values, types.cast)
        return _field_in(condition.field, kind, texts, types)
    return _compared(condition, kind, types)


def _read(
    name: str,
    kind: FieldType,
    read: Callable[[Json], str | None],
    values: Sequence[Json],
    cast: Cast,
) -> list[str | None]:
    try:
        return readings(kind, read, values, cast)
    except NotOfType as error:
        raise InvalidFilterValue(field=name, type=kind.name, value=_shown(error.value)) from None


def _shown(value: Json) -> str:
    """Write a value for a message, shortened, even when it cannot be stored."""
    try:
        text = as_json(value)
    except NotStorable:
        text = repr(value)
    return text if len(text) <= _LETTERS_SHOWN else text[:_LETTERS_SHOWN] + "…"


def _joined(clauses: list[Clause], word: str, empty: Clause) -> Clause:
    if len(clauses) <= 1:
        return clauses[0] if clauses else empty
    return Clause(
        sql.SQL("({})").format(sql.SQL(word).join(clause.text for clause in clauses)),
        [parameter for clause in clauses for parameter in clause.parameters],
    )


# Equality -----------------------------------------------------------------------------------------


def _field_in(name: str, kind: FieldType, texts: Sequence[str | None], types: Types) -> Clause:
    """Say that a field equals one of some canonical texts; None equals nothing."""
    given = [text for text in texts if text is not None]
    if len(given) > _VALUES_BY_INDEX:
        clauses = [Clause(sql.SQL("data -> %s = ANY(%s::jsonb[])"), [name, given])]
    else:
        clauses = [_equal(name, kind, text) for text in given]
    if "null" in given and name in types.sparse:
        clauses.append(Clause(sql.SQL("NOT data ? %s"), [name]))
    return _joined(clauses, " OR ", _NOTHING)


def _equal(name: str, kind: FieldType, text: str) -> Clause:
    contained = Clause(sql.SQL("data @> %s::jsonb"), [f"{{{as_json(name)}:{text}}}"])
    if not (kind.is_nested and text[:1] in "[{"):
        return contained
    # A list or an object also contains smaller ones.
    return join_by_and([contained, Clause(sql.SQL("data -> %s = %s::jsonb"), [name, text])])


# Comparison ---------------------------------------------------------------------------------------

_ORDERS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_TEXTS = {
    "contains": "strpos(data ->> %s, %s) > 0",
    "icontains": "strpos(lower(data ->> %s), lower(%s)) > 0",
    "startswith": "starts_with(data ->> %s, %s)",
}


def _compared(condition: Comparison, kind: FieldType, types: Types) -> Clause:
    name, operator, value = condition.field, condition.operator, condition.value
    if operator == "isnull":
        empty = _field_in(name, kind, ["null"], types)
        return empty if value else _not(empty)
    if operator == "ne":
        texts = _read(name, kind, kind.equals, [value], types.cast)
        return _not(_field_in(name, kind, texts, types))
    if operator in _ORDERS and Operators.ORDER in kind.operators:
        return _ordered(name, kind, operator, value, types.cast)
    if operator == "contains" and Operators.CONTAINS in kind.operators:
        return _containing(name, kind, value)
    if operator in _TEXTS and Operators.TEXT in kind.operators:
        if not isinstance(value, str):
            raise InvalidFilterOperand(field=name, operator=operator)
        return Clause(sql.SQL(_TEXTS[operator]), [name, value])
    raise UnsupportedOperator(field=name, type=kind.name, operator=operator)


def _not(clause: Clause) -> Clause:
    return Clause(sql.SQL("NOT {}").format(clause.text), clause.parameters)


def _ordered(name: str, kind: FieldType, operator: str, value: Json, cast: Cast) -> Clause:
    (text,) = _read(name, kind, kind.bounds, [value], cast)
    if text == "null":
        return _NOTHING
    return Clause(
        sql.SQL("{field} {operator} {bound}").format(
            field=compile_field_key(kind),
            operator=sql.SQL(_ORDERS[operator]),
            bound=compile_value_key(kind, sql.SQL("%s::jsonb")),
        ),
        [name, text],
    )


def compile_field_key(kind: FieldType) -> sql.Composed:
    """Say by what a field is sorted and compared; its name is the one parameter."""
    return sql.SQL(kind.key).format(v=sql.SQL("(data -> %s)"), t=sql.SQL("(data ->> %s)"))


def compile_value_key(kind: FieldType, value: sql.Composable) -> sql.Composed:
    """Say by what a jsonb value is sorted and compared."""
    return sql.SQL(kind.key).format(v=value, t=sql.SQL("({} #>> '{{}}')").format(value))


def _containing(name: str, kind: FieldType, value: Json) -> Clause:
    """Say that a list has an element, or a JSON value a part."""
    operand = value if kind.name == "json" or isinstance(value, list) else [value]
    if value is None and kind.name != "json":
        raise InvalidFilterOperand(field=name, operator="contains")
    (text,) = _read(name, kind, kind.equals, [operand], _refuse_all)
    return Clause(sql.SQL("data @> %s::jsonb"), [f"{{{as_json(name)}:{text}}}"])


def _refuse_all(kind: str, texts: Sequence[str]) -> Sequence[str | None]:
    return [None] * len(texts)


# The key ------------------------------------------------------------------------------------------


def _of_id(condition: In | Comparison, cast: Cast) -> Clause:
    read = partial(_read, "_id", _ID_TYPE)
    if isinstance(condition, In):
        return _id_in(read(_ID_TYPE.equals, condition.values, cast))
    operator, value = condition.operator, condition.value
    if operator == "isnull":
        return _NOTHING if value else _ANYTHING
    if operator == "ne":
        return _not(_id_in(read(_ID_TYPE.equals, [value], cast)))
    if operator not in _ORDERS:
        raise UnsupportedOperator(field="_id", type="int", operator=operator)
    (text,) = read(_ID_TYPE.bounds, [value], cast)
    return _NOTHING if text in (None, "null") else _id_beyond(operator, Decimal(text))


def _id_in(texts: Sequence[str | None]) -> Clause:
    numbers = [int(text) for text in texts if text not in (None, "null")]
    return Clause(sql.SQL("_id = ANY(%s::bigint[])"), [numbers]) if numbers else _NOTHING


def _id_beyond(operator: str, bound: Decimal) -> Clause:
    """Compare with the whole number that lies next, so that the key's index answers."""
    if abs(bound) > _ID_BOUND:
        beyond = (bound > 0) is (operator in ("lt", "lte"))
        return _ANYTHING if beyond else _NOTHING
    whole = math.ceil(bound) if operator in ("lt", "gte") else math.floor(bound)
    return Clause(
        sql.SQL("_id {} %s::bigint").format(sql.SQL(_ORDERS[operator])),
        [max(-_ID_BOUND, min(_ID_BOUND, whole))],
    )
