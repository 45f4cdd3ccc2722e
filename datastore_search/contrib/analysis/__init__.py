"""
Facts about many records at once: the most common values of fields, and figures for groups.

``engine`` answers questions about many records.  ``groups`` has the keys by which records are
grouped.  ``facets`` counts the values of fields among the matches of a query, and finds values by
their beginnings; ``aggregates`` computes figures of groups, and ``comparison`` compares them.
``spelling`` finds words of a table that are similar to a query's.
"""
