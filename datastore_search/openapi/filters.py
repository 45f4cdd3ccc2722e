"""The grammar of ``filters`` in JSON Schema."""

from __future__ import annotations

from ..filters.grammar import (
    MAX_DEPTH,
    MAX_OPERATIONS,
    MAX_TEXT_CONDITIONS,
    MAX_VALUES,
    OPERATORS,
    TEXT_OPERATORS,
)
from .components import BOOLEAN, NULL, NUMBER, TEXT, VALUE, Schema, list_of, one_of, ref

#: Members of one object or list at most.
_MEMBERS_MOST = MAX_OPERATIONS - 1

#: ``$and``, ``$or``, and names of fields; ``$$`` begins the name of a field that begins with ``$``.
_NAMES = r"^([^$]|\$\$|\$(and|or)$|$)"

_SCALARS = (TEXT, NUMBER, BOOLEAN, NULL)

#: What each operator asks; without a schema, of any value that its field's type can read.
_OPERATORS: dict[str, tuple[str, Schema]] = {
    "eq": ("Equal; a list is the value of a field of lists.", VALUE),
    "in": ("Equal to one of the values.", list_of(VALUE, maxItems=MAX_VALUES)),
    "lt": ("Less than.", VALUE),
    "lte": ("Less than or equal to.", VALUE),
    "gt": ("Greater than.", VALUE),
    "gte": ("Greater than or equal to.", VALUE),
    "ne": ("Not equal; finds empty cells too.", VALUE),
    "contains": ("Holds the text, or, in a field of lists or JSON, the value.", VALUE),
    "icontains": ("Holds the text, ignoring case.", TEXT),
    "startswith": ("Begins with the text.", TEXT),
    "isnull": ("Whether the cell is empty.", BOOLEAN),
}


def schemas() -> dict[str, Schema]:
    """Give the components of ``filters``."""
    return {
        "DatastoreFilters": {
            "description": "Conditions of which all must hold, or a list of such objects, of which"
            f" one must hold. At most {MAX_OPERATIONS} operations, groups at most {MAX_DEPTH}"
            f" deep; a list of values is one operation. At most {MAX_VALUES:,} values in all"
            f" lists, and {MAX_TEXT_CONDITIONS} conditions with {', '.join(TEXT_OPERATORS)}.",
            **one_of(
                ref("DatastoreConditions"),
                list_of(_conditions(), maxItems=_MEMBERS_MOST),
            ),
            "examples": [{"subject": ["watershed", "survey"], "stage": "active"}],
        },
        "DatastoreConditions": _all_conditions(),
        "DatastoreCondition": _condition(),
        "DatastoreOperators": _operators(),
    }


def _conditions() -> Schema:
    return {**ref("DatastoreConditions"), "minProperties": 1}


def _all_conditions() -> Schema:
    group = list_of(_conditions(), minItems=1, maxItems=_MEMBERS_MOST)
    return {
        "type": "object",
        "description": "Field → condition; `_id` is a field too. A field whose name begins with"
        " `$` is written with `$$`.",
        "maxProperties": _MEMBERS_MOST,
        "propertyNames": {"pattern": _NAMES},
        "properties": {
            "$and": {"description": "All of these hold.", **group},
            "$or": {"description": "One of these holds.", **group},
        },
        "additionalProperties": ref("DatastoreCondition"),
    }


def _condition() -> Schema:
    return {
        "description": "A value that the field equals, a list of which it equals one, or operators."
        ' Values meet the field\'s type: `28` and `"28"` are the same for a number. Null finds'
        " empty cells, an empty list finds nothing.",
        **one_of(
            *_SCALARS,
            list_of(
                one_of(*_SCALARS, list_of(VALUE), ref("DatastoreOperators")),
                maxItems=MAX_VALUES,
            ),
            ref("DatastoreOperators"),
        ),
    }


def _operators() -> Schema:
    described = {name: _OPERATORS[name] for name in OPERATORS}
    return {
        "type": "object",
        "description": "Comparisons that must all hold.",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {
            name: {"description": meaning, **schema}
            for name, (meaning, schema) in described.items()
        },
    }
