"""
The types of parameters: which forms each accepts, in JSON as in a query string.

Source: CKAN ``datastore_search``, section 4 of its semantics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..conf import conf
from ..exceptions import InvalidSort, MalformedJson
from ..field_types import NotOfType, dump_json
from ..search import SortKey
from .body import parse_json
from .envelope import MAX_REPORTED_ERRORS
from .names import parse_sort_key, split_names, unquote_name

_DIGITS = 40
_INTEGER = re.compile(rf"\s*[+-]?\d(_?\d){{0,{_DIGITS - 1}}}\s*")
_TRUE = frozenset({"true", "yes", "t", "y", "1"})

#: Letters of a full-text query at most, and of the other texts, which are names.
MAX_FULL_TEXT_LENGTH = 10_000
MAX_TEXT_LENGTH = 200

#: Names of a list at most: no table has so many fields.
MAX_NAMES = 5_000

#: Fields to sort by at most: of each, the key of every match is computed.
MAX_SORT_FIELDS = 100

#: Each alias is a row, and each index takes time with every write.
MAX_ALIASES = 100
MAX_INDEXES = 100


class ParameterField(serializers.Field[Any, Any, Any, Any]):
    """A parameter whose absence, null and empty text all mean the default."""

    default_error_messages = {"required": _("Missing value")}

    def __init__(self, **options: Any) -> None:
        options.setdefault("required", False)
        super().__init__(allow_null=True, **options)

    def to_representation(self, value: Any) -> Any:
        return value


class NaturalNumberField(ParameterField):
    """An integer from 0: also as text, as 5.0, and as true, which is 1."""

    default_error_messages = {
        "invalid": _("Invalid integer"),
        "negative": _("Must be a natural number"),
    }

    def to_internal_value(self, data: object) -> int | None:
        if data == "":
            return None
        if isinstance(data, str) and _INTEGER.fullmatch(data):
            data = int(data)
        if (
            isinstance(data, Decimal)
            and data.adjusted() < _DIGITS
            and data == data.to_integral_value()
        ):
            data = int(data)
        if not isinstance(data, int):
            self.fail("invalid")
        if data < 0:
            self.fail("negative")
        return int(data)


class BooleanField(ParameterField):
    """A truth value: numbers too, and the texts true, yes, t, y and 1; any other text is false."""

    def to_internal_value(self, data: object) -> bool | None:
        if data == "":
            return None
        if isinstance(data, str):
            return data.strip().lower() in _TRUE
        return bool(data) if isinstance(data, bool | int | Decimal) else False


class IgnoredField(ParameterField):
    """A parameter of CKAN's that changes nothing here; any value will do."""

    def to_internal_value(self, data: object) -> None:
        return None


class TextField(ParameterField):
    """A text; numbers and truth values are taken as text."""

    default_error_messages = {
        "invalid": _("Must be text."),
        "long": _("The text is longer than {most} letters."),
    }

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        text = str(data)
        if len(text) > MAX_TEXT_LENGTH:
            self.fail("long", most=MAX_TEXT_LENGTH)
        return text


class ResourceIdField(ParameterField):
    """The id or an alias of a resource, as text."""

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
    """One of some words, exactly."""

    default_error_messages = {"choice": _("Value must be one of {choices}")}

    def __init__(self, choices: Sequence[str], **options: Any) -> None:
        self.choices = tuple(choices)
        super().__init__(**options)

    def to_internal_value(self, data: object) -> str | None:
        if data == "":
            return None
        if data not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return str(data)


class FullTextField(ParameterField):
    """A full-text query; numbers and truth values are taken as text."""

    default_error_messages = {
        "invalid": _("The full-text query must be text."),
        "long": _("The full-text query is longer than {most} letters."),
    }

    def to_internal_value(self, data: object) -> str | Mapping[str, str]:
        if data in ({}, []):
            return ""
        if not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        return self._short(str(data))

    def _short(self, text: str) -> str:
        if len(text) > MAX_FULL_TEXT_LENGTH:
            self.fail("long", most=MAX_FULL_TEXT_LENGTH)
        return text


class FullTextQueryField(FullTextField):
    """A full-text query, or an object, or the JSON text of one: field → full-text query."""

    default_error_messages = {
        "invalid": _("The full-text query must be text, or an object: field → text."),
    }

    def to_internal_value(self, data: object) -> str | Mapping[str, str]:
        if isinstance(data, str) and data.lstrip()[:1] == "{":
            data = _json_object(data)
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        if not all(isinstance(text, str) for text in data.values()):
            self.fail("invalid")
        self._short("".join(data.values()))
        return data


