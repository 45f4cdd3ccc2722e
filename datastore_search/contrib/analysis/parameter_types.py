"""The type of a parameter that is a list of names, or of objects with options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ...api.envelope import MAX_REPORTED_ERRORS
from ...api.parameters import ActionParameters, ParameterField, Schema, make_printable
from ...filters.names import split_names, unquote_name


class OptionsListField(ParameterField):
    """A list of names or objects with options, or JSON text of it, or names with commas."""

    default_error_messages = {
        "invalid": _("Must be a list of names, or of objects with options."),
        "many": _("There are more than {most} items."),
        "json": _("Cannot parse JSON"),
        "combined": _("“{option}” and “{other}” cannot be combined."),
    }

    accepts_text = True
    limit_text = _("At most {most} items.")
    #: The serializer of an object.
    options: ClassVar[type[ActionParameters]]
    #: The option that a name stands for.
    main: ClassVar[str] = "field"
    #: Pairs of options that cannot be combined.
    exclusive: ClassVar[Sequence[tuple[str, str]]] = ()

    def build_schema(self) -> Schema:
        options = self.options.build_schema(required=self.options.needed)
        items = {"oneOf": [{"type": "string"}, {**options, "additionalProperties": False}]}
        return {"type": "array", "items": items, "maxItems": self.max_items}

    def to_internal_value(self, data: object) -> tuple[Mapping[str, Any], ...] | None:
        if isinstance(data, str) and data.lstrip()[:1] in ("[", "{"):
            data = self.parse_text(data, "json")
        if isinstance(data, str):
            data = split_names(data, self.max_items + 1)
        items: list[Mapping[str, Any]] = []
        errors: list[str] = []
        for each in self.check_list(data):
            try:
                item = self.expand_name(each) if isinstance(each, str) else each
                if not isinstance(item, Mapping):
                    self.fail("invalid")
                items.append(self.check_item(self.options.parse(item)))
            except serializers.ValidationError as error:
                name = each.get(self.main) if isinstance(each, Mapping) else each
                label = make_printable(name) if isinstance(name, str) else "?"
                told = error.detail if isinstance(error.detail, dict) else {"": error.detail}
                errors += [
                    f"{label}, {option}: {message}"
                    if option not in {"", "__extras"}
                    else f"{label}: {message}"
                    for option, messages in told.items()
                    for message in messages
                ]
        if errors:
            raise serializers.ValidationError(errors[:MAX_REPORTED_ERRORS])
        if self.required and not items:
            self.fail("required")
        return tuple(items) or None

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if data is None and self.required:
            self.fail("required")
        return super().validate_empty_values(data)

    def expand_name(self, name: str) -> Mapping[str, object]:
        return {self.main: unquote_name(name)}

    def check_item(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        for option, other in self.exclusive:
            if option in item and other in item:
                self.fail("combined", option=option, other=other)
        self.check_needed(item, "time_zone", "interval")
        return item

    def check_needed(self, item: Mapping[str, Any], option: str, needed: str) -> None:
        if option in item and needed not in item:
            raise serializers.ValidationError({needed: [str(self.error_messages["required"])]})
