"""The files that a data page offers: all records that it finds, and their Table Schema."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import NoReverseMatch

from ..dumping.formats import formats
from ..field_names import quote_name
from ..models import Resource
from ..search import Query
from .api_parameters import build_query_parameters
from .links import add_query_string, reverse_in_locale


@dataclass(frozen=True, slots=True)
class Download:
    """The label and the address of a file."""

    label: str
    address: str


def list_downloads(
    request: HttpRequest, resource: Resource, query: Query, *, has_places: bool
) -> list[Download]:
    """List the records in each format of the dump, and their schema; nothing without a dump."""
    try:
        path = reverse_in_locale(request, "dump", resource.pk)
    except NoReverseMatch:
        return []
    parameters = build_query_parameters(query)
    if query.fields:
        parameters["fields"] = ",".join(map(quote_name, query.fields))
    records = [
        Download(str(kind.label), add_query_string(path, {"format": name, **parameters}.items()))
        for name, kind in formats.items()
        if kind.is_installed and (has_places or not kind.needs_places)
    ]
    return [*records, Download("Table Schema", reverse_in_locale(request, "schema", resource.pk))]
