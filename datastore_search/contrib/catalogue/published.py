"""Resources, datasets and the catalogue with their addresses, for descriptions for machines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation import gettext as _

from ...conf import conf as core_conf
from ...downloads.formats import formats
from ...models import Resource
from ...web.addresses import ResourceAddresses, find_path, reverse_in_locale
from .licenses import OPEN_LICENSES
from .models import Dataset, ListedDataset

#: The length of a description; search engines read no more.
MAX_DESCRIPTION_LENGTH: Final = 5_000

#: Characters that an IRI cannot contain, in any notation (RFC 3987; Turtle, ``IRIREF``).
_NOT_IN_IRI: Final = re.compile(r'[\x00-\x20<>"{}|\\^`\x7f]')

_WEB: Final = ("https://", "http://")


@dataclass(frozen=True, slots=True)
class File:
    """A file of all records: its label, its name among the formats, media type and address."""

    label: str
    format: str
    media_type: str
    address: str


@dataclass(frozen=True, slots=True)
class PublishedResource:
    """
    A resource and its absolute addresses; an address is empty where the portal has no such URL.

    ``identifier`` is the same in every language.
    """

    resource: Resource
    identifier: str
    page: str
    files: Sequence[File]


@dataclass(frozen=True, slots=True)
class PublishedDataset:
    """A dataset and its resources with absolute addresses; ``identifier`` has no language."""

    listed: ListedDataset
    identifier: str
    page: str
    resources: Sequence[PublishedResource]


def build_license_address(license_id: str) -> str:
    """Build the address of a licence: SPDX's for unknown ids, empty for an empty id."""
    if not license_id:
        return ""
    if license_id.startswith(_WEB):
        return quote_iri(license_id)
    known = OPEN_LICENSES.get(license_id)
    return known[1] if known else f"https://spdx.org/licenses/{quote(license_id)}"


def find_address(source: str) -> str:
    """Return a source if it is an address; otherwise an empty text."""
    return quote_iri(source) if source.startswith(_WEB) else ""


def quote_iri(address: str) -> str:
    """Encode the characters of an address that an IRI cannot contain."""
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
    dump = addresses.build("dump", resource.pk)
    return PublishedResource(
        resource=resource,
        identifier=addresses.build_identifier(resource.pk),
        page=addresses.build_page(resource.pk),
        files=[
            File(
                str(kind.label),
                name,
                kind.content_type.partition(";")[0],
                f"{dump}?format={name}",
            )
            for name, kind in formats.items()
            if dump and kind.is_installed and not kind.needs_places
        ],
    )


def add_addresses_to_dataset(
    request: HttpRequest, listed: ListedDataset, addresses: ResourceAddresses
) -> PublishedDataset:
    """Add absolute addresses to a dataset: those of its resource, or of its place on a page."""
    published = [add_addresses(resource, addresses) for resource in listed.resources]
    if listed.dataset.resource:
        (only,) = published
        return PublishedDataset(listed, only.identifier, only.page, published)
    catalogue = request.build_absolute_uri(find_catalogue_path(request))
    return PublishedDataset(
        listed=listed,
        identifier=build_dataset_identifier(request, listed.dataset),
        page=f"{catalogue}?{urlencode({'q': listed.dataset.id})}",
        resources=published,
    )


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
    """Build the header ``Link``, which leads to the other forms of the catalogue."""
    return ", ".join(
        f'<{request.build_absolute_uri(path)}>; rel="alternate"; type="{media_type}"'
        for name, media_type in _CATALOGUE_FORMS
        if (path := find_path(request, name))
    )
