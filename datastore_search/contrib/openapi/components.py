"""The named components of the document (``Datastore…``), and the schemas of every envelope."""

from __future__ import annotations

from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from ...api.parameter_types import Schema
from ...api.schemas import BOOLEAN


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


HELP: Schema = {
    "type": "string",
    "format": "uri",
    "description": "Where the action is described.",
}


def build_success(*, is_one: bool) -> Schema:
    """Describe the member that distinguishes results from failures."""
    # Not a constant: generators of clients mistake it for the text "true".
    return {**BOOLEAN, "description": f"Always {str(is_one).lower()}."}
