"""The types of parameters.  Source: CKAN ``datastore_search``, section 4 of its semantics."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from decimal import Decimal
from string import whitespace
from typing import Any, ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..field_types import NotOfType, dump_json, field_types
from ..filters.names import SortKey, parse_sort_key, split_names, unquote_name
from ..messages.numbers import format_count
from ..messages.requests import MalformedJson
from ..messages.search import InvalidSort
from ..search import AnswerMember
from .body import MAX_JSON_VALUES, MAX_WRITE_RECORDS, MAX_WRITTEN_VALUES, parse_json
from .envelope import MAX_REPORTED_ERRORS

#: A JSON Schema.
Schema = dict[str, Any]

MAX_DIGITS = 40
_INTEGER = re.compile(rf"\s*[+-]?\d(_?\d){{0,{MAX_DIGITS - 1}}}\s*", re.ASCII)
_TRUE = frozenset({"true", "yes", "t", "y", "1"})

#: In characters; texts other than full-text queries are names.
MAX_FULL_TEXT_LENGTH = 10_000
MAX_TEXT_LENGTH = 200

#: Of one list; no table has more fields.
MAX_NAMES = 5_000

#: Each costs the computation of a key for every match.
MAX_SORT_FIELDS = 100

#: Each alias is a row, and each index slows down every write.
MAX_ALIASES = 100
MAX_INDEXES = 100


class ParameterField(serializers.Field[Any, Any, Any, Any]):
    """A parameter for which null and an empty text mean the default."""

    default_error_messages = {"required": _("Missing value")}

    #: The form that programs write best, of those that are accepted, in JSON Schema.
    json_schema: ClassVar[Schema] = {"type": "string"}
    #: The sentence about the limit of a value.
    limit_text: ClassVar[str | Promise] = ""
    #: Whether a body may have the text of that form, too.
    accepts_text: ClassVar[bool] = False
    #: Whether an answer repeats a value that was sent, and does so as it was sent.
    is_repeated: bool = True
    is_repeated_as_sent: ClassVar[bool] = False

    def __init__(
        self,
        *,
        shown_default: str | int = "",
        repeated: bool = True,
        answers: AnswerMember | None = None,
        **options: Any,
    ) -> None:
        """
        ``shown_default`` is described; what runs the action applies it.

        A value that is true asks for the member that ``answers`` it; it is not ``repeated``.
        """
        self.shown_default = shown_default
        self.answers = answers
        self.is_repeated = self.is_repeated and repeated and answers is None
        options.setdefault("required", False)
        super().__init__(allow_null=True, **options)

    def to_representation(self, value: Any) -> Any:
        return value

    def describe(self, *, is_required: bool) -> str:
        """Describe the parameter, its default and its limit in a paragraph; code has backticks."""
        default = self.shown_default
        shown = format_count(default) if isinstance(default, int) else default
        choices = ", ".join(f"`{choice}`" for choice in getattr(self, "choices", ()))
        parts = (
            str(self.help_text),
            gettext("One of {choices}.").format(choices=choices) if choices else "",
            gettext("Required.") if is_required else "",
            gettext("Default: {default}.").format(default=f"`{shown}`") if shown else "",
            self.describe_limit(),
        )
        return " ".join(filter(None, parts))

    def describe_limit(self) -> str:
        """Describe the limit of a value, as its language writes numbers; empty if there is none."""
        most = self.get_limit()
        return "" if most is None else str(self.limit_text).format(most=format_count(most))

    def get_limit(self) -> int | None:
        """Get the limit that ``limit_text`` names; None if there is none."""
        return None

    def build_schema(self) -> Schema:
        return {**self.json_schema}

    def get_component(self, name: str) -> str:
        """Get the name under which a document describes the values; ``name`` is the parameter's."""
        return ""


class NonNegativeIntegerField(ParameterField):
    """An integer from 0, also as text, as 5.0, or as true, which is 1."""

    json_schema = {"type": "integer", "minimum": 0}
    limit_text = _("Values above {most} are treated as {most}.")
    default_error_messages = {
        "invalid": _("Invalid integer"),
        "negative": _("Must be a natural number"),
    }

    def __init__(self, *, reduced_to: Callable[[], int] | None = None, **options: Any) -> None:
        """``reduced_to`` gives the number that takes the place of a larger one."""
        self.reduced_to = reduced_to
        super().__init__(**options)

    def get_limit(self) -> int | None:
        return self.reduced_to() if self.reduced_to else None

    def to_internal_value(self, data: object) -> int | None:
        if data == "":
            return None
        if isinstance(data, str) and _INTEGER.fullmatch(data):
            data = int(data)
        if (
            isinstance(data, Decimal)
            and data.adjusted() < MAX_DIGITS
            and data == data.to_integral_value()
        ):
            data = int(data)
        if not isinstance(data, int):
            self.fail("invalid")
        if data < 0:
            self.fail("negative")
        return int(data)


