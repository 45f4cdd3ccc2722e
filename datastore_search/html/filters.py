"""
The filter forms: one for the catalogue, one for the records of a resource.

The fields of a resource are known once it is read, so the ``FilterSet`` of its records is made for
each request.  A value is checked against the type of its field, as in the API; an error appears
next to its input, and nothing is searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db import connections, router
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_filters import CharFilter, ChoiceFilter, Filter, FilterSet

from .. import storage
from ..exceptions.parameters import InvalidParameters, UnknownField
from ..exceptions.search import TooManyWords
from ..filters import MAX_WORDS, In, TypedFields, compile_conditions, has_too_many_words
from ..models import Field, Load, Resource
from .links import Parameters

#: Precedes the name of a field in a query string, so that a field may have the name ``q``.
FIELD_PREFIX = "field."

#: The parameters that filter by a field without an input of its own.
OTHER_FIELD, OTHER_VALUE = "field", "value"

MAX_Q_LENGTH = 1_000
MAX_CATALOGUE_Q_LENGTH = 200

#: Each word is compared with the description and the fields of every resource.
MAX_CATALOGUE_WORDS = 10

#: The fields with an input of their own, and the size of their names in the address.
MAX_INPUTS = 12
MAX_INPUT_NAMES_BYTES = 1_000


def validate_catalogue_word_count(text: str) -> None:
    """
    Refuse too many words.

    Raises: ``ValidationError``.
    """
    if len(text.split()) > MAX_CATALOGUE_WORDS:
        raise ValidationError(str(TooManyWords(most=MAX_CATALOGUE_WORDS)))


class CatalogueFilterSet(FilterSet):
    """The filter of the catalogue."""

    q = CharFilter(
        label=gettext_lazy("Find resources"),
        method="filter_by_words",
        max_length=MAX_CATALOGUE_Q_LENGTH,
        validators=[validate_catalogue_word_count],
        widget=forms.TextInput({"id": "q", "type": "search", "aria-describedby": "q-error"}),
    )

    class Meta:
        model = Resource
        fields = ()

    def filter_by_words(
        self, resources: QuerySet[Resource], name: str, text: str
    ) -> QuerySet[Resource]:
        """Keep the resources that hold every word in a name, title, description, id or field."""
        for word in text.split():
            fields = Field.objects.filter(
                Q(name__icontains=word) | Q(label__icontains=word), resource=OuterRef("pk")
            )
            resources = resources.filter(
                Q(title__icontains=word)
                | Q(name__icontains=word)
                | Q(description__icontains=word)
                | Q(id__icontains=word)
                | Exists(fields)
            )
        return resources


class RecordForm(forms.Form):
    """The form of ``RecordFilterSet``; it refuses unknown fields and repeated parameters."""

    def clean(self) -> dict[str, Any]:
        """Check the whole query string."""
        for name, values in cast("QueryDict", self.data).lists():
            if name.startswith(FIELD_PREFIX) and name not in self.fields:
                self.add_error(None, str(UnknownField(field=name.removeprefix(FIELD_PREFIX))))
            elif name in self.fields and len(values) > 1:
                self.add_error(name, _("Give one value only."))
        if self.data.get(OTHER_VALUE):
            self.add_error(None, _("Choose the field that the value is looked for in."))
        return self.cleaned_data


class RecordFilterSet(FilterSet):
    """The filter of a resource's records: a full-text query and values of fields."""

    class Meta:
        form = RecordForm

    def __init__(self, data: QueryDict, resource: Resource) -> None:
        """Build a filter for each field of a described resource."""
        types = {field.name: field.type for field in resource.schema}
        self._with_input = frozenset(
            FIELD_PREFIX + name for name, kind in types.items() if kind in _INPUT_ATTRIBUTES
        )
        self.base_filters = {"q": _build_q_filter()} | {
            FIELD_PREFIX + field.name: _build_field_filter(field, position, types)
            for position, field in enumerate(resource.schema)
        }
        super().__init__(data, Resource.objects.none())

    @property
    def q(self) -> str:
        """The full-text query of a valid form."""
        return str(self.form.cleaned_data["q"])

    @property
    def conditions(self) -> tuple[In, ...]:
        """The conditions of a valid form."""
        values = self.form.cleaned_data
        return tuple(
            In(self.filters[name].field_name, (values[name],))
            for name in self._list_field_filters()
            if values[name]
        )

    @property
    def q_input(self) -> forms.BoundField:
        """The input of the full-text query."""
        return cast("forms.BoundField", self.form["q"])

    @property
    def other_value(self) -> str:
        """The value that was sent without its field."""
        return str(self.data.get(OTHER_VALUE, ""))

    @property
    def inputs(self) -> list[forms.BoundField]:
        """The inputs of the first fields, and of all that the query string names."""
        return [self.form[name] for name in self._choose_inputs()]

    @property
    def fields_without_input(self) -> list[tuple[str, str]]:
        """The names and labels of the fields that have no input of their own."""
        inputs = set(self._choose_inputs())
        return [
            (self.filters[name].field_name, self.filters[name].label)
            for name in self._list_field_filters()
            if name in self._with_input - inputs
        ]

    def _list_field_filters(self) -> list[str]:
        return [name for name in self.filters if name.startswith(FIELD_PREFIX)]

    def _choose_inputs(self) -> Iterator[str]:
        count = length = 0
        for name in self._list_field_filters():
            length_with = length + len(name.encode())
            fits = count < MAX_INPUTS and length_with <= MAX_INPUT_NAMES_BYTES
            if name in self.data or (name in self._with_input and fits):
                count, length = count + 1, length_with
                yield name


