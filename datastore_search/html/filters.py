"""
The filter forms: one over the resources, one over the records of a resource.

A record's fields are known only when its resource is read, so its ``FilterSet`` is made then.  What
is typed in meets the type of the field in ``filters``, as it does in the API; what does not fit is
said next to the field, and nothing is searched.
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
from ..exceptions import InvalidParameters, TooManyWords, UnknownField
from ..filters import MAX_WORDS, In, Types, compile_conditions, has_too_many_words
from ..models import Field, Load, Resource
from .links import Parameters

#: Comes before the name of a field in a query string, so that no field is mistaken for ``q``.
PREFIX = "field."

#: A field that has no input of its own is chosen by these two.
OTHER_FIELD, OTHER_VALUE = "field", "value"

_Q_LETTERS = 1_000
_CATALOGUE_Q_LETTERS = 200

#: Each word is looked for in the description and in the fields of every resource.
_MAX_CATALOGUE_WORDS = 10

#: So many fields have an input of their own, while their names leave the address short enough.
_INPUTS = 12
_INPUT_NAME_BYTES = 1_000


def _check_catalogue_words(text: str) -> None:
    """
    Refuse too many words.

    Raises: ``ValidationError``.
    """
    if len(text.split()) > _MAX_CATALOGUE_WORDS:
        raise ValidationError(str(TooManyWords(most=_MAX_CATALOGUE_WORDS)))


class CatalogueFilterSet(FilterSet):
    """What is looked for in the catalogue."""

    q = CharFilter(
        label=gettext_lazy("Find resources"),
        method="with_words",
        max_length=_CATALOGUE_Q_LETTERS,
        validators=[_check_catalogue_words],
        widget=forms.TextInput({"id": "q", "type": "search", "aria-describedby": "q-error"}),
    )

    class Meta:
        model = Resource
        fields = ()

    def with_words(self, resources: QuerySet[Resource], name: str, text: str) -> QuerySet[Resource]:
        """Keep the resources whose description, in a wide sense, holds every word."""
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
    """The form of ``RecordFilterSet``: refuses what it does not know and what is said twice."""

    def clean(self) -> dict[str, Any]:
        """Look at the whole query string."""
        for name, values in cast("QueryDict", self.data).lists():
            if name.startswith(PREFIX) and name not in self.fields:
                self.add_error(None, str(UnknownField(field=name.removeprefix(PREFIX))))
            elif name in self.fields and len(values) > 1:
                self.add_error(name, _("Give one value only."))
        if self.data.get(OTHER_VALUE):
            self.add_error(None, _("Choose the field that the value is looked for in."))
        return self.cleaned_data


class RecordFilterSet(FilterSet):
    """What is looked for in the records of a resource: a full-text query and values of fields."""

    class Meta:
        form = RecordForm

    def __init__(self, data: QueryDict, resource: Resource) -> None:
        """Make a filter for each field of a described resource."""
        types = {field.name: field.type for field in resource.schema}
        self._offered = frozenset(
            PREFIX + name for name, kind in types.items() if kind in _OFFERED_TYPES
        )
        self.base_filters = {"q": _q_filter()} | {
            PREFIX + field.name: _field_filter(field, place, types)
            for place, field in enumerate(resource.schema)
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
            for name in self._fields()
            if values[name]
        )

    @property
    def question(self) -> forms.BoundField:
        """The input of the full-text query."""
        return cast("forms.BoundField", self.form["q"])

    @property
    def other_value(self) -> str:
        """The value that was given without its field."""
        return str(self.data.get(OTHER_VALUE, ""))

    @property
    def inputs(self) -> list[forms.BoundField]:
        """The inputs of the first fields, and of all that are asked for."""
        return [self.form[name] for name in self._inputs()]

    @property
    def others(self) -> list[tuple[str, str]]:
        """Names and labels of the fields that have no input of their own."""
        inputs = set(self._inputs())
        return [
            (self.filters[name].field_name, self.filters[name].label)
            for name in self._fields()
            if name in self._offered - inputs
        ]

    def _fields(self) -> list[str]:
        return [name for name in self.filters if name.startswith(PREFIX)]

    def _inputs(self) -> Iterator[str]:
        count = length = 0
        for name in self._fields():
            length_with = length + len(name.encode())
            fits = count < _INPUTS and length_with <= _INPUT_NAME_BYTES
            if name in self.data or (name in self._offered and fits):
                count, length = count + 1, length_with
                yield name


def plain(asked: QueryDict) -> Parameters:
    """
    Say the question of a query string without what is empty, in its shortest form.

    A field that was chosen with a value becomes a condition like the others.
    """
    field, value = asked.get(OTHER_FIELD, ""), asked.get(OTHER_VALUE, "")
    pairs: list[tuple[str, str]] = [
        (name, value)
        for name, values in asked.lists()
        for value in values
        if value and (name == "q" or name.startswith(PREFIX))
    ]
    if field and value:
        pairs.append((PREFIX + field, value))
    elif value:
        pairs.append((OTHER_VALUE, value))
    page = asked.get("page", "")
    if page not in ("", "1"):
        pairs.append(("page", page))
    return pairs


# The filter of a field ----------------------------------------------------------------------------


_ANY = gettext_lazy("any")
_YES_OR_NO = (("true", gettext_lazy("yes")), ("false", gettext_lazy("no")))

#: How the input of a type is written; a type that is not here is not offered: nobody types a list.
_OFFERED_TYPES: Mapping[str, Mapping[str, str]] = {
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


def _q_filter() -> Filter:
    attributes = {"id": "q", "type": "search", "aria-describedby": "q-error"}
    return CharFilter(
        label=gettext_lazy("Full-text search"),
        max_length=_Q_LETTERS,
        validators=[_check_words],
        widget=forms.TextInput(attributes),
    )


def _check_words(text: str) -> None:
    """
    Refuse too many words, as the API does.

    Raises: ``ValidationError``.
    """
    if has_too_many_words([text], plain=True):
        raise ValidationError(str(TooManyWords(most=MAX_WORDS)))


def _field_filter(field: Field, place: int, types: Mapping[str, str]) -> Filter:
    label = field.label or field.name
    attributes = {
        "id": f"field-{place}",
        "aria-describedby": f"field-{place}-error",
        **_OFFERED_TYPES.get(field.type, {}),
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
        validators=[partial(_check_type, field.name, types)],
        widget=forms.TextInput(attributes),
    )


def _check_type(name: str, types: Mapping[str, str], value: str) -> None:
    """
    Refuse what cannot be of the field's type, in the words of the API.

    Raises: ``ValidationError``.
    """
    cast = partial(storage.cast_texts, connections[router.db_for_read(Load)])
    try:
        compile_conditions([In(name, (value,))], Types(types, cast))
    except InvalidParameters as error:
        raise ValidationError(str(error)) from error
