"""
The parameters of an action: a serializer, which is the table of them.

Here are what all have in common, and the parameters of several actions; each action has its own
beside it, in ``actions``.

``help_text`` describes each parameter in a few plain sentences, with code between backticks.
Documents, agents and the tables of the reference, which ``make reference`` writes, add its default
and limit.

Source: CKAN, sections 4 and 13 of its semantics: names, forms, defaults and refusals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar, cast

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..contributions import Contribution
from ..field_types import is_storable
from ..filters import MAX_SUBSTRINGS, MAX_WORDS, MIN_SUBSTRING_LENGTH
from .envelope import MAX_REPORTED_ERRORS
from .parameter_types import (
    BooleanField,
    FiltersField,
    FullTextField,
    FullTextQueryField,
    NamesField,
    NonNegativeIntegerField,
    ParameterField,
    ResourceIdField,
    Schema,
    SortField,
    TextField,
)

#: One for each combination of parameters, of 11 kB; clients use a few combinations.
MAX_CACHED_SERIALIZERS = 200

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


class ResourceParameters(ActionParameters):
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


def make_printable(text: str) -> str:
    """Shorten a text for a message, and replace characters that cannot be encoded."""
    return text[:100].encode(errors="replace").decode().replace("\0", "�")
