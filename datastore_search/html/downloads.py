"""
The files that a page offers.

They are all the records that it found, in each format of the dump, and what describes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import NoReverseMatch

from ..models import Resource
from ..search import Query
from .api_example import question_of
from .links import link, with_query

_FORMATS = ("csv", "tsv", "json", "xml")


@dataclass(frozen=True, slots=True)
class Download:
    """A file: what its format is called, and where it is."""

    label: str
    address: str


def downloads_of(request: HttpRequest, resource: Resource, query: Query) -> list[Download]:
    """Offer all records that a query finds, and their schema; nothing where there is no dump."""
    try:
        path = link(request, "dump", resource.pk)
    except NoReverseMatch:
        return []
    records = [
        Download(name.upper(), with_query(path, {"format": name, **question_of(query)}.items()))
        for name in _FORMATS
    ]
    return [*records, Download("Table Schema", link(request, "schema", resource.pk))]
