"""
The parameters of the actions: one serializer each, which is the table of its parameters.

Source: CKAN, sections 4 and 13 of its semantics: names, forms, defaults and refusals.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, cast

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..conf import conf
from ..field_types import is_storable
from ..filters import parse_filters
from ..search import Query, RecordsFormat
from .envelope import MAX_REPORTED_ERRORS
from .parameter_types import (
    MAX_ALIASES,
    MAX_INDEXES,
    BooleanField,
    ChoiceField,
    FiltersField,
    FullTextField,
    FullTextQueryField,
    GivenFiltersField,
    IgnoredField,
    NamesField,
    NaturalNumberField,
    ObjectField,
    ObjectsField,
    RecordsField,
    ResourceIdField,
    SortField,
    TextField,
)

#: Combinations of parameters that are kept, of 11 kB each; clients use a few.
_MAX_TABLES = 200

#: PostgreSQL counts no further.
_OFFSET_MOST = 2**63 - 1


class ActionParameters(serializers.Serializer[Any]):
    """The parameters of an action; ``needed`` names those of which one must be there."""

    default_error_messages = {
        "missing": _("Missing value"),
        "character": _("The text holds a character that cannot be stored."),
        "unknown": _("There is no parameter “{name}”."),
        "jsonp": _("JSONP is not supported: use CORS."),
    }

    needed: ClassVar[tuple[str, ...]] = ()
    #: Parameters whose values are looked at one by one, later on.
    unread: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def read(cls, sent: Mapping[str, object]) -> dict[str, Any]:
        """
        Understand the parameters that were sent; what means a default is left out.

        Raises: ``ValidationError``, everything that cannot be read.
        """
        known = frozenset(name for name in sent if name in cls._declared_fields)
        return cast("dict[str, Any]", _table(cls, known).run_validation(sent))

    def to_internal_value(self, data: Mapping[str, object]) -> dict[str, object]:
        """Refuse unknown names and texts that no database can hold, then read each parameter."""
        errors: dict[str, list[str]] = {
            name: [str(self.error_messages["character"])]
            for name, value in data.items()
            if name in self.fields and name not in self.unread and not _storable(value)
        }
        errors |= self._unknown([name for name in data if name not in self.fields])
        values: dict[str, object] = {}
        try:
            values = super().to_internal_value(
                {name: value for name, value in data.items() if name not in errors}
            )
        except serializers.ValidationError as error:
            errors = {**cast("dict[str, list[str]]", error.detail), **errors}
        if self.needed and not any(data.get(name) not in _ABSENT for name in self.needed):
            errors[self.needed[0]] = [str(self.error_messages["missing"])]
        if errors:
            raise serializers.ValidationError(errors)
        return {name: value for name, value in values.items() if value not in (None, "")}

    def _unknown(self, names: list[str]) -> dict[str, list[str]]:
        refused = [
            str(self.error_messages["unknown"]).format(name=printable(name))
            for name in [name for name in names if name != "callback"][:MAX_REPORTED_ERRORS]
        ]
        errors = {"__extras": refused} if refused else {}
        if "callback" in names:
            errors["callback"] = [str(self.error_messages["jsonp"])]
        return errors


@lru_cache(maxsize=_MAX_TABLES)
def _table(kind: type[ActionParameters], sent: frozenset[str]) -> ActionParameters:
    """
    Make the table of an action once: it keeps nothing of what it reads.

    A parameter that may be left out, and was, has no row.
    """
    table = kind()
    for name, field in list(table.fields.items()):
        if name not in sent and not field.required:
            table.fields.pop(name)
    return table


#: Values that mean that a parameter is not there.
_ABSENT: tuple[object, ...] = (None, "", [], {})


class ResourceParameters(ActionParameters):
    """The parameters of an action on one resource."""

    needed = ("resource_id", "id")

    resource_id = ResourceIdField()
    id = ResourceIdField()

    @staticmethod
    def name_in(given: Mapping[str, Any]) -> str:
        """Find the id or alias among what was read; ``id`` wins."""
        return str(given.get("id") or given["resource_id"])


class SearchParameters(ResourceParameters):
    """The parameters of ``datastore_search``."""

    limit = NaturalNumberField()
    offset = NaturalNumberField()
    fields = NamesField()  # type: ignore[assignment] # the metaclass takes it out of the class
    sort = SortField()
    filters = FiltersField()
    q = FullTextQueryField()
    full_text = FullTextField()
    plain = BooleanField()
    language = TextField()
    distinct = BooleanField()
    include_total = BooleanField()
    records_format = ChoiceField(tuple(RecordsFormat))
    include_next_page = BooleanField()
    total_estimation_threshold = IgnoredField()


def build_query(given: Mapping[str, Any]) -> Query:
    """
    Make the query of ``SearchParameters`` that were read.

    Raises: ``InvalidParameters`` for filters that are none.
    """
    q, full_text = given.get("q", ""), given.get("full_text", "")
    by_field = q if isinstance(q, Mapping) else {}
    return Query(
        limit=min(given.get("limit", conf.LIMIT_DEFAULT), conf.LIMIT_MAX),
        offset=min(given.get("offset", 0), _OFFSET_MOST),
        # CKAN: with a full_text, a q that is text counts for nothing.
        q=full_text or ("" if by_field else q),
        q_fields=by_field,
        plain=given.get("plain", True),
        language=given.get("language", "").strip().lower(),  # as PostgreSQL reads names
        filters=parse_filters(given.get("filters", {})),
        fields=given.get("fields", ()),
        sort=given.get("sort", ()),
        distinct=given.get("distinct", False),
        include_total=given.get("include_total", True),
        include_next_page=given.get("include_next_page", False),
        records_format=RecordsFormat(given.get("records_format", RecordsFormat.OBJECTS)),
    )


class InfoParameters(ResourceParameters):
    """The parameters of ``datastore_info``."""

    include_meta = BooleanField()
    include_fields_schema = BooleanField()


class HelpParameters(ActionParameters):
    """The parameters of ``help_show``."""

    needed = ("name",)

    name = TextField()


class StatusParameters(ActionParameters):
    """``status_show`` has none."""


# Writing ------------------------------------------------------------------------------------------


class CreateParameters(ActionParameters):
    """The parameters of ``datastore_create``."""

    needed = ("resource_id", "id", "resource")
    unread = frozenset({"records"})

    resource_id = ResourceIdField()
    id = ResourceIdField()
    resource = ObjectField()
    private = BooleanField()
    fields = ObjectsField()  # type: ignore[assignment] # the metaclass takes it out of the class
    records = RecordsField()
    primary_key = NamesField()
    indexes = NamesField(MAX_INDEXES)
    aliases = NamesField(MAX_ALIASES)
    delete_fields = BooleanField()
    include_records = BooleanField()
    force = BooleanField()
    calculate_record_count = IgnoredField()


class UpsertParameters(ResourceParameters):
    """The parameters of ``datastore_upsert``."""

    unread = frozenset({"records"})

    records = RecordsField()
    method = ChoiceField(("upsert", "insert", "update"))
    dry_run = BooleanField()
    include_records = BooleanField()
    force = BooleanField()
    calculate_record_count = IgnoredField()


class DeleteParameters(ResourceParameters):
    """The parameters of ``datastore_delete``."""

    filters = GivenFiltersField()
    include_deleted_records = BooleanField()
    force = BooleanField()
    calculate_record_count = IgnoredField()


class RecordsDeleteParameters(DeleteParameters):
    """The parameters of ``datastore_records_delete``."""

    filters = GivenFiltersField(required=True)


# Texts --------------------------------------------------------------------------------------------


def _storable(value: object) -> bool:
    """Tell whether all texts of a value are without NUL and lone surrogates."""
    if isinstance(value, str):
        return is_storable(value)
    if isinstance(value, Mapping):
        return all(_storable(key) and _storable(member) for key, member in value.items())
    if isinstance(value, list):
        return all(map(_storable, value))
    return True


def printable(text: str) -> str:
    """Shorten a text for a message, and leave out what cannot be written."""
    return text[:100].encode(errors="replace").decode().replace("\0", "�")
