"""
Describe datasets as CKAN's datasets, resources, organizations and tags.

Source: ``package_show``, ``resource_show``, ``organization_show`` and ``tag_list`` of CKAN 2.12.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from datetime import date
from typing import Any, Final, cast

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ...api.actions.action import write_time
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


def complete_metadata(resource: Resource) -> Dataset:
    """Copy the metadata of a resource; what it lacks is that of its dataset, and its owner."""
    metadata = get_metadata(resource)
    if not (metadata.part_of_id or metadata.owner_org_id):
        return metadata
    shown, dataset = copy(metadata), metadata.part_of or metadata
    for name in METADATA:
        setattr(shown, name, getattr(shown, name) or getattr(dataset, name))
    if not shown.publisher and dataset.owner:
        shown.publisher = dataset.owner.shown_title
    return shown


def describe_dataset(listed: ListedDataset, addresses: ResourceAddresses) -> dict[str, Any]:
    dataset, organization = listed.dataset, listed.dataset.owner
    members, source, notes = dataset.members, dataset.source, dataset.local_notes.text
    is_published = not dataset.resource and members is not None
    license_title, license_url, is_open = describe_license(dataset.license)
    tags = [{**describe_tag(tag), "state": "active"} for tag in sorted(dataset.tags)]
    if listed.resources and not is_published:
        source = source or addresses.build("resource", listed.resources[0].pk)
    extras = {  # for which CKAN's datasets have no member, by the names of ckanext-dcat
        "frequency": dataset.frequency,
        "spatial_text": dataset.spatial,
        "temporal_end": dataset.temporal_end and dataset.temporal_end.isoformat(),
        "temporal_start": dataset.temporal_start and dataset.temporal_start.isoformat(),
        **dataset.extras,
    }
    return {
        "type": "dataset",
        **(members if is_published and members else {}),
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
        "metadata_created": write_time(listed.created_at),
        "metadata_modified": write_time(listed.modified_at),
        "name": dataset.shown_name,
        "notes": (notes or None) if is_published else notes,
        "num_resources": len(listed.resources),
        "num_tags": len(tags),
        "organization": describe_organization(organization) if organization else None,
        "owner_org": organization.id if organization else None,
        "private": listed.is_private,
        "state": dataset.state,
        "title": dataset.local_title.text,
        "url": source or None,
        "version": dataset.shown_version or None,
        "extras": [
            {"key": key, "value": value}
            for key, value in sorted(extras.items())
            if value or key in dataset.extras
        ],
        "resources": [
            describe_resource(resource, addresses, DatasetPosition(dataset.id, position))
            for position, resource in enumerate(listed.resources)
        ],
        "tags": tags,
        "groups": [describe_group(Group(**group)) for group in dataset.groups],
        "relationships_as_subject": [],
        "relationships_as_object": [],
    }


def describe_resource(
    resource: Resource, addresses: ResourceAddresses, place: DatasetPosition
) -> dict[str, Any]:
    """Describe a resource; its address is its dump, unless a client has published another."""
    version, metadata = resource.table_version, get_metadata(resource)
    modified = write_time(resource.modified_at)
    described = {
        "cache_last_updated": None,
        "cache_url": None,
        "created": write_time(resource.created_at),
        "description": resource.local_description.text,
        "format": FORMAT,
        "hash": "",
        "last_modified": modified if version else None,
        "mimetype": MEDIA_TYPE,
        "mimetype_inner": None,
        "name": resource.local_title.text,
        "resource_type": None,
        "size": None,
        "url_type": "datastore",
        **{name: _write_value(getattr(metadata, name)) for name in METADATA},
    }
    if (members := metadata.members) is not None:
        if version and not members.get("url"):
            members = {**members, "url_type": "datastore"}
        is_table = members.get("url_type") == "datastore"
        described = {
            **{name: value for name, value in described.items() if name not in METADATA or value},
            "format": "",
            "mimetype": None,
            "url_type": None,
            "last_modified": modified if version and is_table else None,
            **{
                name: value
                for name, value in members.items()
                if value is not None or name not in described
            },
            "description": described["description"] or None,
            "name": described["name"] if resource.title else None,
        }
    return {
        **described,
        "datastore_active": version is not None,
        "id": str(resource.pk),
        "metadata_modified": modified,
        "package_id": place.dataset_id,
        "position": place.position,
        "state": "active",
        "url": build_url(resource, addresses),
    }


def build_url(resource: Resource, addresses: ResourceAddresses) -> str:
    """Build the address of a resource: of its dump, its file, or elsewhere; empty without one."""
    metadata = get_metadata(resource)
    members = {"url_type": "datastore"} if metadata.members is None else metadata.members
    url, url_type = str(members.get("url") or ""), members.get("url_type")
    if url_type == "upload" and url:
        dataset_id = metadata.part_of_id or str(resource.pk)
        return addresses.build_file(dataset_id, resource.pk, url) or url
    is_dump = url_type == "datastore" or (resource.table_version_id and not url)
    return addresses.build("dump", resource.pk) if is_dump else url


def describe_organization(organization: Group) -> dict[str, Any]:
    return {
        "id": organization.id,
        "name": organization.name,
        "title": organization.shown_title,
        "type": organization.kind,
        "description": organization.description,
        "image_url": organization.image_url,
        "created": None,
        "is_organization": isinstance(organization, Organization),
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
    return {"display_name": tag, "id": build_id(f"tag/{tag}"), "name": tag, "vocabulary_id": None}


def _write_value(value: str | list[str] | date | None) -> str | list[str] | None:
    """Write a member of a resource's metadata as JSON; an empty text is null."""
    if isinstance(value, date):
        return value.isoformat()
    return value if value or isinstance(value, list) else None


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
    "CC0-1.0": ("Creative Commons Zero 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
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


#: The open licences by the ids that CKAN's clients send, which have no version.
_LICENSES_OF_CKAN: Final[dict[str, str]] = {
    "cc-by": "Creative Commons Attribution",
    "cc-by-sa": "Creative Commons Attribution Share-Alike",
    "cc-zero": "Creative Commons CCZero",
    "odc-by": "Open Data Commons Attribution License",
    "odc-odbl": "Open Data Commons Open Database License (ODbL)",
    "odc-pddl": "Open Data Commons Public Domain Dedication and License (PDDL)",
}


def describe_license(license_id: str) -> tuple[str, str, bool]:
    """Return the title and the address of a licence, and whether it is known to be open."""
    if license_id in OPEN_LICENSES:
        return (*OPEN_LICENSES[license_id], True)
    if title := _LICENSES_OF_CKAN.get(license_id):
        return title, f"http://www.opendefinition.org/licenses/{license_id}", True
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