def clean_parameters(sent: QueryDict) -> Parameters:
    """
    Write a query string in its shortest form, without empty and unknown parameters.

    The pair of ``OTHER_FIELD`` and ``OTHER_VALUE`` becomes the parameter of that field.
    """
    field, value = sent.get(OTHER_FIELD, ""), sent.get(OTHER_VALUE, "")
    pairs: list[tuple[str, str]] = [
        (name, value)
        for name, values in sent.lists()
        for value in values
        if value and (name == "q" or name.startswith(FIELD_PREFIX))
    ]
    if field and value:
        pairs.append((FIELD_PREFIX + field, value))
    elif value:
        pairs.append((OTHER_VALUE, value))
    page = sent.get("page", "")
    if page not in ("", "1"):
        pairs.append(("page", page))
    return pairs


# The filter of a field ----------------------------------------------------------------------------


_ANY = gettext_lazy("any")
_YES_OR_NO = (("true", gettext_lazy("yes")), ("false", gettext_lazy("no")))

#: The attributes of the input of a type.  Other types, such as lists, have no input.
_INPUT_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "text": {},
    "int4": {"inputmode": "numeric", "dir": "ltr"},
    "int8": {"inputmode": "numeric", "dir": "ltr"},
    "numeric": {"inputmode": "decimal", "dir": "ltr"},
    "float8": {"inputmode": "decimal", "dir": "ltr"},
    "bool": {},
    "date": {"type": "date"},
    "timestamp": {"placeholder": "2026-12-31 23:59:59", "dir": "ltr"},
    "time": {"placeholder": "23:59:59", "dir": "ltr"},
}


def _build_q_filter() -> Filter:
    attributes = {"id": "q", "type": "search", "aria-describedby": "q-error"}
    return CharFilter(
        label=gettext_lazy("Full-text search"),
        max_length=MAX_Q_LENGTH,
        validators=[validate_word_count],
        widget=forms.TextInput(attributes),
    )


def validate_word_count(text: str) -> None:
    """
    Refuse too many words, as the API does.

    Raises: ``ValidationError``.
    """
    if has_too_many_words([text], plain=True):
        raise ValidationError(str(TooManyWords(most=MAX_WORDS)))


def _build_field_filter(field: Field, position: int, types: Mapping[str, str]) -> Filter:
    label = field.label or field.name
    attributes = {
        "id": f"field-{position}",
        "aria-describedby": f"field-{position}-error",
        **_INPUT_ATTRIBUTES.get(field.type, {}),
    }
    if field.type == "bool":
        return ChoiceFilter(
            field.name,
            label=label,
            choices=_YES_OR_NO,
            empty_label=_ANY,
            widget=forms.Select(attributes),
        )
    return CharFilter(
        field.name,
        label=label,
        strip=False,
        validators=[partial(validate_type, field.name, types)],
        widget=forms.TextInput(attributes),
    )


def validate_type(name: str, types: Mapping[str, str], value: str) -> None:
    """
    Refuse a value that is not of the field's type, with the message of the API.

    Raises: ``ValidationError``.
    """
    cast = partial(storage.cast_texts, connections[router.db_for_read(Load)])
    try:
        compile_conditions([In(name, (value,))], TypedFields(types, cast))
    except InvalidParameters as error:
        raise ValidationError(str(error)) from error
