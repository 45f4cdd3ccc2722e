"""
What ``filters`` and ``q`` mean.

``conditions`` parses the parameter ``filters`` into conditions, and compiles these to SQL, by the
table of ``operators``; ``full_text`` compiles full-text queries and their operators, and ``words``
the look-up of parts of texts for both.  Names of fields and values are parameters of the SQL.
"""

from ..database.statements import TRUE, Clause, compose, join_clauses, join_with_commas
from .conditions import (
    And,
    Comparison,
    Condition,
    FiltersParser,
    In,
    Near,
    Or,
    compile_conditions,
    exclude_field,
    parse_filters,
)
from .full_text import (
    MAX_FULL_TEXT_FIELDS,
    MAX_SUBSTRINGS,
    MAX_WORDS,
    MIN_SUBSTRING_LENGTH,
    FullTextOptions,
    FullTextQuery,
    compile_tsquery,
    has_too_many_words,
    parse_full_text_query,
    remove_operators,
)
from .operators import (
    MAX_SHOWN_LENGTH,
    TypedFields,
    compile_field_key,
    compile_value_key,
    find_id_range,
)
