"""
The types of fields: one table.

A type defines which texts of a file are of it (two DuckDB conditions: a careful one for inference,
and a wide one for a type that a user chose), how such a text is written as JSON (a DuckDB
expression), how JSON values are parsed (``values``), and the PostgreSQL expression that sorts and
compares it.  Values are stored in one canonical form, PostgreSQL's ``to_jsonb`` with CKAN's
timestamps, so that equality is JSONB containment.

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
    UnknownNotation,
    dump_json,
    dump_json_as_sent,
    is_storable,
    parse_json_value,
    refuse_constant,
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
    "dump_json",
    "dump_json_as_sent",
    "field_types",
    "get_field_type",
    "inferred_types",
    "is_storable",
    "parse_json_value",
    "parse_values",
    "refuse_constant",
    "type_aliases",
]

_SCALAR_ALIASES: Mapping[str, str] = {
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
}

#: The names of types of which there are lists, as PostgreSQL writes these: ``int[]``.
_LISTED = (
    *("text", "int", "integer", "int4", "bigint", "int8", "bool", "boolean"),
    *("float", "float8", "double precision"),
)

#: Other names of types.
type_aliases: Mapping[str, str] = {
    **_SCALAR_ALIASES,
    **{f"{name}[]": f"_{_SCALAR_ALIASES.get(name, name)}" for name in _LISTED},
}

#: Parses texts of a type in PostgreSQL: canonical JSON for each, or None where it is refused.
Cast = Callable[[str, Sequence[str]], Sequence[str | None]]


class Operators(Enum):
    """Groups of filter operators that a type may have, in addition to equality."""

    ORDER = "order"
    TEXT = "text"
    CONTAINS = "contains"


class Ordered(StrEnum):
    """Groups of types whose order may be indexed, as in the setting ``INDEXES``."""

    NUMBERS = "numbers"
    DATES = "dates"
    TEXTS = "texts"


@dataclass(frozen=True, slots=True)
class FieldType:
    """
    A type of fields.

    ``inference_conditions`` and ``condition`` are DuckDB conditions, for a type that is inferred
    and one that is chosen, and ``json_expression`` is a DuckDB expression that gives JSON text.
    Each is a template over ``{v}``, a text that is not empty.

    ``parse_value`` returns the canonical JSON text that is stored for a value; ``parse_operand``
    the canonical text that equals an operand, or None when no stored value can; ``parse_bound``
    the text that values are compared with.  Each raises ``NotOfType`` when the value cannot be of
    the type.  ``sort_expression`` is a PostgreSQL expression over ``{v}``, a jsonb value, or
    ``{t}``, its text, that sorts and compares as the type does; it is SQL null where there is no
    value.  ``table_schema_type`` is its type in a Frictionless Table Schema.  ``ordered`` names the
    group of indexes that its order belongs to.
    """

    name: str
    inference_conditions: tuple[str, ...]
    condition: str
    json_expression: str
    parse_value: Callable[[Json], str]
    parse_operand: Callable[[Json], str | None]
    parse_bound: Callable[[Json], str]
    sort_expression: str
    table_schema_type: str
    operators: frozenset[Operators]
    ordered: Ordered | None = None

    @property
    def is_text(self) -> bool:
        """Return whether an empty text is a value, not a missing one."""
        return self.name == "text"

    @property
    def is_sortable(self) -> bool:
        """Return whether records can be sorted by a field of the type."""
        return Operators.ORDER in self.operators

    @property
    def is_facetable(self) -> bool:
        """Return whether records can be counted by the values, or by the elements of lists."""
        return self.is_sortable

    @property
    def is_nested(self) -> bool:
        """Return whether values may be lists or objects."""
        return Operators.CONTAINS in self.operators


def parse_values(
    kind: FieldType,
    parse: Callable[[Json], str | None],
    values_given: Iterable[Json],
    cast: Cast,
) -> list[str | None]:
    """
    Parse values as a type; null stays null.

    ``parse`` is one of the type's three functions.  Texts that it cannot parse are sent to
    PostgreSQL with one statement.

    Raises: ``ValueNotOfType``, with the position of the value.
    """
    given = list(values_given)
    found: list[str | None] = []
    unparsed: dict[int, str] = {}
    for position, value in enumerate(given):
        try:
            found.append("null" if value is None else parse(value))
        except NotOfType as error:
            many = isinstance(error, TooManyDigits)
            raise ValueNotOfType(position, value, has_many_digits=many) from None
        except UnknownNotation as text:
            unparsed[position] = text.text
            found.append(None)
    if unparsed:
        texts = list(unparsed.values())
        for position, answer in zip(unparsed, cast(kind.name, texts), strict=True):
            if answer is None:
                raise ValueNotOfType(position, given[position])
            found[position] = answer
    return found


class ValueNotOfType(NotOfType):
    """One of several values cannot be of a type; ``position`` counts from 0."""

    def __init__(self, position: int, value: Json, *, has_many_digits: bool = False) -> None:
        """``has_many_digits``: its numbers are too long when written without exponents."""
        super().__init__(position, value)
        self.position = position
        self.value = value
        self.has_many_digits = has_many_digits


# The table ----------------------------------------------------------------------------------------


def _build_match_condition(pattern: str, cast: str) -> str:
    return f"regexp_full_match({{v}}, '{pattern}') AND try_cast({{v}} AS {cast}) IS NOT NULL"


_AS_STRING = "CAST(to_json({v}) AS VARCHAR)"
_AS_TIMESTAMP = "CAST({v} AS TIMESTAMP)"
#: In UTC: a cast to a timestamp would drop the zone.
_AS_UTC = "make_timestamp(epoch_us(CAST({v} AS TIMESTAMPTZ)))"
_PLAIN_INTEGER = "0|-?[1-9][0-9]{0,18}"
_ISO_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ISO_TIME = "[0-9]{2}:[0-9]{2}"
_SECONDS = ":[0-9]{2}"
_ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_AFTER_CHRIST = " AND {v} >= '0001'"

#: ISO's notation sorts by time, in every collation of the database.
_DATE_SORT = '{t} COLLATE "C"'
_JSON_SORT = "nullif({v}, 'null')"
#: Half the size of a jsonb number in an index, and compared faster.
_INTEGER_SORT = f"{_JSON_SORT}::numeric"

_SCALAR = frozenset({Operators.ORDER, Operators.TEXT})
_LIST = frozenset({Operators.ORDER, Operators.CONTAINS})


def _build_integer_type(name: str, cast: str, bits: int) -> FieldType:
    return FieldType(
        name=name,
        # Never inferred: a later file may have larger numbers.
        inference_conditions=()
        if name == "int2"
        else (_build_match_condition(_PLAIN_INTEGER, cast),),
        condition=_build_match_condition("[+-]?[0-9]+", cast),
        json_expression=f"CAST(CAST({{v}} AS {cast}) AS VARCHAR)",
        parse_value=partial(values.parse_integer, bits=bits),
        parse_operand=partial(values.parse_integer_operand, bits=bits),
        parse_bound=partial(values.parse_integer_bound, bits=bits),
        sort_expression=_INTEGER_SORT,
        table_schema_type="integer",
        operators=_SCALAR,
        ordered=Ordered.NUMBERS,
    )


def _build_date_or_time_type(
    name: str,
    condition: str,
    json_expression: str,
    read: Callable[[Json], str],
    inference_condition: str | None = None,
) -> FieldType:
    """Build a type; one whose ``inference_condition`` is empty is never inferred."""
    inferred = condition if inference_condition is None else inference_condition
    return FieldType(
        name=name,
        inference_conditions=(inferred,) if inferred else (),
        condition=condition,
        json_expression=json_expression,
        parse_value=read,
        parse_operand=read,
        parse_bound=read,
        sort_expression=_DATE_SORT,
        table_schema_type="datetime" if name.startswith("timestamp") else name,
        operators=_SCALAR,
        ordered=Ordered.DATES,
    )


def _build_array_type(
    name: str, cast: str, element: Callable[[Json], str], json_expression: str = ""
) -> FieldType:
    read = partial(values.parse_array, of=element)
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
        parse_value=read,
        parse_operand=read,
        parse_bound=read,
        sort_expression=f"datastore_search_elements({{v}})::{name.removeprefix('_')}[]",
        table_schema_type="array",
        operators=_LIST,
    )


def _build_timestamp_json(moment: str, zone: str) -> str:
    """Write three decimals as in CKAN, six where three lose something."""
    return (
        f"CASE WHEN epoch_us({moment}) % 1000 = 0"
        f" THEN strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.%g{zone}\"')"
        f" ELSE strftime({moment}, '\"%Y-%m-%dT%H:%M:%S.%f{zone}\"') END"
    )


def _build_double_json(number: str) -> str:
    """Write a double as JSON; NaN and the infinities as text."""
    return (
        f"CASE WHEN isnan({number}) THEN '\"NaN\"' WHEN isinf({number}) THEN"
        f" CASE WHEN {number} > 0 THEN '\"Infinity\"' ELSE '\"-Infinity\"' END"
        f" ELSE regexp_replace(CAST({number} AS VARCHAR), '\\.0$', '') END"
    )


_TYPES = (
    _build_integer_type("int2", "SMALLINT", 16),
    _build_integer_type("int4", "INTEGER", 32),
    _build_integer_type("int8", "BIGINT", 64),
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
        parse_value=values.parse_numeric,
        parse_operand=values.parse_numeric_operand,
        parse_bound=values.parse_numeric_bound,
        sort_expression="{t}::numeric",
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
        json_expression=_build_double_json("CAST({v} AS DOUBLE)"),
        parse_value=values.parse_float8,
        parse_operand=values.parse_float8_operand,
        parse_bound=values.parse_float8_bound,
        sort_expression="{t}::float8",
        table_schema_type="number",
        operators=_SCALAR,
        ordered=Ordered.NUMBERS,
    ),
    FieldType(
        name="bool",
        # One spelling in the whole field; otherwise the values are words.
        inference_conditions=(
            "{v} IN ('true', 'false')",
            "{v} IN ('True', 'False')",
            "{v} IN ('TRUE', 'FALSE')",
        ),
        condition="lower({v}) IN ('true', 'false', 't', 'f', 'yes', 'no', 'y', 'n', '1', '0')",
        json_expression=(
            "CASE WHEN lower({v}) IN ('true', 't', 'yes', 'y', '1') THEN 'true' ELSE 'false' END"
        ),
        parse_value=values.parse_boolean,
        parse_operand=values.parse_boolean,
        parse_bound=values.parse_boolean,
        sort_expression=_JSON_SORT,
        table_schema_type="boolean",
        operators=frozenset({Operators.ORDER}),
    ),
    _build_date_or_time_type(
        "date",
        condition=_build_match_condition(_ISO_DATE, "DATE") + _AFTER_CHRIST,
        json_expression=_AS_STRING,
        read=values.parse_date,
    ),
    _build_date_or_time_type(
        "timestamp",
        inference_condition=_build_match_condition(
            rf"{_ISO_DATE}[T ]{_ISO_TIME}({_SECONDS}(\.[0-9]{{1,6}})?)?", "TIMESTAMP"
        )
        + _AFTER_CHRIST,
        condition=_build_match_condition(
            rf"{_ISO_DATE}([T ]{_ISO_TIME}({_SECONDS}(\.[0-9]{{1,6}})?)?)?", "TIMESTAMP"
        )
        + _AFTER_CHRIST,
        json_expression=_build_timestamp_json(_AS_TIMESTAMP, ""),
        read=values.parse_timestamp,
    ),
    _build_date_or_time_type(
        "timestamptz",
        inference_condition="",
        condition=_build_match_condition(
            rf"{_ISO_DATE}[T ]{_ISO_TIME}({_SECONDS}(\.[0-9]{{1,6}})?)?{_ZONE}", "TIMESTAMPTZ"
        )
        + _AFTER_CHRIST,
        json_expression=_build_timestamp_json(_AS_UTC, "+00:00"),
        read=values.parse_timestamptz,
    ),
    _build_date_or_time_type(
        "time",
        condition=_build_match_condition(rf"{_ISO_TIME}{_SECONDS}(\.[0-9]{{0,5}}[1-9])?", "TIME"),
        json_expression=_AS_STRING,
        read=values.parse_time,
    ),
    FieldType(
        name="json",
        inference_conditions=(),
        condition="json_valid({v})",
        json_expression="{v}",
        parse_value=values.parse_json_value,
        parse_operand=values.parse_json_operand,
        parse_bound=dump_json,
        sort_expression=_JSON_SORT,
        table_schema_type="any",
        operators=frozenset({Operators.CONTAINS}),
    ),
    _build_array_type("_text", "VARCHAR", values.parse_text),
    _build_array_type("_int4", "INTEGER", partial(values.parse_integer, bits=32)),
    _build_array_type("_int8", "BIGINT", partial(values.parse_integer, bits=64)),
    _build_array_type(
        "_float8",
        "DOUBLE",
        values.parse_float8,
        json_expression=(
            "'[' || array_to_string([CASE WHEN x IS NULL THEN 'null'"
            f" ELSE {_build_double_json('x')} END"
            " FOR x IN CAST(CAST({v} AS JSON) AS DOUBLE[])], ',') || ']'"
        ),
    ),
    _build_array_type("_bool", "BOOLEAN", values.parse_boolean),
    FieldType(
        name="text",
        inference_conditions=("true",),
        condition="true",
        json_expression=_AS_STRING,
        parse_value=values.parse_text,
        parse_operand=values.parse_text_operand,
        parse_bound=values.parse_text_operand,
        sort_expression="{t}",
        table_schema_type="string",
        operators=_SCALAR,
        ordered=Ordered.TEXTS,
    ),
)

field_types: Mapping[str, FieldType] = {kind.name: kind for kind in _TYPES}

#: The types that a field of a file may turn out to have, the narrowest first.
inferred_types: tuple[FieldType, ...] = tuple(kind for kind in _TYPES if kind.inference_conditions)


def get_field_type(name: str) -> FieldType:
    """
    Find a type by its name or another name for it (``int`` for ``int4``).

    Raises: ``KeyError`` when there is none.
    """
    lowered = " ".join(name.lower().split())
    return field_types[type_aliases.get(lowered, lowered)]
