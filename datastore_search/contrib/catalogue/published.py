"""Resources and datasets with their addresses, for machine-readable descriptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from ...models import Resource
from .dataset import ListedDataset
from .licenses import OPEN_LICENSES

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
    """Drop the members without a value."""
    return {name: value for name, value in members.items() if value not in (None, "", [], {})}
