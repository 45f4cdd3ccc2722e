"""
Describe datasets as CKAN's datasets, resources, organizations and tags.

Source: ``package_show``, ``resource_show``, ``organization_show`` and ``tag_list`` of CKAN 2.12.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Final, cast

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ...models import Resource
from ...web.addresses import ResourceAddresses
from .models import (
    Dataset,
    DatasetPosition,
    Group,
    ListedDataset,
    Organization,
    build_id,
    get_metadata,
)

#: The format of the file at the address of a resource.
FORMAT: Final = "CSV"
MEDIA_TYPE: Final = "text/csv"

#: Each field of ``Dataset`` that resources have, too, with its help for clients.
METADATA: Final[Mapping[str, str | Promise]] = {
    "license": _("An SPDX id such as `CC-BY-4.0`, or the address of the licence."),
    "source": _("Where the data come from: an address, or a text."),
    "publisher": _("Who publishes the data."),
    "contact": _("A person or an office that answers questions."),
    "contact_email": _("The e-mail of the contact."),
    "tags": _("Keywords of the resource."),
    "temporal_start": _("The first day covered, such as `2024-01-31`."),
    "temporal_end": _("The last day covered."),
    "spatial": _("The name of the area covered."),
    "frequency": _("How often the data change, such as `monthly`."),
    "version_date": _("The day that the data describe."),
}


def get_metadata_field(name: str) -> models.Field[Any, Any]:
    return cast("models.Field[Any, Any]", getattr(Dataset, name).field)


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


# Licences -----------------------------------------------------------------------------------------

#: Title, and address, by SPDX id: those that portals of open data use.  All conform to the Open
#: Definition.  Source: the SPDX License List.
OPEN_LICENSES: Final[dict[str, tuple[str, str]]] = {
    "CC-BY-4.0": (
        "Creative Commons Attribution 4.0",
        "https://creativecommons.org/licenses/by/4.0/",
    ),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0",
        "https://creativecommons.org/licenses/by-sa/4.0/",
    ),
    "CC0-1.0": (
        "Creative Commons Zero 1.0",
        "https://creativecommons.org/publicdomain/zero/1.0/",
    ),
    "ODC-By-1.0": (
        "Open Data Commons Attribution License 1.0",
        "https://opendatacommons.org/licenses/by/1-0/",
    ),
    "ODbL-1.0": (
        "Open Data Commons Open Database License 1.0",
        "https://opendatacommons.org/licenses/odbl/1-0/",
    ),
    "OGL-UK-3.0": (
        "Open Government Licence 3.0",
        "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
    ),
    "PDDL-1.0": (
        "Open Data Commons Public Domain Dedication and Licence 1.0",
        "https://opendatacommons.org/licenses/pddl/1-0/",
    ),
    "etalab-2.0": (
        "Licence Ouverte 2.0",
        "https://www.etalab.gouv.fr/wp-content/uploads/2017/04/ETALAB-Licence-Ouverte-v2.0.pdf",
    ),
}


def describe_license(license_id: str) -> tuple[str, str, bool]:
    """Return the title and the address of a licence, and whether it is known to be open."""
    if license_id in OPEN_LICENSES:
        return (*OPEN_LICENSES[license_id], True)
    return license_id, license_id if license_id.startswith(("https://", "http://")) else "", False


def list_licenses() -> list[dict[str, Any]]:
    """Describe the known licences as CKAN's ``license_list``, whose truth values are texts."""
    return [
        {
            "domain_content": "True",
            "domain_data": "True",
            "domain_software": "False",
            "family": "",
            "id": license_id,
            "is_generic": "False",
            "maintainer": "",
            "od_conformance": "approved",
            "osd_conformance": "not reviewed",
            "status": "active",
            "title": title,
            "url": address,
        }
        for license_id, (title, address) in OPEN_LICENSES.items()
    ]
