"""The operations of the document: one for each action and method, though they share a URL."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from django.conf import settings
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent
from rest_framework.views import APIView

from ...api.actions import Action, actions
from ...api.envelope import ERROR_TYPES
from ...api.parameters import ActionParameters, Schema
from ...api.schemas import COMMON_SCHEMAS, ROW, TEXT, build_name, list_of, object_of, schema_ref
from ...api.views import ActionView, VersionView
from ...downloads.formats import GZIP_TYPE, formats
from ...downloads.parameters import DumpParameters
from ...downloads.views import DumpView
from . import schemas
from .examples import Example, select_examples, show_examples

_JSON = "application/json"

#: How a viewer groups the operations.
_READING, _WRITING, _ABOUT = "Datastore", "Datastore: writing", "Datastore: server"


class OperationSchema(AutoSchema):
    """One operation, for drf-spectacular, with the named schemas that all of them refer to."""

    serializer: type[ActionParameters]

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> Schema:
        self.registry, self.path, self.method = registry, path, method
        prefix = path[: max(path.rfind("api/"), path.rfind("datastore/dump/"))]
        for kind, components in (
            (ResolvedComponent.SCHEMA, self.build_schemas()),
            (ResolvedComponent.RESPONSE, schemas.build_error_responses(prefix)),
        ):
            for name, schema in components.items():
                component = ResolvedComponent(name, kind, schema, name)  # type: ignore[no-untyped-call] # drf-spectacular has no types
                registry.register_on_missing(component)
        return self.build_operation(method, prefix)

    def build_schemas(self) -> dict[str, Schema]:
        return {
            **schemas.build_filter_schemas(),
            **COMMON_SCHEMAS,
            **schemas.build_error_schemas(),
            **{
                build_name(name): field.build_schema()
                for name, field in self.serializer.get_declared().items()
                if field.get_component(name) == name
            },
        }

    @abstractmethod
    def build_operation(self, method: str, prefix: str) -> Schema:
        """Build the operation; URLs are under a prefix such as ``/vi/``."""

    def build_responses(
        self, result: Schema, method: str, examples: Sequence[Example] = ()
    ) -> dict[str, Schema]:
        failed = {
            str(code): schemas.build_error_response(code, _show_answers(examples, code))
            for code in ERROR_TYPES
            # Answered only to a request with a body.
            if method == "POST" or code != HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        }
        return {"200": result, **failed}


class ActionSchema(OperationSchema):
    def __init__(self, action: Action, others: Sequence[str]) -> None:
        super().__init__()
        self._action = action
        self._others = others
        self.serializer = action.parameters

    def build_schemas(self) -> dict[str, Schema]:
        words = build_name(self._action.name)
        members = {"help": schemas.HELP, "success": schemas.SUCCESS[True]}
        return {
            **super().build_schemas(),
            f"{words}Parameters": schemas.build_body(self.serializer),
            **self._action.build_schemas(),
            f"{words}Answer": object_of({**members, "result": self._action.result}),
        }

    def build_operation(self, method: str, prefix: str) -> Schema:
        name = self._action.name
        examples = select_examples(name, prefix)
        if method == "GET":
            examples = examples[:1]
            request: Schema = {"parameters": schemas.build_query(self.serializer, examples)}
        else:
            body = {
                "schema": schema_ref(f"{build_name(name)}Parameters"),
                **show_examples(examples, lambda example: example.sent),
            }
            # Forms are accepted, too, but generators of clients cannot choose between two kinds.
            needed = bool(self.serializer.needed)
            request = {"requestBody": {"required": needed, "content": {_JSON: body}}}
        schema = schema_ref(f"{build_name(name)}Answer")
        content = {_JSON: {"schema": schema, **_show_answers(examples, HTTPStatus.OK)}}
        result = {"description": "The result.", "content": content}
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
        fields = list_of(schema_ref("DatastoreField"))
        table = object_of({"fields": fields, "records": list_of(ROW)})
        binary: Schema = {"type": "string", "format": "binary"}
        texts: dict[str, Schema] = {
            kind.content_type.partition(";")[0]: {
                "schema": table if name == "json" else TEXT if kind.is_text else binary
            }
            for name, kind in formats.items()
        }
        texts[GZIP_TYPE] = {"schema": binary}
        texts["text/csv"].update(show_examples([example], lambda each: each.answer))
        name_header = {"schema": TEXT, "description": "The file's name."}
        file = {
            "description": "The file. CSV and TSV have a header.",
            "headers": {"Content-Disposition": name_header},
            "content": texts,
        }
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
                *schemas.build_query(self.serializer, [example]),
            ],
            "security": [{}, *self.get_auth()],
            "responses": self.build_responses(file, method),
        }


def _show_answers(examples: Sequence[Example], code: int) -> Schema:
    return show_examples(
        [example for example in examples if example.status == code], lambda example: example.answer
    )


class BareToken(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call] # its metaclass is untyped
    target_class = "datastore_search.api.authentication.BareTokenAuthentication"
    name = "datastoreToken"

    #: Where it is sent: in a header or a cookie, and the name of that.
    place: ClassVar[tuple[str, str]] = "header", "Authorization"
    description: ClassVar[str] = (
        "The whole value is the token, without “Bearer”. Reading what is public needs none; a"
        " token that is not valid counts as none."
    )

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        kind, name = self.place
        return {"type": "apiKey", "in": kind, "name": name, "description": self.description}


class CkanKey(BareToken):  # type: ignore[no-untyped-call] # its metaclass is untyped
    """The token in the header of older clients of CKAN."""

    target_class = "datastore_search.api.authentication.CkanKeyAuthentication"
    name = "datastoreKey"
    place = "header", "X-CKAN-API-Key"
    description = "The same token, for clients that send no `Authorization`."


class Session(BareToken):  # type: ignore[no-untyped-call] # its metaclass is untyped
    target_class = "datastore_search.downloads.views.SessionAuthentication"
    name = "datastoreSession"
    place = "cookie", settings.SESSION_COOKIE_NAME
    description = "The session of a user who is signed in to the portal."


#: A path, its pattern, a method and the view, as in drf-spectacular.
Endpoint = tuple[str, str, str, Any]

_ACTION = "{action}"


def describe_actions(endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    """
    Replace the URL of all actions by a path for each action.

    The document has each action once, at the first path that the portal gives it, under the locale
    of the request for the document.
    """
    found: list[Endpoint] = []
    # ``api/3`` itself is left out.
    ours: dict[type[APIView], list[Endpoint]] = {ActionView: [], VersionView: [], DumpView: []}
    for endpoint in endpoints:
        ours.get(endpoint[3].cls, found).append(endpoint)
    addresses = list(dict.fromkeys(path for path, *_others in ours[ActionView]))
    # The sort is stable: the first path with a version comes first.
    addresses.sort(key=lambda path: not path.endswith(f"api/3/action/{_ACTION}"))
    for action in actions.values() if addresses else ():
        first, *others = [address.replace(_ACTION, action.name) for address in addresses]
        view = ours[ActionView][0][3]
        # A schema belongs to one instance of a view: each method has its own.
        found += [
            (first, first, method, _build_view(view, ActionSchema(action, others)))
            for method in (("POST",) if action.is_writing else ("GET", "POST"))
        ]
    for path, regex, method, view in ours[DumpView][:1]:
        found.append((path, regex, method, _build_view(view, DumpSchema())))
    return found


def _build_view(view: Any, schema: AutoSchema) -> Callable[..., Any]:
    described: Callable[..., Any] = view.cls.as_view(**{**view.initkwargs, "schema": schema})
    return described
