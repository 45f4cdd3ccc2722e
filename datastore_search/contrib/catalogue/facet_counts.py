"""The counts of facets of all datasets that a user may see, kept until one of these changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ...models import Reader
from .datasets import CatalogueState, Datasets, Facet

#: Users, states of the catalogue, and facets whose counts a process keeps.
_MAX_KEPT = 64


@dataclass(frozen=True, slots=True)
class _SeenDatasets:
    """The datasets that a user may see, in a state."""

    state: CatalogueState
    user: object
    datasets: Datasets = field(compare=False)


def count_facets(
    datasets: Datasets, reader: Reader, names: tuple[str, ...], limit: int
) -> Sequence[Sequence[Facet]]:
    """Count the ``limit`` most frequent values of facets, anew when the datasets have changed."""
    seen = _SeenDatasets(datasets.read_state(), reader.pk, datasets)
    return _count_facets(seen, names, limit)


@lru_cache(maxsize=_MAX_KEPT)
def _count_facets(
    seen: _SeenDatasets, names: tuple[str, ...], limit: int
) -> Sequence[Sequence[Facet]]:
    return [seen.datasets.count_facet(name, limit, 0) for name in names]
