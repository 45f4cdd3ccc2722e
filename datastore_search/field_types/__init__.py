"""
The types of fields: one table.

A type says which texts of a file are of it (two DuckDB conditions: a careful one, for inference,
and a wide one, for a type that somebody chose), how such a text is written as JSON (a DuckDB
expression), what a JSON value means to it (``values``), and by which PostgreSQL expression it is
sorted and compared.  Values are stored in one canonical form, that of PostgreSQL's ``to_jsonb``
with CKAN's timestamps, so that equality is JSONB containment.

Source: CKAN ``datastore_search``, sections 5 and 6 of its semantics; PostgreSQL's input syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import partial

from . import values
from .values import (
    MAX_NUMBER_DIGITS,
    Json,
    NotOfType,
    TooManyDigits,
    Unread,
    as_json,
    as_sent,
    document,
    is_storable,
)

__all__ = [
    "MAX_NUMBER_DIGITS",
    "Cast",
    "FieldType",
    "Json",
    "NotOfType",
    "Operators",
    "Ordered",
    "TooManyDigits",
    "ValueNotOfType",
    "as_json",
    "as_sent",
    "document",
    "field_type",
    "field_types",
    "inferred_types",
    "is_storable",
    "readings",
    "type_aliases",
]

type_aliases: Mapping[str, str] = {
    "string": "text",
    "str": "text",
    "varchar": "text",
    "character varying": "text",
    "smallint": "int2",
    "int": "int4",
    "integer": "int4",
    "bigint": "int8",
    "float": "float8",
    "double": "float8",
    "double precision": "float8",
    "real": "float8",
    "float4": "float8",
    "decimal": "numeric",
    "boolean": "bool",
    "datetime": "timestamp",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "time without time zone": "time",
    "jsonb": "json",
    "nested": "json",
    "text[]": "_text",
    "int[]": "_int4",
    "integer[]": "_int4",
    "int4[]": "_int4",
    "bigint[]": "_int8",
    "int8[]": "_int8",
    "float[]": "_float8",
    "float8[]": "_float8",
    "double precision[]": "_float8",
    "bool[]": "_bool",
    "boolean[]": "_bool",
}

#: Reads texts of a type by PostgreSQL's own rules: canonical JSON, or None where it refuses.
Cast = Callable[[str, Sequence[str]], Sequence[str | None]]


class Operators(Enum):
    """Which operators of filters a type has, besides equality."""

    ORDER = "order"
    TEXT = "text"
    CONTAINS = "contains"


class Ordered(StrEnum):
    """What people sort by: the kinds of types that are worth an index of their order."""

    NUMBERS = "numbers"
    DATES = "dates"
    TEXTS = "texts"


@dataclass(frozen=True, slots=True)
class FieldType:
    """
    One type.

    ``inference_conditions`` and ``condition`` are DuckDB conditions, for a type that is inferred
    and one that is chosen, and ``json_expression`` is a DuckDB expression that gives JSON text.
    Each is a template over ``{v}``, a text that is not empty.

    ``stores`` takes a value and gives the canonical JSON text that is stored; ``equals`` takes an
    operand and gives the canonical text that equals it, or None when no stored value can;
    ``bounds`` takes an operand to be compared with.  Each raises ``NotOfType`` when the value
    cannot be of the type at all.  ``key`` is a PostgreSQL expression over ``{v}``, a jsonb value,
    or ``{t}``, its text, that sorts and compares as the type does; SQL null where there is no
    value.  ``table_schema_type`` is its type in a Frictionless Table Schema.  ``ordered`` is its
    kind of order, if that is worth an index.
    """

    name: str
    inference_conditions: tuple[str, ...]
    condition: str
    json_expression: str
    stores: Callable[[Json], str]
    equals: Callable[[Json], str | None]
    bounds: Callable[[Json], str]
    key: str
    table_schema_type: str
    operators: frozenset[Operators]
    ordered: Ordered | None = None

    @property
    def is_text(self) -> bool:
        """Tell whether an empty text is a value, not the lack of one."""
        return self.name == "text"

    @property
    def is_nested(self) -> bool:
        """Tell whether values may be lists or objects."""
        return Operators.CONTAINS in self.operators


def readings(
    kind: FieldType,
    read: Callable[[Json], str | None],
    operands: Iterable[Json],
    cast: Cast,
) -> list[str | None]:
    """
    Read values as a type; null is null.

    ``read`` is one of the type's own three.  What only PostgreSQL can read, it reads in one go.

    Raises: ``ValueNotOfType``, a ``NotOfType`` that knows which value it was.
    """
    given = list(operands)
    found: list[str | None] = []
    unread: dict[int, str] = {}
    for place, value in enumerate(given):
        try:
            found.append("null" if value is None else read(value))
        except NotOfType as error:
            many = isinstance(error, TooManyDigits)
            raise ValueNotOfType(place, value, has_many_digits=many) from None
        except Unread as text:
            unread[place] = text.text
            found.append(None)
    if unread:
        for place, answer in zip(unread, cast(kind.name, list(unread.values())), strict=True):
            if answer is None:
                raise ValueNotOfType(place, given[place])
            found[place] = answer
    return found


class ValueNotOfType(NotOfType):
    """One of several values cannot be of a type; ``place`` counts from 0."""

    def __init__(self, place: int, value: Json, *, has_many_digits: bool = False) -> None:
        """Keep which one, and whether its numbers are too long when they are written out."""
        super().__init__(place, value)
        self.place = place
        self.value = value
        self.has_many_digits = has_many_digits


# The table ----------------------------------------------------------------------------------------


def _matches(pattern: str, cast: str) -> str:
    return f"regexp_full_match({{v}}, '{pattern}') AND try_cast({{v}} AS {cast}) IS NOT NULL"


_AS_STRING = "CAST(to_json({v}) AS VARCHAR)"
_AS_TIMESTAMP = "CAST({v} AS TIMESTAMP)"
#: The moment in UTC: a cast to a timestamp would drop the zone.
_AS_UTC = "make_timestamp(epoch_us(CAST({v} AS TIMESTAMPTZ)))"
_PLAIN_INTEGER = "0|-?[1-9][0-9]{0,18}"
_ISO_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO_TIME = "[0-9]{2}:[0-9]{2}"
_SECONDS = ":[0-9]{2}"
_ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_AFTER_CHRIST = " AND {v} >= '0001'"

#: ISO's notation sorts as the moments do, whatever the collation of the database.
_MOMENT_KEY = '{t} COLLATE "C"'
_JSON_KEY = "nullif({v}, 'null')"
#: Half the size of a jsonb number in an index, and compared faster.
_INTEGER_KEY = f"{_JSON_KEY}::numeric"

_SCALAR = frozenset({Operators.ORDER, Operators.TEXT})
_LIST = frozenset({Operators.ORDER, Operators.CONTAINS})


def _integer(name: str, cast: str, bits: int) -> FieldType:
    return FieldType(
        name=name,
        # No file is so sure of its numbers that two bytes will always do.
        inference_conditions=() if name == "int2" else (_matches(_PLAIN_INTEGER, cast),),
        condition=_matches("[+-]?[0-9]+", cast),
        json_expression=f"CAST(CAST({{v}} AS {cast}) AS VARCHAR)",
        stores=partial(values.integer, bits=bits),
        equals=partial(values.integer_operand, bits=bits),
        bounds=partial(values.integer_bound, bits=bits),
        key=_INTEGER_KEY,
        table_schema_type="integer",
        operators=_SCALAR,
        ordered=Ordered.NUMBERS,
    )


def _moment(
    name: str,
    inference_conditions: str,
    condition: str,
    json_expression: str,
    read: Callable[[Json], str],
) -> FieldType:
    return FieldType(
        name=name,
        inference_conditions=(inference_conditions,) if inference_conditions else (),
        condition=condition,
        json_expression=json_expression,
        stores=read,
        equals=read,
        bounds=read,
        key=_MOMENT_KEY,
        table_schema_type="datetime" if name.startswith("timestamp") else name,
        operators=_SCALAR,
        ordered=Ordered.DATES,
    )


def _array(
    name: str, cast: str, element: Callable[[Json], str], json_expression: str = ""
) -> FieldType:
    read = partial(values.array, of=element)
    return FieldType(
        name=name,
        inference_conditions=(),
        condition=(
            # An element that cannot be cast becomes null, and list_count does not count it.
            "CASE WHEN json_valid({v}) THEN json_type({v}) = 'ARRAY'"
            f" AND list_count(try_cast(CAST({{v}} AS JSON) AS {cast}[]))"
            " = list_count(try_cast(CAST({v} AS JSON) AS VARCHAR[])) ELSE false END"
        ),
        json_expression=json_expression
        or f"CAST(to_json(CAST(CAST({{v}} AS JSON) AS {cast}[])) AS VARCHAR)",
        stores=read,
        equals=read,
        bounds=read,
        key=f"datastore_search_elements({{v}})::{name.removeprefix('_')}[]",
        table_schema_type="array",
        operators=_LIST,
    )


def _timestamp_written(moment: str, zone: str) -> str:
    """Write three decimals as CKAN does, six where three would lose something."""
    return (
        f"CASE WHEN epoch_us({moment}) % 1000 = 0"
        f" THEN strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.%g{zone}\"')"
        f" ELSE strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.%f{zone}\"') END"
    )


def _double_written(number: str) -> str:
    """Write a double as JSON, and as text what is no number."""
    return (
        f"CASE WHEN isnan({number}) THEN '\"NaN\"' WHEN isinf({number}) THEN"
        f" CASE WHEN {number} > 0 THEN '\"Infinity\"' ELSE '\"-Infinity\"' END"
        f" ELSE regexp_replace(CAST({number} AS VARCHAR), '\\.0$', '') END"
    )


_TYPES = (
    _integer("int2", "SMALLINT", 16),
    _integer("int4", "INTEGER", 32),
    _integer("int8", "BIGINT", 64),
    FieldType(
        name="numeric",
        # A whole number too long for int8 is an identifier; minus zero would lose its sign.
        inference_conditions=(
            (
                r"regexp_full_match({v}, '-?(0|[1-9][0-9]*)\.[0-9]+|-?[1-9][0-9]{0,17}|0')"
                r" AND NOT regexp_full_match({v}, '-0\.0+') AND length({v}) < 1000"
            ),
        ),
        condition=(
            r"regexp_full_match({v}, '[+-]?([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?')"
            " AND length({v}) < 16000"
            " OR lower({v}) IN ('nan', 'infinity', '-infinity')"
        ),
        json_expression=(
            "CASE lower({v}) WHEN 'nan' THEN '\"NaN\"' WHEN 'infinity' THEN '\"Infinity\"'"
            " WHEN '-infinity' THEN '\"-Infinity\"' ELSE"
            r" regexp_replace(regexp_replace(regexp_replace({v},"
            r" '^\+', ''), '^(-?)0+([0-9])', '\1\2'), '^(-?)\.', '\10.') END"
        ),
        stores=values.numeric,
        equals=values.numeric_operand,
        bounds=values.numeric_bound,
        key="{t}::numeric",
        table_schema_type="number",
        operators=_SCALAR,
        ordered=Ordered.NUMBERS,
    ),
    FieldType(
        name="float8",
        inference_conditions=(
            (
                "CAST(try_cast({v} AS DOUBLE) AS VARCHAR) IN ({v}, {v} || '.0')"
                " AND {v} NOT IN ('-0', '-0.0', 'nan', 'inf', '-inf')"
            ),
        ),
        condition="try_cast({v} AS DOUBLE) IS NOT NULL",
        json_expression=_double_written("CAST({v} AS DOUBLE)"),
        stores=values.float8,
        equals=values.float8_operand,
        bounds=values.float8_bound,
        key="{t}::float8",
        table_schema_type="number",
        operators=_SCALAR,
        ordered=Ordered.NUMBERS,
    ),
    FieldType(
        name="bool",
        # One spelling over the whole field, or it is a word and not a truth value.
        inference_conditions=(
            "{v} IN ('true', 'false')",
            "{v} IN ('True', 'False')",
            "{v} IN ('TRUE', 'FALSE')",
        ),
        condition="lower({v}) IN ('true', 'false', 't', 'f', 'yes', 'no', 'y', 'n', '1', '0')",
        json_expression=(
            "CASE WHEN lower({v}) IN ('true', 't', 'yes', 'y', '1') THEN 'true' ELSE 'false' END"
        ),
        stores=values.truth,
        equals=values.truth,
        bounds=values.truth,
        key=_JSON_KEY,
        table_schema_type="boolean",
        operators=frozenset({Operators.ORDER}),
    ),
    _moment(
        "date",
        inference_conditions=_matches(_ISO_DATE, "DATE") + _AFTER_CHRIST,
        condition=_matches(_ISO_DATE, "DATE") + _AFTER_CHRIST,
        json_expression=_AS_STRING,
        read=values.day,
    ),
    _moment(
        "timestamp",
        inference_conditions=_matches(
            rf"{_ISO_DATE}[T ]{_ISO_TIME}({_SECONDS}(\.[0-9]{{1,6}})?)?", "TIMESTAMP"
        )
        + _AFTER_CHRIST,
        condition=_matches(
            rf"{_ISO_DATE}([T ]{_ISO_TIME}({_SECONDS}(\.[0-9]{{1,6}})?)?)?", "TIMESTAMP"
        )
        + _AFTER_CHRIST,
        json_expression=_timestamp_written(_AS_TIMESTAMP, ""),
        read=values.timestamp,
    ),
    _moment(
        "timestamptz",
        inference_conditions="",
        condition=_matches(
            rf"{_ISO_DATE}[T ]{_ISO_TIME}({_SECONDS}(\.[0-9]{{1,6}})?)?{_ZONE}", "TIMESTAMPTZ"
        )
        + _AFTER_CHRIST,
        json_expression=_timestamp_written(_AS_UTC, "+00:00"),
        read=values.timestamptz,
    ),
    _moment(
        "time",
        inference_conditions=_matches(rf"{_ISO_TIME}{_SECONDS}(\.[0-9]{{0,5}}[1-9])?", "TIME"),
        condition=_matches(rf"{_ISO_TIME}{_SECONDS}(\.[0-9]{{0,5}}[1-9])?", "TIME"),
        json_expression=_AS_STRING,
        read=values.clock,
    ),
    FieldType(
        name="json",
        inference_conditions=(),
        condition="json_valid({v})",
        json_expression="{v}",
        stores=values.document,
        equals=values.json_operand,
        bounds=as_json,
        key=_JSON_KEY,
        table_schema_type="any",
        operators=frozenset({Operators.CONTAINS}),
    ),
    _array("_text", "VARCHAR", values.text),
    _array("_int4", "INTEGER", partial(values.integer, bits=32)),
    _array("_int8", "BIGINT", partial(values.integer, bits=64)),
    _array(
        "_float8",
        "DOUBLE",
        values.float8,
        json_expression=(
            "'[' || array_to_string([CASE WHEN x IS NULL THEN 'null'"
            f" ELSE {_double_written('x')} END"
            " FOR x IN CAST(CAST({v} AS JSON) AS DOUBLE[])], ',') || ']'"
        ),
    ),
    _array("_bool", "BOOLEAN", values.truth),
    FieldType(
        name="text",
        inference_conditions=("true",),
        condition="true",
        json_expression=_AS_STRING,
        stores=values.text,
        equals=values.text_operand,
        bounds=values.text_operand,
        key="{t}",
        table_schema_type="string",
        operators=_SCALAR,
        ordered=Ordered.TEXTS,
    ),
)

field_types: Mapping[str, FieldType] = {kind.name: kind for kind in _TYPES}

#: The types that a field of a file may turn out to have, the narrowest first.
inferred_types: tuple[FieldType, ...] = tuple(kind for kind in _TYPES if kind.inference_conditions)


def field_type(name: str) -> FieldType:
    """
    Find a type by its name or another name for it (``int`` for ``int4``).

    Raises: ``KeyError`` when there is none.
    """
    lowered = " ".join(name.lower().split())
    return field_types[type_aliases.get(lowered, lowered)]
