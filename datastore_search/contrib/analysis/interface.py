"""Facets and aggregates as a user: what this app adds to ``datastore_search.interface``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from ...interface import Caller, ConditionOptions, Filters, Name, run_action

__all__ = ["AggregateOptions", "FacetsOptions", "compute_aggregates", "compute_facets"]

#: Names of fields, separated by commas, or names and objects with options.
Columns = str | Sequence[str | Mapping[str, Any]]


class FacetsOptions(ConditionOptions, total=False):
    """The parameters of ``datastore_facets``, beside the resource and the facets."""

    limit: int
    exclude_own: bool


class AggregateOptions(ConditionOptions, total=False):
    """The parameters of ``datastore_aggregate``, beside the resource."""

    group_by: Columns
    metrics: Columns
    having: Filters
    sort: str | Sequence[str]
    limit: int
    offset: int
    include_total: bool


def compute_facets(
    caller: Caller,
    resource_id: Name,
    facets: Columns | Mapping[str, Any],
    **options: Unpack[FacetsOptions],
) -> dict[str, Any]:
    """
    Count the most common values of fields, as ``datastore_facets`` does; return its result.

    Raises: as ``datastore_search.interface.search``.
    """
    parameters = {"resource_id": resource_id, "facets": facets, **options}
    result: dict[str, Any] = run_action(caller, "datastore_facets", **parameters)
    return result


def compute_aggregates(
    caller: Caller, resource_id: Name, **options: Unpack[AggregateOptions]
) -> dict[str, Any]:
    """
    Compute figures for groups of records, as ``datastore_aggregate`` does; return its result.

    Its ``records`` are dicts with Python's values.

    Raises: as ``datastore_search.interface.search``.
    """
    parameters = {"resource_id": resource_id, **options}
    result: dict[str, Any] = run_action(caller, "datastore_aggregate", **parameters)
    return result
