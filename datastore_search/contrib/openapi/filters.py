"""The grammar of ``filters`` in JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping

from ...api.parameters import Schema
from ...api.schemas import ANY_VALUE, BOOLEAN, NULL, NUMBER, TEXT, list_of, one_of, schema_ref
from ...filters.conditions import MAX_DEPTH, MAX_OPERATIONS, MAX_TEXT_CONDITIONS, MAX_VALUES
from ...filters.operators import TEXT_OPERATORS, Operand, operators

#: Of one object or list.
_MAX_MEMBERS = MAX_OPERATIONS - 1

#: ``$and``, ``$or``, and names of fields; ``$$`` begins the name of a field that begins with ``$``.
_NAMES = r"^([^$]|\$\$|\$(and|or)$|$)"

#: Operands with a schema of their own; the type of the field decides the others.
_OPERANDS: Mapping[Operand, Schema] = {
    Operand.TEXT: TEXT,
    Operand.LIST: list_of(ANY_VALUE, maxItems=MAX_VALUES),
    Operand.BOOLEAN: BOOLEAN,
}


def build_schemas() -> dict[str, Schema]:
    conditions = {**schema_ref("DatastoreConditions"), "minProperties": 1}
    group = list_of(conditions, minItems=1, maxItems=_MAX_MEMBERS)
    return {
        "DatastoreFilters": {
            "description": "Conditions of which all must hold, or a list of such objects, of which"
            f" one must hold. At most {MAX_OPERATIONS} operations, groups at most {MAX_DEPTH}"
            f" deep; a list of values is one operation. At most {MAX_VALUES:,} values in all"
            f" lists, and {MAX_TEXT_CONDITIONS} conditions with {', '.join(TEXT_OPERATORS)}.",
            **one_of(
                schema_ref("DatastoreConditions"),
                list_of(conditions, maxItems=_MAX_MEMBERS),
            ),
            "examples": [{"subject": ["watershed", "survey"], "stage": "active"}],
        },
        "DatastoreConditions": {
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
        },
        "DatastoreCondition": {
            "description": "A value that the field equals, a list of which it equals one, or"
            ' operators. Values meet the field\'s type: `28` and `"28"` are the same for a number.'
            " Null finds empty cells, an empty list finds nothing.",
            **one_of(
                *(TEXT, NUMBER, BOOLEAN, NULL),
                # Generators of clients make no types of lists whose items may be null.
                list_of(ANY_VALUE, maxItems=MAX_VALUES),
                schema_ref("DatastoreOperators"),
            ),
        },
        "DatastoreOperators": {
            "type": "object",
            "description": "Comparisons that must all hold.",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {
                each.name: {"description": str(each.help), **_OPERANDS.get(each.operand, ANY_VALUE)}
                for each in operators.values()
            },
        },
    }
