"""The named schemas and answers of the document; each name begins with ``Datastore``."""

from __future__ import annotations

from typing import Any

from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

#: A JSON Schema, or another object of an OpenAPI document.
Schema = dict[str, Any]


def name_of(words: str) -> str:
    """Name a component after words with underscores between them."""
    camel = "".join(word.capitalize() for word in words.split("_"))
    return "Datastore" + camel.removeprefix("Datastore")


def ref(name: str) -> Schema:
    """Refer to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def response_ref(name: str) -> Schema:
    """Refer to an answer."""
    return {"$ref": f"#/components/responses/{name}"}


def register(registry: ComponentRegistry, schemas: Schema, responses: Schema) -> None:
    """Name schemas and answers in the document, once."""
    for kind, components in (
        (ResolvedComponent.SCHEMA, schemas),
        (ResolvedComponent.RESPONSE, responses),
    ):
        for name, schema in components.items():
            component = ResolvedComponent(name, kind, schema, name)  # type: ignore[no-untyped-call] # theirs
            registry.register_on_missing(component)


def record_of(members: Schema, *, optional: Schema | None = None, **more: Any) -> Schema:
    """Describe an object: members that are always there, and others."""
    properties = {**members, **(optional or {})}
    required = {"required": [*members]} if members else {}
    return {"type": "object", **required, "properties": properties, **more}


def list_of(items: Schema, **more: Any) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": items, **more}


def one_of(*forms: Schema) -> Schema:
    """Describe a value that has one of several forms."""
    return {"oneOf": [*forms]}


def enum_of(*texts: str) -> Schema:
    """Describe a text that is one of some."""
    said: Schema = {"const": texts[0]} if len(texts) == 1 else {"enum": [*texts]}
    return {"type": "string", **said}


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
NON_NEGATIVE_INTEGER: Schema = {"type": "integer", "minimum": 0}
BOOLEAN: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}
#: Any JSON value.
VALUE: Schema = {}
OBJECT: Schema = {"type": "object", "additionalProperties": VALUE}
