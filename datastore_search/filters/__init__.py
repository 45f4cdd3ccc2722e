"""
What ``filters`` and ``q`` mean.

``grammar`` parses the parameter ``filters`` into conditions by the table of ``operators``.
``clauses`` compiles conditions to SQL, ``full_text`` full-text queries, and ``substrings`` the
look-up of parts of texts for both.  Names of fields and values are parameters of the SQL.
"""

from .clause import TRUE, Clause, compose, join_clauses, join_with_commas
from .clauses import compile_conditions
from .equality import MAX_SHOWN_LENGTH, TypedFields
from .full_text import (
    MAX_SUBSTRINGS,
    MAX_WORDS,
    MIN_SUBSTRING_LENGTH,
    FullTextOptions,
    FullTextQuery,
    compile_tsquery,
    has_too_many_words,
    parse_full_text_query,
)
from .grammar import And, Comparison, Condition, In, Or, exclude_field, parse_filters
from .operators import compile_field_key, compile_value_key
