"""
Describe a resource as a Frictionless Data Package with one table.

Source: Data Package 2.0 (datapackage.org), which readers of version 1 understand.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any, Final

from ...downloads.table_schema import build_table_schema
from ...models import Resource, write_translations
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
    resource = published.resource
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
    return drop_empty(
        {
            "$schema": PROFILE,
            "name": name,
            "id": str(resource.pk),
            **texts,
            "homepage": published.page,
            "version": resource.version_date and resource.version_date.isoformat(),
            "created": resource.created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "keywords": sorted(resource.tags),
            "licenses": _list_licenses(resource.license),
            "sources": [
                drop_empty({"title": resource.source, "path": find_address(resource.source)})
            ]
            if resource.source
            else [],
            "contributors": _list_contributors(resource),
            "temporal": _describe_days(resource),
            "spatial": {"name": resource.spatial} if resource.spatial else {},
            "frequency": resource.frequency,
            "resources": [drop_empty(table)],
        }
    )


def _list_licenses(license_id: str) -> list[dict[str, str]]:
    name, path = "" if "/" in license_id else license_id, build_license_address(license_id)
    return [drop_empty({"name": name, "path": path})] if license_id else []


def _list_contributors(resource: Resource) -> list[dict[str, Any]]:
    contributors = []
    if resource.publisher:
        contributors.append({"title": resource.publisher, "roles": ["publisher"]})
    if title := resource.contact or resource.contact_email:
        contact = {"title": title, "email": resource.contact_email, "roles": ["contact"]}
        contributors.append(drop_empty(contact))
    return contributors


def _describe_days(resource: Resource) -> dict[str, str]:
    days = {"start": resource.temporal_start, "end": resource.temporal_end}
    return {name: day.isoformat() for name, day in days.items() if day}
