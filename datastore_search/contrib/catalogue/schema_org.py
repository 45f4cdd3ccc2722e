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

from django.http import HttpRequest
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from ...messages.bidi import BIDI_CONTROLS
from ...models import Field, Resource
from ...web.addresses import ResourceAddresses
from .datasets import find_dataset_of
from .models import Dataset, get_metadata
from .published import (
    MAX_DESCRIPTION_LENGTH,
    PublishedResource,
    add_addresses,
    build_catalogue_identifier,
    build_dataset_identifier,
    build_license_address,
    drop_empty,
    find_address,
    get_site_description,
    get_site_title,
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
    language = resource.content_language
    described = [
        drop_empty(
            {
                "@type": "PropertyValue",
                "name": field.name,
                "alternateName": field.choose_label(language).text,
                "description": field.choose_notes(language).text[:MAX_DESCRIPTION_LENGTH],
            }
        )
        for field in fields
    ]
    sizes = (len(json.dumps(each, ensure_ascii=False).encode()) for each in described)
    described = described[: sum(total <= MAX_FIELDS_BYTES for total in accumulate(sizes))]
    contact = drop_empty({"name": metadata.contact, "email": metadata.contact_email})
    publisher = parent.get("creator")
    if metadata.publisher:
        publisher = {"@type": "Organization", "name": metadata.publisher}
        if contact:
            publisher["contactPoint"] = {"@type": "ContactPoint", **contact}
    published_at = version.published_at if version else None
    days = (metadata.temporal_start, metadata.temporal_end)
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
            "inLanguage": language,
            "spatialCoverage": metadata.spatial and {"@type": "Place", "name": metadata.spatial},
            # As an ISO 8601 interval; an open end is two dots.
            "temporalCoverage": "/".join(day.isoformat() if day else ".." for day in days)
            if any(days)
            else "",
            "isBasedOn": find_address(metadata.source),
            "version": metadata.shown_version,
            "dateCreated": resource.created_at.isoformat(),
            "dateModified": resource.modified_at.isoformat(),
            "datePublished": published_at and published_at.isoformat(),
            "isAccessibleForFree": True,
            "isPartOf": parent,
            "includedInDataCatalog": without_context,
            "distribution": [
                {
                    "@type": "DataDownload",
                    "name": file.label,
                    "encodingFormat": file.media_type,
                    "contentUrl": file.address,
                }
                for file in published.files
            ],
            "variableMeasured": described,
        }
    )


def build_parent(dataset: Dataset, identifier: str) -> dict[str, Any]:
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


# For the element ``<script>`` of a page -----------------------------------------------------------

#: No text ends the element ``<script>``, as in ``django.utils.html.json_script``, and none
#: turns the direction of the page's source.
_SCRIPT_ESCAPES = {code: f"\\u{code:04X}" for code in (*map(ord, "<>&"), *BIDI_CONTROLS)}


def describe_catalogue(request: HttpRequest) -> SafeString:
    return _dump_for_script(_build_catalogue(request))


def describe_resource(request: HttpRequest, resource: Resource) -> SafeString:
    """Describe a resource, whose fields have been read, and the dataset that it is part of."""
    published = add_addresses(resource, ResourceAddresses(request))
    dataset = find_dataset_of(resource)
    parent = build_parent(dataset, build_dataset_identifier(request, dataset)) if dataset else {}
    return _dump_for_script(
        build_dataset(published, resource.schema, _build_catalogue(request), parent)
    )


def _build_catalogue(request: HttpRequest) -> dict[str, Any]:
    identifier = build_catalogue_identifier(request)
    return build_data_catalog(get_site_title(), get_site_description(), identifier)


def _dump_for_script(data: object) -> SafeString:
    """Write JSON for the element ``<script>``."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return mark_safe(text.translate(_SCRIPT_ESCAPES))  # noqa: S308 - JSON, whose <, > and & are escapes
