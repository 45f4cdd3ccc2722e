"""The results of actions in JSON Schema: what they are built of, and what several have."""

from __future__ import annotations

from typing import Any

from ..field_types import field_types
from .parameters import ActionParameters, ParameterField, Schema


def build_name(words: str) -> str:
    """Build the name of a schema from words with underscores."""
    camel = "".join(word.capitalize() for word in words.split("_"))
    return "Datastore" + camel.removeprefix("Datastore")


def schema_ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def object_of(members: Schema, *, optional: Schema | None = None, **more: Any) -> Schema:
    """Describe an object with required and optional members; one that is both is required."""
    properties = {**members, **(optional or {}), **members}
    required = {"required": [*members]} if members else {}
    return {"type": "object", **required, "properties": properties, **more}


def list_of(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def one_of(*forms: Schema) -> Schema:
    return {"oneOf": [*forms]}


def enum_of(*texts: str) -> Schema:
    allowed: Schema = {"const": texts[0]} if len(texts) == 1 else {"enum": [*texts]}
    return {"type": "string", **allowed}


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
BOOLEAN: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}
#: Any JSON value.
ANY_VALUE: Schema = {}
OBJECT: Schema = {"type": "object", "additionalProperties": ANY_VALUE}

ID: Schema = {"type": "integer", "minimum": 1}
RESOURCE_ID: Schema = {"type": "string", "description": "The resource's id, whatever was asked."}
ROW = list_of(ANY_VALUE, description="The values of a record, in the order of `fields`.")
ROWS_OF_TEXT = {**TEXT, "description": "Rows that end in a line break, without a header."}
LIMIT = {**COUNT, "description": "The limit in force."}
FIELDS = list_of(schema_ref("DatastoreField"))
RECORDS = list_of(schema_ref("DatastoreRecord"))


def describe_field(**members: Schema) -> Schema:
    """Describe a field, perhaps with more members than its id, type and entry."""
    return object_of(
        {"id": TEXT, "type": schema_ref("DatastoreFieldType")},
        optional={"info": schema_ref("DatastoreFieldInfo"), **members},
    )


#: The named schemas of fields and records, to which the results refer.
COMMON_SCHEMAS: dict[str, Schema] = {
    "DatastoreField": describe_field(),
    "DatastoreFieldType": {
        **TEXT,
        "description": "A type of PostgreSQL; `_id` has `int`, ranks have `float`.",
        # Not an enumeration: generators of clients take `int4` and `_int4` for the same name.
        "examples": [*field_types, "int", "float"],
    },
    "DatastoreFieldInfo": {
        "type": "object",
        "description": "The entry of the data dictionary. `label` and `notes` are those for the"
        " language of the path; the translations are members such as `label_fr`. `unit` is what"
        " the numbers of the field count, `weight` what its words count in the order of results,"
        " and `is_name` says whether its values name the records.",
        "properties": {"label": TEXT, "notes": TEXT, "unit": ANY_VALUE, "weight": ANY_VALUE},
        "additionalProperties": ANY_VALUE,
    },
    "DatastoreRecord": {
        "type": "object",
        "description": "Field → value, in the order of `fields`; empty cells are null. Numbers"
        " have all their digits.",
        "properties": {"_id": ID},
        "additionalProperties": ANY_VALUE,
    },
}


def describe_values(name: str, field: ParameterField) -> Schema:
    """Describe the values of a parameter, or refer to their named schema."""
    component = field.get_component(name)
    return schema_ref(build_name(component)) if component else field.build_schema()


def describe_repeated(parameters: type[ActionParameters]) -> dict[str, Schema]:
    """Describe the parameters that an answer repeats, and what answers others."""
    fields = parameters.get_declared()
    repeated = {}
    for name, field in fields.items():
        if field.is_repeated_as_sent:
            repeated[name] = one_of(TEXT, list_of(TEXT))
        elif field.is_repeated:
            # Generators of clients cannot tell the objects of an answer from those that are sent.
            schema = ANY_VALUE if field.accepts_text else describe_values(name, field)
            repeated[name] = {"description": "As understood.", **schema}
    answered = (field.answers for field in fields.values() if field.answers)
    return repeated | {member.name: {**member.schema} for member in answered}
