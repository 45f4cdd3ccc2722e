"""
Facets of all records that were counted last, kept in the process as JSON texts.

A facet of which a load has stored too little takes a read of the whole table.  Its answer is the
same until the resource has another version.

A facet that takes longer than the time of a call by itself is not counted again for a while.
"""

from __future__ import annotations

from datetime import timedelta
from time import monotonic
from typing import Any, Final, NamedTuple

from ...guards.cache import BoundedCache
from ...search import VersionKey

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


#: For how many times the time of a call a facet is not counted that took longer by itself.
_REFUSED_LIMITS: Final = 4


#: Facets that took longer than the time of a call, and until when they are not counted.
_slow_facets: BoundedCache[tuple[FacetKey, timedelta], float] = BoundedCache(
    "slow_facets", _MAX_FACETS
)


def note_slow_facet(key: FacetKey, timeout: timedelta) -> None:
    """Note that a facet was not counted within the time of a call."""
    _slow_facets.add((key, timeout), monotonic() + timeout.total_seconds() * _REFUSED_LIMITS)


def is_too_slow(key: FacetKey, timeout: timedelta) -> bool:
    """Return whether a facet is not counted now."""
    return (_slow_facets.get((key, timeout)) or 0.0) > monotonic()
