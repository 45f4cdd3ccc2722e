"""
The grammar of the parameter ``filters``.

Source: CKAN 2.12 ``datastore_search``, section 6 of its semantics, its limits included; the
operators ``ne``, ``contains``, ``icontains``, ``startswith`` and ``isnull`` are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..exceptions import (
    EmptyCondition,
    FiltersNotAnObject,
    FiltersTooDeep,
    FiltersTooMany,
    InvalidFilterOperand,
    InvalidParameter,
    InvalidParameters,
    TooManyFilterValues,
    TooManyTextConditions,
    UnknownGroup,
    UnknownOperator,
)
from ..field_types import Json

#: Operations in one ``filters`` at most, and groups within each other.
MAX_OPERATIONS = 100
MAX_DEPTH = 9

#: Values in all lists of one ``filters`` at most.
MAX_VALUES = 10_000

#: No index answers these: each is looked for in the text of every record.
TEXT_OPERATORS = ("contains", "icontains", "startswith")
MAX_TEXT_CONDITIONS = 10

OPERATORS = (
    "eq", "in", "lt", "lte", "gt", "gte", "ne", "contains", "icontains", "startswith", "isnull",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class In:
    """A field equals one of some values; none of none."""

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
    """At least one condition holds."""

    conditions: tuple[Condition, ...]


Condition = In | Comparison | And | Or

_GROUPS: Mapping[str, type[And | Or]] = {"$and": And, "$or": Or}


def parse_filters(filters: Mapping[str, object] | Sequence[object]) -> tuple[Condition, ...]:
    """
    Read the parameter ``filters`` into conditions that must all hold.

    Raises: ``InvalidParameters``, everything that is wrong with it.
    """
    parser = _Parser()
    found: tuple[Condition, ...] = ()
    if isinstance(filters, Mapping):
        found = parser.root(filters)
    elif filters:
        found = (Or(parser.alternatives(filters, depth=1)),)
    parser.finish()
    return found


class _Parser:
    """Counts the operations and collects what is wrong."""

    def __init__(self) -> None:
        self._operations = 0
        self._text_conditions = 0
        self._values = 0
        self._faults: list[InvalidParameter] = []

    def finish(self) -> None:
        if self._operations > MAX_OPERATIONS:
            self._faults.append(FiltersTooMany(most=MAX_OPERATIONS))
        if self._text_conditions > MAX_TEXT_CONDITIONS:
            self._faults.append(
                TooManyTextConditions(most=MAX_TEXT_CONDITIONS, operators=", ".join(TEXT_OPERATORS))
            )
        if self._faults:
            raise InvalidParameters(self._faults)

    def root(self, filters: Mapping[str, object]) -> tuple[Condition, ...]:
        """Read the outermost object; what it joins by AND counts once, and only if it is more."""
        found = self.members(filters, depth=0)
        self._operations += (len(found) > 1) - ("$and" in filters)
        return found

    def members(self, filters: Mapping[str, object], depth: int) -> tuple[Condition, ...]:
        """Read an object: field → condition, or a group → list of objects."""
        self._check_size(len(filters))
        found = []
        for name, condition in filters.items():
            if name.startswith("$") and not name.startswith("$$"):
                found.extend(self._group(name, condition, depth + 1))
            else:
                field = name[1:] if name.startswith("$$") else name
                found.extend(self._field(field, condition))
        return tuple(found)

    def alternatives(self, members: Sequence[object], depth: int) -> tuple[Condition, ...]:
        """Read a list of objects, the members of a group."""
        self._check_size(len(members))
        if depth > MAX_DEPTH:
            raise InvalidParameters([FiltersTooDeep(most=MAX_DEPTH)])
        self._operations += 1
        found: list[Condition] = []
        for member in members:
            if not isinstance(member, Mapping):
                self._faults.append(FiltersNotAnObject())
            elif member:  # CKAN passes over an empty one
                conditions = self.members(member, depth)
                self._operations += len(conditions) > 1
                found.append(And(conditions) if len(conditions) != 1 else conditions[0])
        if all(member == {} for member in members):
            self._faults.append(EmptyCondition())
        return tuple(found)

    def _check_size(self, members: int) -> None:
        if members >= MAX_OPERATIONS:
            raise InvalidParameters([FiltersTooMany(most=MAX_OPERATIONS)])

    def _count_values(self, operand: object) -> None:
        """Count the values of a list, before any of them is looked at."""
        if isinstance(operand, list):
            self._values += len(operand)
        if self._values > MAX_VALUES:
            raise InvalidParameters([TooManyFilterValues(most=MAX_VALUES)])

    def _group(self, name: str, members: object, depth: int) -> list[Condition]:
        if name not in _GROUPS:
            self._faults.append(UnknownGroup(group=name[:100]))
        elif not isinstance(members, list):
            self._faults.append(FiltersNotAnObject())
        elif not members:
            self._faults.append(EmptyCondition())
        else:
            return [_GROUPS[name](self.alternatives(members, depth))]
        return []

    def _field(self, field: str, condition: object) -> list[Condition]:
        if isinstance(condition, Mapping):
            return self._operated(field, condition)
        self._count_values(condition)
        if not isinstance(condition, list):
            self._operations += 1
            return [In(field, (condition,))]  # type: ignore[arg-type] # JSON has nothing else
        plain = [value for value in condition if not isinstance(value, Mapping)]
        found: list[Condition] = []
        for each in condition:
            if isinstance(each, Mapping):
                operated = self._operated(field, each)
                found.append(And(tuple(operated)) if len(operated) != 1 else operated[0])
        if plain or not found:
            self._operations += 1
            found.append(In(field, tuple(plain)))
        self._operations += len(found) > 1
        return found if len(found) == 1 else [Or(tuple(found))]

    def _operated(self, field: str, operands: Mapping[str, object]) -> list[Condition]:
        """Read an object of operators, which must all hold."""
        if not operands:
            self._faults.append(EmptyCondition())
        self._check_size(len(operands))
        found: list[Condition] = []
        for operator, operand in operands.items():
            self._operations += 1
            self._text_conditions += operator in TEXT_OPERATORS
            self._count_values(operand)
            if operator not in OPERATORS:
                self._faults.append(
                    UnknownOperator(
                        field=field, operator=operator[:100], operators=", ".join(OPERATORS)
                    )
                )
            elif (operator == "in" and not isinstance(operand, list)) or (
                operator == "isnull" and not isinstance(operand, bool)
            ):
                self._faults.append(InvalidFilterOperand(field=field, operator=operator))
            else:
                found.append(_comparison(field, operator, operand))
        return found


def _comparison(field: str, operator: str, operand: object) -> Condition:
    value: Json = operand  # type: ignore[assignment] # JSON has nothing else
    if operator == "in" and isinstance(operand, list):
        return In(field, tuple(operand))
    if operator == "eq":
        return In(field, (value,))
    return Comparison(field, operator, value)
