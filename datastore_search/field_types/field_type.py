"""What the entry of a type has: all that any entrance, engine or format needs to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
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


def match_and_cast(pattern: str, column_type: str, test: str = "IS NOT NULL") -> str:
    """Build DuckDB's condition of texts that match a pattern and whose cast to a type is tested."""
    guard = f"regexp_full_match({{v}}, '{pattern}')"
    return build_guarded(guard, f"try_cast({{v}} AS {column_type}) {test}")


def build_guarded(guard: str, condition: str) -> str:
    """Build a condition that is tested only where a guard holds: a cast that fails is slow."""
    return f"CASE WHEN {guard} THEN {condition} ELSE false END"


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

    # What the attributes above say of the values, computed once.
    is_boolean: bool = field(init=False)
    is_number: bool = field(init=False)
    is_integer: bool = field(init=False)
    #: Numbers of which a double holds all digits.
    is_double: bool = field(init=False)
    #: Days, times, or days with a time.
    is_moment: bool = field(init=False)
    #: Days with a time; in UTC if they have a zone.
    is_timestamp: bool = field(init=False)
    has_zone: bool = field(init=False)
    #: Days, with or without a time.
    has_day: bool = field(init=False)
    #: Numbers, days or times, of which a range can be asked for.
    has_range: bool = field(init=False)
    #: Any text is a value.
    is_text: bool = field(init=False)
    #: They may be words of a language.
    has_words: bool = field(init=False)
    #: Lists of values of one type; nested values may be lists or objects.
    is_list: bool = field(init=False)
    is_nested: bool = field(init=False)
    #: Records can be sorted by them.
    is_sortable: bool = field(init=False)

    def __post_init__(self) -> None:
        kind, column = self.table_schema_type, self.duckdb_type
        is_number, is_text = self.ordered is Ordered.NUMBERS, self.ordered is Ordered.TEXTS
        vars(self).update(
            is_boolean=kind == "boolean",
            is_number=is_number,
            is_integer=kind == "integer",
            is_double=is_number and column == "DOUBLE",
            is_moment=self.ordered is Ordered.DATES,
            is_timestamp=kind == "datetime",
            has_zone=column == "TIMESTAMPTZ",
            has_day=kind in {"date", "datetime"},
            has_range=is_number or self.ordered is Ordered.DATES,
            is_text=is_text,
            has_words=is_text or column in {"VARCHAR[]", "JSON"},
            is_list=kind == "array",
            is_nested=Operators.CONTAINS in self.operators,
            is_sortable=Operators.ORDER in self.operators,
        )
