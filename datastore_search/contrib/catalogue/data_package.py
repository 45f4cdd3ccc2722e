"""
Describe a resource as a Frictionless Data Package with one table.

Source: Data Package 2.0 (datapackage.org), which readers of version 1 understand.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any, Final

from ...downloads.table_schema import build_table_schema
from ...models import write_translations
from .models import get_metadata
from .published import PublishedResource, build_license_address, drop_empty, find_address

PROFILE: Final = "https://datapackage.org/profiles/2.0/datapackage.json"

#: A translation is ``title@fr``, as in the schema.
_TEXTS: Final = {"title": "title", "description": "description"}
_SEPARATOR: Final = "@"


def build_data_package(published: PublishedResource) -> dict[str, Any]:
    """
    Build the descriptor; its table is the dump in CSV, which has a Table Schema.

    Texts are the plain ones with their translations, whatever the active language.
    """
    resource, metadata = published.resource, get_metadata(published.resource)
    name = resource.name.lower()
    address = next((file.address for file in published.files if file.format == "csv"), "")
    texts = {
        "title": resource.title or resource.name,
        "description": resource.description,
        **write_translations(resource.translations, _TEXTS, _SEPARATOR),
    }
    table = {
        "name": name,
        "type": "table",
        "path": address,
        **texts,
        "scheme": address.partition(":")[0],
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "schema": build_table_schema(resource),
    }
    license_ = {
        "name": "" if "/" in metadata.license else metadata.license,
        "path": build_license_address(metadata.license),
    }
    contributors: list[dict[str, Any]] = []
    if metadata.publisher:
        contributors.append({"title": metadata.publisher, "roles": ["publisher"]})
    if title := metadata.contact or metadata.contact_email:
        contact = {"title": title, "email": metadata.contact_email, "roles": ["contact"]}
        contributors.append(drop_empty(contact))
    days = {"start": metadata.temporal_start, "end": metadata.temporal_end}
    return drop_empty(
        {
            "$schema": PROFILE,
            "name": name,
            "id": str(resource.pk),
            **texts,
            "homepage": published.page,
            "version": metadata.shown_version,
            "created": resource.created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "keywords": sorted(metadata.tags),
            "licenses": [drop_empty(license_)] if metadata.license else [],
            "sources": [
                drop_empty({"title": metadata.source, "path": find_address(metadata.source)})
            ]
            if metadata.source
            else [],
            "contributors": contributors,
            "temporal": {name: day.isoformat() for name, day in days.items() if day},
            "spatial": {"name": metadata.spatial} if metadata.spatial else {},
            "frequency": metadata.frequency,
            "resources": [drop_empty(table)],
        }
    )
