"""The filter form of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy
from django_filters import CharFilter, FilterSet

from ..catalogue import match_word
from ..exceptions.search import TooManyWords
from ..models import Resource

MAX_CATALOGUE_Q_LENGTH = 200

#: Each word is compared with the description and the fields of every resource.
MAX_CATALOGUE_WORDS = 10


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
        widget=forms.TextInput({"id": "q", "type": "search"}),
    )

    class Meta:
        model = Resource
        fields = ()

    def __init__(
        self, data: Any, resources: QuerySet[Resource], match: Callable[[str], Q] = match_word
    ) -> None:
        """Filter resources; ``match`` tells which hold a word."""
        super().__init__(data, resources)
        self._match = match

    def filter_by_words(
        self, resources: QuerySet[Resource], name: str, text: str
    ) -> QuerySet[Resource]:
        """Keep the resources that hold every word."""
        for word in text.split():
            resources = resources.filter(self._match(word))
        return resources