class BooleanField(ParameterField):
    """A boolean, a number, or a text: true, yes, t, y and 1 are true, any other is false."""

    json_schema = {"type": "boolean"}

    def to_internal_value(self, data: object) -> bool | None:
        if data == "":
            return None
        if isinstance(data, str):
            return data.strip(whitespace).lower() in _TRUE
        return bool(data) if isinstance(data, bool | int | Decimal) else False


class IgnoredField(ParameterField):
    """A parameter of CKAN that has no effect here; any value is accepted."""

    json_schema = {}
    is_repeated = False

    def to_internal_value(self, data: object) -> None:
        return None


class TextField(ParameterField):
    """A text; numbers and booleans become text."""

    default_error_messages = {
        "invalid": _("Must be text."),
        "long": _("The text is longer than {most} characters."),
    }

    max_length: ClassVar[int] = MAX_TEXT_LENGTH
    json_schema = {"type": "string", "maxLength": max_length}
    limit_text = _("At most {most} characters.")
    #: What is read as an empty text.
    empty: ClassVar[tuple[object, ...]] = ()

    def get_limit(self) -> int:
        return self.max_length

    def to_internal_value(self, data: object) -> Any:
        if data in self.empty:
            return ""
        if not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        text = str(data)
        if len(text) > self.max_length:
            self.fail("long", most=self.max_length)
        return text


class FieldNameField(ParameterField):
    default_error_messages = {"invalid": _("Must be text.")}

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class ResourceIdField(ParameterField):
    """The id, an alias or the name of a resource, as text."""

    is_repeated = False

    def to_internal_value(self, data: object) -> str | None:
        if data in ("", [], {}):
            return None
        if isinstance(data, str):
            return data
        try:
            return dump_json(data)  # type: ignore[arg-type] # JSON has nothing else
        except NotOfType:
            return "?"


class ChoiceField(ParameterField):
    """One of several words."""

    default_error_messages = {"choice": _("Value must be one of {choices}")}

    def __init__(self, choices: Collection[str], **options: Any) -> None:
        self.choices = choices
        super().__init__(**options)

    def get_component(self, name: str) -> str:
        return name

    def build_schema(self) -> Schema:
        return {"type": "string", "enum": [*self.choices]}

    def to_internal_value(self, data: object) -> str | None:
        if data == "":
            return None
        if data not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return str(data)


class FullTextField(TextField):
    """A full-text query; numbers and booleans become text."""

    max_length = MAX_FULL_TEXT_LENGTH
    json_schema = {"type": "string", "maxLength": max_length}
    empty: ClassVar[tuple[object, ...]] = ({}, [])
    default_error_messages = {
        "invalid": _("The full-text query must be text."),
        "long": _("The full-text query is longer than {most} characters."),
    }


class FullTextQueryField(FullTextField):
    """A full-text query, or an object, or the JSON text of one: field → full-text query."""

    json_schema = {
        "oneOf": [
            FullTextField.json_schema,
            {"type": "object", "additionalProperties": {"type": "string"}},
        ]
    }
    default_error_messages = {
        "invalid": _("The full-text query must be text, or an object: field → text."),
    }

    def to_internal_value(self, data: object) -> Any:
        if isinstance(data, str) and data.lstrip()[:1] == "{":
            with suppress(MalformedJson):
                parsed = parse_json(data)
                data = parsed if isinstance(parsed, Mapping) else data
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        if not all(isinstance(text, str) for text in data.values()):
            self.fail("invalid")
        super().to_internal_value("".join(data.values()))
        return data


class NamesField(ParameterField):
    """A list of names, or a text of names separated by commas, in double quotes where needed."""

    json_schema = {"type": "array", "items": {"type": "string"}}
    limit_text = _("At most {most} names.")
    default_error_messages = {
        "invalid": _("Must be a list of names, or names separated by commas."),
        "many": _("There are more than {most} names."),
    }

    def __init__(self, max_items: int = MAX_NAMES, **options: Any) -> None:
        self.max_items = max_items
        super().__init__(**options)

    def get_limit(self) -> int:
        return self.max_items

    def build_schema(self) -> Schema:
        return {**self.json_schema, "maxItems": self.max_items}

    def to_internal_value(self, data: object) -> tuple[str, ...]:
        return tuple(unquote_name(name) for name in self.split(data))

    def split(self, data: object) -> list[str]:
        """Split the parameter into names; too many are refused before any is checked."""
        parts = split_names(data, self.max_items + 1) if isinstance(data, str) else data
        if not isinstance(parts, list):
            self.fail("invalid")
        if len(parts) > self.max_items:
            self.fail("many", most=self.max_items)
        if not all(isinstance(part, str) for part in parts):
            self.fail("invalid")
        return parts


