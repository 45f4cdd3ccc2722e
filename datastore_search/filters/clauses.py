"""
Conditions in SQL, over a record table's ``_id`` and ``data``.

Equality is containment of a JSON document that holds field and value: the index answers it, and the
planner estimates it (``docs/decisions/0004``).  Other comparisons use the key of the field's type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from psycopg import sql

from ..field_types import Cast, FieldType, Json, Operators, dump_json, field_types, parse_values
from ..field_types import NotOfType as NotStorable
from ..field_types import ValueNotOfType as NotOfType
from ..messages import shorten
from ..messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ..messages.search import InvalidFilterOperand, InvalidFilterValue, UnsupportedOperator
from .clause import FALSE, TRUE, Clause, join_clauses
from .grammar import MAX_SHOWN_LENGTH, And, Comparison, Condition, In, Or
from .substrings import build_pattern, compile_candidates

#: Up to this many values, each is looked up in the index; above, the field is compared with all.
_MAX_INDEXED_VALUES = 10

_ID_TYPE = replace(field_types["int8"], name="int")
_MAX_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TypedFields:
    """
    The fields that conditions may name.

    ``types`` maps their names to the names of their types, and ``cast`` reads texts as a type, in
    PostgreSQL.  Some records have no ``sparse`` fields; that is null.
    ``estimate_share`` estimates the share of the records that match a pattern of the index of
    substrings; without that index it is None.
    """

    types: Mapping[str, str]
    cast: Cast
    sparse: frozenset[str] = frozenset()
    estimate_share: Callable[[str], float] | None = None


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
            texts = _read_values(name, kind, kind.parse_operand, condition.values, fields.cast)
            return _compile_in(name, kind, texts, fields)
        return _compile_comparison(condition, kind, fields)
    except InvalidParameter as error:
        errors.append(error)
        return FALSE


def _read_values(
    name: str,
    kind: FieldType,
    read: Callable[[Json], str | None],
    values: Sequence[Json],
    cast: Cast,
) -> list[str | None]:
    """Read values as a type, in its canonical texts; None for a value that no record can have."""
    try:
        return parse_values(kind, read, values, cast)
    except NotOfType as error:
        shown = _shorten_value(error.value)
        raise InvalidFilterValue(field=name, type=kind.name, value=shown) from None


def _shorten_value(value: Json) -> str:
    """Shorten a value for a message, even one that cannot be stored."""
    try:
        text = dump_json(value)
    except NotStorable:
        text = repr(value)
    return shorten(text, MAX_SHOWN_LENGTH)


# Equality -----------------------------------------------------------------------------------------


def _compile_in(
    name: str, kind: FieldType, texts: Sequence[str | None], fields: TypedFields
) -> Clause:
    """Compare a field with canonical texts; None equals nothing."""
    given = [text for text in texts if text is not None]
    if len(given) > _MAX_INDEXED_VALUES:
        clauses = [Clause(sql.SQL("data -> %s = ANY(%s::jsonb[])"), [name, given])]
    else:
        clauses = [_compile_equality(name, kind, text) for text in given]
    if "null" in given and name in fields.sparse:
        clauses.append(Clause(sql.SQL("NOT data ? %s"), [name]))
    return join_clauses(clauses, "OR")


def _compile_equality(name: str, kind: FieldType, text: str) -> Clause:
    contained = Clause(sql.SQL("data @> %s::jsonb"), [f"{{{dump_json(name)}:{text}}}"])
    if not (kind.is_nested and text[:1] in "[{"):
        return contained
    # A list or an object also contains smaller ones.
    equal = Clause(sql.SQL("data -> %s = %s::jsonb"), [name, text])
    return join_clauses([contained, equal], "AND")


#: Of longer texts case counts: the search vector has no word of more than 2 kB.
_MAX_FOLDED_LENGTH = 500


def _compile_equality_ignoring_case(name: str, kind: FieldType, value: str, cast: Cast) -> Clause:
    """
    Compare a text field with a text, ignoring case.

    The index of equality finds the exact text, and the index of words finds other spellings.  Words
    after the first 100,000 letters of a record have no index: there, case counts.
    """
    (text,) = _read_values(name, kind, kind.parse_operand, [value], cast)
    exact = _compile_in(name, kind, [text], TypedFields({}, cast))
    if len(value) > _MAX_FOLDED_LENGTH or value.lower() == value.upper():
        return exact
    folded = Clause(
        sql.SQL(
            "(search @@ plainto_tsquery('pg_catalog.simple', datastore_search_words(%s))"
            " AND (lower(data ->> %s) = lower(%s)) IS TRUE)"
        ),
        [value, name, value],
    )
    return join_clauses([exact, folded], "OR")


# Comparison ---------------------------------------------------------------------------------------

_ORDERS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_TEXTS = {
    "contains": "strpos(data ->> %s, %s) > 0",
    "icontains": "strpos(lower(data ->> %s), lower(%s)) > 0",
    "startswith": "starts_with(data ->> %s, %s)",
    "istartswith": "starts_with(lower(data ->> %s), lower(%s))",
}
_TEXTS_IGNORING_CASE = frozenset({"icontains", "istartswith"})

#: A record that the index finds costs about ten times one that is read in the order of the table.
_MAX_CANDIDATES_SHARE = 0.1


def _compile_comparison(condition: Comparison, kind: FieldType, fields: TypedFields) -> Clause:
    name, operator, value = condition.field, condition.operator, condition.value
    if operator == "isnull":
        null = _compile_in(name, kind, ["null"], fields)
        return null if value else _negate(null)
    if operator == "ne":
        texts = _read_values(name, kind, kind.parse_operand, [value], fields.cast)
        return _negate(_compile_in(name, kind, texts, fields))
    if operator in {"ieq", "ine"} and kind.is_text:
        if not isinstance(value, str):
            raise InvalidFilterOperand(field=name, operator=operator)
        equal = _compile_equality_ignoring_case(name, kind, value, fields.cast)
        return equal if operator == "ieq" else _negate(equal)
    if operator in _ORDERS and Operators.ORDER in kind.operators:
        return _compile_order(name, kind, operator, value, fields.cast)
    if operator == "contains" and Operators.CONTAINS in kind.operators:
        return _compile_contains(name, kind, value)
    if operator in _TEXTS and Operators.TEXT in kind.operators:
        if not isinstance(value, str):
            raise InvalidFilterOperand(field=name, operator=operator)
        return _compile_part(name, operator, value, fields)
    raise UnsupportedOperator(field=name, type=kind.name, operator=operator)


def _compile_part(name: str, operator: str, part: str, fields: TypedFields) -> Clause:
    """Search for a part of a text, by the index where it finds few candidates."""
    exact = Clause(sql.SQL(_TEXTS[operator]), [name, part])
    pattern = build_pattern(part) if fields.estimate_share else None
    if not pattern or not fields.estimate_share:
        return exact
    if fields.estimate_share(pattern) > _MAX_CANDIDATES_SHARE:
        return exact
    candidates = compile_candidates(pattern, ignores_case=operator in _TEXTS_IGNORING_CASE)
    return join_clauses([exact, candidates], "AND")


def _negate(clause: Clause) -> Clause:
    return Clause(sql.SQL("NOT {}").format(clause.text), clause.parameters)


def _compile_order(name: str, kind: FieldType, operator: str, value: Json, cast: Cast) -> Clause:
    (text,) = _read_values(name, kind, kind.parse_bound, [value], cast)
    if text == "null":
        return FALSE
    return Clause(
        sql.SQL("{field} {operator} {bound}").format(
            field=compile_field_key(kind),
            operator=sql.SQL(_ORDERS[operator]),
            bound=compile_value_key(kind, sql.SQL("%s::jsonb")),
        ),
        [name, text],
    )


def compile_field_key(kind: FieldType) -> sql.Composed:
    """Compile the key by which a field is sorted and compared; its name is the one parameter."""
    return sql.SQL(kind.sort_expression).format(
        v=sql.SQL("(data -> %s)"), t=sql.SQL("(data ->> %s)")
    )


def compile_value_key(kind: FieldType, value: sql.Composable) -> sql.Composed:
    """Compile the key by which a jsonb value is sorted and compared."""
    return sql.SQL(kind.sort_expression).format(v=value, t=sql.SQL("({} #>> '{{}}')").format(value))


def _compile_contains(name: str, kind: FieldType, value: Json) -> Clause:
    """Search for an element of a list, or for a part of a JSON value."""
    operand = value if kind.name == "json" or isinstance(value, list) else [value]
    if value is None and kind.name != "json":
        raise InvalidFilterOperand(field=name, operator="contains")
    (text,) = _read_values(
        name, kind, kind.parse_operand, [operand], lambda _kind, texts: [None] * len(texts)
    )
    return Clause(sql.SQL("data @> %s::jsonb"), [f"{{{dump_json(name)}:{text}}}"])


# The key ------------------------------------------------------------------------------------------


def _compile_id_condition(condition: In | Comparison, cast: Cast) -> Clause:
    read = partial(_read_values, "_id", _ID_TYPE)
    if isinstance(condition, In):
        return _compile_id_in(read(_ID_TYPE.parse_operand, condition.values, cast))
    operator, value = condition.operator, condition.value
    if operator == "isnull":
        return FALSE if value else TRUE
    if operator == "ne":
        return _negate(_compile_id_in(read(_ID_TYPE.parse_operand, [value], cast)))
    if operator not in _ORDERS:
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
        sql.SQL("_id {} %s::bigint").format(sql.SQL(_ORDERS[operator])),
        [max(-_MAX_ID, min(_MAX_ID, whole))],
    )
