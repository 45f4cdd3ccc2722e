"""
The conditions of the parameter ``filters``: its grammar, and their SQL.

Source: CKAN 2.12 ``datastore_search``, section 6 of its semantics, its limits included.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from decimal import Decimal
from functools import partial
from typing import cast

from psycopg import sql

from ..database.statements import FALSE, TRUE, Clause, join_clauses
from ..field_types import Cast, Json, field_types
from ..messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ..messages.search import (
    EmptyCondition,
    FiltersNotAnObject,
    FiltersTooDeep,
    FiltersTooMany,
    InvalidFilterOperand,
    TooManyFilterValues,
    TooManyTextConditions,
    UnknownGroup,
    UnknownOperator,
    UnsupportedOperator,
)
from .equality import MAX_SHOWN_LENGTH, TypedFields, compile_in, negate, read_values
from .operators import TEXT_OPERATORS, Comparing, Operand, operators

#: Operations in one ``filters``.
MAX_OPERATIONS = 100

#: Groups within each other.
MAX_DEPTH = 9

#: Values in all lists of one ``filters``.
MAX_VALUES = 10_000

MAX_TEXT_CONDITIONS = 10


@dataclass(frozen=True, slots=True)
class In:
    """A field equals one of some values; no values are never equal."""

    field: str
    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field compared with a value by an operator other than ``eq`` and ``in``."""

    field: str
    operator: str
    value: Json


@dataclass(frozen=True, slots=True)
class And:
    """All conditions hold."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one condition holds; with a ``field``, they come from one list of its values."""

    conditions: tuple[Condition, ...]
    field: str | None = None


Condition = In | Comparison | And | Or

#: What an operand must be, where the type of the field does not matter.
_OPERANDS: Mapping[Operand, type] = {Operand.LIST: list, Operand.BOOLEAN: bool}

_GROUPS: Mapping[str, type[And | Or]] = {"$and": And, "$or": Or}


def parse_filters(filters: Mapping[str, object] | Sequence[object]) -> tuple[Condition, ...]:
    """
    Parse the parameter ``filters`` into conditions that must all hold.

    The AND of its members is one operation, if there are two.

    Raises: ``InvalidParameters``, everything that is wrong with it.
    """
    if not filters:
        return ()
    parser = _Parser()
    conditions: tuple[Condition, ...]
    if isinstance(filters, Mapping):
        conditions = parser.parse_object(filters, depth=0)
        parser.operations += (len(conditions) > 1) - ("$and" in filters)
    else:
        conditions = (Or(parser.parse_members(filters, depth=1)),)
    if parser.operations > MAX_OPERATIONS:
        parser.errors.append(FiltersTooMany(most=MAX_OPERATIONS))
    if parser.text_conditions > MAX_TEXT_CONDITIONS:
        operators_of_text = ", ".join(TEXT_OPERATORS)
        parser.errors.append(
            TooManyTextConditions(most=MAX_TEXT_CONDITIONS, operators=operators_of_text)
        )
    if parser.errors:
        raise InvalidParameters(parser.errors)
    return conditions


def exclude_field(conditions: Iterable[Condition], name: str) -> tuple[Condition, ...]:
    """Leave out the conditions on a field that all records must meet; those in groups stay."""
    return tuple(each for each in conditions if isinstance(each, And) or each.field != name)


