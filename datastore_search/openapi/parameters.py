"""
The parameters of the actions: what each means, and the forms that it accepts.

A parameter has one schema in a JSON body and another in a query string or a form, where every value
is text.  Both follow from the type of the parameter, ``api.parameter_types``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..api import parameter_types as types
from ..api.parameters import ActionParameters, CreateParameters
from ..field_types import field_types
from ..filters.full_text import MAX_FULL_TEXT_FIELDS
from .components import (
    BOOLEAN,
    NON_NEGATIVE_INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    VALUE,
    Schema,
    enum_of,
    list_of,
    name_of,
    one_of,
    record_of,
    ref,
)
from .examples import Example, shown

_JSON = "application/json"
_EMPTY: Schema = {**enum_of(""), "description": "As if it were not given."}
_NUMBER_TEXT: Schema = {"type": "string", "pattern": r"^(\s*\+?[0-9]{1,40}\s*)?$"}
_NUMBER_AS_BOOLEAN: Schema = {**NUMBER, "description": "True, unless it is 0."}
_TEXT_AS_BOOLEAN: Schema = {
    **TEXT,
    "description": "`true`, `yes`, `t`, `y` and `1` are true, in capitals too, all others false.",
}
#: Texts of more than this length are refused.
_FULL_TEXT: Schema = {"type": "string", "maxLength": types.MAX_FULL_TEXT_LENGTH}


@dataclass(frozen=True, slots=True)
class _Forms:
    """The schemas of a parameter: in a JSON body, and as text."""

    json: Schema
    text: Schema


def _json_text(schema: Schema) -> Schema:
    """Describe the text of a JSON value."""
    return {"type": "string", "contentMediaType": _JSON, "contentSchema": schema}


def _json_forms(schema: Schema) -> _Forms:
    return _Forms(one_of(schema, _json_text(schema), NULL), _json_text(schema))


def _names(most: int) -> _Forms:
    names = list_of(TEXT, maxItems=most)
    return _Forms(one_of(names, TEXT, NULL), names)


def _objects(most: int) -> _Forms:
    return _json_forms(list_of(OBJECT, maxItems=most))


_FULL_TEXT_BY_FIELD: Schema = {
    "type": "object",
    "additionalProperties": TEXT,
    "maxProperties": MAX_FULL_TEXT_FIELDS,
}
_NAME: Schema = {"type": "string", "maxLength": types.MAX_TEXT_LENGTH}
_FILTERS = ref("DatastoreFilters")

#: The table: each type of parameter and its forms; the words of a choice have a name instead.
_TABLE: Mapping[type[types.ParameterField], _Forms] = {
    types.NaturalNumberField: _Forms(
        one_of(NON_NEGATIVE_INTEGER, _NUMBER_TEXT, BOOLEAN, NULL), NON_NEGATIVE_INTEGER
    ),
    types.BooleanField: _Forms(
        one_of(BOOLEAN, _NUMBER_AS_BOOLEAN, _TEXT_AS_BOOLEAN, NULL), BOOLEAN
    ),
    types.IgnoredField: _Forms(VALUE, VALUE),
    types.TextField: _Forms(one_of(_NAME, NUMBER, BOOLEAN, NULL), _NAME),
    types.ResourceIdField: _Forms(one_of(TEXT, NULL), TEXT),
    types.FullTextField: _Forms(one_of(_FULL_TEXT, NUMBER, BOOLEAN, NULL), _FULL_TEXT),
    types.FullTextQueryField: _Forms(
        one_of(_FULL_TEXT, _FULL_TEXT_BY_FIELD, NUMBER, BOOLEAN, NULL), _FULL_TEXT
    ),
    types.FiltersField: _json_forms(_FILTERS),
    types.GivenFiltersField: _Forms(
        one_of(_FILTERS, {**_json_text(_FILTERS), "minLength": 1}),
        {**_json_text(_FILTERS), "minLength": 1},
    ),
    types.ObjectField: _json_forms(OBJECT),
}

#: The same of lists, which have a limit each.
_LISTS: Mapping[type[types.ParameterField], Callable[[int], _Forms]] = {
    types.NamesField: _names,
    types.SortField: _names,
    types.ObjectsField: _objects,
    types.RecordsField: _objects,
}

#: Parameters whose objects have known members.
_KNOWN: Mapping[tuple[type[ActionParameters], str], _Forms] = {
    (CreateParameters, "fields"): _json_forms(
        list_of(
            record_of(
                {"id": {**TEXT, "minLength": 1, "description": "The field's name."}},
                optional={
                    "type": one_of({**TEXT, "examples": [*field_types]}, NULL),
                    "info": one_of({**OBJECT, "description": "`label`, `notes` and more."}, NULL),
                },
            ),
            maxItems=types.MAX_NAMES,
        )
    ),
    (CreateParameters, "resource"): _json_forms(
        record_of(
            {},
            optional={
                "id": one_of({**TEXT, "format": "uuid"}, NULL),
                "name": {**VALUE, "description": "The title."},
                "description": VALUE,
            },
        )
    ),
}


def choices(parameters: type[ActionParameters]) -> dict[str, Schema]:
    """Name the words that a parameter may be, for each that has such."""
    return {
        name_of(name): enum_of(*field.choices)
        for name, field, _forms in _fields(parameters)
        if isinstance(field, types.ChoiceField)
    }


def body(parameters: type[ActionParameters]) -> Schema:
    """Describe the JSON object that holds the parameters of an action."""
    return _object(parameters, lambda forms: forms.json)


def form(parameters: type[ActionParameters]) -> Schema:
    """Describe the form that holds the parameters of an action."""
    return _object(parameters, lambda forms: forms.text)


def query(parameters: type[ActionParameters], example: Example) -> list[Schema]:
    """Describe the query string that holds the parameters of an action, and show one."""
    return [
        {
            "name": name,
            "in": "query",
            "description": str(field.help_text),
            **({"required": True} if name in _required(parameters) else {}),
            **_in_query(forms.text, _example(example, name)),
        }
        for name, field, forms in _fields(parameters)
    ]


def _example(example: Example, name: str) -> Schema:
    return shown([example] if name in example.sent else [], lambda each: each.sent[name])


def _in_query(schema: Schema, examples: Schema) -> Schema:
    """Let a parameter whose text is JSON be written as what it means."""
    if "contentSchema" not in schema:
        return {"schema": schema, **examples}
    return {"content": {_JSON: {"schema": schema["contentSchema"], **examples}}}


def _object(parameters: type[ActionParameters], schema_of: Callable[[_Forms], Schema]) -> Schema:
    properties = {
        name: {
            "description": str(field.help_text),
            **schema_of(forms),
        }
        for name, field, forms in _fields(parameters)
    }
    required = _required(parameters)
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        **({"required": required} if required else {}),
        **_alternatives(parameters),
    }


def _fields(parameters: type[ActionParameters]) -> Iterator[tuple[str, Any, _Forms]]:
    """Go through the parameters: the name, the serializer's field and its forms."""
    fields: Mapping[str, Any] = parameters().fields
    for name, field in fields.items():
        yield name, field, _forms_of(parameters, name, field)


def _forms_of(parameters: type[ActionParameters], name: str, field: Any) -> _Forms:
    if isinstance(field, types.ChoiceField):
        named = ref(name_of(name))
        return _Forms(one_of(named, _EMPTY, NULL), named)
    known = _KNOWN.get((parameters, name)) or _TABLE.get(type(field))
    return known or _LISTS[type(field)](field.most)


def _required(parameters: type[ActionParameters]) -> list[str]:
    alone = parameters.needed if len(parameters.needed) == 1 else ()
    return [name for name, field, _forms in _fields(parameters) if field.required or name in alone]


def _alternatives(parameters: type[ActionParameters]) -> Schema:
    """Ask for the first of several parameters where none of the others is there."""
    first, *others = [{"required": [name]} for name in parameters.needed] or [{}]
    # Written with ``anyOf``, generators of clients would make nothing of the whole object.
    return {"if": {"not": {"anyOf": others}}, "then": first} if others else {}
