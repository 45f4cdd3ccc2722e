"""What the entry of a type has: all that any entrance, engine or format needs to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from django.utils.functional import Promise

from .json_values import Json


class Operators(Enum):
    """Groups of filter operators that a type may have, in addition to equality."""

    ORDER = "order"
    TEXT = "text"
    CONTAINS = "contains"


SCALAR_OPERATORS = frozenset({Operators.ORDER, Operators.TEXT})


class Ordered(StrEnum):
    """Groups of types whose order may be indexed, as in the setting ``INDEXES``."""

    NUMBERS = "numbers"
    DATES = "dates"
    TEXTS = "texts"


class DuckDBTexts(NamedTuple):
    """
    How DuckDB reads the texts of a file as values: templates of its SQL over ``{v}``.

    ``condition`` selects texts that ``json_expression`` writes as the JSON that ``parse_value``
    returns for them; all other texts are left to ``parse_value``.  A type that ``is_inferred`` is
    guessed for a column if, of each set of ``inference_conditions``, one holds for all its texts:
    then all are written in the same way.  ``lossless_conditions`` are such sets for texts that come
    back as they were written, where these are not the same.
    """

    condition: str
    json_expression: str
    inference_conditions: tuple[tuple[str, ...], ...] = (("true",),)
    is_inferred: bool = True
    lossless_conditions: tuple[tuple[str, ...], ...] = ()


def match_and_cast(pattern: str, column_type: str) -> str:
    """Build DuckDB's condition of texts that match a pattern, and that it can cast to a type."""
    return f"regexp_full_match({{v}}, '{pattern}') AND try_cast({{v}} AS {column_type}) IS NOT NULL"


#: Writes a text as JSON in DuckDB, and a date or a time.
JSON_STRING = "CAST(to_json({v}) AS VARCHAR)"


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldType:
    """
    A type of fields: one entry, from which every module takes what it needs.

    ``parse_value`` returns the canonical JSON text that is stored for a value; ``parse_operand``
    the canonical text that equals an operand, or None when no stored value can; ``parse_bound``
    the text that values are compared with.  Each raises ``NotOfType`` when the value cannot be of
    the type, and ``UnknownNotation`` for a text that PostgreSQL has to parse.
    """

    name: str
    #: The name for readers, and other names for callers.
    label: str | Promise
    aliases: tuple[str, ...] = ()

    parse_value: Callable[[Json], str]
    parse_operand: Callable[[Json], str | None]
    parse_bound: Callable[[Json], str]
    #: Whether callers write an empty text as a value; of other types it is null, as in CKAN.
    keeps_empty_text: bool = False
    #: Parses a text of a file, if it means something else than as a text of JSON.
    parse_text: Callable[[str], str] | None = None
    #: Whether the type may be guessed for a JSON value; a type without it is never guessed.
    holds: Callable[[Json], bool] | None = None
    #: Reads a stored value, which JSON has as text, into Python's type.
    read_python: Callable[[Any], Any] | None = None

    #: PostgreSQL's expression over ``{v}``, a jsonb value, or ``{t}``, its text, that sorts and
    #: compares as the type does; SQL null where there is no value.
    sort_expression: str
    operators: frozenset[Operators]
    #: The group of indexes that the order belongs to.
    ordered: Ordered | None = None

    duckdb: DuckDBTexts
    #: The type as a column of DuckDB, and of Arrow (of the elements of a list); there, values for
    #: which PostgreSQL's ``arrow_condition`` over ``{v}``, a text, does not hold stay texts.
    duckdb_type: str = "VARCHAR"
    arrow_type: str = "string"
    arrow_condition: str = ""
    #: The number format of dates and times in Excel.
    excel_format: str = ""

    table_schema_type: str
    #: The types of DuckDB and of GDAL that files declare for a field of this type, and Python's.
    declared_types: tuple[str, ...] = ()
    python_types: frozenset[type] = frozenset()

    #: Attributes of an input for one value in HTML.
    input_attributes: Mapping[str, str] = field(default_factory=dict)
    #: The formats of the type that forms offer before all others; empty is the default format.
    common_formats: tuple[str, ...] = ()

    @cached_property
    def is_text(self) -> bool:
        """Return whether an empty text is a value, not a missing one."""
        return self.ordered is Ordered.TEXTS

    @cached_property
    def is_boolean(self) -> bool:
        """Return whether values are true or false."""
        return self.table_schema_type == "boolean"

    @cached_property
    def is_number(self) -> bool:
        return self.ordered is Ordered.NUMBERS

    @cached_property
    def is_integer(self) -> bool:
        """Return whether values are whole numbers."""
        return self.table_schema_type == "integer"

    @cached_property
    def is_double(self) -> bool:
        """Return whether values are numbers of which a double holds all digits."""
        return self.is_number and self.duckdb_type == "DOUBLE"

    @cached_property
    def is_moment(self) -> bool:
        """Return whether values are days, times, or days with a time."""
        return self.ordered is Ordered.DATES

    @cached_property
    def is_timestamp(self) -> bool:
        """Return whether values are days with a time."""
        return self.table_schema_type == "datetime"

    @cached_property
    def has_day(self) -> bool:
        """Return whether values are days, with or without a time."""
        return self.is_timestamp or self.table_schema_type == "date"

    @cached_property
    def has_zone(self) -> bool:
        """Return whether values are moments in UTC."""
        return self.duckdb_type == "TIMESTAMPTZ"

    @cached_property
    def has_range(self) -> bool:
        """Return whether values are numbers, days or times, of which a range can be asked for."""
        return self.is_number or self.is_moment

    @cached_property
    def is_sortable(self) -> bool:
        """Return whether records can be sorted by a field of the type."""
        return Operators.ORDER in self.operators

    @cached_property
    def is_nested(self) -> bool:
        """Return whether values may be lists or objects."""
        return Operators.CONTAINS in self.operators

    @cached_property
    def is_list(self) -> bool:
        """Return whether values are lists of values of one type."""
        return self.table_schema_type == "array"

    @cached_property
    def has_words(self) -> bool:
        """Return whether values may be words of a language."""
        return self.is_text or self.duckdb_type in {"VARCHAR[]", "JSON"}
