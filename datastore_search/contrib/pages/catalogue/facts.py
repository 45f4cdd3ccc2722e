"""The metadata of a resource on a data page: licence, source, publisher, coverage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.utils.formats import date_format

from ....messages.bidi import show_bidi_controls
from ....models import Resource
from ...catalogue.licenses import describe_license
from ...catalogue.models import Dataset, get_metadata
from ...catalogue.resource_members import get_metadata_field

#: What staff write in words, in the language of the resource.
_WORDS = frozenset({"source", "publisher", "contact", "tags", "spatial"})

_is_address = URLValidator(schemes=("https", "http"))


def list_facts(resource: Resource) -> list[dict[str, str]]:
    """
    List what is known of a resource, with the labels that the admin has.

    A statement has its language if that is known, and the address behind it, if any.
    """
    return [
        {
            "label": str(get_metadata_field(name).verbose_name),
            "text": show_bidi_controls(text),
            "link": link,
            "language": resource.content_language if name in _WORDS and not link else "",
        }
        for name, text, link in _list_texts(get_metadata(resource))
        if text
    ]


def _list_texts(metadata: Dataset) -> Iterator[tuple[str, str, str]]:
    title, license_link, _is_open = describe_license(metadata.license)
    yield "license", title, license_link
    yield "source", metadata.source, _find_link(metadata.source)
    yield "publisher", metadata.publisher, ""
    mail = f"mailto:{metadata.contact_email}" if metadata.contact_email else ""
    yield "contact", metadata.contact or metadata.contact_email, mail
    yield "tags", ", ".join(metadata.tags), ""
    yield "temporal_start", _format_day(metadata.temporal_start), ""
    yield "temporal_end", _format_day(metadata.temporal_end), ""
    yield "spatial", metadata.spatial, ""
    yield "frequency", metadata.frequency, ""
    yield "version_date", _format_day(metadata.version_date), ""


def _find_link(text: str) -> str:
    try:
        _is_address(text)
    except ValidationError:
        return ""
    return text


def _format_day(day: date | None) -> str:
    return date_format(day, "DATE_FORMAT") if day else ""
