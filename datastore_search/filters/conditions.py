"""
The conditions of the parameter ``filters``: its grammar, and their SQL.

Source: CKAN 2.12 ``datastore_search``, section 6 of its semantics, its limits included.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from psycopg import sql

from ..database.statements import FALSE, TRUE, Clause, join_clauses
from ..field_types import Json, field_types
from ..messages.parameters import InvalidParameter, InvalidParameters, UnknownField
from ..messages.search import (
    EmptyCondition,
    FiltersNotAnObject,
    FiltersTooDeep,
    FiltersTooMany,
    InvalidFilterOperand,
    NoPlaceFields,
    TooManyFilterValues,
    TooManyTextConditions,
    UnknownGroup,
    UnknownOperator,
    UnsupportedOperator,
)
from .names import ID
from .operators import ID_TYPE, MAX_SHOWN_LENGTH, TEXT_OPERATORS, Comparing, TypedFields, operators
from .places import MAX_LATITUDE, MAX_LONGITUDE, PlaceFields, check_place_fields

# Of one ``filters``: operations, groups within each other, and the values of all lists.
MAX_OPERATIONS = 100
MAX_DEPTH = 9
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
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one condition holds; with a ``field``, they come from one list of its values."""

    conditions: tuple[Condition, ...]
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Near:
    """The place of a record is within some kilometers of another; its fields are named or found."""

    latitude: Decimal | int
    longitude: Decimal | int
    kilometers: Decimal | int
    fields: tuple[str, ...] = ()

    def choose_fields(self, fields: TypedFields) -> PlaceFields:
        """Choose the fields; raise ``NoPlaceFields``, or as ``check_place_fields``."""
        named = PlaceFields("", "", *self.fields) if len(self.fields) == 1 else None
        place = named or (PlaceFields(*self.fields) if self.fields else fields.find_places())
        if place is None:
            raise NoPlaceFields
        check_place_fields(place, fields.types, "geo")
        return place

    def list_operands(self) -> list[float]:
        """List latitude, longitude, and the largest haversine of an angle, of which 1 is all."""
        # PostgreSQL refuses the square of a tiny difference.
        degrees = [float(round(Decimal(each), 15)) for each in (self.latitude, self.longitude)]
        half = float(self.kilometers) / _EARTH_RADIUS_KM / 2
        return [*degrees, math.sin(half) ** 2 if half < math.pi / 2 else 2.0]

    def build_box(self, place: PlaceFields) -> And:
        """
        Build the ranges of degrees around the circle, which indexes serve.

        Across the meridian of 180 degrees there are two; around a pole they have all longitudes.
        """
        latitude, longitude, _most = self.list_operands()
        # Larger than the circle by a centimeter, as numbers are rounded.
        height, width = math.degrees(float(self.kilometers) / _EARTH_RADIUS_KM) + 1e-7, 181.0
        if abs(latitude) + height < MAX_LATITUDE:
            share = math.sin(math.radians(height)) / math.cos(math.radians(latitude))
            width = math.degrees(math.asin(min(share, 1.0))) + 1e-7
        ranges = [
            And(
                (
                    Comparison(name, "gte", Decimal(f"{max(middle - size, -end):.9f}")),
                    Comparison(name, "lte", Decimal(f"{min(middle + size, end):.9f}")),
                )
            )
            for name, middle, size, end in (
                (place.lat, latitude, height, MAX_LATITUDE),
                *((place.lon, longitude + turn, width, MAX_LONGITUDE) for turn in (0, -360, 360)),
            )
            if abs(middle) - size <= end
        ]
        return And((ranges[0], Or(tuple(ranges[1:]))))

    def compile(self, place: PlaceFields, types: Mapping[str, str]) -> Clause:
        """Compile the distance; degrees that are not within the box are any place."""
        geometries = {"json": "data -> %s", "text": "datastore_search_json(data ->> %s)"}
        value = geometries.get(types.get(place.geometry, ""), "data ->> %s, data ->> %s")
        call = f"datastore_search_is_near({value}, %s::float8, %s::float8, %s::float8)"
        return Clause(sql.SQL(call), [*filter(None, place), *self.list_operands()])


Condition = In | Comparison | And | Or | Near

_EARTH_RADIUS_KM = 6371.0088

_GROUPS: Mapping[str, type[And | Or]] = {"$and": And, "$or": Or}


def parse_filters(filters: Mapping[str, object] | Sequence[object]) -> tuple[Condition, ...]:
    """
    Parse the parameter ``filters`` into conditions that must all hold.

    Raises: ``InvalidParameters``, everything that is wrong with it.
    """
    return FiltersParser().parse(filters) if filters else ()


def exclude_field(conditions: Iterable[Condition], name: str) -> tuple[Condition, ...]:
    """Leave out the conditions on a field that all records must meet; those in groups stay."""
    return tuple(each for each in conditions if isinstance(each, And | Near) or each.field != name)


