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
from .components import ANY_VALUE, BOOLEAN, NULL, NUMBER, TEXT, Schema, list_of, one_of, schema_ref

#: Of one object or list.
_MAX_MEMBERS = MAX_OPERATIONS - 1

#: ``$and``, ``$or``, and names of fields; ``$$`` begins the name of a field that begins with ``$``.
_NAMES = r"^([^$]|\$\$|\$(and|or)$|$)"

_SCALARS = (TEXT, NUMBER, BOOLEAN, NULL)

#: The description and operand of each operator; the field's type restricts ``ANY_VALUE``.
_OPERATORS: dict[str, tuple[str, Schema]] = {
    "eq": ("Equal; a list is the value of a field of lists.", ANY_VALUE),
    "ieq": ("Equal to the text, ignoring case; for text fields.", TEXT),
    "in": ("Equal to one of the values.", list_of(ANY_VALUE, maxItems=MAX_VALUES)),
    "lt": ("Less than.", ANY_VALUE),
    "lte": ("Less than or equal to.", ANY_VALUE),
    "gt": ("Greater than.", ANY_VALUE),
    "gte": ("Greater than or equal to.", ANY_VALUE),
    "ne": ("Not equal; finds empty cells too.", ANY_VALUE),
    "ine": ("Not equal to the text, ignoring case; finds empty cells too.", TEXT),
    "contains": ("Holds the text, or, in a field of lists or JSON, the value.", ANY_VALUE),
    "icontains": ("Holds the text, ignoring case.", TEXT),
    "startswith": ("Begins with the text.", TEXT),
    "istartswith": ("Begins with the text, ignoring case.", TEXT),
    "isnull": ("Whether the cell is empty.", BOOLEAN),
}


def build_schemas() -> dict[str, Schema]:
    """Build the named schemas of ``filters``."""
    return {
        "DatastoreFilters": {
            "description": "Conditions of which all must hold, or a list of such objects, of which"
            f" one must hold. At most {MAX_OPERATIONS} operations, groups at most {MAX_DEPTH}"
            f" deep; a list of values is one operation. At most {MAX_VALUES:,} values in all"
            f" lists, and {MAX_TEXT_CONDITIONS} conditions with {', '.join(TEXT_OPERATORS)}.",
            **one_of(
                schema_ref("DatastoreConditions"),
                list_of(_ref_conditions(), maxItems=_MAX_MEMBERS),
            ),
            "examples": [{"subject": ["watershed", "survey"], "stage": "active"}],
        },
        "DatastoreConditions": _build_conditions(),
        "DatastoreCondition": _build_condition(),
        "DatastoreOperators": _build_operators(),
    }


def _ref_conditions() -> Schema:
    return {**schema_ref("DatastoreConditions"), "minProperties": 1}


def _build_conditions() -> Schema:
    group = list_of(_ref_conditions(), minItems=1, maxItems=_MAX_MEMBERS)
    return {
        "type": "object",
        "description": "Field → condition; `_id` is a field too. A field whose name begins with"
        " `$` is written with `$$`.",
        "maxProperties": _MAX_MEMBERS,
        "propertyNames": {"pattern": _NAMES},
        "properties": {
            "$and": {"description": "All of these hold.", **group},
            "$or": {"description": "One of these holds.", **group},
        },
        "additionalProperties": schema_ref("DatastoreCondition"),
    }


def _build_condition() -> Schema:
    return {
        "description": "A value that the field equals, a list of which it equals one, or operators."
        ' Values meet the field\'s type: `28` and `"28"` are the same for a number. Null finds'
        " empty cells, an empty list finds nothing.",
        **one_of(
            *_SCALARS,
            list_of(
                one_of(*_SCALARS, list_of(ANY_VALUE), schema_ref("DatastoreOperators")),
                maxItems=MAX_VALUES,
            ),
            schema_ref("DatastoreOperators"),
        ),
    }


def _build_operators() -> Schema:
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
