"""
Facts about many records at once: the most common values of fields, and figures for groups.

``groups`` makes the keys by which records are grouped.  ``facets`` counts the values of fields
among the matches of a query; ``stored_facets`` has the counts of all records that a load has
counted.  ``aggregates`` computes figures of groups.  ``suggestions`` finds values by their
beginnings; ``spelling`` finds words of a table that are similar to a query's.
"""
