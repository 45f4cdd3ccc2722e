"""
What ``filters`` and ``q`` mean.

``grammar`` reads the parameter ``filters`` into conditions, ``clauses`` says a condition in SQL,
``questions`` a full-text query.  Names of fields and values only ever travel as parameters.
"""

from .clauses import Clause, Types, all_of, key_of_field, key_of_value, meets
from .full_text import MAX_WORDS, Question, has_too_many_words, questions_of
from .grammar import AllOf, AnyOf, Comparison, Condition, OneOf, parse_filters

__all__ = [
    "MAX_WORDS",
    "AllOf",
    "AnyOf",
    "Clause",
    "Comparison",
    "Condition",
    "OneOf",
    "Question",
    "Types",
    "all_of",
    "has_too_many_words",
    "key_of_field",
    "key_of_value",
    "meets",
    "parse_filters",
    "questions_of",
]
