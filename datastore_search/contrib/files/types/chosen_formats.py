"""The formats that users choose by name: the table's, and formats that are never inferred."""

from __future__ import annotations

from ....field_types import field_types, get_field_type
from ..formats.duckdb_sql import SQL, quote_literal
from ..messages.failures import UnknownType
from .duckdb_types import NEVER
from .field_formats import FieldFormat, field_formats
from .number_units import find_unit_format
from .written_dates import find_written_format

#: Formats that need a choice, and that forms offer in addition to the table's.
OFFERED_FORMATS = ("date:dmyy", "date:mdyy", "date:yymd", "numeric:%", "numeric:comma,%")


def parse_field_format(name: str) -> FieldFormat:
    """
    Parse the name of a format, as users choose it.

    ``bool`` takes its words: ``bool:yes,ja/no,nein``; see also ``written_dates`` and
    ``number_units``.

    Raises: ``UnknownType``.
    """
    type_name, colon, format_name = name.partition(":")
    try:
        field_type = get_field_type(type_name)
    except KeyError:
        raise UnknownType(name, field_formats) from None
    if field_type.name == "bool" and colon:
        return _parse_boolean_format(name, format_name)
    found = (
        field_formats.get(f"{field_type.name}{colon}{format_name.strip().lower()}")
        or find_written_format(field_type.name, format_name.strip().lower())
        or find_unit_format(field_type.name, format_name.strip())
    )
    if found is None:
        raise UnknownType(name, field_formats)
    return found


def _parse_boolean_format(name: str, format_name: str) -> FieldFormat:
    """Parse the words that a format names for true and for false."""
    yes, slash, no = format_name.partition("/")
    words = [[word.strip() for word in side.split(",") if word.strip()] for side in (yes, no)]
    if not slash or not all(words) or set(words[0]) & set(words[1]) or {*"{}"} & {*format_name}:
        raise UnknownType(name, field_formats)
    true, false = (SQL(", ").join(map(quote_literal, side)) for side in words)
    return FieldFormat(
        field_type=field_types["bool"],
        format=format_name,
        inference_conditions=NEVER,
        condition=f"{{v}} IN ({true}, {false})",
        json_expression=f"CASE WHEN {{v}} IN ({true}) THEN 'true' ELSE 'false' END",
        title_code="format.boolean_words",
    )
