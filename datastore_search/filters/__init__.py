"""
What ``filters`` and ``q`` mean.

``grammar`` reads the parameter ``filters`` into conditions, ``clauses`` says a condition in SQL,
``questions`` a full-text query.  Names of fields and values only ever travel as parameters.
"""

from .clauses import (
    Clause,
    Types,
    compile_conditions,
    compile_field_key,
    compile_value_key,
    join_by_and,
)
from .full_text import MAX_WORDS, FullTextQuery, has_too_many_words, parse_full_text_query
from .grammar import And, Comparison, Condition, In, Or, parse_filters

__all__ = [
    "MAX_WORDS",
    "And",
    "Clause",
    "Comparison",
    "Condition",
    "FullTextQuery",
    "In",
    "Or",
    "Types",
    "compile_conditions",
    "compile_field_key",
    "compile_value_key",
    "has_too_many_words",
    "join_by_and",
    "parse_filters",
    "parse_full_text_query",
]
