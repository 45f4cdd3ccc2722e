"""The sections of the data page that the catalogue knows: facts, structured data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....messages.bidi import show_bidi_controls
from ...catalogue.licenses import describe_license
from ...catalogue.models import get_metadata
from ...catalogue.schema_org import describe_resource
from ..sections import PageQuestion, Place, Section
from .facts import list_facts


def _show_facts(question: PageQuestion) -> Mapping[str, Any] | None:
    facts = list_facts(question.read.resource)
    return {"facts": facts} if facts else None


def _show_origin(question: PageQuestion) -> Mapping[str, Any] | None:
    """Show who publishes a resource, and its licence."""
    metadata = get_metadata(question.read.resource)
    title, address, _is_open = describe_license(metadata.license)
    return {
        "publisher": show_bidi_controls(metadata.publisher),
        "license": title,
        "address": address,
        "language": question.read.resource.content_language,
    }


def _describe(question: PageQuestion) -> Mapping[str, Any] | None:
    """Describe a public resource at its address without parameters, the one for engines."""
    resource = question.read.resource
    if resource.private or question.request.GET:
        return None
    return {"data": describe_resource(question.request, resource)}


FACTS = Section("facts", Place.ABOUT, "datastore_search/_facts.html", _show_facts)
ORIGIN = Section("origin", Place.LINE, "datastore_search/_origin.html", _show_origin)
STRUCTURED_DATA = Section(
    "structured_data", Place.HEAD, "datastore_search/_structured_data.html", _describe
)
