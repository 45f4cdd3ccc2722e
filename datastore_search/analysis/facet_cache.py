"""
Facets of all records that were counted last, kept in the process as JSON texts.

A facet of which a load has stored too little takes a read of the whole table.  Its answer is the
same until the resource has another version.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..bounded_cache import BoundedCache
from ..search import VersionKey

_MAX_FACETS = 5_000
_MAX_BYTES = 8_000_000
_MAX_FACET_BYTES = 400_000


class FacetKey(NamedTuple):
    """A version of a resource, and what is asked of a facet."""

    version: VersionKey
    options: tuple[Any, ...]


facet_cache: BoundedCache[FacetKey, bytes] = BoundedCache(
    "facets", _MAX_FACETS, max_size=_MAX_BYTES, max_value_size=_MAX_FACET_BYTES, measure=len
)
