"""The operations of the document: one for each action and method."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry
from rest_framework.status import HTTP_200_OK

from ...api.actions import Action
from ...downloads.parameters import DumpParameters
from . import errors, filters, parameters, results
from .components import Schema, build_name, register, schema_ref
from .examples import Example, select_examples, show_examples

_JSON = "application/json"

#: The groups of a viewer.
_READING, _WRITING, _ABOUT = "Datastore", "Datastore: writing", "Datastore: server"


class ActionSchema(AutoSchema):
    """One action, for drf-spectacular."""

    def __init__(self, action: Action, others: Sequence[str]) -> None:
        """``others`` are the other paths of the action."""
        super().__init__()
        self._action = action
        self._others = others

    def get_operation(
        self,
        path: str,
        path_regex: str,
        path_prefix: str,
        method: str,
        registry: ComponentRegistry,
    ) -> Schema:
        """Describe the action for one method."""
        self.registry, self.path, self.method = registry, path, method
        name = self._action.name
        prefix = path.rpartition("api/")[0]
        examples = select_examples(name, prefix)
        register(registry, self._build_schemas(), errors.build_responses(prefix))
        request = (
            {"parameters": parameters.build_query(self._action.parameters, examples[0])}
            if method == "GET"
            else self._build_body(examples)
        )
        return {
            "operationId": name if method == "POST" else f"{name}_by_get",
            "summary": str(self._action.help),
            "description": self._build_description(),
            "tags": [self._get_tag()],
            **request,
            "security": self._build_security(),
            "responses": self._build_responses(method, examples),
        }

    def _build_schemas(self) -> dict[str, Schema]:
        words = build_name(self._action.name)
        return {
            **filters.build_schemas(),
            **results.build_schemas(),
            **errors.build_schemas(),
            **parameters.build_choices(self._action.parameters),
            f"{words}Parameters": parameters.build_body(self._action.parameters),
            f"{words}Answer": results.build_answer(self._action.name),
        }

    def _build_description(self) -> str:
        same = ", ".join(f"`{address}`" for address in self._others)
        by = "POST" if self._action.is_writing else "GET and POST alike"
        return f"Answers {by}." + (f" Also at {same}." if same else "")

    def _get_tag(self) -> str:
        if self._action.is_writing:
            return _WRITING
        return _READING if self._action.name.startswith("datastore_") else _ABOUT

    def _build_security(self) -> list[Schema]:
        optional: list[Schema] = [] if self._action.is_writing else [{}]
        return [*optional, *self.get_auth()]

    # Requests -------------------------------------------------------------------------------------

    def _build_body(self, examples: Sequence[Example]) -> Schema:
        words, needed = build_name(self._action.name), bool(self._action.parameters.needed)
        body = {
            "schema": schema_ref(f"{words}Parameters"),
            **show_examples(examples, lambda example: example.sent),
        }
        # Forms are accepted, too, but generators of clients cannot choose between two kinds.
        return {"requestBody": {"required": needed, "content": {_JSON: body}}}

    # Answers --------------------------------------------------------------------------------------

    def _build_responses(self, method: str, examples: Sequence[Example]) -> dict[str, Schema]:
        if method == "GET":
            examples = examples[:1]
        schema = schema_ref(f"{build_name(self._action.name)}Answer")
        result = {
            "description": "The result.",
            "content": {_JSON: {"schema": schema, **_show_answers(examples, HTTP_200_OK)}},
        }
        failed = {
            str(code): errors.build_response(code, _show_answers(examples, code))
            for code in errors.list_statuses(method)
        }
        return {"200": result, **failed}


class DumpSchema(AutoSchema):
    """The dump, for drf-spectacular."""

    def get_operation(
        self,
        path: str,
        path_regex: str,
        path_prefix: str,
        method: str,
        registry: ComponentRegistry,
    ) -> Schema:
        """Describe the file."""
        self.registry, self.path, self.method = registry, path, method
        (example,) = select_examples("dump")
        named = {**filters.build_schemas(), **results.build_schemas(), **errors.build_schemas()}
        prefix = path.rpartition("datastore/dump/")[0]
        register(
            registry,
            {**named, **parameters.build_choices(DumpParameters)},
            errors.build_responses(prefix),
        )
        return {
            "operationId": "datastore_dump",
            "summary": _("Download the records of a resource as a file."),
            "tags": [_READING],
            "parameters": [
                _build_name_parameter(example),
                *parameters.build_query(DumpParameters, example),
            ],
            "security": [{}, *self.get_auth()],
            "responses": {
                "200": results.build_dump(example),
                **{
                    str(code): errors.build_response(code, {})
                    for code in errors.list_statuses(method)
                },
            },
        }


def _build_name_parameter(example: Example) -> Schema:
    return {
        "name": "name",
        "in": "path",
        "required": True,
        "description": "The id or an alias of a resource.",
        "schema": {"type": "string", "minLength": 1},
        **show_examples([example], lambda each: each.sent["name"]),
    }


def _show_answers(examples: Sequence[Example], code: int) -> Schema:
    return show_examples(
        [example for example in examples if example.status == code], lambda example: example.answer
    )
