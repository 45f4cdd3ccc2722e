"""
Describe resources, datasets and the catalogue for machines: Data Package, and schema.org.

Source: Data Package 2.0 (datapackage.org), which readers of version 1 understand; schema.org,
``Dataset`` and ``DataCatalog``; Google's documentation of structured data for datasets, which
requires ``name`` and a ``description`` of 50 to 5,000 characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import accumulate
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from ...conf import conf as core_conf
from ...downloads.formats import formats
from ...downloads.table_schema import build_table_schema
from ...messages.texts import BIDI_CONTROLS
from ...models import Field, Resource, write_translations
from ...web.addresses import ResourceAddresses, find_path, reverse_in_locale
from .descriptions import build_url, complete_metadata, describe_license
from .models import Dataset, get_metadata

#: The length of a description; search engines read no more.
MAX_DESCRIPTION_LENGTH: Final = 5_000

#: Characters that an IRI cannot contain, in any notation (RFC 3987; Turtle, ``IRIREF``).
_NOT_IN_IRI: Final = re.compile(r'[\x00-\x20<>"{}|\\^`\x7f]')

#: ``CC-BY-4.0`` or ``MIT``; an own word, or one of CKAN such as ``notspecified``, has no address.
_SPDX_ID: Final = re.compile(r"[A-Z]+|(?=.*[0-9])[A-Za-z0-9.+-]+")


class ListPage(NamedTuple):
    """A page of a list, the number of the last page, the size of each, and the total."""

    number: int
    last: int
    size: int
    total: int
    items: Sequence[Any]


@dataclass(frozen=True, slots=True)
class File:
    """A file of all records: its label, its name among the formats, media type and address."""

    label: str
    format: str
    media_type: str
    address: str


@dataclass(frozen=True, slots=True)
class PublishedResource:
    """A resource and its addresses, which may be empty; ``identifier`` has no language."""

    resource: Resource
    identifier: str
    page: str
    files: Sequence[File]


def build_license_address(license_id: str) -> str:
    _title, address, _is_open = describe_license(license_id)
    is_spdx_id = _SPDX_ID.fullmatch(license_id)
    return quote_iri(address or (f"https://spdx.org/licenses/{license_id}" if is_spdx_id else ""))


def find_address(source: str) -> str:
    return quote_iri(source) if re.match("(https?|ftp)://", source, re.IGNORECASE) else ""


def quote_iri(address: str) -> str:
    return _NOT_IN_IRI.sub(lambda match: quote(match[0]), address)


def drop_empty(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, "", [], {})}


# Addresses ----------------------------------------------------------------------------------------

#: The forms of the catalogue for machines, and their media types.
_CATALOGUE_FORMS = (
    ("catalog-turtle", "text/turtle"),
    ("catalog-jsonld", "application/ld+json"),
    ("feed", "application/atom+xml"),
)


def add_addresses(resource: Resource, addresses: ResourceAddresses) -> PublishedResource:
    dump = addresses.build("dump", resource.pk) if resource.table_version_id else ""
    files = [
        File(str(kind.label), name, kind.content_type.partition(";")[0], f"{dump}?format={name}")
        for name, kind in formats.items()
        if dump and kind.is_installed and not kind.needs_places
    ]
    if not dump and (address := find_address(build_url(resource, addresses))):
        members = get_metadata(resource).members or {}
        kind, media_type = (str(members.get(name) or "") for name in ("format", "mimetype"))
        files.append(File(kind or resource.local_title.text, kind.lower(), media_type, address))
    page = addresses.build_page(resource.pk)
    return PublishedResource(resource, addresses.build_identifier(resource.pk), page, files)


def build_dataset_identifier(request: HttpRequest, dataset: Dataset) -> str:
    """Build the address of a dataset of the portal's own: its place on the catalogue page."""
    return f"{build_catalogue_identifier(request)}#dataset-{quote(dataset.id)}"


def get_site_title() -> str:
    return core_conf.SITE_TITLE or _("Datastore")


def get_site_description() -> str:
    return core_conf.SITE_DESCRIPTION or _("Tables with their fields, files and API.")


def find_catalogue_path(request: HttpRequest) -> str:
    """Find the page of the catalogue, or its description where the portal has no pages."""
    return find_path(request, "catalogue") or reverse_in_locale(request, "catalog-jsonld")


def build_catalogue_identifier(request: HttpRequest) -> str:
    """Build the address of the catalogue in the portal's default language."""
    with translation.override(settings.LANGUAGE_CODE):
        return request.build_absolute_uri(find_catalogue_path(request))


def build_catalogue_links(request: HttpRequest) -> str:
    """Build the header ``Link`` to the other forms of the catalogue."""
    return ", ".join(
        f'<{request.build_absolute_uri(path)}>; rel="alternate"; type="{media_type}"'
        for name, media_type in _CATALOGUE_FORMS
        if (path := find_path(request, name))
    )


PROFILE: Final = "https://datapackage.org/profiles/2.0/datapackage.json"


