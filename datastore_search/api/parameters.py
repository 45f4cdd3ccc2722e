"""
The parameters of the actions: one serializer each, which is the table of its parameters.

``help_text`` describes each parameter in a few plain sentences, with code between backticks.
Documents, agents and the tables of the reference, which ``make reference`` writes, add its default
and limit.

Source: CKAN, sections 4 and 13 of its semantics: names, forms, defaults and refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from string import whitespace
from typing import Any, ClassVar, cast

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..conf import conf
from ..contributions import Contribution
from ..field_types import field_types, is_storable
from ..filters import MAX_SUBSTRINGS, MAX_WORDS, MIN_SUBSTRING_LENGTH, parse_filters
from ..filters.operators import INDEXED_OPERATORS
from ..search import Query, RecordsFormat
from .envelope import MAX_REPORTED_ERRORS
from .parameter_types import (
    MAX_ALIASES,
    MAX_INDEXES,
    BooleanField,
    ChoiceField,
    FieldsField,
    FiltersField,
    FullTextField,
    FullTextQueryField,
    GivenFiltersField,
    IgnoredField,
    NamesField,
    NonNegativeIntegerField,
    ObjectField,
    ParameterField,
    RecordsField,
    ResourceIdField,
    Schema,
    SortField,
    TextField,
)

#: One for each combination of parameters, of 11 kB; clients use a few combinations.
MAX_CACHED_SERIALIZERS = 200

#: Records of an answer if no limit is given.
DEFAULT_LIMIT = 100

#: The largest limit and offset: PostgreSQL adds them, and an id, in 64 bits.
MAX_ROW_NUMBER = 2**62 - 1


class ActionParameters(serializers.Serializer[Any]):
    """The parameters of an action; one of those in ``needed`` must be sent."""

    default_error_messages = {
        "missing": _("Missing value"),
        "character": _("The text contains a character that cannot be stored."),
        "unknown": _("There is no parameter “{name}”."),
        "jsonp": _("JSONP is not supported: use CORS."),
    }

    needed: ClassVar[tuple[str, ...]] = ()
    #: Parameters whose values are checked later, one by one.
    unchecked: ClassVar[frozenset[str]] = frozenset()
    #: Whether parameters that are not declared have no effect, in place of being refused.
    accepts_others: ClassVar[bool] = False

    @classmethod
    def get_declared(cls) -> dict[str, ParameterField]:
        """Get the table of the parameters, by their names."""
        return cast("dict[str, ParameterField]", cls._declared_fields)

    @classmethod
    def list_required(cls) -> list[str]:
        """List the names of the parameters without which the action fails."""
        declared = cls.get_declared().items()
        return [name for name, field in declared if field.required or cls.needed == (name,)]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Describe each parameter in words, for documents, the reference and agents."""
        required = cls.list_required()
        return {
            name: field.describe(is_required=name in required)
            for name, field in cls.get_declared().items()
        }

    @classmethod
    def build_schema(
        cls,
        names: Sequence[str] = (),
        required: Sequence[str] = (),
        build: Callable[[str, ParameterField], Schema] = lambda _name, field: field.build_schema(),
    ) -> Schema:
        """
        Describe an object of parameters, of all unless some are named, in JSON Schema.

        ``build`` builds the schema of a value, of the name and the entry of the parameter.
        """
        fields, texts = cls.get_declared(), cls.describe()
        return {
            "type": "object",
            "properties": {
                name: {**build(name, fields[name]), "description": texts[name]}
                for name in names or fields
            },
            **({"required": [*required]} if required else {}),
        }

    @classmethod
    def entries(cls, **parameters: ParameterField) -> Contribution:
        """Contribute parameters, as ``Table.entries`` does."""
        enter = partial(cls.get_declared().update, parameters)
        return Contribution(cls.__name__, tuple(parameters), enter)

    @classmethod
    def repeat(cls, parsed: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
        """Repeat parameters as they were understood, or as they were sent: sort keys."""
        return {
            name: sent[name] if field.is_repeated_as_sent else parsed[name]
            for name, field in cls.get_declared().items()
            if field.is_repeated and name in parsed
        }

    @classmethod
    def parse(cls, sent: Mapping[str, object]) -> dict[str, Any]:
        """Parse the parameters that were sent; those that mean the default are left out."""
        known = frozenset(cls._declared_fields.keys() & sent.keys())
        return cast("dict[str, Any]", _get_serializer(cls, known).run_validation(sent))

    def to_internal_value(self, data: Mapping[str, object]) -> dict[str, object]:
        """Refuse unknown names and texts that cannot be stored, then parse each parameter."""
        errors: dict[str, list[str]] = {
            name: [str(self.error_messages["character"])]
            for name, value in data.items()
            if name in self.fields and name not in self.unchecked and not is_storable(value)
        }
        unknown = [name for name in data if name not in self.fields]
        if unknown and not self.accepts_others:
            errors |= self._refuse_unknown(unknown)
        values: dict[str, object] = {}
        try:
            values = super().to_internal_value(
                {name: value for name, value in data.items() if name not in errors}
            )
        except serializers.ValidationError as error:
            errors = {**cast("dict[str, list[str]]", error.detail), **errors}
        if self.needed and not [name for name in self.needed if data.get(name) not in _ABSENT]:
            errors[self.needed[0]] = [str(self.error_messages["missing"])]
        if errors:
            raise serializers.ValidationError(errors)
        return {name: value for name, value in values.items() if value not in (None, "")}

    def _refuse_unknown(self, names: list[str]) -> dict[str, list[str]]:
        refused = [
            str(self.error_messages["unknown"]).format(name=make_printable(name))
            for name in [name for name in names if name != "callback"][:MAX_REPORTED_ERRORS]
        ]
        errors = {"__extras": refused} if refused else {}
        if "callback" in names:
            errors["callback"] = [str(self.error_messages["jsonp"])]
        return errors


@lru_cache(maxsize=MAX_CACHED_SERIALIZERS)
def _get_serializer(kind: type[ActionParameters], sent: frozenset[str]) -> ActionParameters:
    """Make the serializer of the parameters that were sent, once for each combination."""
    serializer = kind()
    for name, field in list(serializer.fields.items()):
        if name not in sent and not field.required:
            serializer.fields.pop(name)
    return serializer


#: The values of a parameter that count as not sent.
_ABSENT: tuple[object, ...] = (None, "", [], {})


_TYPES = ", ".join(f"`{name}`" for name in field_types)


class ResourceParameters(ActionParameters):
    """The parameters of an action on one resource."""

    needed: ClassVar[tuple[str, ...]] = ("resource_id", "id")

    resource_id = ResourceIdField(
        help_text=_(
            "The id of a resource, its name, or one of its aliases. Required, unless there is an"
            " `id`."
        )
    )
    id = ResourceIdField(
        help_text=_("Another name for `resource_id`; has precedence when both are given.")
    )

    @staticmethod
    def get_name(parameters: Mapping[str, Any]) -> str:
        """Get the identifier of the resource; ``id`` wins."""
        return str(parameters.get("id") or parameters["resource_id"])


class ConditionParameters(ActionParameters):
    """The parameters that say which records are found, or counted."""

    filters = FiltersField(help_text=_("Conditions that the records meet."))
    q = FullTextQueryField(
        help_text=format_lazy(
            _(
                "A full-text query: each word occurs in the record, in any field; beginnings and"
                " other forms of words count. An object searches single fields. At most {words}"
                " words together with `full_text`."
            ),
            words=MAX_WORDS,
        )
    )
    full_text = FullTextField(
        help_text=_(
            "A full-text query over all fields, in addition to a `q` that is an object; "
            "records match both. A `q` that is text then has no effect."
        )
    )
    plain = BooleanField(
        help_text=_("False reads `q` and `full_text` in PostgreSQL's query language."),
        shown_default="true",
    )
    websearch = BooleanField(
        help_text=_(
            "False reads quotation marks, `OR` and a minus in `q` and `full_text` as characters."
        ),
        shown_default="true",
    )
    substrings = BooleanField(
        help_text=format_lazy(
            _(
                "Find the words of `q` and `full_text` inside other words, too, if they have "
                "{letters} letters or more. The resource needs the index `substrings`. At "
                "most {words} words; not with `plain` false."
            ),
            letters=MIN_SUBSTRING_LENGTH,
            words=MAX_SUBSTRINGS,
        ),
        shown_default="false",
    )
    language = TextField(
        help_text=_(
            "A PostgreSQL text search configuration (`english`, `simple`) for the words of `q` and"
            " `full_text`; the resource's own if not given."
        )
    )


class QueryParameters(ConditionParameters):
    """The parameters that a search and a dump have in common."""

    limit = NonNegativeIntegerField(
        help_text=_("Maximum number of records; all if not given. 0 gives none.")
    )
    offset = NonNegativeIntegerField(
        help_text=_("Number of matching records to skip before the first."), shown_default="0"
    )
    fields: Any = NamesField(  # DRF takes it out of the class, whose property it would hide
        help_text=_(
            "The fields to return, in this order; all if not given. A name with a comma is "
            "in double quotes."
        )
    )
    sort = SortField(
        help_text=_(
            "A key is a field, then `asc` or `desc`, then `nulls first` or `nulls last`. If not"
            " given, records come in the order of `_id`."
        )
    )
    distinct = BooleanField(
        help_text=_(
            "Return each combination of `fields` once. Without `fields`, or with `_id` among "
            "them, no records are merged."
        ),
        shown_default="false",
    )


class SearchParameters(ResourceParameters, QueryParameters):
    """The parameters of ``datastore_search``."""

    resource_id = ResourceIdField(
        help_text=_(
            "The id of a resource, its name, or one of its aliases; or `_table_metadata`, which"
            " lists the ids and aliases that the user may read. Required, unless there is an `id`."
        )
    )
    limit = NonNegativeIntegerField(
        help_text=_("Maximum number of records. 0 gives none."),
        shown_default=DEFAULT_LIMIT,
        reduced_to=lambda: conf.MAX_LIMIT,
    )
    sort = SortField(
        help_text=_(
            "A key is a field, then `asc` or `desc`, then `nulls first` or `nulls last`. If not"
            " given, records come in the order of `_id`; with `q`, the best match first."
        )
    )
    include_total = BooleanField(
        help_text=_("Count all matching records, as `total`."), shown_default="true"
    )
    records_format = ChoiceField(
        tuple(RecordsFormat),
        help_text=_(
            "The form of the records: objects, lists in the order of `fields`, or one text of CSV"
            " or TSV without a header."
        ),
        shown_default=RecordsFormat.OBJECTS,
    )
    include_next_page = BooleanField(
        help_text=_("Return `next_page`, a condition that the records after this page meet."),
        shown_default="false",
    )
    total_estimation_threshold = IgnoredField(
        help_text=_("Has no effect: totals are always exact.")
    )


def build_query(parameters: Mapping[str, Any]) -> Query:
    """
    Make the query of ``SearchParameters`` that were read.

    A parameter is the attribute of its name, and what ``answers`` one is a member of the page.
    """
    q, full_text = parameters.get("q", ""), parameters.get("full_text", "")
    by_field = q if isinstance(q, Mapping) else {}
    values = {name: parameters[name] for name in Query.__slots__ if name in parameters}
    values |= {
        "limit": min(parameters.get("limit", DEFAULT_LIMIT), conf.MAX_LIMIT),
        "offset": min(parameters.get("offset", 0), MAX_ROW_NUMBER),
        # CKAN: with a full_text, a q that is text counts for nothing.
        "q": full_text or ("" if by_field else q),
        "q_fields": by_field,
        "language": parameters.get("language", "")
        .strip(whitespace)
        .lower(),  # as PostgreSQL reads names
        "filters": parse_filters(parameters["filters"]) if "filters" in parameters else (),
        "records_format": RecordsFormat(parameters.get("records_format", RecordsFormat.OBJECTS)),
        "members": tuple(
            [
                field.answers
                for name, field in SearchParameters.get_declared().items()
                if field.answers is not None and parameters.get(name)
            ]
        ),
    }
    return Query(**values)


class InfoParameters(ResourceParameters):
    """The parameters of ``datastore_info``."""

    include_meta = BooleanField(
        help_text=_("Describe the table as a whole, as `meta`."), shown_default="true"
    )
    include_fields_schema = BooleanField(
        help_text=_("Return the `schema` and the `profile` of each field."), shown_default="true"
    )


class HelpParameters(ActionParameters):
    """The parameters of ``help_show``."""

    needed = ("name",)

    name = TextField(help_text=_("The name of an action."))


class StatusParameters(ActionParameters):
    """``status_show`` has none."""


# Writing ------------------------------------------------------------------------------------------


class WritingParameters(ResourceParameters):
    """The parameters of an action that writes records."""

    force = BooleanField(
        help_text=_("Write even if the records come from a file, and the next file replaces them."),
        shown_default="false",
        repeated=False,
    )
    calculate_record_count = IgnoredField(help_text=_("Has no effect: the count is always exact."))


class RecordsParameters(WritingParameters):
    """The parameters of an action that takes records."""

    unchecked = frozenset({"records"})

    include_records = BooleanField(
        help_text=_("Return the written records, as they are stored."), shown_default="false"
    )


class CreateParameters(RecordsParameters):
    """The parameters of ``datastore_create``."""

    needed = ("resource_id", "id", "resource")

    resource_id = ResourceIdField(
        help_text=_(
            "The id of a resource, its name, or one of its aliases. A new id, a UUID, creates a "
            "resource. Required, unless there is an `id` or a `resource`."
        )
    )
    resource = ObjectField(
        help_text=_(
            "Describes a new resource by the members of `resource_create`. Not together with"
            " `resource_id`."
        )
    )
    private = BooleanField(
        help_text=_(
            "Whether only users with the permission may read the resource. If not given, a "
            "new resource is public, and an existing one is not changed."
        )
    )
    fields: Any = FieldsField(  # DRF takes it out of the class, whose property it would hide
        help_text=format_lazy(
            _(
                "Fields to add or to describe: objects with `id`, `type` and `info`. Types are"
                " {types}; without one, it is inferred from the records. If not given, a new table"
                " has the fields that the first record names."
            ),
            types=_TYPES,
        )
    )
    records = RecordsField(help_text=_("Records to add. Missing members are null."))
    primary_key = NamesField(
        help_text=_(
            "Fields whose values identify a record. An empty list removes the key. If not "
            "given, the key stays."
        )
    )
    indexes = NamesField(
        MAX_INDEXES,
        help_text=_(
            "Fields whose order is indexed; equality is indexed for every field. If not given, the"
            " indexes stay."
        ),
    )
    index_substrings = BooleanField(
        help_text=format_lazy(
            _(
                "Whether parts of texts are indexed, for {operators} and `substrings`. If not "
                "given, this is not changed."
            ),
            operators=", ".join(f"`{name}`" for name in INDEXED_OPERATORS),
        )
    )
    aliases = NamesField(
        MAX_ALIASES,
        help_text=_(
            "Other names of the resource, which replace its present ones. If not given, they stay."
        ),
    )
    delete_fields = BooleanField(
        help_text=_(
            "Remove the fields that `fields` does not name, with their values. Has no effect"
            " without `fields`."
        ),
        shown_default="false",
    )


class UpsertParameters(RecordsParameters):
    """The parameters of ``datastore_upsert``."""

    records = RecordsField(
        help_text=_(
            "Records to write. Except with `insert`, they need `_id` or the fields of the "
            "primary key."
        )
    )
    method = ChoiceField(
        ("upsert", "insert", "update"),
        help_text=_(
            "`insert` adds records, `update` changes existing ones, and `upsert` does either."
        ),
        shown_default="upsert",
    )
    dry_run = BooleanField(
        help_text=_("Check everything and answer as usual, but change nothing."),
        shown_default="false",
    )


class DeleteParameters(WritingParameters):
    """The parameters of ``datastore_delete``."""

    filters = GivenFiltersField(
        help_text=_(
            "Which records to delete; an empty object deletes all of them. If not given, the table"
            " is deleted, with its fields and aliases. Null, an empty text and an empty list are"
            " refused."
        )
    )
    include_deleted_records = BooleanField(
        help_text=_("Return the deleted records."), shown_default="false"
    )


class RecordsDeleteParameters(DeleteParameters):
    """The parameters of ``datastore_records_delete``."""

    filters = GivenFiltersField(
        required=True,
        help_text=_(
            "Which records to delete; an empty object deletes all of them. Null, an empty text and"
            " an empty list are refused."
        ),
    )


# Texts --------------------------------------------------------------------------------------------


def make_printable(text: str) -> str:
    """Shorten a text for a message, and replace characters that cannot be encoded."""
    return text[:100].encode(errors="replace").decode().replace("\0", "�")
