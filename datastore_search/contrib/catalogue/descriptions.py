"""
Describe datasets as CKAN's datasets, resources, organizations and tags.

Source: ``package_show``, ``resource_show``, ``organization_show`` and ``tag_list`` of CKAN 2.12.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, Final

from ...models import Resource
from ...web.addresses import ResourceAddresses
from .licenses import describe_license
from .models import (
    DatasetPosition,
    Group,
    ListedDataset,
    Organization,
    build_id,
    get_metadata,
)
from .resource_members import METADATA

#: The format of the file at the address of a resource.
FORMAT: Final = "CSV"
MEDIA_TYPE: Final = "text/csv"


def describe_dataset(listed: ListedDataset, addresses: ResourceAddresses) -> dict[str, Any]:
    dataset, organization = listed.dataset, listed.dataset.owner
    license_title, license_url, is_open = describe_license(dataset.license)
    tags = [describe_tag(tag) for tag in sorted(dataset.tags)]
    page = addresses.build("resource", listed.resources[0].pk) if listed.resources else ""
    extras = {  # for which CKAN's datasets have no member, by the names of ckanext-dcat
        "frequency": dataset.frequency,
        "spatial_text": dataset.spatial,
        "temporal_end": dataset.temporal_end and dataset.temporal_end.isoformat(),
        "temporal_start": dataset.temporal_start and dataset.temporal_start.isoformat(),
        **dataset.extras,
    }
    return {
        "author": dataset.author or dataset.publisher or None,
        "author_email": dataset.author_email or None,
        "creator_user_id": None,
        "id": dataset.id,
        "isopen": is_open,
        "license_id": dataset.license or None,
        "license_title": license_title or None,
        **({"license_url": license_url} if license_url else {}),
        "maintainer": dataset.contact or None,
        "maintainer_email": dataset.contact_email or None,
        "metadata_created": _write_time(listed.created_at),
        "metadata_modified": _write_time(listed.modified_at),
        "name": dataset.shown_name,
        "notes": dataset.local_notes.text,
        "num_resources": len(listed.resources),
        "num_tags": len(tags),
        "organization": describe_organization(organization) if organization else None,
        "owner_org": organization.id if organization else None,
        "private": listed.is_private,
        "state": "active",
        "title": dataset.local_title.text,
        "type": "dataset",
        "url": dataset.source or page or None,
        "version": dataset.shown_version or None,
        "extras": [{"key": key, "value": value} for key, value in extras.items() if value],
        "resources": [
            describe_resource(resource, addresses, DatasetPosition(dataset.id, position))
            for position, resource in enumerate(listed.resources)
        ],
        "tags": tags,
        "groups": [describe_group(group) for group in dataset.shown_groups],
        "relationships_as_subject": [],
        "relationships_as_object": [],
    }


def describe_resource(
    resource: Resource, addresses: ResourceAddresses, place: DatasetPosition
) -> dict[str, Any]:
    """Describe a resource; its address is its dump."""
    version, metadata = resource.table_version, get_metadata(resource)
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
        "name": resource.local_title.text,
        "package_id": place.dataset_id,
        "position": place.position,
        "resource_type": None,
        "size": None,
        "state": "active",
        "url": addresses.build("dump", resource.pk),
        "url_type": "datastore",
        **{name: _write_value(getattr(metadata, name)) for name in METADATA},
    }


def describe_organization(organization: Organization) -> dict[str, Any]:
    return {
        "id": organization.id,
        "name": organization.name,
        "title": organization.shown_title,
        "type": "organization",
        "description": organization.description,
        "image_url": organization.image_url,
        "created": None,
        "is_organization": True,
        "approval_status": "approved",
        "state": "active",
    }


def describe_group(group: Group) -> dict[str, Any]:
    return {
        "description": group.description,
        "display_name": group.shown_title,
        "id": group.id,
        "image_display_url": group.image_url,
        "name": group.name,
        "title": group.shown_title,
    }


def describe_tag(tag: str) -> dict[str, Any]:
    return {
        "display_name": tag,
        "id": build_id(f"tag/{tag}"),
        "name": tag,
        "state": "active",
        "vocabulary_id": None,
    }


def _write_value(value: str | list[str] | date | None) -> str | list[str] | None:
    """Write a member of a resource's metadata as JSON; an empty text is null."""
    if isinstance(value, date):
        return value.isoformat()
    return value if value or isinstance(value, list) else None


def _write_time(moment: datetime | None) -> str | None:
    """Write a time in UTC without an offset, as CKAN does."""
    if moment is None:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
