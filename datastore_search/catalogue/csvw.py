"""
Describe the dump in CSV by metadata for tabular data.

Source: W3C, Metadata Vocabulary for Tabular Data (CSV on the Web).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from ..field_types import field_types
from ..models import Field
from .published import PublishedResource, drop_empty

CONTEXT: Final = "http://www.w3.org/ns/csvw"
MEDIA_TYPE: Final = "application/csvm+json"

#: The number of a record: the first column of a dump.
_ID: Final = "_id"

#: Types of CSVW by those of Table Schema; the values of others are texts.
_DATATYPES: Final[Mapping[str, Any]] = {
    "integer": "integer",
    "number": "number",
    "boolean": {"base": "boolean", "format": "t|f"},
    "date": "date",
    "datetime": "datetime",
    "time": "time",
    "any": "json",
    "array": "json",
}


def build_csv_metadata(published: PublishedResource, fields: Iterable[Field]) -> dict[str, Any]:
    """Build the metadata of the dump, with ``_id`` as the first column."""
    resource = published.resource
    license_address = published.license_address
    identifier = {"titles": [_ID], "name": _build_column_name(_ID), "datatype": "integer"}
    columns = [_describe_column(field, resource.content_language) for field in fields]
    return drop_empty(
        {
            "@context": CONTEXT,
            "@type": "Table",
            "url": published.csv_address,
            "dc:title": published.title,
            "dc:description": published.description,
            "dc:license": license_address and {"@id": license_address},
            "dialect": {"header": True, "encoding": "utf-8"},
            "tableSchema": {
                "columns": [identifier, *columns],
                "primaryKey": [_build_column_name(key) for key in resource.primary_key or [_ID]],
            },
        }
    )


def _describe_column(field: Field, plain_language: str) -> dict[str, Any]:
    # The header of the file has one of the titles.
    label = field.choose_label(plain_language).text
    return drop_empty(
        {
            "titles": list(dict.fromkeys([field.name, label or field.name])),
            "name": _build_column_name(field.name),
            "dc:description": field.choose_notes(plain_language).text,
            "datatype": _DATATYPES.get(field_types[field.type].table_schema_type, "string"),
        }
    )


def _build_column_name(name: str) -> str:
    """Encode a name as a variable of a URI template, which does not begin with an underscore."""
    encoded = "".join(
        each if each.isascii() and (each.isalnum() or each == "_") else _encode_character(each)
        for each in name
    )
    return f"%5F{encoded[1:]}" if encoded.startswith("_") else encoded


def _encode_character(character: str) -> str:
    encoded = quote(character, safe="")
    return encoded if encoded != character else f"%{ord(character):02X}"