class FiltersParser:
    """Parses the conditions of one query, perhaps given in several objects, and counts them."""

    def __init__(self) -> None:
        self._operations = self._text_conditions = self._values = 0
        self._errors: list[InvalidParameter] = []

    def parse(self, filters: Mapping[str, object] | Sequence[object]) -> tuple[Condition, ...]:
        """
        Parse an object or a list as ``filters``.

        The AND of its members is one operation, if there are two.

        Raises: ``InvalidParameters``, everything that is wrong with it.
        """
        self._errors = []
        conditions: tuple[Condition, ...]
        if isinstance(filters, Mapping):
            conditions = self._parse_object(filters, depth=0)
            self._operations += (len(conditions) > 1) - ("$and" in filters)
        else:
            conditions = (Or(self._parse_members(filters, depth=1)),)
        if self._operations > MAX_OPERATIONS:
            self._errors.append(FiltersTooMany(most=MAX_OPERATIONS))
        if self._text_conditions > MAX_TEXT_CONDITIONS:
            names = ", ".join(TEXT_OPERATORS)
            self._errors.append(TooManyTextConditions(most=MAX_TEXT_CONDITIONS, operators=names))
        if self._errors:
            raise InvalidParameters(self._errors)
        return conditions

    def _parse_members(self, members: Sequence[object], depth: int) -> tuple[Condition, ...]:
        self._check_size(len(members))
        if depth > MAX_DEPTH:
            raise InvalidParameters([FiltersTooDeep(most=MAX_DEPTH)])
        self._operations += 1
        conditions: list[Condition] = []
        for member in members:
            if not isinstance(member, Mapping):
                self._errors.append(FiltersNotAnObject())
            elif member:  # CKAN ignores an empty one
                parsed = self._parse_object(member, depth)
                self._operations += len(parsed) > 1
                conditions.append(And(parsed) if len(parsed) != 1 else parsed[0])
        if all(member == {} for member in members):
            self._errors.append(EmptyCondition())
        return tuple(conditions)

    def _parse_object(self, members: Mapping[str, object], depth: int) -> tuple[Condition, ...]:
        self._check_size(len(members))
        conditions: list[Condition] = []
        for name, condition in members.items():
            if not name.startswith("$") or name.startswith("$$"):
                field = name[1:] if name.startswith("$$") else name
                conditions += self._parse_field(field, condition)
            elif name not in _GROUPS:
                self._errors.append(UnknownGroup(group=name[:MAX_SHOWN_LENGTH]))
            elif not isinstance(condition, list):
                self._errors.append(FiltersNotAnObject())
            elif not condition:
                self._errors.append(EmptyCondition())
            else:
                conditions.append(_GROUPS[name](self._parse_members(condition, depth + 1)))
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

    def _parse_field(self, field: str, condition: object) -> list[Condition]:
        if isinstance(condition, Mapping):
            return self._parse_operators(field, condition)
        if not isinstance(condition, list):
            self._operations += 1
            return [In(field, (cast("Json", condition),))]
        self._count_values(condition)
        values = [value for value in condition if not isinstance(value, Mapping)]
        conditions: list[Condition] = []
        for each in condition:
            if isinstance(each, Mapping):
                parsed = self._parse_operators(field, each)
                conditions.append(And(tuple(parsed)) if len(parsed) != 1 else parsed[0])
        if values or not conditions:
            self._operations += 1
            conditions.append(In(field, tuple(values)))
        self._operations += len(conditions) > 1
        return conditions if len(conditions) == 1 else [Or(tuple(conditions), field)]

    def _parse_operators(self, field: str, operands: Mapping[str, object]) -> list[Condition]:
        if not operands:
            self._errors.append(EmptyCondition())
        self._check_size(len(operands))
        conditions: list[Condition] = []
        for operator, operand in operands.items():
            self._operations += 1
            self._text_conditions += operator in TEXT_OPERATORS
            self._count_values(operand)
            if operator not in operators:
                known, shown = ", ".join(operators), operator[:MAX_SHOWN_LENGTH]
                self._errors.append(UnknownOperator(field=field, operator=shown, operators=known))
            elif not operators[operator].operand.takes(operand):
                self._errors.append(InvalidFilterOperand(field=field, operator=operator))
            elif operator == "in" and isinstance(operand, list):
                conditions.append(In(field, tuple(operand)))
            elif operator == "eq":
                conditions.append(In(field, (cast("Json", operand),)))
            else:
                conditions.append(Comparison(field, operator, cast("Json", operand)))
        return conditions


# In SQL -------------------------------------------------------------------------------------------


def compile_conditions(conditions: Iterable[Condition], fields: TypedFields) -> Clause:
    """
    Compile conditions, which must all hold; each is compiled once for its fields.

    Raises: ``InvalidParameters``, everything that does not fit the fields and their types.
    """
    errors: list[InvalidParameter] = []
    clauses = [_compile(condition, fields, errors) for condition in conditions]
    if errors:
        raise InvalidParameters(errors)
    return join_clauses(clauses, "AND")


def _compile(condition: Condition, fields: TypedFields, errors: list[InvalidParameter]) -> Clause:
    if known := fields.compiled.get(id(condition)):
        return known[1]
    count = len(errors)
    clause: Clause | None = FALSE
    try:
        if isinstance(condition, And | Or):
            clauses = [_compile(member, fields, errors) for member in condition.conditions]
            clause = join_clauses(clauses, "AND" if isinstance(condition, And) else "OR")
        elif isinstance(condition, Near):
            place = condition.choose_fields(fields)
            box = TRUE if place.geometry else _compile(condition.build_box(place), fields, errors)
            clause = join_clauses([box, condition.compile(place, fields.types)], "AND")
        else:
            name, operator, operand = condition.field, "in", cast("Json", ())
            if isinstance(condition, In):
                operand = condition.values
            else:
                operator, operand = condition.operator, condition.value
            if name != ID and name not in fields.types:
                raise UnknownField(field=name[:MAX_SHOWN_LENGTH])
            kind = ID_TYPE if name == ID else field_types[fields.types[name]]
            clause = operators[operator].compile(Comparing(name, kind, operator, operand, fields))
            if clause is None:
                raise UnsupportedOperator(field=name, type=kind.name, operator=operator)
    except InvalidParameter as error:
        errors.append(error)
    if clause is None or len(errors) > count:
        return FALSE
    fields.compiled[id(condition)] = condition, clause
    return clause
