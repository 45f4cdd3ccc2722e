"""Builders of JSON Schema, and the named components of the document (``Datastore…``)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

#: A JSON Schema, or another object of an OpenAPI document.
Schema = dict[str, Any]


def build_name(words: str) -> str:
    """Build the name of a component from words with underscores."""
    camel = "".join(word.capitalize() for word in words.split("_"))
    return "Datastore" + camel.removeprefix("Datastore")


def schema_ref(name: str) -> Schema:
    """Refer to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def response_ref(name: str) -> Schema:
    """Refer to an answer."""
    return {"$ref": f"#/components/responses/{name}"}


def register(registry: ComponentRegistry, schemas: Schema, responses: Schema) -> None:
    """Add named schemas and answers to the document, unless they are there."""
    for kind, components in (
        (ResolvedComponent.SCHEMA, schemas),
        (ResolvedComponent.RESPONSE, responses),
    ):
        for name, schema in components.items():
            component = ResolvedComponent(name, kind, schema, name)  # type: ignore[no-untyped-call] # drf-spectacular's
            registry.register_on_missing(component)


def object_of(members: Schema, *, optional: Schema | None = None, **more: Any) -> Schema:
    """Describe an object with required and optional members; one that is both is required."""
    properties = {**members, **(optional or {}), **members}
    required = {"required": [*members]} if members else {}
    return {"type": "object", **required, "properties": properties, **more}


def list_of(items: Schema, **more: Any) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": items, **more}


def one_of(*forms: Schema) -> Schema:
    """Describe a value that has one of several forms."""
    return {"oneOf": [*forms]}


def enum_of(*texts: str) -> Schema:
    """Describe a text that is one of several."""
    allowed: Schema = {"const": texts[0]} if len(texts) == 1 else {"enum": [*texts]}
    return {"type": "string", **allowed}


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
NON_NEGATIVE_INTEGER: Schema = {"type": "integer", "minimum": 0}
BOOLEAN: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}
#: Any JSON value.
ANY_VALUE: Schema = {}
OBJECT: Schema = {"type": "object", "additionalProperties": ANY_VALUE}
