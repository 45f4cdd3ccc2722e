"""The catalogue: what resources say of themselves, as datasets that can be searched."""

from .datasets import (
    CatalogueState,
    Facet,
    FoundDatasets,
    count_facet,
    get_dataset,
    list_public_resources,
    list_publishers,
    list_readable_resources,
    list_tags,
    read_public_state,
    search_datasets,
    select_columns,
)
from .descriptions import (
    Addresses,
    build_publisher_id,
    build_publisher_name,
    describe_dataset,
    describe_publisher,
    describe_resource,
    describe_tag,
)
from .licenses import describe_license, list_licenses
from .query import (
    MAX_CLAUSES,
    match_format,
    match_word,
    parse_catalogue_query,
    parse_catalogue_sort,
)

__all__ = [
    "MAX_CLAUSES",
    "Addresses",
    "CatalogueState",
    "Facet",
    "FoundDatasets",
    "build_publisher_id",
    "build_publisher_name",
    "count_facet",
    "describe_dataset",
    "describe_license",
    "describe_publisher",
    "describe_resource",
    "describe_tag",
    "get_dataset",
    "list_licenses",
    "list_public_resources",
    "list_publishers",
    "list_readable_resources",
    "list_tags",
    "match_format",
    "match_word",
    "parse_catalogue_query",
    "parse_catalogue_sort",
    "read_public_state",
    "search_datasets",
    "select_columns",
]
