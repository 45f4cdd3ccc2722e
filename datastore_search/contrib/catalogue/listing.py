"""The resources that a user may read, and the filter of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy
from django_filters import CharFilter, FilterSet

from ...messages.search import TooManyWords
from ...models import Field, Resource
from ...models.object_permissions import Permitted
from .datasets import list_loaded_resources
from .query import SortTerm
from .resource_conditions import match_word, order_resources

MAX_CATALOGUE_Q_LENGTH = 200

#: Each word is compared with the description and the fields of every resource.
MAX_CATALOGUE_WORDS = 10


def validate_catalogue_word_count(text: str) -> None:
    """Refuse too many words."""
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
        """Filter resources; ``match`` decides which contain a word."""
        super().__init__(data, resources)
        self._match = match

    def filter_by_words(
        self, resources: QuerySet[Resource], name: str, text: str
    ) -> QuerySet[Resource]:
        """Keep the resources that hold every word."""
        for word in text.split():
            resources = resources.filter(self._match(word))
        return resources


def find_readable(user: Any) -> Permitted:
    """Find the loaded resources that a user may read."""
    return Resource.objects.filter(table_version__isnull=False).readable_by(user)


def list_tables(using: str) -> QuerySet[Resource]:
    """List the loaded resources with their numbers of fields, ordered by title."""
    # A join would count the fields of all resources, not of those on the page alone.
    fields = Field.objects.filter(resource=OuterRef("pk")).order_by().values("resource")
    count = fields.annotate(number=Count("pk"))
    return (
        list_loaded_resources(using)
        .select_related("table_version")
        .annotate(field_count=Coalesce(Subquery(count.values("number")), 0))
        .order_by(*order_resources([SortTerm("title"), SortTerm("id")]))
    )