def _json_object(text: str) -> object:
    """Read a text as a JSON object; it stays a text when it is none."""
    try:
        found = parse_json(text)
    except MalformedJson:
        return text
    return found if isinstance(found, Mapping) else text


class NamesField(ParameterField):
    """A list of names, or a text of names separated by commas, in double quotes where needed."""

    default_error_messages = {
        "invalid": _("Must be a list of names, or names separated by commas."),
        "many": _("There are more than {most} names."),
    }

    def __init__(self, most: int = MAX_NAMES, **options: Any) -> None:
        self.most = most
        super().__init__(**options)

    def to_internal_value(self, data: object) -> tuple[str, ...]:
        return tuple(unquote_name(name) for name in self.parts(data))

    def parts(self, data: object) -> list[str]:
        """Cut the parameter into its parts; of too many, none is looked at."""
        parts = split_names(data, self.most + 1) if isinstance(data, str) else data
        if not isinstance(parts, list):
            self.fail("invalid")
        if len(parts) > self.most:
            self.fail("many", most=self.most)
        if not all(isinstance(part, str) for part in parts):
            self.fail("invalid")
        return parts


class SortField(NamesField):
    """Sort keys: a list, or a text separated by commas."""

    default_error_messages = {"fields": _("There are more than {most} fields to sort by.")}

    def to_internal_value(self, data: object) -> tuple[SortKey, ...]:  # type: ignore[override] # keys are read names
        keys, faults = [], []
        for part in self.parts(data):
            try:
                keys.append(parse_sort_key(part))
            except InvalidSort as fault:
                faults.append(str(fault))
        if faults:
            raise serializers.ValidationError(faults[:MAX_REPORTED_ERRORS])
        if len({key.field for key in keys}) > MAX_SORT_FIELDS:
            self.fail("fields", most=MAX_SORT_FIELDS)
        return tuple(keys)


class JsonField(ParameterField):
    """A JSON value, or its text."""

    default_error_messages = {"json": _("Cannot parse JSON")}

    def to_internal_value(self, data: object) -> Any:
        if data in ("", {}, []):
            return None
        if isinstance(data, str):
            try:
                data = parse_json(data)
            except MalformedJson:
                self.fail("json")
        return self.checked(data)

    def checked(self, data: object) -> Any:
        """Refuse a value of another kind than is wanted."""
        return data


class FiltersField(JsonField):
    """An object, or a list of objects, or the JSON text of one."""

    default_error_messages = {
        "invalid": _("Filters must be an object, or a list of objects."),
    }

    def checked(self, data: object) -> Mapping[str, object] | list[object] | None:
        if not data and not isinstance(data, bool | int | str):
            return None
        if not isinstance(data, Mapping | list):
            self.fail("invalid")
        return data


class GivenFiltersField(FiltersField):
    """Filters of what is to be deleted: an empty object means everything, null is refused."""

    def to_internal_value(self, data: object) -> Any:
        if data in ("", []):
            self.fail("invalid")
        return data if data == {} else super().to_internal_value(data)

    def checked(self, data: object) -> Mapping[str, object] | list[object]:
        if not isinstance(data, Mapping) and not (isinstance(data, list) and data):
            self.fail("invalid")
        return data

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if data is None:
            self.fail("invalid")
        return super().validate_empty_values(data)


class ObjectsField(JsonField):
    """A list of objects, or the JSON text of one."""

    default_error_messages = {
        "invalid": _("Must be a list of objects."),
        "many": _("There are more than {most} fields."),
    }

    @property
    def most(self) -> int:
        """Objects of the list at most."""
        return MAX_NAMES

    def checked(self, data: object) -> list[Mapping[str, object]] | None:
        if data is None:
            return None
        if not isinstance(data, list):
            self.fail("invalid")
        if len(data) > self.most:
            self.fail("many", most=self.most)
        if not all(isinstance(each, Mapping) for each in data):
            self.fail("invalid")
        return data


class RecordsField(ObjectsField):
    """Records: so many as the portal lets one call have."""

    default_error_messages = {
        "many": _("There are more than {most} records. Send them in several calls."),
    }

    @property
    def most(self) -> int:
        return conf.WRITE_RECORDS_MAX


class ObjectField(JsonField):
    """An object, or the JSON text of one."""

    default_error_messages = {"invalid": _("Must be an object.")}

    def checked(self, data: object) -> Mapping[str, object] | None:
        if data is None:
            return None
        if not isinstance(data, Mapping):
            self.fail("invalid")
        return data
