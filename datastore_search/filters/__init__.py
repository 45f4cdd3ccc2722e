"""
What ``filters`` and ``q`` mean.

``grammar`` parses the parameter ``filters`` into conditions.  ``clauses`` compiles conditions to
SQL, and ``full_text`` full-text queries.  Names of fields and values are parameters of the SQL.
"""

from .clauses import (
    Clause,
    TypedFields,
    compile_conditions,
    compile_field_key,
    compile_value_key,
    join_clauses,
)
from .full_text import (
    MAX_WORDS,
    FullTextQuery,
    compile_tsquery,
    has_too_many_words,
    is_part_of_word,
    parse_full_text_query,
)
from .grammar import (
    MAX_SHOWN_LENGTH,
    And,
    Comparison,
    Condition,
    In,
    Or,
    exclude_field,
    parse_filters,
)

__all__ = [
    "MAX_SHOWN_LENGTH",
    "MAX_WORDS",
    "And",
    "Clause",
    "Comparison",
    "Condition",
    "FullTextQuery",
    "In",
    "Or",
    "TypedFields",
    "compile_conditions",
    "compile_field_key",
    "compile_tsquery",
    "compile_value_key",
    "exclude_field",
    "has_too_many_words",
    "is_part_of_word",
    "join_clauses",
    "parse_filters",
    "parse_full_text_query",
]
