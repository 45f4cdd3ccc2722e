"""Conditions of the catalogue in SQL, where each resource is a dataset of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from django.db.models import CharField, F, Q, TextField, Value
from django.db.models.expressions import OrderBy
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Coalesce, Lower, NullIf
from django.db.models.lookups import IContains

from ...models import Field
from ...models.translations import list_active_languages
from .dataset import build_publisher_id, build_publisher_name
from .descriptions import FORMAT
from .query import Conditions, SortTerm

NOTHING: Final = Q(pk__in=())
EVERYTHING: Final = ~NOTHING

_ORDERS: Final[Mapping[str, F | Lower]] = {
    "metadata_modified": F("modified_at"),
    "metadata_created": F("created_at"),
    "name": F("name"),
    "id": F("pk"),
    "title": Lower(Coalesce(NullIf(F("title"), Value("")), F("name"), output_field=CharField())),
}


def match_word(word: str) -> Q:
    """Match resources with a word in their name, texts, publisher, tags, id or fields."""
    # PostgreSQL makes one hash table of them, in place of a look-up for each resource.
    fields = Field.objects.filter(Q(name__icontains=word) | Q(label__icontains=word))
    return (
        match_text("title", word)
        | Q(name__icontains=word)
        | match_text("description", word)
        | Q(publisher__icontains=word)
        | Q(tags__contains=[word])
        | Q(id__icontains=word)
        | Q(pk__in=fields.order_by().values("resource_id"))
    )


def match_text(name: str, part: str) -> Q:
    """Match resources whose title or description contains a text, or its translation does."""
    condition = Q(**{f"{name}__icontains": part})
    for language in list_active_languages():
        text = KeyTextTransform(name, KeyTransform(language, "translations"))
        # Null would be neither true nor, where the condition is negated, false.
        known = Coalesce(text, Value(""), output_field=TextField())
        condition |= Q(IContains(known, part))
    return condition


def order_resources(terms: Sequence[SortTerm]) -> list[OrderBy]:
    """Write an order of datasets as SQL, where each is a resource."""
    return [OrderBy(_ORDERS[each.name], descending=each.is_descending) for each in terms]


def build_resource_conditions(list_publishers: Callable[[], list[str]]) -> Conditions[Q]:
    """Build SQL conditions on resources; ``list_publishers`` is called if a query names one."""

    def match_publisher(text: str) -> Q:
        return _match_publisher(text, list_publishers())

    publishers = {"organization": match_publisher, "owner_org": match_publisher}
    return Conditions(
        EVERYTHING,
        {**_RESOURCE_FIELDS, **publishers},
        lambda is_private: Q(private=is_private),
        _match_times,
    )


def _match_times(field: str, low: datetime | None, high: datetime | None) -> Q:
    bounds = {f"{_TIMES[field]}__gte": low, f"{_TIMES[field]}__lte": high}
    return EVERYTHING & Q(**{name: bound for name, bound in bounds.items() if bound})


def _match_text_anywhere(text: str) -> Q:
    word = text.strip("*")
    return match_word(word) if word else EVERYTHING


def _match_text(column: str, text: str) -> Q:
    """Match a value exactly, or its beginning where the text ends in ``*``."""
    if text == "*":
        return ~Q(**{column: ""})
    if text.endswith("*"):
        return Q(**{f"{column}__istartswith": text[:-1]})
    return Q(**{f"{column}__iexact": text})


def _match_part(column: str, text: str) -> Q:
    return match_text(column, text.strip("*"))


def _match_id(text: str) -> Q:
    if text == "*":
        return EVERYTHING
    try:
        return Q(pk=uuid.UUID(text))
    except ValueError:
        return NOTHING


def _match_publisher(text: str, publishers: list[str]) -> Q:
    if text == "*":
        return ~Q(publisher="")
    named = [
        each
        for each in publishers
        if text in {build_publisher_name(each), build_publisher_id(each)}
    ]
    return Q(publisher__in=named) if named else NOTHING


def match_format(text: str) -> Q:
    """Match all resources by the format of their files, or none."""
    return EVERYTHING if text.casefold() in {FORMAT.casefold(), "*"} else NOTHING


#: The columns of resources that have the times of a query.
_TIMES: Final = {"metadata_modified": "modified_at", "metadata_created": "created_at"}

_RESOURCE_FIELDS: Final[Mapping[str, Callable[[str], Q]]] = {
    "": _match_text_anywhere,
    "text": _match_text_anywhere,
    "id": _match_id,
    "name": partial(_match_text, "name"),
    "title": partial(_match_part, "title"),
    "notes": partial(_match_part, "description"),
    "tags": lambda text: ~Q(tags=[]) if text == "*" else Q(tags__contains=[text]),
    "groups": lambda _text: NOTHING,
    "license_id": partial(_match_text, "license"),
    "maintainer": partial(_match_text, "contact"),
    "author": partial(_match_text, "publisher"),
    "url": partial(_match_text, "source"),
    "res_format": match_format,
    "res_name": partial(_match_part, "title"),
    "res_description": partial(_match_part, "description"),
    "metadata_modified": lambda text: EVERYTHING if text == "*" else NOTHING,
    "metadata_created": lambda text: EVERYTHING if text == "*" else NOTHING,
}
