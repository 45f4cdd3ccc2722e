"""
The Frictionless Table Schema of a resource: its fields, as a dump in CSV has them.

Source: Table Schema 2 (datapackage.org).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..field_types import field_types
from ..models import Resource, write_translations
from ..search import ID

#: The profile that written schemas follow.
PROFILE = "https://datapackage.org/profiles/2.0/tableschema.json"

#: The property that holds one of our types, where Frictionless has one type for several.
OWN_TYPE = "datastoreType"

#: The texts of a field; a translation is ``title@fr``, Frictionless' pattern for languages.
TEXTS = {"title": "label", "description": "notes"}
LANGUAGE_SEPARATOR = "@"

#: How a dump writes the values of a Table Schema's type, where that has another default.
_DUMP_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "boolean": {"trueValues": ["t"], "falseValues": ["f"]},
    "any": {"missingValues": ["", "null"]},
    "array": {"missingValues": ["", "null"]},
}


def build_table_schema(resource: Resource) -> dict[str, Any]:
    """Build the schema of a resource, as a dump in CSV has it, with ``_id`` first."""
    described: list[dict[str, Any]] = [{"name": ID, "type": "integer"}]
    # A described resource has its fields as they were at that moment.
    for each in getattr(resource, "schema", None) or resource.fields.all():
        texts = {name: getattr(each, attribute) for name, attribute in TEXTS.items()}
        type_name = field_types[each.type].table_schema_type
        described.append(
            {
                "name": each.name,
                "type": type_name,
                **_DUMP_PROPERTIES.get(type_name, {}),
                **{name: text for name, text in texts.items() if text},
                **write_translations(each.translations, TEXTS, LANGUAGE_SEPARATOR),
                OWN_TYPE: each.type,
            }
        )
    return {
        "$schema": PROFILE,
        "fields": described,
        "missingValues": [""],
        "primaryKey": list(resource.primary_key) or [ID],
    }
