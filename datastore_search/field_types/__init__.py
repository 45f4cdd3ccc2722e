"""
The types of fields: one table.

A type defines its names, how JSON values are parsed (``values``), for which values it is guessed,
and the PostgreSQL expression that sorts and compares it.  What the types have in common are
properties, so that no other module lists their names.  Values are stored in one canonical form,
PostgreSQL's ``to_jsonb`` with CKAN's timestamps, so that equality is JSONB containment.

Source: CKAN ``datastore_search``, sections 5 and 6 of its semantics; PostgreSQL's input syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum
from functools import partial

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from . import values
from .values import (
    MAX_NUMBER_DIGITS,
    Cast,
    Json,
    NotOfType,
    TooManyDigits,
    ValueNotOfType,
    dump_json,
    dump_json_as_sent,
    is_storable,
    parse_json_value,
    parse_values,
    refuse_constant,
)


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

    ``label`` is its name for readers, ``aliases`` are its other names, and ``table_schema_type`` is
    its type in a Frictionless Table Schema.

    ``parse_value`` returns the canonical JSON text that is stored for a value; ``parse_operand``
    the canonical text that equals an operand, or None when no stored value can; ``parse_bound``
    the text that values are compared with.  Each raises ``NotOfType`` when the value cannot be of
    the type.  ``sort_expression`` is a PostgreSQL expression over ``{v}``, a jsonb value, or
    ``{t}``, its text, that sorts and compares as the type does; it is SQL null where there is no
    value.  ``ordered`` names the group of indexes that its order belongs to.  ``holds`` says
    whether the type may be guessed for a value; a type without it is never guessed.
    """

    name: str
    label: str | Promise
    table_schema_type: str
    parse_value: Callable[[Json], str]
    parse_operand: Callable[[Json], str | None]
    parse_bound: Callable[[Json], str]
    sort_expression: str
    operators: frozenset[Operators]
    ordered: Ordered | None = None
    aliases: tuple[str, ...] = ()
    holds: Callable[[Json], bool] | None = None

    @property
    def is_text(self) -> bool:
        """Return whether an empty text is a value, not a missing one."""
        return self.name == "text"

    @property
    def is_number(self) -> bool:
        """Return whether values are numbers."""
        return self.ordered is Ordered.NUMBERS

    @property
    def is_integer(self) -> bool:
        """Return whether values are whole numbers."""
        return self.table_schema_type == "integer"

    @property
    def is_timestamp(self) -> bool:
        """Return whether values are days with a time."""
        return self.table_schema_type == "datetime"

    @property
    def has_day(self) -> bool:
        """Return whether values are days, with or without a time."""
        return self.is_timestamp or self.table_schema_type == "date"

    @property
    def has_range(self) -> bool:
        """Return whether values are numbers, days or times, of which a range can be asked for."""
        return self.ordered in {Ordered.NUMBERS, Ordered.DATES}

    @property
    def is_sortable(self) -> bool:
        """Return whether records can be sorted by a field of the type."""
        return Operators.ORDER in self.operators

    @property
    def is_nested(self) -> bool:
        """Return whether values may be lists or objects."""
        return Operators.CONTAINS in self.operators


# The table ----------------------------------------------------------------------------------------

#: ISO's notation sorts by time, in every collation of the database.
_DATE_SORT = '{t} COLLATE "C"'
_JSON_SORT = "nullif({v}, 'null')"
#: Half the size of a jsonb number in an index, and compared faster.
_INTEGER_SORT = f"{_JSON_SORT}::numeric"

_SCALAR = frozenset({Operators.ORDER, Operators.TEXT})
_LIST = frozenset({Operators.ORDER, Operators.CONTAINS})


def _build_integer_type(name: str, bits: int, *aliases: str, is_guessed: bool = True) -> FieldType:
    read = partial(values.parse_integer, bits=bits)
    return FieldType(
        name=name,
        label=_("whole number"),
        table_schema_type="integer",
        parse_value=read,
        parse_operand=partial(values.parse_integer_operand, bits=bits),
        parse_bound=partial(values.parse_integer_bound, bits=bits),
        sort_expression=_INTEGER_SORT,
        operators=_SCALAR,
        ordered=Ordered.NUMBERS,
        aliases=aliases,
        holds=partial(values.holds_integer, parse=read) if is_guessed else None,
    )


def _build_date_or_time_type(
    name: str, label: str | Promise, read: Callable[[Json], str], *aliases: str
) -> FieldType:
    return FieldType(
        name=name,
        label=label,
        table_schema_type="datetime" if name.startswith("timestamp") else name,
        parse_value=read,
        parse_operand=read,
        parse_bound=read,
        sort_expression=_DATE_SORT,
        operators=_SCALAR,
        ordered=Ordered.DATES,
        aliases=aliases,
        holds=partial(values.holds_moment, parse=read),
    )


