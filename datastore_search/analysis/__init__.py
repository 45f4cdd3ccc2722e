"""
Questions about many records at once: the most common values of fields.

``groups`` makes the keys by which records are grouped.  ``facets`` counts the values of fields
among the matches of a query; ``stored_facets`` knows those of all records from what a load has
counted.
"""

from .facets import MAX_FACET_VALUES, MAX_FACETS, Facet, FacetsAnswer, FacetsQuery, read_facets
from .groups import DEFAULT_TIME_ZONE, INTERVALS, MAX_BINS, GroupBy

__all__ = [
    "DEFAULT_TIME_ZONE",
    "INTERVALS",
    "MAX_BINS",
    "MAX_FACETS",
    "MAX_FACET_VALUES",
    "Facet",
    "FacetsAnswer",
    "FacetsQuery",
    "GroupBy",
    "read_facets",
]
