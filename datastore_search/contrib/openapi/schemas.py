"""What the operations refer to, in JSON Schema: parameters, ``filters`` and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from django.db.utils import OperationalError
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions as rest

from ...api.envelope import ERROR_TYPES, describe_error
from ...api.parameters import (
    ActionParameters,
    JsonField,
    NonNegativeIntegerField,
    ParameterField,
    Schema,
)
from ...api.schemas import (
    ANY_VALUE,
    BOOLEAN,
    NULL,
    NUMBER,
    TEXT,
    describe_values,
    enum_of,
    list_of,
    object_of,
    one_of,
    schema_ref,
)
from ...conf import conf
from ...filters.conditions import MAX_DEPTH, MAX_OPERATIONS, MAX_TEXT_CONDITIONS, MAX_VALUES
from ...filters.operators import TEXT_OPERATORS, Operand, operators
from ...messages.access import AnonymousDenied, UnknownResource
from ...messages.requests import NotAnObject, RequestTooLarge, UnsupportedContentType
from .examples import PORTAL, SURVEY, Example, show_examples


def build_query(parameters: type[ActionParameters], examples: Sequence[Example]) -> list[Schema]:
    """Describe the parameters of a query string; the text of objects is JSON."""
    required, fields = parameters.list_required(), parameters.get_declared()

    def build(name: str, described: Schema) -> Schema:
        description = described.pop("description")
        schema = described.get("oneOf", [described])[0]
        item = schema.get("items", schema)
        is_json = item.get("type") == "object" or "oneOf" in item
        is_json = is_json or isinstance(fields[name], JsonField)
        chosen = [each for each in examples if name in each.sent]
        shown = {"schema": schema, **show_examples(chosen, lambda each: each.sent[name])}
        if is_json:
            shown = {"content": {"application/json": shown}}
        return {
            "name": name,
            "in": "query",
            "description": description,
            **({"required": True} if name in required else {}),
            **shown,
        }

    return [build(*each) for each in _build_object(parameters)["properties"].items()]


def build_body(parameters: type[ActionParameters]) -> Schema:
    # If the first of several parameters is not sent, one of the others must be. Written with
    # ``anyOf``, generators of clients would make nothing of the whole object.
    first, *others = [{"required": [name]} for name in parameters.needed] or [{}]
    return {
        **_build_object(parameters),
        "additionalProperties": parameters.accepts_others,
        **({"if": {"not": {"anyOf": others}}, "then": first} if others else {}),
    }


def _build_object(parameters: type[ActionParameters]) -> Schema:
    def build(name: str, field: ParameterField) -> Schema:
        schema = describe_values(name, field)
        # Generators of clients take two lists of objects of one class for the same.
        return one_of(schema, TEXT) if field.accepts_text else schema

    return parameters.build_schema(required=parameters.list_required(), build=build)


# The grammar of ``filters`` -----------------------------------------------------------------------

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


def build_filter_schemas() -> dict[str, Schema]:
    conditions = {**schema_ref("DatastoreConditions"), "minProperties": 1}
    group = list_of(conditions, minItems=1, maxItems=_MAX_MEMBERS)
    return {
        "DatastoreFilters": {
            "description": "Conditions of which all must hold, or a list of such objects, of which"
            f" one must hold. At most {MAX_OPERATIONS} operations, groups at most {MAX_DEPTH}"
            f" deep; a list of values is one operation. At most {MAX_VALUES:,} values in all"
            f" lists, and {MAX_TEXT_CONDITIONS} conditions with {', '.join(TEXT_OPERATORS)}.",
            **one_of(schema_ref("DatastoreConditions"), list_of(conditions, maxItems=_MAX_MEMBERS)),
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


# Failures: a response and an example for each status, in the active language ----------------------

#: When each status is answered.
_DESCRIPTIONS: Mapping[int, str | Promise] = {
    400: _("The request cannot be read, or there is no such action."),
    403: _("The user may not do this, or no valid token was sent."),
    404: _("There is no such resource, or it has no table."),
    405: _("This address does not answer that method."),
    409: _("Parameters are missing, unknown or wrong, or the search took too long."),
    413: _("The body or the query string is larger than the portal allows."),
    415: _("The body is neither a form nor JSON."),
    429: _("The portal limits requests; `Retry-After` is the number of seconds to wait."),
    500: _("An error of the server; its log has the details."),
    503: _("The portal is busy, or the database cannot be reached; ask again later."),
}

HELP: Schema = {"type": "string", "format": "uri", "description": "Where the action is described."}

#: Of results and of failures; no constants, which generators of clients mistake for texts.
SUCCESS: Mapping[bool, Schema] = {
    each: {**BOOLEAN, "description": f"Always {str(each).lower()}."} for each in (True, False)
}

_RETRY_AFTER: Schema = {"headers": {"Retry-After": {"schema": TEXT, "description": "Seconds."}}}


def build_error_schemas() -> dict[str, Schema]:
    built = {}
    for code, name in ERROR_TYPES.items():
        kind = enum_of(name)
        error = object_of({"__type": kind, "message": TEXT})
        if code == HTTPStatus.CONFLICT:
            row = {
                "type": "integer",
                "minimum": 0,
                "description": "The first record at fault of those sent, counted from 0.",
            }
            error = object_of(
                {"__type": kind},
                optional={"records_row": row, "info": object_of({"orig": list_of(TEXT)})},
                minProperties=2,
                additionalProperties={
                    "description": "What is wrong with the parameter of this name; `__extras` has"
                    " the unknown parameters.",
                    **list_of(TEXT, minItems=1),
                },
            )
        envelope = {"help": HELP, "success": SUCCESS[False], "error": error}
        built[_build_name(code)] = object_of(envelope)
    return built


def build_error_responses(prefix: str) -> dict[str, Schema]:
    negative = str(NonNegativeIntegerField.default_error_messages["negative"])
    exceptions: Mapping[int, Exception] = {
        400: NotAnObject(),
        403: AnonymousDenied(resource=SURVEY),
        404: UnknownResource(resource=SURVEY),
        405: rest.MethodNotAllowed("DELETE"),
        409: rest.ValidationError({"limit": [negative]}),
        413: RequestTooLarge(most=conf.MAX_ANONYMOUS_BODY_BYTES),
        415: UnsupportedContentType(kind="text/plain"),
        429: rest.Throttled(wait=12),
        500: RuntimeError(),
        503: OperationalError(),
    }
    responses = {}
    for code in ERROR_TYPES:
        status, members = describe_error(exceptions[code])
        example = {
            "help": f"{PORTAL}{prefix}api/3/action/help_show?name=datastore_search",
            "success": False,
            "error": {"__type": ERROR_TYPES[status], **members},
        }
        content = {"schema": schema_ref(_build_name(code)), "example": example}
        responses[_build_name(code)] = {
            "description": str(_DESCRIPTIONS[code]),
            **(_RETRY_AFTER if code in {429, 503} else {}),
            "content": {"application/json": content},
        }
    return responses


def build_error_response(code: int, examples: Schema) -> Schema:
    """Build the response of a failure, with the operation's own examples if there are any."""
    if not examples:
        return {"$ref": f"#/components/responses/{_build_name(code)}"}
    content = {"application/json": {"schema": schema_ref(_build_name(code)), **examples}}
    return {"description": str(_DESCRIPTIONS[code]), "content": content}


def _build_name(code: int) -> str:
    return "Datastore" + ERROR_TYPES[code].replace(" ", "").removesuffix("Error") + "Error"
