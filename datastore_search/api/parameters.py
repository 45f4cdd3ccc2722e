"""
The parameters of the actions: one serializer each, which is the table of its parameters.

Source: CKAN ``datastore_search``, section 4 of its semantics: forms, defaults and refusals.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..conf import conf
from ..exceptions import MalformedJson, UnknownResource
from ..filters import parse_filters
from ..search import Query
from .body import parse_json

_DIGITS = 40
_INTEGER = re.compile(rf"\s*[+-]?[0-9]{{1,{_DIGITS}}}\s*")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TRUE = frozenset({"true", "yes", "t", "y", "1"})

#: Longer full-text queries are refused: each word is a look-up of its own.
_Q_LETTERS = 10_000


class _Field(serializers.Field[Any, Any, Any, Any]):
    """A parameter whose absence, null and empty text all mean the default."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, allow_null=True, **options)

    def to_representation(self, value: Any) -> Any:
        return value


class NaturalNumberField(_Field):
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


class BooleanField(_Field):
    """A truth value: numbers too, and the texts true, yes, t, y and 1; any other text is false."""

    def to_internal_value(self, data: object) -> bool | None:
        if data == "":
            return None
        if isinstance(data, str):
            return data.strip().lower() in _TRUE
        return bool(data) if isinstance(data, bool | int | Decimal) else False


class ResourceIdField(_Field):
    """The id of a resource, as text."""

    def to_internal_value(self, data: object) -> str | None:
        return str(data) if data not in ("", [], {}) else None


class FullTextField(_Field):
    """A full-text query; numbers and truth values are taken as text."""

    default_error_messages = {
        "invalid": _("The full-text query must be text."),
        "long": _("The full-text query is longer than {most} letters."),
    }

    def to_internal_value(self, data: object) -> str:
        if data in ({}, []):
            return ""
        if not isinstance(data, str | int | Decimal):
            self.fail("invalid")
        text = str(data)
        if len(text) > _Q_LETTERS:
            self.fail("long", most=_Q_LETTERS)
        return text


class FiltersField(_Field):
    """An object, or the JSON text of one."""

    default_error_messages = {
        "json": _("Cannot parse JSON"),
        "invalid": _("The filters must be an object: field → value, or list of values."),
    }

    def to_internal_value(self, data: object) -> Mapping[str, object] | None:
        if data in ("", {}, []):
            return None
        if isinstance(data, str):
            try:
                data = parse_json(data)
            except MalformedJson:
                self.fail("json")
        if data is None:
            return None
        if not isinstance(data, Mapping):
            self.fail("invalid")
        return data


class SearchParameters(serializers.Serializer[Any]):
    """The parameters of ``datastore_search``."""

    default_error_messages = {
        "missing": _("Missing value"),
        "character": _("The text holds a character that cannot be stored."),
        "unknown": _("There is no parameter “{name}”."),
    }

    resource_id = ResourceIdField()
    id = ResourceIdField()
    limit = NaturalNumberField()
    offset = NaturalNumberField()
    q = FullTextField()
    filters = FiltersField()
    include_total = BooleanField()

    def to_internal_value(self, data: Mapping[str, object]) -> dict[str, object]:
        """Refuse unknown names and texts that no database can hold, then read each parameter."""
        errors: dict[str, list[str]] = {
            name: [str(self.error_messages["character"])]
            for name, value in data.items()
            if name in self.fields and not _storable(value)
        }
        unknown = [name for name in data if name not in self.fields]
        if unknown:
            errors["__extras"] = [
                str(self.error_messages["unknown"]).format(name=_printable(name))
                for name in unknown
            ]
        try:
            values = super().to_internal_value(
                {name: value for name, value in data.items() if name not in errors}
            )
        except serializers.ValidationError as error:
            errors = {**cast("dict[str, list[str]]", error.detail), **errors}
            values = {}
        if not any(data.get(name) for name in ("id", "resource_id")):
            errors["resource_id"] = [str(self.error_messages["missing"])]
        if errors:
            raise serializers.ValidationError(errors)
        return {name: value for name, value in values.items() if value not in (None, "")}


class SearchRequest:
    """What ``datastore_search`` was asked: a resource and a query, and the words it was said in."""

    def __init__(self, sent: Mapping[str, object]) -> None:
        """
        Understand the parameters.

        Raises: ``ValidationError`` for parameters that cannot be read, all of them at once;
        ``InvalidParameter`` for conditions in the filters.
        """
        serializer = SearchParameters(data=sent)
        serializer.is_valid(raise_exception=True)
        self.given: dict[str, Any] = serializer.validated_data
        given = self.given
        self._id = given.get("id") or given["resource_id"]
        self.query = Query(
            limit=min(given.get("limit", conf.LIMIT_DEFAULT), conf.LIMIT_MAX),
            offset=min(given.get("offset", 0), 2**63 - 1),
            q=given.get("q", ""),
            filters=parse_filters(given.get("filters", {})),
            include_total=given.get("include_total", True),
        )

    @property
    def resource_id(self) -> uuid.UUID:
        """
        The resource asked for.

        Raises: ``UnknownResource`` when it cannot be the id of any.
        """
        if not _UUID.fullmatch(self._id):
            raise UnknownResource(resource=_printable(self._id))
        return uuid.UUID(self._id)


def _storable(value: object) -> bool:
    """Tell whether all texts of a value are without NUL and lone surrogates."""
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, Mapping):
        return all(_storable(key) and _storable(member) for key, member in value.items())
    if isinstance(value, list):
        return all(map(_storable, value))
    return True


def _encodable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _printable(text: str) -> str:
    """Shorten a text for a message, and leave out what cannot be written."""
    return text[:100].encode(errors="replace").decode().replace("\0", "�")
