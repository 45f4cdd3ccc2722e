"""The operations of the document: one for each action and method."""

from __future__ import annotations

from collections.abc import Sequence

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry
from rest_framework.status import HTTP_200_OK

from ..api.actions import Action
from ..api.dumping.parameters import DumpParameters
from . import errors, filters, parameters, results
from .components import NON_NEGATIVE_INTEGER, Schema, name_of, record_of, ref, register
from .examples import Example, examples_of, shown

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"

#: The groups of a viewer.
_READING, _WRITING, _ABOUT = "Datastore", "Datastore: writing", "Datastore: server"


class ActionSchema(AutoSchema):
    """One action, for drf-spectacular."""

    def __init__(self, action: Action, others: Sequence[str]) -> None:
        """``others`` are the addresses under which the action is there too."""
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
        """Describe the action, asked by one method."""
        self.registry, self.path, self.method = registry, path, method
        name = self._action.name
        prefix = path.rpartition("api/")[0]
        examples = examples_of(name, prefix)
        register(registry, self._schemas(), errors.responses(prefix))
        asked = self._query(examples) if method == "GET" else self._body(examples)
        return {
            "operationId": name if method == "POST" else f"{name}_by_get",
            "summary": str(self._action.help),
            "description": self._description(),
            "tags": [self._tag()],
            **asked,
            "security": self._security(),
            "responses": self._responses(method, examples),
        }

    def _schemas(self) -> dict[str, Schema]:
        words = name_of(self._action.name)
        return {
            **filters.schemas(),
            **results.schemas(),
            **errors.schemas(),
            **parameters.choices(self._action.parameters),
            f"{words}Parameters": parameters.body(self._action.parameters),
            f"{words}Form": parameters.form(self._action.parameters),
            f"{words}Answer": results.answer(self._action.name),
        }

    def _description(self) -> str:
        same = ", ".join(f"`{address}`" for address in self._others)
        by = "POST" if self._action.is_writing else "GET and POST alike"
        return f"Answers {by}." + (f" Also at {same}." if same else "")

    def _tag(self) -> str:
        if self._action.is_writing:
            return _WRITING
        return _READING if self._action.name.startswith("datastore_") else _ABOUT

    def _security(self) -> list[Schema]:
        optional: list[Schema] = [] if self._action.is_writing else [{}]
        return [*optional, *self.get_auth()]

    # Asking ---------------------------------------------------------------------------------------

    def _query(self, examples: Sequence[Example]) -> Schema:
        return {"parameters": parameters.query(self._action.parameters, examples[0])}

    def _body(self, examples: Sequence[Example]) -> Schema:
        words, needed = name_of(self._action.name), bool(self._action.parameters.needed)
        body = {
            "schema": ref(f"{words}Parameters"),
            **shown(examples, lambda example: example.sent),
        }
        form = {
            "schema": ref(f"{words}Form"),
            **shown(examples[:1], lambda example: example.as_form),
        }
        # Generators of clients cannot tell two kinds of form apart, so one has to do.
        return {"requestBody": {"required": needed, "content": {_JSON: body, _FORM: form}}}

    # Answers --------------------------------------------------------------------------------------

    def _responses(self, method: str, examples: Sequence[Example]) -> dict[str, Schema]:
        if method == "GET":
            examples = examples[:1]
        schema = ref(f"{name_of(self._action.name)}Answer")
        found = {
            "description": "The result.",
            "content": {_JSON: {"schema": schema, **_answers(examples, HTTP_200_OK)}},
        }
        failed = {
            str(code): errors.response(code, _answers(examples, code))
            for code in errors.of_method(method)
        }
        kept = _UNCHANGED if method == "GET" and self._action.name in _KEPT else {}
        return {"200": found, **kept, **failed}


#: Actions whose answers have an ``ETag``.
_KEPT = frozenset({"datastore_search", "datastore_info"})

_UNCHANGED: Schema = {
    "304": {"description": "Nothing has changed since the answer whose `ETag` was sent."}
}


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
        (example,) = examples_of("dump")
        named = {**filters.schemas(), **results.schemas(), **errors.schemas()}
        prefix = path.rpartition("datastore/dump/")[0]
        register(
            registry, {**named, **parameters.choices(DumpParameters)}, errors.responses(prefix)
        )
        return {
            "operationId": "datastore_dump",
            "summary": "Download the records of a resource as a file.",
            "tags": [_READING],
            "parameters": [_name(example), *parameters.query(DumpParameters, example)],
            "security": [{}, *self.get_auth()],
            "responses": {
                "200": results.dump(example),
                **_UNCHANGED,
                **{str(code): errors.response(code, {}) for code in errors.of_method(method)},
            },
        }


def _name(example: Example) -> Schema:
    return {
        "name": "name",
        "in": "path",
        "required": True,
        "description": "The id or an alias of a resource.",
        "schema": {"type": "string", "minLength": 1},
        **shown([example], lambda each: each.sent["name"]),
    }


def _answers(examples: Sequence[Example], code: int) -> Schema:
    return shown(
        [example for example in examples if example.status == code], lambda example: example.answer
    )


class VersionSchema(AutoSchema):
    """``api/3``, for drf-spectacular."""

    def get_operation(
        self,
        path: str,
        path_regex: str,
        path_prefix: str,
        method: str,
        registry: ComponentRegistry,
    ) -> Schema:
        """Describe the version of the action API."""
        version = record_of({"version": NON_NEGATIVE_INTEGER})
        return {
            "operationId": "api_version",
            "summary": "Say the version of the action API.",
            "tags": [_ABOUT],
            "security": [{}],
            "responses": {
                "200": {
                    "description": "The only version there is.",
                    "content": {_JSON: {"schema": version, "example": {"version": 3}}},
                }
            },
        }
