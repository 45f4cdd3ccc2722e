"""The members of datasets, resources, organizations, tags and licences in JSON Schema."""

from __future__ import annotations

from ..models import METADATA
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
    return {
        "CatalogueDataset": _build_dataset(),
        "CatalogueResource": _build_resource(),
        "CatalogueOrganization": _build_organization(),
        "CatalogueGroup": _build_group(),
        "CatalogueTag": object_of(
            {"id": TEXT, "name": TEXT, "display_name": TEXT, "vocabulary_id": _TEXT_OR_NULL},
            optional={"state": TEXT},
        ),
        "CatalogueLicense": _build_license(),
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
                "facets": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "additionalProperties": NON_NEGATIVE_INTEGER,
                    },
                },
                "search_facets": {
                    "type": "object",
                    "additionalProperties": schema_ref("CatalogueFacet"),
                },
            }
        ),
    }


def _build_dataset() -> Schema:
    nullable = (
        "author",
        "author_email",
        "creator_user_id",
        "license_id",
        "license_title",
        "maintainer",
        "maintainer_email",
        "owner_org",
        "url",
        "version",
        # A dataset of the portal's own may have no resource whose times they would be.
        "metadata_created",
        "metadata_modified",
    )
    texts = (
        "id",
        "name",
        "title",
        "notes",
        "state",
        "type",
    )
    return object_of(
        {
            **dict.fromkeys(texts, TEXT),
            **dict.fromkeys(nullable, _TEXT_OR_NULL),
            "isopen": BOOLEAN,
            "private": BOOLEAN,
            "num_resources": NON_NEGATIVE_INTEGER,
            "num_tags": NON_NEGATIVE_INTEGER,
            "organization": one_of(schema_ref("CatalogueOrganization"), NULL),
            "resources": list_of(schema_ref("CatalogueResource")),
            "tags": list_of(schema_ref("CatalogueTag")),
            "extras": list_of(object_of({"key": TEXT, "value": TEXT})),
            "groups": list_of(schema_ref("CatalogueGroup")),
            "relationships_as_subject": list_of(OBJECT),
            "relationships_as_object": list_of(OBJECT),
        },
        optional={"license_url": TEXT},
    )


def _build_resource() -> Schema:
    texts = (
        "id",
        "name",
        "description",
        "format",
        "mimetype",
        "hash",
        "created",
        "last_modified",
        "metadata_modified",
        "state",
        "url",
        "url_type",
    )
    # Always null here, but generators of clients know no type of null alone.
    empty = ("cache_last_updated", "cache_url", "mimetype_inner", "resource_type")
    return object_of(
        {
            **dict.fromkeys(texts, TEXT),
            **dict.fromkeys(empty, _TEXT_OR_NULL),
            "size": one_of(NON_NEGATIVE_INTEGER, NULL),
            # Null where none of the portal's own datasets has it.
            "package_id": _TEXT_OR_NULL,
            "datastore_active": BOOLEAN,
            "position": NON_NEGATIVE_INTEGER,
            **{name: list_of(TEXT) if name == "tags" else _TEXT_OR_NULL for name in METADATA},
        }
    )


def _build_organization() -> Schema:
    texts = ("id", "name", "title", "type", "description", "image_url", "approval_status", "state")
    return object_of(
        {**dict.fromkeys(texts, TEXT), "created": _TEXT_OR_NULL, "is_organization": BOOLEAN},
        optional={
            "display_name": TEXT,
            "image_display_url": TEXT,
            "num_followers": NON_NEGATIVE_INTEGER,
            "package_count": NON_NEGATIVE_INTEGER,
            "packages": list_of(schema_ref("CatalogueDataset")),
            **dict.fromkeys(("users", "extras", "groups", "tags"), list_of(OBJECT)),
        },
    )


def _build_group() -> Schema:
    texts = ("id", "name", "title", "display_name", "description", "image_display_url")
    return object_of(
        dict.fromkeys(texts, TEXT), optional={"type": TEXT, "package_count": NON_NEGATIVE_INTEGER}
    )


def _build_license() -> Schema:
    names = (
        "domain_content",
        "domain_data",
        "domain_software",
        "family",
        "id",
        "is_generic",
        "maintainer",
        "od_conformance",
        "osd_conformance",
        "status",
        "title",
        "url",
    )
    return object_of(dict.fromkeys(names, TEXT))
