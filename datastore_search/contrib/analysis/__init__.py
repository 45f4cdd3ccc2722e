"""
Facts about many records at once: the most common values of fields, and figures for groups.

``groups`` makes the keys by which records are grouped.  ``facets`` counts the values of fields
among the matches of a query; ``stored_facets`` has the counts of all records that a load has
counted.  ``aggregates`` computes the ``metrics`` of groups.  ``suggestions`` finds values by their
beginnings; ``spelling`` finds words of a table (``vocabulary``) that are similar to a query's.
"""

from .aggregates import MAX_GROUPS, MAX_METRICS, AggregateQuery, read_aggregate
from .facets import MAX_FACET_VALUES, MAX_FACETS, Facet, FacetsQuery, read_facets
from .groups import INTERVALS, MAX_BINS, GroupBy
from .metrics import METRICS, Metric
from .spelling import MAX_COUNTED_RECORDS, NO_SUGGESTIONS, Suggestions, suggest_queries
from .stored_facets import list_stored_counts
from .suggestions import MAX_SUGGESTED_VALUES, NO_VALUES, ValuesQuery, suggest_values