@dataclass
class _Parser:
    """Counts the operations and collects the errors."""

    operations: int = 0
    text_conditions: int = 0
    _values: int = 0
    errors: list[InvalidParameter] = dataclass_field(default_factory=list)

    def parse_members(self, members: Sequence[object], depth: int) -> tuple[Condition, ...]:
        """Parse a list of objects, the members of a group."""
        self._check_size(len(members))
        if depth > MAX_DEPTH:
            raise InvalidParameters([FiltersTooDeep(most=MAX_DEPTH)])
        self.operations += 1
        conditions: list[Condition] = []
        for member in members:
            if not isinstance(member, Mapping):
                self.errors.append(FiltersNotAnObject())
            elif member:  # CKAN ignores an empty one
                parsed = self.parse_object(member, depth)
                self.operations += len(parsed) > 1
                conditions.append(And(parsed) if len(parsed) != 1 else parsed[0])
        if all(member == {} for member in members):
            self.errors.append(EmptyCondition())
        return tuple(conditions)

    def parse_object(self, members: Mapping[str, object], depth: int) -> tuple[Condition, ...]:
        """Parse an object: field → condition, or a group → list of objects."""
        self._check_size(len(members))
        conditions: list[Condition] = []
        for name, condition in members.items():
            if name.startswith("$") and not name.startswith("$$"):
                conditions += self._parse_group(name, condition, depth + 1)
            else:
                field = name[1:] if name.startswith("$$") else name
                conditions += self._parse_field(field, condition)
        return tuple(conditions)

    def _check_size(self, members: int) -> None:
        if members >= MAX_OPERATIONS:
            raise InvalidParameters([FiltersTooMany(most=MAX_OPERATIONS)])

    def _count_values(self, operand: object) -> None:
        """Count the values of a list, before any of them is read."""
        if isinstance(operand, list):
            self._values += len(operand)
        if self._values > MAX_VALUES:
            raise InvalidParameters([TooManyFilterValues(most=MAX_VALUES)])

    def _parse_group(self, name: str, members: object, depth: int) -> list[Condition]:
        if name not in _GROUPS:
            self.errors.append(UnknownGroup(group=name[:MAX_SHOWN_LENGTH]))
        elif not isinstance(members, list):
            self.errors.append(FiltersNotAnObject())
        elif not members:
            self.errors.append(EmptyCondition())
        else:
            return [_GROUPS[name](self.parse_members(members, depth))]
        return []

    def _parse_field(self, field: str, condition: object) -> list[Condition]:
        if isinstance(condition, Mapping):
            return self._parse_operators(field, condition)
        if not isinstance(condition, list):
            self.operations += 1
            return [In(field, (cast("Json", condition),))]
        self._count_values(condition)
        values = [value for value in condition if not isinstance(value, Mapping)]
        conditions: list[Condition] = []
        for each in condition:
            if isinstance(each, Mapping):
                parsed = self._parse_operators(field, each)
                conditions.append(And(tuple(parsed)) if len(parsed) != 1 else parsed[0])
        if values or not conditions:
            self.operations += 1
            conditions.append(In(field, tuple(values)))
        self.operations += len(conditions) > 1
        return conditions if len(conditions) == 1 else [Or(tuple(conditions), field)]

    def _parse_operators(self, field: str, operands: Mapping[str, object]) -> list[Condition]:
        """Parse an object: operator → operand; all of them must hold."""
        if not operands:
            self.errors.append(EmptyCondition())
        self._check_size(len(operands))
        conditions: list[Condition] = []
        for operator, operand in operands.items():
            self.operations += 1
            self.text_conditions += operator in TEXT_OPERATORS
            self._count_values(operand)
            if operator not in operators:
                self.errors.append(
                    UnknownOperator(
                        field=field,
                        operator=operator[:MAX_SHOWN_LENGTH],
                        operators=", ".join(operators),
                    )
                )
            elif not isinstance(operand, _OPERANDS.get(operators[operator].operand, object)):
                self.errors.append(InvalidFilterOperand(field=field, operator=operator))
            else:
                conditions.append(_build_condition(field, operator, operand))
        return conditions


def _build_condition(field: str, operator: str, operand: object) -> Condition:
    value = cast("Json", operand)
    if operator == "in" and isinstance(operand, list):
        return In(field, tuple(operand))
    if operator == "eq":
        return In(field, (value,))
    return Comparison(field, operator, value)


# In SQL -------------------------------------------------------------------------------------------

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
    bound = _read_id_bound(condition, cast)
    return FALSE if bound is None else _compile_id_order(operator, bound)


def _compile_id_in(texts: Sequence[str | None]) -> Clause:
    numbers = [int(text) for text in texts if text not in (None, "null")]
    return Clause(sql.SQL("_id = ANY(%s::bigint[])"), [numbers]) if numbers else FALSE


def _read_id_bound(condition: Comparison, cast: Cast) -> Decimal | None:
    (text,) = read_values("_id", _ID_TYPE, _ID_TYPE.parse_bound, [condition.value], cast)
    return None if text in (None, "null") else Decimal(text)


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


def find_id_range(conditions: Iterable[Comparison], cast: Cast) -> tuple[int, int] | None:
    """
    Find the first and the last ``_id`` that conditions on it leave, which are compiled already.

    None where one of them is not a bound.
    """
    first, last = -_MAX_ID, _MAX_ID
    for each in conditions:
        if not operators[each.operator].order:
            return None
        bound = _read_id_bound(each, cast)
        if bound is None:
            continue
        if each.operator in ("gt", "gte"):
            first = max(first, math.floor(bound) + 1 if each.operator == "gt" else math.ceil(bound))
        else:
            last = min(last, math.ceil(bound) - 1 if each.operator == "lt" else math.floor(bound))
    return min(first, _MAX_ID), max(last, -_MAX_ID)
