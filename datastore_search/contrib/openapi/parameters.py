"""
The parameters of the actions in JSON Schema: in a query string, and in a JSON body.

Each has the form of its type (``api.parameters``), which is one of those that the API accepts.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...api.parameters import ActionParameters, ParameterField, Schema
from ...api.schemas import TEXT, build_name, describe_values, one_of, schema_ref
from .examples import Example, show_examples


def build_choices(parameters: type[ActionParameters]) -> dict[str, Schema]:
    """Build a named schema of each parameter that is a choice."""
    return {
        build_name(name): field.build_schema()
        for name, field in parameters.get_declared().items()
        if hasattr(field, "choices")
    }


def build_query(parameters: type[ActionParameters], examples: Sequence[Example]) -> list[Schema]:
    """Describe the query string that holds the parameters of an action, and show examples."""
    required, properties = parameters.list_required(), _build_object(parameters)["properties"]
    return [
        {
            "name": name,
            "in": "query",
            "description": schema.pop("description"),
            **({"required": True} if name in required else {}),
            **_build_query_schema(schema, _show_examples(examples, name)),
        }
        for name, schema in properties.items()
    ]


def _show_examples(examples: Sequence[Example], name: str) -> Schema:
    return show_examples(
        [each for each in examples if name in each.sent], lambda each: each.sent[name]
    )


def _build_query_schema(schema: Schema, examples: Schema) -> Schema:
    """Describe a parameter of a query string; the text of objects is JSON."""
    schema = schema.get("oneOf", [schema])[0]
    item = schema.get("items", schema)
    if item.get("type") != "object" and item != _FILTERS and "oneOf" not in item:
        return {"schema": schema, **examples}
    return {"content": {"application/json": {"schema": schema, **examples}}}


def build_body(parameters: type[ActionParameters]) -> Schema:
    """Describe the JSON object that holds the parameters of an action."""
    # If the first of several parameters is not sent, one of the others must be. Written with
    # ``anyOf``, generators of clients would make nothing of the whole object.
    first, *others = [{"required": [name]} for name in parameters.needed] or [{}]
    return {
        **_build_object(parameters),
        "additionalProperties": parameters.accepts_others,
        **({"if": {"not": {"anyOf": others}}, "then": first} if others else {}),
    }


_FILTERS = schema_ref("DatastoreFilters")


def _build_object(parameters: type[ActionParameters]) -> Schema:
    def build(name: str, field: ParameterField) -> Schema:
        schema = describe_values(name, field)
        # Generators of clients take two lists of objects of one class for the same.
        return one_of(schema, TEXT) if field.accepts_text else schema

    return parameters.build_schema(required=parameters.list_required(), build=build)
