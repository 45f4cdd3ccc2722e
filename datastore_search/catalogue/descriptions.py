"""
Describe resources as CKAN's datasets, resources, organizations and tags.

Each resource is a dataset of its own with one resource of the same id.  Its publisher is an
organization, whose name follows from the publisher's.

Source: ``package_show``, ``resource_show``, ``organization_show`` and ``tag_list`` of CKAN 2.12.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, Final

from django.utils.text import slugify

from ..models import METADATA, Resource
from .licenses import describe_license

#: The format of the file at the address of a resource.
FORMAT: Final = "CSV"
MEDIA_TYPE: Final = "text/csv"

_NAMESPACE: Final = uuid.UUID("3a4d6d0e-9c0c-5d0e-8f1e-6a7f0a1f2c11")


@dataclass(frozen=True, slots=True)
class Addresses:
    """Build the absolute addresses of the dump and the page of a resource; empty without one."""

    dump: Callable[[uuid.UUID], str]
    page: Callable[[uuid.UUID], str]


def describe_dataset(resource: Resource, addresses: Addresses) -> dict[str, Any]:
    """Describe a resource as a dataset, with itself as the only resource."""
    license_title, license_url, is_open = describe_license(resource.license)
    tags = [describe_tag(tag) for tag in sorted(resource.tags)]
    return {
        "author": resource.publisher or None,
        "author_email": None,
        "creator_user_id": None,
        "id": str(resource.pk),
        "isopen": is_open,
        "license_id": resource.license or None,
        "license_title": license_title or None,
        **({"license_url": license_url} if license_url else {}),
        "maintainer": resource.contact or None,
        "maintainer_email": resource.contact_email or None,
        "metadata_created": _write_time(resource.created_at),
        "metadata_modified": _write_time(resource.modified_at),
        "name": resource.name,
        "notes": resource.local_description.text,
        "num_resources": 1,
        "num_tags": len(tags),
        "organization": describe_publisher(resource.publisher) if resource.publisher else None,
        "owner_org": build_publisher_id(resource.publisher) if resource.publisher else None,
        "private": resource.private,
        "state": "active",
        "title": str(resource),
        "type": "dataset",
        "url": resource.source or addresses.page(resource.pk) or None,
        "version": resource.version_date.isoformat() if resource.version_date else None,
        "extras": _list_extras(resource),
        "resources": [describe_resource(resource, addresses)],
        "tags": tags,
        "groups": [],
        "relationships_as_subject": [],
        "relationships_as_object": [],
    }


def describe_resource(resource: Resource, addresses: Addresses) -> dict[str, Any]:
    """Describe a resource; its address is that of its dump."""
    version = resource.table_version
    return {
        "cache_last_updated": None,
        "cache_url": None,
        "created": _write_time(resource.created_at),
        "datastore_active": version is not None,
        "description": resource.local_description.text,
        "format": FORMAT,
        "hash": version.fingerprint if version else "",
        "id": str(resource.pk),
        "last_modified": _write_time(resource.modified_at),
        "metadata_modified": _write_time(resource.modified_at),
        "mimetype": MEDIA_TYPE,
        "mimetype_inner": None,
        "name": str(resource),
        "package_id": str(resource.pk),
        "position": 0,
        "resource_type": None,
        "size": None,
        "state": "active",
        "url": addresses.dump(resource.pk),
        "url_type": "datastore",
        **{name: _write_value(getattr(resource, name)) for name in METADATA},
    }


def describe_publisher(publisher: str) -> dict[str, Any]:
    """Describe a publisher as an organization, as datasets contain it."""
    return {
        "id": build_publisher_id(publisher),
        "name": build_publisher_name(publisher),
        "title": publisher,
        "type": "organization",
        "description": "",
        "image_url": "",
        "created": None,
        "is_organization": True,
        "approval_status": "approved",
        "state": "active",
    }


def describe_tag(tag: str) -> dict[str, Any]:
    """Describe a tag."""
    return {
        "display_name": tag,
        "id": str(uuid.uuid5(_NAMESPACE, f"tag/{tag}")),
        "name": tag,
        "state": "active",
        "vocabulary_id": None,
    }


@lru_cache(maxsize=2_000)
def build_publisher_name(publisher: str) -> str:
    """Build the name of a publisher for addresses, a digest if no letter fits."""
    return slugify(publisher)[:100] or uuid.uuid5(_NAMESPACE, publisher).hex


def build_publisher_id(publisher: str) -> str:
    """Build the id of a publisher; the same for spellings of the same name."""
    return str(uuid.uuid5(_NAMESPACE, f"organization/{build_publisher_name(publisher)}"))


def _list_extras(resource: Resource) -> list[dict[str, str]]:
    """List what CKAN's datasets have no member for, by the names of ckanext-dcat."""
    values = {
        "frequency": resource.frequency,
        "spatial_text": resource.spatial,
        "temporal_end": resource.temporal_end and resource.temporal_end.isoformat(),
        "temporal_start": resource.temporal_start and resource.temporal_start.isoformat(),
    }
    return [{"key": key, "value": value} for key, value in values.items() if value]


def _write_value(value: str | list[str] | date | None) -> str | list[str] | None:
    """Write what a resource says of itself as JSON; an empty text is null."""
    if isinstance(value, date):
        return value.isoformat()
    return value if value or isinstance(value, list) else None


def _write_time(moment: datetime) -> str:
    """Write a time in UTC without an offset, as CKAN does."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