class JsonNamesField(NamesField):
    """Names as ``NamesField`` reads them, or the JSON text of a list of names."""

    def split(self, data: object) -> list[str]:
        """Split the parameter into names."""
        if isinstance(data, str) and data.lstrip()[:1] == "[":
            try:
                data = parse_json(data)
            except MalformedJson:
                self.fail("invalid")
        return super().split(data)


class SortField(NamesField):
    """Sort keys: a list, or a text separated by commas."""

    json_schema = {**NamesField.json_schema, "examples": [["amount desc", "code"]]}
    limit_text = _("At most {most} fields.")
    is_repeated_as_sent = True
    default_error_messages = {"fields": _("There are more than {most} fields to sort by.")}

    def get_limit(self) -> int:
        return MAX_SORT_FIELDS

    def to_internal_value(self, data: object) -> tuple[SortKey, ...]:  # type: ignore[override] # keys are read names
        keys, errors = [], []
        for part in self.split(data):
            try:
                keys.append(parse_sort_key(part))
            except InvalidSort as error:
                errors.append(str(error))
        if errors:
            raise serializers.ValidationError(errors[:MAX_REPORTED_ERRORS])
        if len({key.field for key in keys}) > MAX_SORT_FIELDS:
            self.fail("fields", most=MAX_SORT_FIELDS)
        return tuple(keys)


class JsonField(ParameterField):
    json_schema = {"type": "object"}
    default_error_messages = {"json": _("Cannot parse JSON")}

    def to_internal_value(self, data: object) -> Any:
        if data in ("", {}, []):
            return None
        if isinstance(data, str):
            try:
                data = parse_json(data, self.max_values)
            except MalformedJson:
                self.fail("json")
        return self.check(data)

    #: The largest number of values in the JSON text.
    max_values = MAX_JSON_VALUES

    def check(self, data: object) -> Any:
        """Refuse a value of another type."""
        return data


class FiltersField(JsonField):
    """An object, or a list of objects, or the JSON text of one."""

    default_error_messages = {
        "invalid": _("Filters must be an object, or a list of objects."),
    }

    def get_component(self, name: str) -> str:
        return "filters"

    def check(self, data: object) -> Mapping[str, object] | list[object] | None:
        if not data and not isinstance(data, bool | int | str):
            return None
        if not isinstance(data, Mapping | list):
            self.fail("invalid")
        return data


class GivenFiltersField(FiltersField):
    """Filters of records to delete: an empty object means all records, null is refused."""

    def to_internal_value(self, data: object) -> Any:
        if data in ("", []):
            self.fail("invalid")
        return data if data == {} else super().to_internal_value(data)

    def check(self, data: object) -> Mapping[str, object] | list[object]:
        if not isinstance(data, Mapping) and not (isinstance(data, list) and data):
            self.fail("invalid")
        return data

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if data is None:
            self.fail("invalid")
        return super().validate_empty_values(data)


class ObjectsField(JsonField):
    """A list of objects, or the JSON text of one."""

    json_schema = {"type": "array", "items": {"type": "object"}}
    limit_text = _("At most {most} objects.")
    default_error_messages = {
        "invalid": _("Must be a list of objects."),
        "many": _("There are more than {most} fields."),
    }

    max_items = MAX_NAMES

    def get_limit(self) -> int:
        return self.max_items

    def build_schema(self) -> Schema:
        return {**self.json_schema, "maxItems": self.max_items}

    max_values = MAX_WRITTEN_VALUES

    def check(self, data: object) -> list[Mapping[str, object]] | None:
        if data is None:
            return None
        if not isinstance(data, list):
            self.fail("invalid")
        if len(data) > self.max_items:
            self.fail("many", most=self.max_items)
        if not all(isinstance(each, Mapping) for each in data):
            self.fail("invalid")
        return data


class FieldsField(ObjectsField):
    json_schema = {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": {"type": "string", "minLength": 1},
                "type": {"type": "string", "examples": [*field_types]},
                "info": {"type": "object"},
            },
        },
    }


class RecordsField(ObjectsField):
    """Records, at most ``MAX_WRITE_RECORDS`` in one call."""

    default_error_messages = {
        "many": _("There are more than {most} records. Send them in several calls."),
    }
    max_items = MAX_WRITE_RECORDS
    is_repeated = False


class ObjectField(JsonField):
    is_repeated = False
    default_error_messages = {"invalid": _("Must be an object.")}

    def check(self, data: object) -> Mapping[str, object] | None:
        if data is None:
            return None
        if not isinstance(data, Mapping):
            self.fail("invalid")
        return data
