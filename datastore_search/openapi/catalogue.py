"""
The members of datasets, resources, organizations, tags and licences in JSON Schema.

They are those of the description of a resource without details: what is null there may be a text.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils import timezone

from .. import catalogue
from ..catalogue import Addresses, Organization
from ..models import Resource
from .components import (
    BOOLEAN,
    NON_NEGATIVE_INTEGER,
    NULL,
    OBJECT,
    TEXT,
    Schema,
    list_of,
    object_of,
    one_of,
    schema_ref,
)

_TEXT_OR_NULL = one_of(TEXT, NULL)


def build_catalogue_schemas() -> dict[str, Schema]:
    """Build the named schemas of the catalogue."""
    resource = Resource(created_at=timezone.now(), modified_at=timezone.now())
    addresses = Addresses(dump=lambda _id: "", page=lambda _id: "")
    dataset = catalogue.describe_dataset(catalogue.make_dataset(resource), addresses)
    organization = catalogue.describe_organization(Organization("office"))
    return {
        "CatalogueDataset": object_of(
            {
                **_describe(dataset),
                # A dataset of the portal's own may have no resource whose times they would be.
                "metadata_created": _TEXT_OR_NULL,
                "metadata_modified": _TEXT_OR_NULL,
                "organization": one_of(schema_ref("CatalogueOrganization"), NULL),
                "resources": list_of(schema_ref("CatalogueResource")),
                "tags": list_of(schema_ref("CatalogueTag")),
                "extras": list_of(object_of({"key": TEXT, "value": TEXT})),
                "groups": list_of(schema_ref("CatalogueGroup")),
            },
            optional={"license_url": TEXT},
        ),
        "CatalogueResource": object_of(
            {
                **_describe(catalogue.describe_resource(resource, addresses, None)),
                "size": one_of(NON_NEGATIVE_INTEGER, NULL),
                "tags": list_of(TEXT),
            }
        ),
        "CatalogueOrganization": object_of(
            _describe(organization),
            optional={
                "display_name": TEXT,
                "image_display_url": TEXT,
                "num_followers": NON_NEGATIVE_INTEGER,
                "package_count": NON_NEGATIVE_INTEGER,
                "packages": list_of(schema_ref("CatalogueDataset")),
                **dict.fromkeys(("users", "extras", "groups", "tags"), list_of(OBJECT)),
            },
        ),
        "CatalogueGroup": object_of(
            _describe(catalogue.describe_group(Organization("office"))),
            optional={"type": TEXT, "package_count": NON_NEGATIVE_INTEGER},
        ),
        "CatalogueTag": object_of(
            {"id": TEXT, "name": TEXT, "display_name": TEXT, "vocabulary_id": _TEXT_OR_NULL},
            optional={"state": TEXT},
        ),
        "CatalogueLicense": object_of(_describe(catalogue.list_licenses()[0])),
        "CatalogueFacet": object_of(
            {
                "title": TEXT,
                "items": list_of(
                    object_of({"name": TEXT, "display_name": TEXT, "count": NON_NEGATIVE_INTEGER})
                ),
            }
        ),
        "CatalogueResources": object_of(
            {"count": NON_NEGATIVE_INTEGER, "results": list_of(schema_ref("CatalogueResource"))}
        ),
        "CataloguePage": object_of(
            {
                "count": NON_NEGATIVE_INTEGER,
                "sort": TEXT,
                "results": list_of(schema_ref("CatalogueDataset")),
                "facets": _map_of(_map_of(NON_NEGATIVE_INTEGER)),
                "search_facets": _map_of(schema_ref("CatalogueFacet")),
            }
        ),
    }


def _map_of(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _describe(members: Mapping[str, object]) -> Schema:
    return {name: _describe_member(value) for name, value in members.items()}


def _describe_member(value: object) -> Schema:
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return NON_NEGATIVE_INTEGER
    if isinstance(value, list):
        return list_of(OBJECT)
    return _TEXT_OR_NULL if value is None else TEXT
