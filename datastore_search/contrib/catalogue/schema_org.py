"""
Describe resources and their catalogue for search engines, in the words of schema.org.

Source: schema.org, ``Dataset`` and ``DataCatalog``; Google's documentation of structured data for
datasets, which requires ``name`` and a ``description`` of 50 to 5,000 characters.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from django.utils.translation import gettext as _

from ...models import Field, Resource
from .models import Dataset, get_metadata
from .published import (
    MAX_DESCRIPTION_LENGTH,
    File,
    PublishedResource,
    build_license_address,
    drop_empty,
    find_address,
)

CONTEXT: Final = "https://schema.org/"

#: A shorter description is refused.
MIN_DESCRIPTION_LENGTH: Final = 50

#: The bytes of the descriptions of fields; later fields of a wide table are left out.
MAX_FIELDS_BYTES: Final = 2_000


def build_dataset(
    published: PublishedResource,
    fields: Sequence[Field],
    catalogue: dict[str, Any],
    parent: dict[str, Any],
) -> dict[str, Any]:
    """
    Build the description of a resource.

    ``catalogue`` comes from ``build_data_catalog``, ``parent`` from ``build_parent`` or is empty.
    """
    resource, version = published.resource, published.resource.table_version
    metadata = get_metadata(resource)
    without_context = {name: each for name, each in catalogue.items() if name != "@context"}
    described = [_describe_field(field, resource) for field in fields]
    sizes = (len(json.dumps(each, ensure_ascii=False).encode()) for each in described)
    described = described[: sum(total <= MAX_FIELDS_BYTES for total in accumulate(sizes))]
    publisher = _describe_publisher(metadata) or parent.get("creator")
    published_at = version.published_at if version else None
    return drop_empty(
        {
            "@context": CONTEXT,
            "@type": "Dataset",
            "@id": published.identifier,
            "name": resource.local_title.text,
            "description": _describe_at_length(published, fields[: len(described)]),
            "url": published.page,
            "identifier": str(resource.pk),
            "license": build_license_address(metadata.license) or parent.get("license"),
            "creator": publisher,
            "publisher": publisher,
            "keywords": sorted(metadata.tags),
            "inLanguage": resource.content_language,
            "spatialCoverage": metadata.spatial and {"@type": "Place", "name": metadata.spatial},
            "temporalCoverage": _write_interval(metadata),
            "isBasedOn": find_address(metadata.source),
            "version": metadata.shown_version,
            "dateCreated": resource.created_at.isoformat(),
            "dateModified": resource.modified_at.isoformat(),
            "datePublished": published_at and published_at.isoformat(),
            "isAccessibleForFree": True,
            "isPartOf": parent,
            "includedInDataCatalog": without_context,
            "distribution": [_describe_file(file) for file in published.files],
            "variableMeasured": described,
        }
    )


def build_parent(dataset: Dataset, identifier: str) -> dict[str, Any]:
    """Build the description of the portal's own dataset with a resource."""
    title, owner = dataset.local_title.text, dataset.owner
    description = (dataset.local_notes.text or title)[:MAX_DESCRIPTION_LENGTH]
    # Search engines report a Dataset with a shorter description as an error.
    is_described = len(description) >= MIN_DESCRIPTION_LENGTH
    return drop_empty(
        {
            "@type": "Dataset" if is_described else "CreativeWork",
            "@id": identifier,
            "identifier": dataset.id,
            "name": title,
            "description": description,
            "license": build_license_address(dataset.license),
            "creator": owner and {"@type": "Organization", "name": owner.shown_title},
            "keywords": sorted(dataset.tags),
        }
    )


def build_data_catalog(name: str, description: str, address: str) -> dict[str, Any]:
    """Build the description of the catalogue."""
    return drop_empty(
        {
            "@context": CONTEXT,
            "@type": "DataCatalog",
            "@id": address,
            "name": name,
            "description": description,
            "url": address,
        }
    )


def _describe_publisher(metadata: Dataset) -> dict[str, Any]:
    if not metadata.publisher:
        return {}
    contact = drop_empty({"name": metadata.contact, "email": metadata.contact_email})
    return drop_empty(
        {
            "@type": "Organization",
            "name": metadata.publisher,
            "contactPoint": contact and {"@type": "ContactPoint", **contact},
        }
    )


def _describe_file(file: File) -> dict[str, Any]:
    return {
        "@type": "DataDownload",
        "name": file.label,
        "encodingFormat": file.media_type,
        "contentUrl": file.address,
    }


def _describe_field(field: Field, resource: Resource) -> dict[str, Any]:
    label = field.choose_label(resource.content_language).text
    notes = field.choose_notes(resource.content_language).text
    return drop_empty(
        {
            "@type": "PropertyValue",
            "name": field.name,
            "alternateName": label,
            "description": notes[:MAX_DESCRIPTION_LENGTH],
        }
    )


def _describe_at_length(published: PublishedResource, fields: Sequence[Field]) -> str:
    """Add the names of the fields to a description that is too short for search engines."""
    resource = published.resource
    description = resource.local_description.text[:MAX_DESCRIPTION_LENGTH]
    description = description or resource.local_title.text
    if len(description) >= MIN_DESCRIPTION_LENGTH:
        return description
    language = resource.content_language
    names = [field.choose_label(language).text or field.name for field in fields]
    words = _("A table with the fields %(names)s.") % {"names": ", ".join(names)}
    return f"{description.rstrip('.')}. {words}"[:MAX_DESCRIPTION_LENGTH]


def _write_interval(metadata: Dataset) -> str:
    """Write the days covered as an ISO 8601 interval; an open end is two dots."""
    days = (metadata.temporal_start, metadata.temporal_end)
    return "/".join(day.isoformat() if day else ".." for day in days) if any(days) else ""
