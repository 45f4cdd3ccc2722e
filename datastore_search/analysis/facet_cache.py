"""
Facets of all records that were counted last, kept in the process as JSON texts.

A facet of which a load has stored too little takes a read of the whole table.  Its answer is the
same until the resource has another version.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from ..bounded_cache import BoundedCache

_MAX_FACETS = 5_000
_MAX_BYTES = 8_000_000
_MAX_FACET_BYTES = 400_000


class FacetKey(NamedTuple):
    """The alias of a database, a resource in one version, and what is asked of a facet."""

    alias: str
    resource: UUID
    version: int
    options: tuple[Any, ...]


facet_cache: BoundedCache[FacetKey, bytes] = BoundedCache(
    _MAX_FACETS, max_size=_MAX_BYTES, max_value_size=_MAX_FACET_BYTES, measure=len
)
