"""What the pages tell machines: a resource with its addresses, the catalogue, structured data."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from ....conf import conf as core_conf
from ....downloads.formats import formats
from ....messages.bidi import BIDI_CONTROLS
from ....models import Resource
from ....web.addresses import ResourceAddresses, find_path, reverse_in_locale
from ..dataset import ListedDataset
from ..datasets import find_dataset_of
from ..models import Dataset
from ..published import File, PublishedDataset, PublishedResource
from ..schema_org import build_data_catalog, build_dataset, build_parent

#: The forms of the catalogue for machines, and their media types.
_CATALOGUE_FORMS = (
    ("catalog-turtle", "text/turtle"),
    ("catalog-jsonld", "application/ld+json"),
    ("feed", "application/atom+xml"),
)

#: No text ends the element ``<script>``, as in ``django.utils.html.json_script``, and none
#: turns the direction of the page's source.
_SCRIPT_ESCAPES = {code: f"\\u{code:04X}" for code in (*map(ord, "<>&"), *BIDI_CONTROLS)}


def add_addresses(resource: Resource, addresses: ResourceAddresses) -> PublishedResource:
    """Add its absolute addresses to a resource."""
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
    """Return the name of the portal."""
    return core_conf.SITE_TITLE or _("Datastore")


def get_site_description() -> str:
    """Return what the portal is for."""
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


def describe_catalogue(request: HttpRequest) -> SafeString:
    """Describe the catalogue for search engines."""
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
    return mark_safe(text.translate(_SCRIPT_ESCAPES))  # noqa: S308 - nothing of HTML remains in it
