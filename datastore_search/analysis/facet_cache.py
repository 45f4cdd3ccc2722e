"""
Facets of all records that were counted last, kept in the process.

A facet of which a load has stored too little takes a read of the whole table.  Its answer is the
same until the resource has another version.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any, NamedTuple
from uuid import UUID

_MAX_FACETS = 5_000
_MAX_BYTES = 8_000_000

#: One facet takes at most this share of the memory.
_MAX_SHARE = 0.05


class FacetKey(NamedTuple):
    """The alias of a database, a resource in one version, and what is asked of a facet."""

    alias: str
    resource: UUID
    version: int
    options: tuple[Any, ...]


class FacetCache:
    """Facets as JSON texts; when there are too many, those used longest ago are removed."""

    def __init__(self, max_facets: int = _MAX_FACETS, max_bytes: int = _MAX_BYTES) -> None:
        """Begin with none."""
        self._max_facets = max_facets
        self._max_bytes = max_bytes
        self._bytes = 0
        self._facets: OrderedDict[FacetKey, bytes] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._facets)

    def get(self, key: FacetKey) -> bytes | None:
        """Get a facet; None if there is none yet."""
        with self._lock:
            facet = self._facets.get(key)
            if facet is not None:
                self._facets.move_to_end(key)
            return facet

    def add(self, key: FacetKey, facet: bytes) -> None:
        """Add a facet, unless it is large."""
        if len(facet) > self._max_bytes * _MAX_SHARE:
            return
        with self._lock:
            self._bytes += len(facet) - len(self._facets.pop(key, b""))
            self._facets[key] = facet
            while len(self._facets) > self._max_facets or self._bytes > self._max_bytes:
                _key, removed = self._facets.popitem(last=False)
                self._bytes -= len(removed)

    def clear(self) -> None:
        """Remove all facets."""
        with self._lock:
            self._facets.clear()
            self._bytes = 0


facet_cache = FacetCache()
