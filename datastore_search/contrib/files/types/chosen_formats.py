"""The formats that users choose by name: the table's, and formats that are never inferred."""

from __future__ import annotations

from ....field_types import get_field_type
from ..messages.failures import UnknownType
from .field_formats import FieldFormat, field_formats
from .written_dates import find_written_format

#: Formats that need a choice, and that forms offer in addition to the table's.
OFFERED_FORMATS = (
    *("date:dmyy", "date:mdyy", "date:yymd"),
    *("date:dmy,en", "date:mdy,en", "date:ymd,en"),
)


def parse_field_format(name: str) -> FieldFormat:
    """
    Parse the name of a format, as users choose it; see also ``written_dates``.

    Raises: ``UnknownType``.
    """
    type_name, colon, format_name = name.partition(":")
    try:
        field_type = get_field_type(type_name)
    except KeyError:
        raise UnknownType(name, field_formats) from None
    given = format_name.strip().lower()
    found = field_formats.get(f"{field_type.name}{colon}{given}") or find_written_format(
        field_type.name, given
    )
    if found is None:
        raise UnknownType(name, field_formats)
    return found
