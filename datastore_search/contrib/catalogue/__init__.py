"""The catalogue: datasets that can be searched, each with resources."""

from .dataset import Dataset, Group, ListedDataset, Organization, make_dataset
from .datasets import (
    CatalogueState,
    CountedOrganization,
    Facet,
    find_page,
    find_resource,
    read_resources,
    read_state,
    select_columns,
)
from .descriptions import (
    Addresses,
    describe_dataset,
    describe_group,
    describe_organization,
    describe_resource,
    describe_tag,
)
from .licenses import describe_license, list_licenses
from .portal import (
    Datasets,
    find_dataset_of,
    find_place,
    has_portal_dataset,
    open_portal_datasets,
    open_public_datasets,
    open_readable_datasets,
)
from .query import SortTerm, parse_catalogue_sort
from .resource_conditions import match_format, match_text, match_word

__all__ = [
    "Addresses",
    "CatalogueState",
    "CountedOrganization",
    "Dataset",
    "Datasets",
    "Facet",
    "Group",
    "ListedDataset",
    "Organization",
    "SortTerm",
    "describe_dataset",
    "describe_group",
    "describe_license",
    "describe_organization",
    "describe_resource",
    "describe_tag",
    "find_dataset_of",
    "find_page",
    "find_place",
    "find_resource",
    "has_portal_dataset",
    "list_licenses",
    "make_dataset",
    "match_format",
    "match_text",
    "match_word",
    "open_portal_datasets",
    "open_public_datasets",
    "open_readable_datasets",
    "parse_catalogue_sort",
    "read_resources",
    "read_state",
    "select_columns",
]
