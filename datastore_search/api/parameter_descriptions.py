"""The descriptions of parameters, for the OpenAPI document, the reference and agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from .parameter_types import Schema
from .parameters import ActionParameters


@dataclass(frozen=True, slots=True)
class ParameterDescription:
    """
    A parameter in words; code in the texts is between backticks.

    ``default`` is empty where ``meaning`` says what is done without the parameter.
    """

    name: str
    is_required: bool
    meaning: str
    choices: str
    default: str
    limit: str

    @property
    def text(self) -> str:
        """All of it but the name, as one paragraph."""
        parts = (
            self.meaning,
            _("One of {choices}.").format(choices=self.choices) if self.choices else "",
            _("Required.") if self.is_required else "",
            _("Default: {default}.").format(default=f"`{self.default}`") if self.default else "",
            self.limit,
        )
        return " ".join(filter(None, parts))


def describe_parameters(parameters: type[ActionParameters]) -> list[ParameterDescription]:
    """Describe the parameters of an action, or the options of an item, in their order."""
    fields: Mapping[str, Any] = parameters().get_fields()
    return [
        ParameterDescription(
            name,
            field.required or parameters.needed == (name,),
            str(field.help_text),
            ", ".join(f"`{choice}`" for choice in getattr(field, "choices", ())),
            field.show_default(),
            field.describe_limit(),
        )
        for name, field in fields.items()
    ]


def build_object_schema(
    parameters: type[ActionParameters], names: Sequence[str] = (), required: Sequence[str] = ()
) -> Schema:
    """Describe an object of parameters, of all of them unless some are named, in JSON Schema."""
    fields: Mapping[str, Any] = parameters().get_fields()
    texts = {each.name: each.text for each in describe_parameters(parameters)}
    return {
        "type": "object",
        "properties": {
            name: {**fields[name].build_schema(), "description": texts[name]}
            for name in names or fields
        },
        **({"required": [*required]} if required else {}),
    }
