"""
The arguments of tools in JSON Schema, from the serializers of the actions.

A parameter has the one form that agents write best, of those that the API accepts.  There are no
references and no alternatives at the top, which some models do not take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from ..api import analysis_parameters as analysis
from ..api import parameter_types as types
from ..api.parameter_descriptions import describe_parameters
from ..api.parameters import ActionParameters
from ..filters.grammar import OPERATORS

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}

_FORMS: Mapping[type[types.ParameterField], Schema] = {
    types.ResourceIdField: _TEXT,
    types.FieldNameField: _TEXT,
    types.TextField: _TEXT,
    types.FullTextField: _TEXT,
    types.FullTextQueryField: {"type": ["string", "object"]},
    types.BooleanField: {"type": "boolean"},
    types.NonNegativeIntegerField: {"type": "integer", "minimum": 0},
    types.NamesField: _TEXTS,
    types.SortField: {**_TEXTS, "examples": [["amount desc", "code"]]},
    types.FiltersField: {"type": "object"},
}

#: What agents need to know of ``filters`` beside its description.
_FILTERS_NOTE = format_lazy(
    _(
        "Field → value, list of values, null for empty cells, or operators, as in {example}."
        " Operators: {operators}. `$or` and `$and` hold lists of such objects."
    ),
    example='`{"amount": {"gte": 5}}`',
    operators=", ".join(OPERATORS),
)


def build_input_schema(
    parameters: type[ActionParameters],
    names: Sequence[str],
    required: Sequence[str] = (),
    meanings: Mapping[str, str] = MappingProxyType({}),
) -> Schema:
    """
    Describe some parameters of an action as the arguments of a tool, in the language in use.

    ``meanings`` replace the descriptions of some.
    """
    fields: Mapping[str, Any] = parameters().get_fields()
    texts = {each.name: each.text for each in describe_parameters(parameters)} | dict(meanings)
    return {
        "type": "object",
        "properties": {name: _describe_field(fields[name], texts[name]) for name in names},
        **({"required": [*required]} if required else {}),
    }


def _describe_field(field: Any, text: str) -> Schema:
    """Describe a parameter: its form, and its meaning."""
    note = f" {_FILTERS_NOTE}" if isinstance(field, types.FiltersField) else ""
    return {**_build_form(field), "description": text + note}


def _build_form(field: Any) -> Schema:
    if isinstance(field, analysis.OptionsListField):
        return {"type": "array", "items": _build_item(field), "maxItems": field.max_items}
    if isinstance(field, types.ChoiceField):
        return {**_TEXT, "enum": [*field.choices]}
    if isinstance(field, analysis.NumberField):
        kind = "integer" if isinstance(field, analysis.WholeNumberField) else "number"
        return {"type": kind, "minimum": float(field.low), "maximum": float(field.high)}
    return _FORMS[type(field)]


def _build_item(field: analysis.OptionsListField) -> Schema:
    """Describe a facet, a group or a metric: a text, or an object with options."""
    options = field.options
    schema = build_input_schema(options, [*options().get_fields()], options.needed)
    return {"anyOf": [_TEXT, schema]}
