"""
The parameters of the actions: what each means, and the forms that it accepts.

A parameter has one schema in a JSON body and another in a query string or a form, where every value
is text.  Both follow from the type of the parameter, ``api.parameter_types``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..api import analysis_parameters as analysis
from ..api import parameter_types as types
from ..api import resource_parameters as members
from ..api.parameter_descriptions import describe_parameters
from ..api.parameters import ActionParameters, CreateParameters
from ..field_types import field_types
from ..filters.full_text import MAX_FULL_TEXT_FIELDS
from ..models import MAX_TAGS
from ..reference.examples import Example, show_examples
from .components import (
    ANY_VALUE,
    BOOLEAN,
    NON_NEGATIVE_INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    Schema,
    build_name,
    enum_of,
    list_of,
    object_of,
    one_of,
    schema_ref,
)
from .filters import list_forms

_JSON = "application/json"
_EMPTY: Schema = {**enum_of(""), "description": "As if it were not given."}
_WORDS: Schema = one_of(TEXT, NUMBER, BOOLEAN, NULL)
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


def _build_json_text(schema: Schema) -> Schema:
    """Describe the text of a JSON value."""
    return {"type": "string", "contentMediaType": _JSON, "contentSchema": schema}


def _build_json_forms(schema: Schema) -> _Forms:
    return _Forms(one_of(schema, _build_json_text(schema), NULL), _build_json_text(schema))


def _build_names(max_items: int) -> _Forms:
    names = list_of(TEXT, maxItems=max_items)
    return _Forms(one_of(names, TEXT, NULL), names)


def _build_objects(max_items: int) -> _Forms:
    return _build_json_forms(list_of(OBJECT, maxItems=max_items))


#: The schemas of the options of facets and the like, by the types of parameters.
_OPTIONS: Mapping[type[types.ParameterField], Schema] = {
    types.FieldNameField: {"type": "string", "minLength": 1},
    types.TextField: one_of(TEXT, NULL),
    types.NonNegativeIntegerField: one_of(NON_NEGATIVE_INTEGER, NULL),
}


def _build_options(options: type[ActionParameters], *excluded: str) -> Schema:
    """Describe an object with options."""
    fields: Mapping[str, Any] = options().get_fields()
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            each.name: {"description": each.text, **_build_option(fields[each.name])}
            for each in describe_parameters(options)
            if each.name not in excluded
        },
        **({} if excluded else {"required": [*options.needed]}),
    }


def _build_option(field: Any) -> Schema:
    if isinstance(field, types.ChoiceField):
        return one_of(enum_of(*field.choices), NULL)
    if isinstance(field, analysis.NumberField):
        kind = "integer" if isinstance(field, analysis.WholeNumberField) else "number"
        limits = {"minimum": float(field.low), "maximum": float(field.high)}
        return one_of({"type": kind, **limits}, NULL)
    return _OPTIONS[type(field)]


def _build_options_forms(kind: type[analysis.OptionsListField], *more: Schema) -> _Forms:
    """Describe a list of names and objects with options."""
    items = one_of({**TEXT, "minLength": 1}, _build_options(kind.options))
    value = one_of(list_of(items, maxItems=kind.max_items), *more)
    return _Forms(one_of(*value["oneOf"], TEXT), _build_json_text(value))


_FULL_TEXT_BY_FIELD: Schema = {
    "type": "object",
    "additionalProperties": TEXT,
    "maxProperties": MAX_FULL_TEXT_FIELDS,
}
_NAME: Schema = {"type": "string", "maxLength": types.MAX_TEXT_LENGTH}
_FILTERS = schema_ref("DatastoreFilters")
_TAGS = list_of(TEXT, maxItems=MAX_TAGS)

#: The schemas of each type of parameter; a choice has a named schema instead.
_TABLE: Mapping[type[types.ParameterField], _Forms] = {
    types.NonNegativeIntegerField: _Forms(
        one_of(NON_NEGATIVE_INTEGER, _NUMBER_TEXT, BOOLEAN, NULL), NON_NEGATIVE_INTEGER
    ),
    types.BooleanField: _Forms(
        one_of(BOOLEAN, _NUMBER_AS_BOOLEAN, _TEXT_AS_BOOLEAN, NULL), BOOLEAN
    ),
    types.IgnoredField: _Forms(ANY_VALUE, ANY_VALUE),
    types.TextField: _Forms(one_of(_NAME, NUMBER, BOOLEAN, NULL), _NAME),
    types.ResourceIdField: _Forms(one_of(TEXT, NULL), TEXT),
    types.FieldNameField: _Forms(one_of(TEXT, NULL), TEXT),
    types.FullTextField: _Forms(one_of(_FULL_TEXT, NUMBER, BOOLEAN, NULL), _FULL_TEXT),
    types.FullTextQueryField: _Forms(
        one_of(_FULL_TEXT, _FULL_TEXT_BY_FIELD, NUMBER, BOOLEAN, NULL), _FULL_TEXT
    ),
    types.FiltersField: _Forms(
        one_of(*list_forms(), _build_json_text(_FILTERS), NULL), _build_json_text(_FILTERS)
    ),
    types.GivenFiltersField: _Forms(
        one_of(*list_forms(), {**_build_json_text(_FILTERS), "minLength": 1}),
        {**_build_json_text(_FILTERS), "minLength": 1},
    ),
    types.ObjectField: _build_json_forms(OBJECT),
    members.WordsField: _Forms(_WORDS, TEXT),
    members.TitleField: _Forms(_WORDS, TEXT),
    members.LanguageField: _Forms(_WORDS, TEXT),
    members.MetadataField: _Forms(one_of(TEXT, NULL), TEXT),
    members.TagsField: _Forms(one_of(_TAGS, _build_json_text(_TAGS), NULL), _TAGS),
}


def _build_facets() -> _Forms:
    by_field = {
        "type": "object",
        "description": "Field → options.",
        "additionalProperties": _build_options(analysis.FacetOptions, "field"),
        "maxProperties": analysis.FacetsField.max_items,
    }
    return _build_options_forms(analysis.FacetsField, by_field)


#: The schemas of lists of names and objects with options, whose descriptions have a language.
_OPTION_LISTS: Mapping[type[types.ParameterField], Callable[[], _Forms]] = {
    analysis.FacetsField: _build_facets,
    analysis.GroupsField: lambda: _build_options_forms(analysis.GroupsField, NULL),
    analysis.MetricsField: lambda: _build_options_forms(analysis.MetricsField, NULL),
}

#: The schemas of lists, each of which has a limit.
_LISTS: Mapping[type[types.ParameterField], Callable[[int], _Forms]] = {
    types.NamesField: _build_names,
    types.JsonNamesField: _build_names,
    types.SortField: _build_names,
    types.ObjectsField: _build_objects,
    types.RecordsField: _build_objects,
}


def _build_fields() -> _Forms:
    info = one_of(
        {
            **OBJECT,
            "description": "`label`, `notes`, translations such as `label_fr`, and more.",
        },
        NULL,
    )
    field = object_of(
        {"id": {**TEXT, "minLength": 1, "description": "The field's name."}},
        optional={"type": one_of({**TEXT, "examples": [*field_types]}, NULL), "info": info},
    )
    return _build_json_forms(list_of(field, maxItems=types.MAX_NAMES))


def _build_resource() -> _Forms:
    fields: Mapping[str, Any] = members.NewResourceMembers().get_fields()
    described = {
        each.name: {"description": each.text, **_TABLE[type(fields[each.name])].json}
        for each in describe_parameters(members.NewResourceMembers)
    }
    resource_id = one_of({**TEXT, "format": "uuid"}, NULL)
    return _build_json_forms(object_of({}, optional={**described, "id": resource_id}))


#: The schemas of parameters that are objects with known members.
_KNOWN: Mapping[tuple[type[ActionParameters], str], Callable[[], _Forms]] = {
    (CreateParameters, "fields"): _build_fields,
    (CreateParameters, "resource"): _build_resource,
}


def build_choices(parameters: type[ActionParameters]) -> dict[str, Schema]:
    """Build a named schema of each parameter that is a choice."""
    return {
        build_name(name): enum_of(*field.choices)
        for name, field, _forms in _list_fields(parameters)
        if isinstance(field, types.ChoiceField)
    }


def build_query(parameters: type[ActionParameters], example: Example) -> list[Schema]:
    """Describe the query string that holds the parameters of an action, and show one."""
    texts = _describe_texts(parameters)
    return [
        {
            "name": name,
            "in": "query",
            "description": texts[name],
            **({"required": True} if name in _list_required(parameters) else {}),
            **_build_query_schema(forms.text, _show_example(example, name)),
        }
        for name, field, forms in _list_fields(parameters)
    ]


def _show_example(example: Example, name: str) -> Schema:
    return show_examples([example] if name in example.sent else [], lambda each: each.sent[name])


def _build_query_schema(schema: Schema, examples: Schema) -> Schema:
    """Describe a parameter whose text is JSON by the schema of its value."""
    if "contentSchema" not in schema:
        return {"schema": schema, **examples}
    return {"content": {_JSON: {"schema": schema["contentSchema"], **examples}}}


def build_body(parameters: type[ActionParameters]) -> Schema:
    """Describe the JSON object that holds the parameters of an action."""
    texts = _describe_texts(parameters)
    properties = {
        name: {"description": texts[name], **forms.json}
        for name, _field, forms in _list_fields(parameters)
    }
    required = _list_required(parameters)
    return {
        "type": "object",
        "additionalProperties": parameters.accepts_others,
        "properties": properties,
        **({"required": required} if required else {}),
        **_build_alternatives(parameters),
    }


def _describe_texts(parameters: type[ActionParameters]) -> dict[str, str]:
    return {each.name: each.text for each in describe_parameters(parameters)}


def _list_fields(parameters: type[ActionParameters]) -> Iterator[tuple[str, Any, _Forms]]:
    """List the parameters: name, serializer field and schemas."""
    fields: Mapping[str, Any] = parameters().fields
    for name, field in fields.items():
        yield name, field, _get_forms(parameters, name, field)


def _get_forms(parameters: type[ActionParameters], name: str, field: Any) -> _Forms:
    if isinstance(field, types.ChoiceField):
        named = schema_ref(build_name(name))
        return _Forms(one_of(named, _EMPTY, NULL), named)
    if type(field) in _OPTION_LISTS:
        return _OPTION_LISTS[type(field)]()
    if build := _KNOWN.get((parameters, name)):
        return build()
    return _TABLE.get(type(field)) or _LISTS[type(field)](field.max_items)


def _list_required(parameters: type[ActionParameters]) -> list[str]:
    alone = parameters.needed if len(parameters.needed) == 1 else ()
    return [
        name for name, field, _forms in _list_fields(parameters) if field.required or name in alone
    ]


def _build_alternatives(parameters: type[ActionParameters]) -> Schema:
    """Require the first of several parameters if none of the others is sent."""
    first, *others = [{"required": [name]} for name in parameters.needed] or [{}]
    # Written with ``anyOf``, generators of clients would make nothing of the whole object.
    return {"if": {"not": {"anyOf": others}}, "then": first} if others else {}
