"""
The parameters of ``datastore_facets``, and those of one facet.

A facet is an object with options, which a serializer of its own describes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from ..analysis import (
    INTERVALS,
    MAX_BINS,
    MAX_FACET_VALUES,
    MAX_FACETS,
    Facet,
    FacetsQuery,
    GroupBy,
)
from ..exceptions.requests import MalformedJson
from ..filters import exclude_field
from ..search import Query
from ..search.names import split_names, unquote_name
from .body import parse_json
from .envelope import MAX_REPORTED_ERRORS
from .parameter_types import (
    BooleanField,
    ChoiceField,
    FiltersField,
    FullTextField,
    FullTextQueryField,
    NonNegativeIntegerField,
    ParameterField,
    TextField,
)
from .parameters import (
    MAX_BIGINT,
    ActionParameters,
    ResourceParameters,
    build_query,
    make_printable,
)

#: Values of a facet if no limit is given.
DEFAULT_FACET_VALUES = 10

_CONDITIONS = ("filters", "q", "full_text", "plain", "language")


# Types of parameters ------------------------------------------------------------------------------


class FieldNameField(ParameterField):
    """The name of a field."""

    default_error_messages = {"invalid": _("Must be text.")}

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class NumberField(ParameterField):
    """A number within limits, also as text."""

    default_error_messages = {"invalid": _("Must be a number from {low} to {high}.")}

    def __init__(self, low: str, high: str, **options: Any) -> None:
        self.low, self.high = Decimal(low), Decimal(high)
        super().__init__(**options)

    def to_internal_value(self, data: object) -> Decimal | None:
        if data == "":
            return None
        number = self._parse(data)
        if number is None or not self.low <= number <= self.high:
            self.fail("invalid", low=self.low, high=self.high)
        return number

    @staticmethod
    def _parse(data: object) -> Decimal | None:
        if isinstance(data, bool) or not isinstance(data, str | int | Decimal):
            return None
        try:
            number = Decimal(data.strip() if isinstance(data, str) else data)
        except InvalidOperation:
            return None
        return number if number.is_finite() else None


class WholeNumberField(NumberField):
    """A whole number within limits, also as text."""

    default_error_messages = {"invalid": _("Must be a whole number from {low} to {high}.")}

    @staticmethod
    def _parse(data: object) -> Decimal | None:
        number = NumberField._parse(data)  # noqa: SLF001 - of the base class
        return None if number is None or number % 1 else number


class OptionsListField(ParameterField):
    """A list of names or objects with options, or JSON text of it, or names with commas."""

    default_error_messages = {
        "invalid": _("Must be a list of names, or of objects with options."),
        "many": _("There are more than {most}."),
        "json": _("Cannot parse JSON"),
    }

    #: The serializer of an object.
    options: ClassVar[type[ActionParameters]]
    #: The option that a name stands for.
    main: ClassVar[str] = "field"
    max_items: ClassVar[int]

    def to_internal_value(self, data: object) -> tuple[Mapping[str, Any], ...] | None:
        given = self._list_items(data)
        if len(given) > self.max_items:
            self.fail("many", most=self.max_items)
        items: list[Mapping[str, Any]] = []
        errors: list[str] = []
        for each in given:
            try:
                items.append(self.parse_item(each))
            except serializers.ValidationError as error:
                errors += _label_errors(error, self._describe(each))
        if errors:
            raise serializers.ValidationError(errors[:MAX_REPORTED_ERRORS])
        if self.required and not items:
            self.fail("required")
        return tuple(items) or None

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        if data is None and self.required:
            self.fail("required")
        return super().validate_empty_values(data)

    def _list_items(self, data: object) -> Sequence[object]:
        """List the objects and names that were sent."""
        if isinstance(data, str) and data.lstrip()[:1] in ("[", "{"):
            try:
                data = parse_json(data)
            except MalformedJson:
                self.fail("json")
        if isinstance(data, str):
            return split_names(data, self.max_items + 1)
        if isinstance(data, Mapping):
            return self.list_members(data)
        if not isinstance(data, list):
            self.fail("invalid")
        return data

    def list_members(self, data: Mapping[str, object]) -> Sequence[object]:
        """List the members of an object that was sent in place of a list."""
        if data:
            self.fail("invalid")
        return []

    def parse_item(self, item: object) -> Mapping[str, Any]:
        """Parse an object with options, or a text that stands for one."""
        if isinstance(item, str):
            item = self.expand_name(item)
        if not isinstance(item, Mapping):
            self.fail("invalid")
        return self.check_item(self.options.parse(item))

    def expand_name(self, name: str) -> Mapping[str, object]:
        """Build the object that a name stands for."""
        return {self.main: unquote_name(name)}

    def check_item(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """Check options that depend on each other."""
        return item

    def _describe(self, item: object) -> str:
        """Describe an item in a message: by its name, if it has one."""
        name = item.get(self.main) if isinstance(item, Mapping) else item
        return make_printable(name) if isinstance(name, str) else "?"


def _label_errors(error: serializers.ValidationError, label: str) -> list[str]:
    """List the messages of an item, after its name and that of the option."""
    if isinstance(error.detail, dict):
        return [
            f"{label}: {message}" if option == "__extras" else f"{label}, {option}: {message}"
            for option, messages in error.detail.items()
            for message in messages
        ]
    return [f"{label}: {message}" for message in error.detail]


# datastore_facets ---------------------------------------------------------------------------------

_INTERVAL = (
    "Group moments by the `year`, `quarter`, `month`, `week`, `day` or `hour` in which they are."
)
_TIME_ZONE = (
    "The time zone of the periods, by a name that PostgreSQL knows (`Asia/Bangkok`); for"
    " `timestamptz` alone, `UTC` if not given."
)
_SORTS = ("count", "value", "count desc", "count asc", "value asc", "value desc")
_VALUE_OPTIONS = ("limit", "sort", "min_count", "interval", "time_zone")


class FacetOptions(ActionParameters):
    """The options of one facet."""

    needed = ("field",)

    field = FieldNameField(help_text="The name of the field. Required.")
    limit = NonNegativeIntegerField(
        help_text="Maximum number of values; the `limit` of all facets if not given."
    )
    sort = ChoiceField(
        _SORTS,
        help_text="`count` gives the most common values first, equally common ones in their order;"
        " `value` gives values in their order. `asc` or `desc` may follow. `count` if not given.",
    )
    min_count = NonNegativeIntegerField(
        help_text="Leave out values that fewer records have; 1 if not given."
    )
    bins = WholeNumberField(
        "1",
        str(MAX_BINS),
        help_text="Count numbers, dates or timestamps in this number of ranges of equal width, at"
        f" most {MAX_BINS}, in place of single values.",
    )
    interval = ChoiceField(INTERVALS, help_text=_INTERVAL)
    time_zone = TextField(help_text=_TIME_ZONE)


class FacetsField(OptionsListField):
    """The facets: names and objects with options, or one object: field → options."""

    default_error_messages = {
        "combined": _("“{option}” and “{other}” cannot be combined."),
    }

    options = FacetOptions
    max_items = MAX_FACETS

    def list_members(self, data: Mapping[str, object]) -> Sequence[object]:
        if not all(isinstance(options, Mapping) or options is None for options in data.values()):
            self.fail("invalid")
        return [
            {**(options if isinstance(options, Mapping) else {}), "field": name}
            for name, options in data.items()
        ]

    def check_item(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        for option in _VALUE_OPTIONS:
            if "bins" in item and option in item:
                self.fail("combined", option="bins", other=option)
        return item


class ConditionParameters(ResourceParameters):
    """The parameters that say which records are counted."""

    filters = FiltersField(help_text="Conditions that the records must meet, as in a search.")
    q = FullTextQueryField(
        help_text="A full-text query that the records must match, as in a search."
    )
    full_text = FullTextField(
        help_text="A full-text query over all fields, to be used with a `q` that is an object."
    )
    plain = BooleanField(
        help_text="False reads `q` and `full_text` in PostgreSQL's query language; true if not"
        " given."
    )
    language = TextField(
        help_text="The name of a PostgreSQL text search configuration for the words of `q` and"
        " `full_text`; the resource's own if not given."
    )


class FacetsParameters(ConditionParameters):
    """The parameters of ``datastore_facets``."""

    facets = FacetsField(
        required=True,
        help_text=f"The fields whose values are counted, at most {MAX_FACETS}: a list of names and"
        " of [objects with options](#facets), an object field → options, or a text with commas"
        " between the names. Required.",
    )
    limit = NonNegativeIntegerField(
        help_text=f"Maximum number of values of each facet: {DEFAULT_FACET_VALUES} if not given;"
        f" more than {MAX_FACET_VALUES:,} is reduced to that. 0 gives none."
    )
    exclude_own = BooleanField(
        help_text="Leave out, for each facet, the conditions on its own field; true if not given."
    )


def build_facets_query(parameters: Mapping[str, Any]) -> FacetsQuery:
    """
    Make the query of ``FacetsParameters`` that were read.

    Raises: ``InvalidParameters`` for filters that are none.
    """
    excludes_own = parameters.get("exclude_own", True)
    limit = parameters.get("limit", DEFAULT_FACET_VALUES)
    query = build_conditions(parameters)
    return FacetsQuery(
        query,
        tuple(
            _build_facet(
                options,
                _exclude_own(parameters, options["field"]) if excludes_own else query,
                limit,
            )
            for options in parameters["facets"]
        ),
    )


def build_conditions(parameters: Mapping[str, Any]) -> Query:
    """Make a query that has conditions alone, of ``ConditionParameters`` that were read."""
    return build_query({name: parameters[name] for name in _CONDITIONS if name in parameters})


def _exclude_own(parameters: Mapping[str, Any], field: str) -> Query:
    """Make a query without the conditions on a field."""
    q = parameters.get("q", "")
    if isinstance(q, Mapping):
        q = {name: text for name, text in q.items() if name != field}
    filters = exclude_field(parameters.get("filters", {}), field)
    return build_conditions({**parameters, "q": q, "filters": filters})


def _build_facet(options: Mapping[str, Any], query: Query, limit: int) -> Facet:
    sort, _space, direction = options.get("sort", "count").partition(" ")
    is_by_value = sort == "value"
    bins = options.get("bins")
    return Facet(
        GroupBy(
            options["field"],
            interval=options.get("interval", ""),
            time_zone=options.get("time_zone", ""),
            bins=None if bins is None else int(bins),
        ),
        query,
        limit=min(options.get("limit", limit), MAX_FACET_VALUES),
        min_count=min(options.get("min_count", 1), MAX_BIGINT),
        is_by_value=is_by_value,
        is_reversed=direction == ("desc" if is_by_value else "asc"),
    )
