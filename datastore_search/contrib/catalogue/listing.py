"""The resources with their numbers of fields, and the filter of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Coalesce, Lower, NullIf
from django.utils.translation import gettext_lazy
from django_filters import CharFilter, FilterSet

from ...messages.search import TooManyWords
from ...models import Resource, ResourceQuerySet
from .datasets import count_fields, list_loaded_resources

MAX_CATALOGUE_Q_LENGTH = 200

#: Each word is compared with the description and the fields of every resource.
MAX_CATALOGUE_WORDS = 10


def validate_catalogue_word_count(text: str) -> None:
    if len(text.split()) > MAX_CATALOGUE_WORDS:
        raise ValidationError(str(TooManyWords(most=MAX_CATALOGUE_WORDS)))


class CatalogueFilterSet(FilterSet):
    q = CharFilter(
        label=gettext_lazy("Find resources"),
        method="filter_by_words",
        max_length=MAX_CATALOGUE_Q_LENGTH,
        validators=[validate_catalogue_word_count],
        widget=forms.TextInput({"id": "q", "type": "search"}),
    )

    class Meta:
        model = Resource
        fields = ()

    def __init__(self, data: Any, rows: QuerySet[Any], match: Callable[[str], Q]) -> None:
        """Filter datasets or resources; ``match`` decides which contain a word."""
        super().__init__(data, rows)
        self._match = match

    def filter_by_words(self, rows: QuerySet[Any], name: str, text: str) -> QuerySet[Any]:
        for word in text.split():
            rows = rows.filter(self._match(word))
        return rows


def list_tables(using: str) -> ResourceQuerySet:
    """List the loaded resources with their numbers of fields, ordered by title."""
    return (
        list_loaded_resources(using)
        .select_related("table_version")
        .annotate(field_count=count_fields("pk"))
        .order_by(Lower(Coalesce(NullIf("title", Value("")), "name")), "pk")
    )
