"""The operations of the document: one for each action and method."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from django.utils.translation import gettext as _
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent
from rest_framework.status import HTTP_200_OK

from ...api.actions import Action
from ...api.parameters import ActionParameters, Schema
from ...api.schemas import (
    COMMON_SCHEMAS,
    ROW,
    TEXT,
    build_name,
    list_of,
    object_of,
    schema_ref,
)
from ...downloads.formats import GZIP_TYPE, formats
from ...downloads.parameters import DumpParameters
from . import errors, filters, parameters
from .examples import Example, select_examples, show_examples

_JSON = "application/json"

#: How a viewer groups the operations.
_READING, _WRITING, _ABOUT = "Datastore", "Datastore: writing", "Datastore: server"


class OperationSchema(AutoSchema):
    """One operation, for drf-spectacular, with the named schemas that all of them refer to."""

    #: What it is called with.
    serializer: type[ActionParameters]

    def get_operation(
        self,
        path: str,
        path_regex: str,
        path_prefix: str,
        method: str,
        registry: ComponentRegistry,
    ) -> Schema:
        self.registry, self.path, self.method = registry, path, method
        prefix = path[: max(path.rfind("api/"), path.rfind("datastore/dump/"))]
        for kind, components in (
            (ResolvedComponent.SCHEMA, self.build_schemas()),
            (ResolvedComponent.RESPONSE, errors.build_responses(prefix)),
        ):
            for name, schema in components.items():
                component = ResolvedComponent(name, kind, schema, name)  # type: ignore[no-untyped-call] # drf-spectacular has no types
                registry.register_on_missing(component)
        return self.build_operation(method, prefix)

    def build_schemas(self) -> dict[str, Schema]:
        return {
            **filters.build_schemas(),
            **COMMON_SCHEMAS,
            **errors.build_schemas(),
            **parameters.build_choices(self.serializer),
        }

    @abstractmethod
    def build_operation(self, method: str, prefix: str) -> Schema:
        """Build the operation; URLs are under a prefix such as ``/vi/``."""

    def build_responses(
        self, result: Schema, method: str, examples: Sequence[Example] = ()
    ) -> dict[str, Schema]:
        failed = {
            str(code): errors.build_response(code, _show_answers(examples, code))
            for code in errors.list_statuses(method)
        }
        return {"200": result, **failed}


class ActionSchema(OperationSchema):
    def __init__(self, action: Action, others: Sequence[str]) -> None:
        """``others`` are the other paths of the action."""
        super().__init__()
        self._action = action
        self._others = others
        self.serializer = action.parameters

    def build_schemas(self) -> dict[str, Schema]:
        words = build_name(self._action.name)
        return {
            **super().build_schemas(),
            f"{words}Parameters": parameters.build_body(self.serializer),
            **self._action.build_schemas(),
            f"{words}Answer": object_of(
                {
                    "help": errors.HELP,
                    "success": errors.build_success(is_one=True),
                    "result": self._action.result,
                }
            ),
        }

    def build_operation(self, method: str, prefix: str) -> Schema:
        name = self._action.name
        examples = select_examples(name, prefix)
        if method == "GET":
            examples = examples[:1]
            request: Schema = {"parameters": parameters.build_query(self.serializer, examples)}
        else:
            body = {
                "schema": schema_ref(f"{build_name(name)}Parameters"),
                **show_examples(examples, lambda example: example.sent),
            }
            # Forms are accepted, too, but generators of clients cannot choose between two kinds.
            needed = bool(self.serializer.needed)
            request = {"requestBody": {"required": needed, "content": {_JSON: body}}}
        result = {
            "description": "The result.",
            "content": {
                _JSON: {
                    "schema": schema_ref(f"{build_name(name)}Answer"),
                    **_show_answers(examples, HTTP_200_OK),
                }
            },
        }
        is_writing, is_of_records = self._action.is_writing, name.startswith("datastore_")
        optional: list[Schema] = [] if is_writing else [{}]
        same = ", ".join(f"`{address}`" for address in self._others)
        by = "POST" if is_writing else "GET and POST alike"
        return {
            "operationId": name if method == "POST" else f"{name}_by_get",
            "summary": str(self._action.help),
            "description": f"Answers {by}." + (f" Also at {same}." if same else ""),
            "tags": [_WRITING if is_writing else _READING if is_of_records else _ABOUT],
            **request,
            "security": [*optional, *self.get_auth()],
            "responses": self.build_responses(result, method, examples),
        }


class DumpSchema(OperationSchema):
    serializer = DumpParameters

    def build_operation(self, method: str, prefix: str) -> Schema:
        (example,) = select_examples("dump")
        return {
            "operationId": "datastore_dump",
            "summary": _("Download the records of a resource as a file."),
            "tags": [_READING],
            "parameters": [
                {
                    "name": "name",
                    "in": "path",
                    "required": True,
                    "description": "The id or an alias of a resource.",
                    "schema": {"type": "string", "minLength": 1},
                    **show_examples([example], lambda each: each.sent["name"]),
                },
                *parameters.build_query(self.serializer, [example]),
            ],
            "security": [{}, *self.get_auth()],
            "responses": self.build_responses(_build_file(example), method),
        }


def _build_file(example: Example) -> Schema:
    binary: Schema = {"type": "string", "format": "binary"}
    table = object_of({"fields": list_of(schema_ref("DatastoreField")), "records": list_of(ROW)})
    texts: dict[str, Schema] = {
        kind.content_type.partition(";")[0]: {
            "schema": table if name == "json" else TEXT if kind.is_text else binary
        }
        for name, kind in formats.items()
    }
    texts[GZIP_TYPE] = {"schema": binary}
    texts["text/csv"].update(show_examples([example], lambda each: each.answer))
    return {
        "description": "The file. CSV and TSV have a header.",
        "headers": {"Content-Disposition": {"schema": TEXT, "description": "The file's name."}},
        "content": texts,
    }


def _show_answers(examples: Sequence[Example], code: int) -> Schema:
    return show_examples(
        [example for example in examples if example.status == code], lambda example: example.answer
    )