def build_data_package(published: PublishedResource) -> dict[str, Any]:
    """Build the descriptor: plain texts with their translations, and the dump in CSV as table."""
    resource, metadata = published.resource, complete_metadata(published.resource)
    name = resource.name.lower()
    address = next((file.address for file in published.files if file.format == "csv"), "")
    names = {"title": "title", "description": "description"}
    texts = {
        "title": resource.title or resource.name,
        "description": resource.description,
        # A translation is ``title@fr``, as in the schema.
        **write_translations(resource.translations, names, "@"),
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
    license_name = re.sub(r"[^A-Za-z0-9._-]+", "-", metadata.license)
    license_ = {
        "name": "" if "/" in metadata.license else license_name,
        "title": "" if metadata.license == license_name else metadata.license,
        "path": build_license_address(metadata.license),
    }
    source = drop_empty({"title": metadata.source, "path": find_address(metadata.source)})
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
            "sources": [source] if source else [],
            "contributors": contributors,
            "temporal": {name: day.isoformat() for name, day in days.items() if day},
            "spatial": {"name": metadata.spatial} if metadata.spatial else {},
            "frequency": metadata.frequency,
            "resources": [drop_empty(table)],
        }
    )


# schema.org, for the element ``<script>`` of a page -----------------------------------------------

CONTEXT: Final = "https://schema.org/"

#: A shorter description is refused.
MIN_DESCRIPTION_LENGTH: Final = 50

#: The bytes of the descriptions of fields; later fields of a wide table are left out.
MAX_FIELDS_BYTES: Final = 2_000


def describe_catalogue(request: HttpRequest) -> SafeString:
    return _dump_for_script(_describe_catalogue(request))


def _describe_catalogue(request: HttpRequest) -> dict[str, Any]:
    identifier = build_catalogue_identifier(request)
    return drop_empty(
        {
            "@type": "DataCatalog",
            "@id": identifier,
            "name": get_site_title(),
            "description": get_site_description(),
            "url": identifier,
        }
    )


def describe_resource(request: HttpRequest, resource: Resource) -> SafeString:
    """Describe a resource, whose fields have been read, and the dataset that it is part of."""
    published = add_addresses(resource, ResourceAddresses(request))
    metadata, version = complete_metadata(resource), resource.table_version
    language, fields = resource.content_language, resource.schema
    parent = _describe_parent(request, metadata.part_of) if metadata.part_of else {}
    described = []
    for field in fields:
        label, notes = field.choose_label(language).text, field.choose_notes(language).text
        entry = {"@type": "PropertyValue", "name": field.name, "alternateName": label}
        described.append(drop_empty({**entry, "description": notes[:MAX_DESCRIPTION_LENGTH]}))
    sizes = (len(json.dumps(each, ensure_ascii=False).encode()) for each in described)
    described = described[: sum(total <= MAX_FIELDS_BYTES for total in accumulate(sizes))]
    contact = drop_empty({"name": metadata.contact, "email": metadata.contact_email})
    point = contact and {"@type": "ContactPoint", **contact}
    publisher = metadata.publisher and drop_empty(
        {"@type": "Organization", "name": metadata.publisher, "contactPoint": point}
    )
    published_at = version.published_at if version else None
    days = (metadata.temporal_start, metadata.temporal_end)
    description = drop_empty(
        {
            "@type": "Dataset",
            "@id": published.identifier,
            "name": resource.local_title.text,
            "description": _describe_at_length(published, fields[: len(described)]),
            "url": published.page,
            "identifier": str(resource.pk),
            "license": build_license_address(metadata.license),
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
            "dateCreated": resource.created_at.astimezone(UTC).isoformat(),
            "dateModified": resource.modified_at.astimezone(UTC).isoformat(),
            "datePublished": published_at and published_at.astimezone(UTC).isoformat(),
            "isAccessibleForFree": True,
            "isPartOf": parent,
            "includedInDataCatalog": _describe_catalogue(request),
            "distribution": [
                {
                    "@type": "DataDownload",
                    "name": file.label,
                    "encodingFormat": file.media_type,
                    "contentUrl": file.address,
                }
                # A kind that differs for Excel alone says nothing to a search engine.
                for file in published.files
                if file.format != "csv-excel"
            ],
            "variableMeasured": described,
        }
    )
    return _dump_for_script(description)


def _describe_parent(request: HttpRequest, dataset: Dataset) -> dict[str, Any]:
    title, owner = dataset.local_title.text, dataset.owner
    description = (dataset.local_notes.text or title)[:MAX_DESCRIPTION_LENGTH]
    # Search engines report a Dataset with a shorter description as an error.
    is_described = len(description) >= MIN_DESCRIPTION_LENGTH
    return drop_empty(
        {
            "@type": "Dataset" if is_described else "CreativeWork",
            "@id": build_dataset_identifier(request, dataset),
            "identifier": dataset.id,
            "name": title,
            "description": description,
            "license": build_license_address(dataset.license),
            "creator": owner and {"@type": "Organization", "name": owner.shown_title},
            "keywords": sorted(dataset.tags),
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


#: No text ends the element ``<script>``, as in ``django.utils.html.json_script``, and none
#: turns the direction of the page's source.
_SCRIPT_ESCAPES = {code: f"\\u{code:04X}" for code in (*map(ord, "<>&"), *BIDI_CONTROLS)}


def _dump_for_script(data: Mapping[str, Any]) -> SafeString:
    described = {"@context": CONTEXT, **data}
    text = json.dumps(described, ensure_ascii=False, separators=(",", ":"))
    return mark_safe(text.translate(_SCRIPT_ESCAPES))  # noqa: S308 - JSON, whose <, > and & are escapes