def _build_list_type(element: FieldType, label: str | Promise) -> FieldType:
    read = partial(values.parse_array, of=element.parse_value)
    return FieldType(
        name=f"_{element.name}",
        label=label,
        table_schema_type="array",
        parse_value=read,
        parse_operand=read,
        parse_bound=read,
        sort_expression=f"datastore_search_elements({{v}})::{element.name}[]",
        operators=_LIST,
        aliases=tuple(f"{name}[]" for name in (element.name, *element.aliases)),
    )


_INT4 = _build_integer_type("int4", 32, "int", "integer")
_INT8 = _build_integer_type("int8", 64, "bigint")
_FLOAT8 = FieldType(
    name="float8",
    label=_("number"),
    table_schema_type="number",
    parse_value=values.parse_float8,
    parse_operand=values.parse_float8_operand,
    parse_bound=values.parse_float8_bound,
    sort_expression="{t}::float8",
    operators=_SCALAR,
    ordered=Ordered.NUMBERS,
    aliases=("float", "double", "double precision", "real", "float4"),
    holds=values.holds_double,
)
_BOOL = FieldType(
    name="bool",
    label=_("yes or no"),
    table_schema_type="boolean",
    parse_value=values.parse_boolean,
    parse_operand=values.parse_boolean,
    parse_bound=values.parse_boolean,
    sort_expression=_JSON_SORT,
    operators=frozenset({Operators.ORDER}),
    aliases=("boolean",),
    holds=lambda value: isinstance(value, bool),
)
_TEXT = FieldType(
    name="text",
    label=_("text"),
    table_schema_type="string",
    parse_value=values.parse_text,
    parse_operand=values.parse_text_operand,
    parse_bound=values.parse_text_operand,
    sort_expression="{t}",
    operators=_SCALAR,
    ordered=Ordered.TEXTS,
    aliases=("string", "str", "varchar", "character varying"),
    holds=lambda value: isinstance(value, str | int | Decimal | bool),
)

#: In the order in which they are guessed: the narrowest first.
field_types: Mapping[str, FieldType] = {
    kind.name: kind
    for kind in (
        _build_integer_type("int2", 16, "smallint", is_guessed=False),
        _INT4,
        _INT8,
        _FLOAT8,
        FieldType(
            name="numeric",
            label=_("number"),
            table_schema_type="number",
            parse_value=values.parse_numeric,
            parse_operand=values.parse_numeric_operand,
            parse_bound=values.parse_numeric_bound,
            sort_expression="{t}::numeric",
            operators=_SCALAR,
            ordered=Ordered.NUMBERS,
            aliases=("decimal",),
            holds=values.holds_decimal,
        ),
        _BOOL,
        _build_date_or_time_type("date", _("date"), values.parse_date),
        _build_date_or_time_type(
            "timestamp",
            _("date and time"),
            values.parse_timestamp,
            *("datetime", "timestamp without time zone"),
        ),
        _build_date_or_time_type(
            "timestamptz",
            _("date and time in UTC"),
            values.parse_timestamptz,
            "timestamp with time zone",
        ),
        _build_date_or_time_type(
            "time", _("time of day"), values.parse_time, "time without time zone"
        ),
        _TEXT,
        FieldType(
            name="json",
            label=_("nested data"),
            table_schema_type="any",
            parse_value=values.parse_json_value,
            parse_operand=values.parse_json_operand,
            parse_bound=dump_json,
            sort_expression=_JSON_SORT,
            operators=frozenset({Operators.CONTAINS}),
            aliases=("jsonb", "nested"),
            holds=lambda _value: True,
        ),
        _build_list_type(_TEXT, _("list of texts")),
        _build_list_type(_INT4, _("list of whole numbers")),
        _build_list_type(_INT8, _("list of whole numbers")),
        _build_list_type(_FLOAT8, _("list of numbers")),
        _build_list_type(_BOOL, _("list of yes or no")),
    )
}

#: Other names of types.
type_aliases: Mapping[str, str] = {
    alias: name for name, kind in field_types.items() for alias in kind.aliases
}


def get_field_type(name: str) -> FieldType:
    """
    Find a type by its name or another name for it (``int`` for ``int4``).

    Raises: ``KeyError`` when there is none.
    """
    lowered = " ".join(name.lower().split())
    return field_types[type_aliases.get(lowered, lowered)]


def label_type(name: str) -> str:
    """Return a type in words; unknown types are returned unchanged."""
    return str(field_types[name].label) if name in field_types else name


def guess_type(given: Iterable[Json]) -> FieldType:
    """
    Return the narrowest type that changes no value; text for none at all.

    As in files, ``007`` is text.
    """
    filled = [value for value in given if value not in (None, "")]
    guessed = (kind for kind in field_types.values() if kind.holds and all(map(kind.holds, filled)))
    return next(guessed) if filled else _TEXT


#: PostgreSQL returns 1,664 columns at most, and CKAN has them in its tables.
MAX_FIELDS = 1_600
