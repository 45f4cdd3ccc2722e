"""Conditions in SQL, over a record table's ``_id`` and ``data``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

from psycopg import sql

from ..field_types import Cast, field_types
from ..messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ..messages.search import UnsupportedOperator
from .clause import FALSE, TRUE, Clause, join_clauses
from .equality import MAX_SHOWN_LENGTH, TypedFields, compile_in, negate, read_values
from .grammar import And, Comparison, Condition, In, Or
from .operators import Comparing, operators

_ID_TYPE = replace(field_types["int8"], name="int")
_MAX_ID = 2**63 - 1


def compile_conditions(conditions: Iterable[Condition], fields: TypedFields) -> Clause:
    """
    Compile conditions, which must all hold.

    Raises: ``InvalidParameters``, everything that does not fit the fields and their types.
    """
    errors: list[InvalidParameter] = []
    clauses = [_compile(condition, fields, errors) for condition in conditions]
    if errors:
        raise InvalidParameters(errors)
    return join_clauses(clauses, "AND")


def _compile(condition: Condition, fields: TypedFields, errors: list[InvalidParameter]) -> Clause:
    if isinstance(condition, And | Or):
        clauses = [_compile(member, fields, errors) for member in condition.conditions]
        return join_clauses(clauses, "AND" if isinstance(condition, And) else "OR")
    name = condition.field
    try:
        if name == "_id":
            return _compile_id_condition(condition, fields.cast)
        if name not in fields.types:
            raise UnknownField(field=name[:MAX_SHOWN_LENGTH])
        kind = field_types[fields.types[name]]
        if isinstance(condition, In):
            texts = read_values(name, kind, kind.parse_operand, condition.values, fields.cast)
            return compile_in(name, kind, texts, fields)
        asked = Comparing(name, kind, condition.operator, condition.value, fields)
        if clause := operators[condition.operator].compile(asked):
            return clause
        raise UnsupportedOperator(field=name, type=kind.name, operator=condition.operator)
    except InvalidParameter as error:
        errors.append(error)
        return FALSE


# The key ------------------------------------------------------------------------------------------


def _compile_id_condition(condition: In | Comparison, cast: Cast) -> Clause:
    read = partial(read_values, "_id", _ID_TYPE)
    if isinstance(condition, In):
        return _compile_id_in(read(_ID_TYPE.parse_operand, condition.values, cast))
    operator, value = condition.operator, condition.value
    if operator == "isnull":
        return FALSE if value else TRUE
    if operator == "ne":
        return negate(_compile_id_in(read(_ID_TYPE.parse_operand, [value], cast)))
    if not operators[operator].order:
        raise UnsupportedOperator(field="_id", type="int", operator=operator)
    (text,) = read(_ID_TYPE.parse_bound, [value], cast)
    return FALSE if text in (None, "null") else _compile_id_order(operator, Decimal(text))


def _compile_id_in(texts: Sequence[str | None]) -> Clause:
    numbers = [int(text) for text in texts if text not in (None, "null")]
    return Clause(sql.SQL("_id = ANY(%s::bigint[])"), [numbers]) if numbers else FALSE


def _compile_id_order(operator: str, bound: Decimal) -> Clause:
    """Compare with the nearest whole number, so that the key's index answers."""
    if abs(bound) > _MAX_ID:
        holds_for_all = (bound > 0) is (operator in ("lt", "lte"))
        return TRUE if holds_for_all else FALSE
    whole = math.ceil(bound) if operator in ("lt", "gte") else math.floor(bound)
    return Clause(
        sql.SQL("_id {} %s::bigint").format(sql.SQL(operators[operator].order)),
        [max(-_MAX_ID, min(_MAX_ID, whole))],
    )
